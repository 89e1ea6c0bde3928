"""The hook log: failures of hooks, in a file of our folder."""

from __future__ import annotations

import time

from . import files, home
from .storage import LOGS, Storage
from .system import join, os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LOG_BYTES = 256 * 1024
LOG_NAME = "hooks.log"
_MARK = "!! "
STORAGE = (Storage(LOGS, {"": r"hooks\.log"}),)


def log_path(popkit_home: str) -> str:
    return join(popkit_home, LOG_NAME)


def log_failure(environ: Mapping[str, str], hook: str, error: BaseException) -> None:
    """Log a failure of a hook. If even that fails (a full disk, no folder), do nothing."""
    try:
        popkit_home = home.popkit_home(environ)
        files.make_private_folder(popkit_home)
        path = log_path(popkit_home)
        if _is_full(path):
            _rotate(path)
        files.append_text(path, _entry(hook, error, popkit_home))
    except (OSError, ValueError, home.NoHome):
        return


def _rotate(path: str) -> None:
    try:
        with files.lock_of(path):  # two that rotate at once would lose the older log
            if _is_full(path):
                os.replace(path, path + ".old")
    except files.LockTimeout:
        return  # another process rotates it


def _is_full(path: str) -> bool:
    try:
        return os.stat(path).st_size > LOG_BYTES
    except FileNotFoundError:
        return False


def _without_others(error: BaseException, popkit_home: str) -> str:
    """Return the message of an error, without the name of a file that is not ours."""
    names = [name for name in (getattr(error, "filename", None), getattr(error, "filename2", None)) if name is not None]
    if all(isinstance(name, str) and name.startswith(popkit_home) for name in names):
        return str(error)
    return f"[Errno {getattr(error, 'errno', None)}] {getattr(error, 'strerror', None)}"


def _entry(hook: str, error: BaseException, popkit_home: str) -> str:
    import traceback

    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    # The frames say where; the message of an error may hold text of the user, so usually only its type is kept.
    is_safe = isinstance(error, (OSError, home.NoHome)) or getattr(error, "is_safe_to_log", False)
    message = _without_others(error, popkit_home)[:200] if is_safe else ""
    lines = [f"{_MARK}{stamp} {hook} {type(error).__name__} {message}".rstrip()]
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    lines.extend(f"   {frame.filename.rpartition('/')[2]}:{frame.lineno} in {frame.name}" for frame in frames)
    return "\n".join(lines) + "\n"


def logged_failures(popkit_home: str) -> list[str]:
    """Return the first lines of the failures in the log, oldest first: "time hook error"."""
    text = (files.read_text(log_path(popkit_home) + ".old") or "") + (files.read_text(log_path(popkit_home)) or "")
    return [line[len(_MARK) :] for line in text.splitlines() if line.startswith(_MARK)]


def count_failures(popkit_home: str, hooks: tuple[str, ...]) -> int:
    """Return how many failures of these hooks the log has; 0 where it cannot be read, which its own check reports."""
    try:
        lines = logged_failures(popkit_home)
    except OSError:
        return 0
    return sum(line.split(" ")[1:2] in ([name] for name in hooks) for line in lines)
