"""A file that survives a power cut: the old one or the new one stands there, whole, whatever happens in between."""

from __future__ import annotations

import errno
import os
import time

from . import files
from .system import is_alive

# Between a file's name and the process and moment of what is to replace it, as the specification names it.
_TEMPORARY = ".tmp-"
_OLD_S = 86_400.0
# What a file system says that cannot make a folder durable by itself.
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP)


def write(path: str, data: bytes) -> None:
    """Replace a file (0600), its folder made if need be. It is on disk when this returns. OSError where that cannot be said: it is as
    it was, or the new one has its name already."""
    make_folder(os.path.dirname(path))
    temporary = f"{path}{_TEMPORARY}{os.getpid()}-{time.time_ns()}"
    files.replace(path, lambda fd: files.write_all(fd, data), temporary=temporary, sync=True)
    sync_folder(os.path.dirname(path))


def make_folder(path: str) -> None:
    """Makes a folder and its missing parents (0700), each of them on disk when this returns."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    if parent != path:
        make_folder(parent)
    files.make_private_folder(path)
    sync_folder(parent)


def sync_folder(path: str) -> None:
    """Puts the names in a folder on disk: without it a power cut may undo a rename."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(fd)


def sweep(folder: str) -> int:
    """Deletes what killed processes have left of `write` in a folder: files of processes that are gone, and any older than a day. The
    caller holds the lock under which they are written. How many went."""
    swept, now = 0, time.time()
    for name in files.names(folder):
        _, temporary, rest = name.rpartition(_TEMPORARY)
        pid, _, nanoseconds = rest.partition("-")
        if not temporary or not _is_number(pid) or not _is_number(nanoseconds):
            continue
        if not is_alive(int(pid)) or now - int(nanoseconds) / 1e9 > _OLD_S:
            try:
                os.unlink(os.path.join(folder, name))
                swept += 1
            except OSError:
                pass  # a folder of that name, or gone meanwhile
    return swept


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20
