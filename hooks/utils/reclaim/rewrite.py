"""Replaces byte ranges of a transcript, in place and atomically, while the host goes on appending to it.

A new file is written beside the old one and renamed over it, so that a kill leaves the one or the other. The host opens, appends one
line and closes at any moment: what it appends before the rename is copied; what it writes through a file that it opened before the
rename lands in the old one and is carried over afterwards. On Linux a read lease tells when that is over, for it is granted only while
nobody has the file open for writing. Two rewriters of one transcript are kept apart by the caller.
"""

from __future__ import annotations

import errno
import time

from ..io.files import write_all
from ..io.system import is_alive, os, parent_of, sha256
from .appending import LONG_PATIENCE_S, CarryFailed, Changed, RewriteFailed, await_no_writer, carry_over, catch_up, copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

_SWEEP_AGE_S = 60.0
_PIECE = 1 << 18
_KIND, _REGULAR = 0o170000, 0o100000
_NO_LINKS = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOSYS, errno.EOPNOTSUPP)
_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than the system allows",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "there is no permission to write the transcript or its folder",
    errno.EPERM: "there is no permission to write the transcript or its folder",
    errno.ENOENT: "there is no such file",
    errno.ELOOP: "it is a symbolic link",
}


class Edit:
    """The bytes from `start` to `end` of the file, whose SHA-256 is `old_hash` (hex), become `new`."""

    __slots__ = ("end", "new", "old_hash", "start")

    def __init__(self, start: int, end: int, new: bytes, old_hash: str):
        self.start = start
        self.end = end
        self.new = new
        self.old_hash = old_hash


class Seen:
    """The file that was scanned, and how far: `size` is the end of a complete line, of the last one with or without its newline."""

    __slots__ = ("device", "inode", "size")

    def __init__(self, device: int, inode: int, size: int):
        self.device = device
        self.inode = inode
        self.size = size


class Rewritten:
    """Sizes of the transcript just before and just after; what was appended since the scan, and of that what came late, not counted in
    the others."""

    __slots__ = ("bytes_after", "bytes_before", "late_bytes", "tail_bytes")

    def __init__(self, bytes_before: int, bytes_after: int, tail_bytes: int, late_bytes: int):
        self.bytes_before = bytes_before
        self.bytes_after = bytes_after
        self.tail_bytes = tail_bytes
        self.late_bytes = late_bytes


def seen_of(file: BinaryIO, size: int) -> Seen:
    """Return what was scanned of an open file, up to `size`."""
    stat = os.fstat(file.fileno())
    return Seen(stat.st_dev, stat.st_ino, size)


def rewrite(
    path: str, edits: list[Edit], seen: Seen, keep: str | None = None, accept: Callable[[bytes], object] | None = None,
    patience_s: float = LONG_PATIENCE_S,
) -> Rewritten:  # fmt: skip
    """Make the edits, which are sorted and disjoint and end within what was seen; ValueError if not.

    `keep` is where the original goes, in place of an older one: the old file itself, or a copy where it cannot be linked.
    `accept(bytes)` is shown what was appended since the scan, right before the rename, and may raise RewriteFailed. A process that has
    the transcript open when it is replaced has `patience_s` seconds to write; anything later stays in the old file. RewriteFailed
    (Changed where scanning again helps): nothing was changed. CarryFailed: it was rewritten, see there."""
    _check_order(edits, seen.size)
    fds: list[int] = []
    try:
        return _rewrite(path, edits, seen, keep, accept, patience_s, fds)
    except (RewriteFailed, CarryFailed):
        raise
    except OSError as error:
        raise RewriteFailed(path + ": " + _reason(error) + "; nothing was changed") from error
    finally:
        for fd in fds:
            os.close(fd)


def _rewrite(
    path: str, edits: list[Edit], seen: Seen, keep: str | None, accept: Callable[[bytes], object] | None, patience_s: float, fds: list[int]
) -> Rewritten:
    temporary, aside = _temporary(path), _temporary(keep) if keep else ""
    old = _open_seen(path, seen, fds)
    try:
        new = _create(temporary, fds)
        _copy_edited(old, new, edits, seen.size)
        carried = catch_up(old, new, seen.size)
        _adopt_owner_and_mode(old, new)
        # What the host appends from here on is as durable as the host makes it.
        os.fsync(new)
        if keep:
            _set_aside(old, path, seen, aside, carried, fds)
        await_no_writer(old)
        carried = catch_up(old, new, carried)
        _end_last_line(old, new, seen.size, carried)
        if accept:
            accept(os.pread(old, carried - seen.size, seen.size))
        after = os.fstat(new).st_size
        _check_same(os.stat(path, follow_symlinks=False), seen)
        if keep:
            os.replace(aside, keep)
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        _remove(aside)
        raise
    if keep:
        _remove(aside)  # a rename onto another name of the same file leaves both names
        _make_private(old)
    late = carry_over(old, new, carried, path, keep, patience_s)
    _sync_folder(path)
    return Rewritten(carried, after, carried - seen.size, late)


