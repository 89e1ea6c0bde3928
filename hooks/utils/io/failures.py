"""The hook log: one line and a traceback for each failure, in a file that stays small."""

from __future__ import annotations

import os

from . import files, home
from .storage import LOGS, Storage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LOG_BYTES = 256 * 1024
LOG_NAME = "hooks.log"
_MARK = "!! "
STORAGE = (Storage(LOGS, {"": r"hooks\.log"}),)


def log_path(popkit_home: str) -> str:
    return os.path.join(popkit_home, LOG_NAME)


def record(environ: Mapping[str, str], hook: str, error: BaseException) -> None:
    """Logs a failure of a hook. Where even that fails (a full disk, no folder) there is nobody left to tell."""
    try:
        popkit_home = home.popkit_home(environ)
        files.make_private_folder(popkit_home)
        path = log_path(popkit_home)
        if _is_full(path):
            _rotate(path)
        files.append_text(path, _entry(hook, error))
    except (OSError, ValueError, home.NoHome):
        return


def _rotate(path: str) -> None:
    try:
        with files.Lock(path + ".lock"):  # two that rotate at once would lose the older log
            if _is_full(path):
                os.replace(path, path + ".old")
    except files.LockTimeout:
        return  # somebody else is at it


def _is_full(path: str) -> bool:
    return os.path.exists(path) and os.path.getsize(path) > LOG_BYTES


def _entry(hook: str, error: BaseException) -> str:
    import time
    import traceback

    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    # The frames tell where; the message of an error from a payload may hold the user's text, so only its type is kept.
    is_safe = isinstance(error, (OSError, home.NoHome)) or getattr(error, "is_safe_to_log", False)
    message = str(error)[:200] if is_safe else ""
    lines = [f"{_MARK}{stamp} {hook} {type(error).__name__} {message}".rstrip()]
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    lines.extend(f"   {os.path.basename(frame.filename)}:{frame.lineno} in {frame.name}" for frame in frames)
    return "\n".join(lines) + "\n"


def failures(popkit_home: str) -> list[str]:
    """The first lines of the failures in the log, oldest first: "time hook error"."""
    text = (files.read_text(log_path(popkit_home) + ".old") or "") + (files.read_text(log_path(popkit_home)) or "")
    return [line[len(_MARK) :] for line in text.splitlines() if line.startswith(_MARK)]


def count(popkit_home: str, hooks: tuple[str, ...]) -> int:
    """How many failures of these hooks the log tells of; none where it cannot be read, of which its own check tells."""
    try:
        lines = failures(popkit_home)
    except OSError:
        return 0
    return sum(line.split(" ")[1:2] in ([name] for name in hooks) for line in lines)
