"""Write files that survive a power cut."""

from __future__ import annotations

import time

from . import files
from .system import is_alive, join, os, parent_of

# Between a file's name and the process and time in the name of its replacement, as the specification has it.
_TEMPORARY = ".tmp-"
_OLD_S = 86_400.0


def write_durably(path: str, data: bytes) -> None:
    """Replace a file (0600) by its absolute path, its folder made if need be. It is on disk when this returns. OSError where that is
    uncertain: the old one is unchanged, or the new one has its name already."""
    folder = parent_of(path) or "/"
    make_durable_folder(folder)
    temporary = f"{path}{_TEMPORARY}{os.getpid()}-{time.time_ns()}"
    files.replace(path, lambda fd: files.write_all(fd, data), temporary=temporary, sync=True)
    sync_folder(folder)


def make_durable_folder(path: str) -> None:
    """Make a folder and its missing parents (0700), each of them on disk when this returns."""
    if files.is_folder(path):
        return
    parent = parent_of(path) or "/"
    make_durable_folder(parent)
    files.make_private_folder(path)
    sync_folder(parent)


def sync_folder(path: str) -> None:
    """Put the names in a folder on disk: without it a power cut may undo a rename."""
    from errno import EINVAL, ENOTSUP

    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (EINVAL, ENOTSUP):  # a file system that cannot sync a folder
            raise
    finally:
        os.close(fd)


def sweep_temporary(folder: str) -> int:
    """Delete what killed processes have left of `write_durably` in a folder: files of processes that are gone, and any older than a day.
    Return how many. The caller holds the lock under which they are written."""
    swept, now = 0, time.time()
    for name in files.names(folder):
        _, temporary, rest = name.rpartition(_TEMPORARY)
        pid, _, nanoseconds = rest.partition("-")
        if not temporary or not _is_number(pid) or not _is_number(nanoseconds):
            continue
        if not is_alive(int(pid)) or now - int(nanoseconds) / 1e9 > _OLD_S:
            try:
                os.unlink(join(folder, name))
                swept += 1
            except OSError:
                pass  # a folder of that name, or gone meanwhile
    return swept


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20