def sweep(path: str) -> None:
    """Remove the temporary files of rewrites of this file (a transcript, or a kept original) that were killed."""
    folder, _, name = path.rpartition("/")
    prefix = name + ".popkit-"
    for other in os.listdir(folder or ("/" if path.startswith("/") else ".")):
        pid = other[len(prefix) : -len(".tmp")]
        if other != prefix + pid + ".tmp" or not (pid.isascii() and pid.isdigit()):
            continue
        leftover = path[: len(path) - len(name)] + other
        try:
            if not is_alive(int(pid)) or time.time() - os.stat(leftover, follow_symlinks=False).st_mtime > _SWEEP_AGE_S:
                os.unlink(leftover)
        except OSError:
            pass  # gone already, or not ours to remove


def _temporary(path: str) -> str:
    return path + ".popkit-" + str(os.getpid()) + ".tmp"


def _reason(error: OSError) -> str:
    return _REASONS.get(error.errno or 0) or error.strerror or str(error)


def _check_order(edits: list[Edit], size: int) -> None:
    at = 0
    for edit in edits:
        if not at <= edit.start <= edit.end <= size:
            raise ValueError("edits must be sorted, disjoint, and within what was seen")
        at = edit.end


def _check_same(stat: os.stat_result, seen: Seen) -> None:
    if (stat.st_dev, stat.st_ino) != (seen.device, seen.inode) or stat.st_size < seen.size:
        raise Changed("the transcript was replaced in the meantime, so nothing was changed. Try again")


def _open_seen(path: str, seen: Seen, fds: list[int]) -> int:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)  # a pipe would keep us waiting for its writer
    fds.append(fd)
    stat = os.fstat(fd)
    if stat.st_mode & _KIND != _REGULAR:
        raise RewriteFailed(path + ": it is not a regular file; nothing was changed")
    _check_same(stat, seen)
    return fd


def _create(path: str, fds: list[int]) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        fd = os.open(path, flags, 0o600)
    except FileExistsError:
        os.unlink(path)  # left by a killed process that had our number
        fd = os.open(path, flags, 0o600)
    fds.append(fd)
    return fd


def _copy_edited(old: int, new: int, edits: list[Edit], size: int) -> None:
    at = 0
    for edit in edits:
        copy(old, new, at, edit.start)
        if _hash(old, edit.start, edit.end) != edit.old_hash:
            raise Changed("the transcript has changed since it was read, so nothing was changed. Try again")
        write_all(new, edit.new)
        at = edit.end
    copy(old, new, at, size)


def _end_last_line(old: int, new: int, size: int, carried: int) -> None:
    """End what was the last line where a client was killed before its newline: the next one begins on a line of its own."""
    if not size or os.pread(old, 1, size - 1) == b"\n":
        return
    if carried == size:
        write_all(new, b"\n")
    elif os.pread(old, 1, size) != b"\n":
        raise Changed("the transcript continues where its last line seemed to end, so nothing was changed. Try again")


def _hash(fd: int, start: int, end: int) -> str:
    digest = sha256()
    while start < end:
        data = os.pread(fd, min(end - start, _PIECE), start)
        if not data:
            break
        digest.update(data)
        start += len(data)
    return digest.hexdigest()


def _adopt_owner_and_mode(old: int, new: int) -> None:
    stat, ours = os.fstat(old), os.fstat(new)
    if (stat.st_uid, stat.st_gid) != (ours.st_uid, ours.st_gid) and os.geteuid() == 0:
        os.fchown(new, stat.st_uid, stat.st_gid)
    os.fchmod(new, stat.st_mode & 0o7777)


def _set_aside(old: int, path: str, seen: Seen, aside: str, size: int, fds: list[int]) -> None:
    """Give the old file a second name, or copy it."""
    _remove(aside)
    try:
        try:
            os.link(path, aside)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            copied = _create(aside, fds)
            copy(old, copied, 0, size)
            os.fsync(copied)
            return
        _check_same(os.stat(aside, follow_symlinks=False), seen)
    except RewriteFailed:
        raise
    except OSError as error:
        raise RewriteFailed(f"the original cannot be kept as {aside} ({_reason(error)}); nothing was changed") from error


def _make_private(old: int) -> None:
    try:
        os.fchmod(old, 0o600)
    except OSError:
        pass  # its owner keeps it as it is


def _sync_folder(path: str) -> None:
    try:
        fd = os.open(parent_of(path) or ("/" if path.startswith("/") else "."), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return  # readable it need not be; after a power cut the old transcript may be back, which is whole as well
    try:
        os.fsync(fd)
    except OSError:
        pass  # not every disk can
    finally:
        os.close(fd)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # never made, or renamed
