"""Where helpers listen: one socket a session, in our folder `run`; where that name is too long for a socket, in a folder of its own, to
which a link of the usual name leads. A helper that was killed leaves its own, until the next start, the end of a session or an uninstall.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time

from ..hosts import OPENCODE
from ..io import files, home, unix_http
from ..io.storage import LOGS, Storage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# A Unix socket's path may have about so many bytes; clients take no longer ones.
PATH_BYTES = 100
FOLDER = "run"
STORAGE = (Storage(LOGS, {FOLDER: r"[^/]*\.sock"}),)
_END = ".sock"
_ELSEWHERE, _NAME = "popkit-", "s"
_LIMIT_S, _POLL_S = 1.0, 0.01


def free_path(environ: Mapping[str, str], session_id: str) -> str:
    """A free path in our folder, or in a folder of our own where that one's name is too long for a socket."""
    folder = os.path.join(home.popkit_home(environ), FOLDER)
    path = os.path.join(folder, f"{stem(session_id)}-{os.getpid()}{_END}")
    sweep(os.path.dirname(folder))
    remove(path)
    files.make_private_folder(folder, may_be_link=False)
    if len(os.fsencode(path)) <= PATH_BYTES:
        return path
    import tempfile  # seldom

    elsewhere = os.path.join(tempfile.mkdtemp(prefix=_ELSEWHERE), _NAME)
    os.symlink(elsewhere, path)
    return elsewhere


def of_session(popkit_home: str, session_id: str) -> list[str]:
    """The sockets of a session's helpers that run, the newest first."""
    folder = os.path.join(popkit_home, FOLDER)
    mine = [name for name in _names(folder) if name.rpartition("-")[0] == stem(session_id) and _is_running(_pid(name))]
    paths = sorted([os.path.join(folder, name) for name in mine], key=_made, reverse=True)
    return [_leads_to(path) or path for path in paths]


def running(popkit_home: str) -> set[str]:
    """The stems (see `stem`) of all sessions that have a helper which runs."""
    return {name.rpartition("-")[0] for name in _names(os.path.join(popkit_home, FOLDER)) if _is_running(_pid(name))}


def remove(path: str) -> None:
    """Removes a socket, what leads to it or what it leads to, and the folders that this leaves empty."""
    elsewhere = _leads_to(path)
    for each in (elsewhere, path):
        with contextlib.suppress(OSError):  # it is not there, or somebody has put something beside it
            if each and _is_ours(each):
                os.unlink(each)
                os.rmdir(os.path.dirname(each))
    with contextlib.suppress(OSError):
        os.rmdir(os.path.dirname(path))


def close(environ: Mapping[str, str], session_id: str, path: str) -> None:
    """Removes the socket that this process has listened at, wherever it was."""
    remove(os.path.join(home.popkit_home(environ), FOLDER, f"{stem(session_id)}-{os.getpid()}{_END}"))
    remove(path)


def sweep(popkit_home: str) -> None:
    """Removes what helpers have left that were killed."""
    folder = os.path.join(popkit_home, FOLDER)
    for name in _names(folder):
        if not _is_running(_pid(name)):
            remove(os.path.join(folder, name))


def end_all(popkit_home: str) -> None:
    """Asks every helper to end, and removes their sockets, also those of helpers that do not answer."""
    folder = os.path.join(popkit_home, FOLDER)
    for name in _names(folder):
        path = os.path.join(folder, name)
        if _is_running(_pid(name)):
            with contextlib.suppress(OSError, ValueError):
                unix_http.ask(_leads_to(path) or path, "/end", b"{}", _LIMIT_S)
                _wait_until_gone(path)
        remove(path)


def _wait_until_gone(path: str) -> None:
    """The last thing that a helper does is to remove its socket."""
    until = time.monotonic() + _LIMIT_S
    while os.path.lexists(path) and time.monotonic() < until:
        time.sleep(_POLL_S)


def stem(session_id: str) -> str:
    """What the names of a session's sockets begin with. The ids of OpenCode's sessions begin with a time, so their ends tell them apart."""
    name = home.safe_name(session_id)
    return name[-8:] if session_id.startswith(OPENCODE) else name[:8]


def _names(folder: str) -> list[str]:
    return [name for name in files.names(folder) if name.endswith(_END) and _pid(name)]


def _pid(name: str) -> int:
    number = name.rpartition("-")[2].partition(".")[0]
    return int(number) if number.isdigit() else 0


def _made(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def _leads_to(path: str) -> str:
    """The socket in a folder of its own that a link leads to; "" for anything else."""
    try:
        there = os.readlink(path)
    except OSError:
        return ""
    folder, name = os.path.split(there)
    return there if name == _NAME and os.path.basename(folder).startswith(_ELSEWHERE) else ""


def _is_ours(path: str) -> bool:
    """Whether it is a socket or a link: nothing else is removed, whatever its name."""
    mode = os.lstat(path).st_mode
    return stat.S_ISSOCK(mode) or stat.S_ISLNK(mode)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
