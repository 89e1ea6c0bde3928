"""Where helpers listen: one socket a session, in our folder. Whoever has been killed leaves one, which the next start removes."""

from __future__ import annotations

import os

from ..edges import files, home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# A Unix socket's path may have about so many bytes; clients take no longer ones.
PATH_BYTES = 100
_END = ".sock"


def free_path(environ: Mapping[str, str], session_id: str) -> str:
    """A free path in our folder, or in a folder of our own where that one's name is too long for a socket."""
    folder = os.path.join(home.popkit_home(environ), "run")
    path = os.path.join(folder, f"{stem(session_id)}-{os.getpid()}{_END}")
    if len(os.fsencode(path)) > PATH_BYTES:
        import tempfile  # seldom

        return os.path.join(tempfile.mkdtemp(prefix="popkit-"), "s")
    files.make_private_folder(folder, may_be_link=False)
    for name in _names(folder):
        if not _is_running(_pid(name)):
            remove(os.path.join(folder, name))
    remove(path)
    return path


def of_session(popkit_home: str, session_id: str) -> list[str]:
    """The sockets of a session's helpers that run, the newest first. None where our folder's name is too long for a socket."""
    folder = os.path.join(popkit_home, "run")
    mine = [name for name in _names(folder) if name.rpartition("-")[0] == stem(session_id) and _is_running(_pid(name))]
    paths = [os.path.join(folder, name) for name in mine]
    return sorted(paths, key=os.path.getmtime, reverse=True)


def running(popkit_home: str) -> set[str]:
    """The stems (see `stem`) of all sessions that have a helper which runs."""
    return {name.rpartition("-")[0] for name in _names(os.path.join(popkit_home, "run")) if _is_running(_pid(name))}


def remove(path: str) -> None:
    """Removes a socket, and the folder that was made for it."""
    try:
        os.unlink(path)
    except OSError:
        pass  # it is not there
    if os.path.basename(path) == "s":
        try:
            os.rmdir(os.path.dirname(path))
        except OSError:
            pass  # somebody else has put something there


def stem(session_id: str) -> str:
    """What the names of a session's sockets begin with."""
    return home.safe_name(session_id)[:8]


def _names(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.endswith(_END) and _pid(name)]
    except OSError:
        return []


def _pid(name: str) -> int:
    number = name.rpartition("-")[2].partition(".")[0]
    return int(number) if number.isdigit() else 0


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
