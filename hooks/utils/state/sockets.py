"""The Unix sockets at which helpers listen, one for each session.

They are in our folder `run`; where that path is too long for a socket, in a folder of its own, with a link of the usual name to it. A
killed helper leaves its socket behind until the next start, the end of a session or an uninstall.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time

from ..hosts import is_guest
from ..io import files, home
from ..io.storage import LOGS, Storage
from ..io.system import is_alive
from .asking import ask, takes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# The longest path of a Unix socket that clients accept.
PATH_BYTES = 100
FOLDER = "run"
STORAGE = (Storage(LOGS, {FOLDER: r"[^/]*\.sock"}),)
_END = ".sock"
_ELSEWHERE, _NAME = "popkit-", "s"
_LIMIT_S, _POLL_S = 1.0, 0.01


def free_path(environ: Mapping[str, str], session_id: str) -> str:
    """Return a free path in our folder, or in a folder made for it where the path is too long for a socket."""
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
    """Return the sockets of a session's running helpers, the newest first."""
    folder = os.path.join(popkit_home, FOLDER)
    mine = [name for name in _names(folder) if name.rpartition("-")[0] == stem(session_id) and is_alive(_pid(name))]
    paths = sorted([os.path.join(folder, name) for name in mine], key=_made, reverse=True)
    return [_leads_to(path) or path for path in paths]


def running(popkit_home: str) -> set[str]:
    """Return the stems (see `stem`) of all sessions with a running helper."""
    return {name.rpartition("-")[0] for name in _names(os.path.join(popkit_home, FOLDER)) if is_alive(_pid(name))}


def listens(popkit_home: str, session_id: str) -> bool:
    """Return whether a helper of a session takes questions: the process that a socket is named after may be another one's by now."""
    return any(map(takes, of_session(popkit_home, session_id)))


def remove(path: str) -> None:
    """Remove a socket, the link to it or the socket behind a link, and the folders that this leaves empty."""
    elsewhere = _leads_to(path)
    for each in (elsewhere, path):
        with contextlib.suppress(OSError):  # it is not there, or its folder holds something else
            if each and _is_ours(each):
                os.unlink(each)
                os.rmdir(os.path.dirname(each))
    with contextlib.suppress(OSError):
        os.rmdir(os.path.dirname(path))


def close(environ: Mapping[str, str], session_id: str, path: str) -> None:
    """Remove the socket at which this process has listened, wherever it was."""
    remove(os.path.join(home.popkit_home(environ), FOLDER, f"{stem(session_id)}-{os.getpid()}{_END}"))
    remove(path)


def sweep(popkit_home: str) -> None:
    """Remove the sockets of helpers that were killed."""
    folder = os.path.join(popkit_home, FOLDER)
    for name in _names(folder):
        if not is_alive(_pid(name)):
            remove(os.path.join(folder, name))


def end_all(popkit_home: str) -> None:
    """Ask every helper to end, and remove all sockets, also those of helpers that do not answer."""
    folder = os.path.join(popkit_home, FOLDER)
    for name in _names(folder):
        path = os.path.join(folder, name)
        if is_alive(_pid(name)):
            with contextlib.suppress(OSError, ValueError):
                ask(_leads_to(path) or path, "/end", b"{}", _LIMIT_S)
                _wait_until_gone(path)
        remove(path)


def _wait_until_gone(path: str) -> None:
    """Wait until a helper has removed its socket, which it does last."""
    until = time.monotonic() + _LIMIT_S
    while os.path.lexists(path) and time.monotonic() < until:
        time.sleep(_POLL_S)


def stem(session_id: str) -> str:
    """Return the beginning of the names of a session's sockets. The ids of guests begin with a time, so their ends are used."""
    return stem_of(home.safe_name(session_id))


def stem_of(name: str) -> str:
    """Return the same for the safe name of a session."""
    return name[-8:] if is_guest(name) else name[:8]


def _names(folder: str) -> list[str]:
    return [name for name in files.names(folder) if name.endswith(_END) and _pid(name)]


def _pid(name: str) -> int:
    number = name.rpartition("-")[2].partition(".")[0]
    return int(number) if number.isdecimal() else 0


def _made(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def _leads_to(path: str) -> str:
    """Return the socket in a folder of its own that a link leads to; "" for anything else."""
    try:
        there = os.readlink(path)
    except OSError:
        return ""
    folder, name = os.path.split(there)
    return there if name == _NAME and os.path.basename(folder).startswith(_ELSEWHERE) else ""


def _is_ours(path: str) -> bool:
    """Return whether it is a socket or a link: nothing else is removed, whatever its name."""
    mode = os.lstat(path).st_mode
    return stat.S_ISSOCK(mode) or stat.S_ISLNK(mode)
