"""Lines that the host appends while its transcript is rewritten: those in the old file are copied, and those that come late
are carried over, whole.

On Linux a read lease tells whether somebody has the old file open for writing, for it is granted only while nobody has.
"""

from __future__ import annotations

import time

from ..io.files import write_all
from ..io.system import os

# How long a writer may take between opening and writing: where the system does not tell whether there is one, and where it does.
_PATIENCE_S = 0.25
LONG_PATIENCE_S = 1.0
# An open that has found the old file by its name is not counted among its writers for an instant.
_SETTLE_S = 0.01
_POLL_S = 0.001
# A line that was left unfinished for longer will not be finished.
_ABANDONED_S = 1.0
_PIECE = 1 << 18


class RewriteFailed(OSError):
    """Nothing was changed; the text says why."""


class Changed(RewriteFailed):
    """The transcript is not what was scanned: to be scanned again."""


class CarryFailed(OSError):
    """The transcript was rewritten, but what the host wrote into the old one meanwhile could not be added: `lines`, bytes."""

    lines = b""


def copy(old: int, new: int, start: int, end: int) -> None:
    """Append a range of one file to another, in pieces that stay in the processor's cache: as fast as the system's own copying."""
    while start < end:
        data = os.pread(old, min(end - start, _PIECE), start)
        if not data:
            raise Changed("the transcript was cut short in the meantime, so nothing was changed. Try again")
        write_all(new, data)
        start += len(data)


def catch_up(old: int, new: int, carried: int) -> int:
    """Copy what has been appended since, and return how far the old file is copied. Of a line that is still being written nothing: its
    second half could come after somebody else's line. A line shows half written also while a single write of it is under way."""
    end = os.fstat(old).st_size
    unwritten = unwritten_by_anybody(old)
    stat = os.fstat(old)
    # Half a line that is unchanged after a moment without a writer has no writer who will finish it.
    settled = (unwritten and end == stat.st_size) or (unwritten is None and time.time() - stat.st_mtime > _ABANDONED_S)
    end = stat.st_size if settled else _end_of_lines(old, carried, stat.st_size)
    copy(old, new, carried, end)
    return max(carried, end)


def _end_of_lines(fd: int, start: int, end: int) -> int:
    """Return the end of the last complete line between two positions; the first where there is none."""
    while end > start:
        size = min(end - start, 1 << 16)
        line_end = os.pread(fd, size, end - size).rfind(b"\n")
        if line_end >= 0:
            return end - size + line_end + 1
        end -= size
    return start


def unwritten_by_anybody(fd: int) -> bool | None:
    """Return whether no process has the file open for writing; None where the system does not tell."""
    try:
        import fcntl
        from _signal import SIGURG  # type: ignore[import-not-found]

        # A process that opens it while the lease is held waits, and we get a signal: SIGIO, which ends a process, unless another is chosen.
        fcntl.fcntl(fd, fcntl.F_SETSIG, SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except BlockingIOError:
        return False
    except (ImportError, AttributeError, OSError):
        return None
    return True


def await_no_writer(old: int) -> None:
    """Wait for a moment without a writer. One who keeps the transcript open would write into the old file for ever."""
    until = time.monotonic() + _PATIENCE_S
    while unwritten_by_anybody(old) is False:
        if time.monotonic() > until:
            raise RewriteFailed("another program keeps the transcript open for writing, so nothing was changed. Close it and try again")
        time.sleep(_POLL_S)


def carry_over(old: int, new: int, carried: int, path: str, keep: str | None, patience_s: float = LONG_PATIENCE_S) -> int:
    """Append to the new file what still comes into the old one, whole lines as long as there may be more; return how many bytes. A writer
    who has the old one open may take `patience_s`."""
    began, late, failure = time.monotonic(), 0, None
    while True:
        # In this order: a writer that is gone by now has written all that it had.
        unwritten = unwritten_by_anybody(old)
        waited = time.monotonic() - began
        over = waited > (patience_s if unwritten is False else _SETTLE_S if unwritten else _PATIENCE_S)
        lines = os.pread(old, max(0, os.fstat(old).st_size - carried), carried)
        if not over:
            lines = lines[: lines.rfind(b"\n") + 1]
        if lines and (over or _ends_a_line(new)):
            try:
                _append(new, lines)
                carried += len(lines)
                late += len(lines)
                failure = None
            except OSError as error:
                failure = error
        if over and failure:
            failed = CarryFailed(
                f"{path}: it was rewritten, but {len(lines)} bytes that were appended in the meantime are missing ({failure.strerror})"
                + (f"; the original is {keep}" if keep else "")
            )
            failed.lines = lines
            raise failed from failure
        if over:
            return late
        time.sleep(_POLL_S)


def _ends_a_line(fd: int) -> bool:
    size = os.fstat(fd).st_size
    return not size or os.pread(fd, 1, size - 1) == b"\n"


def _append(fd: int, lines: bytes) -> None:
    """Append lines that neither touch the line before nor the line after."""
    until = time.monotonic() + _PATIENCE_S
    # A line shows half written while somebody's single write of it is under way; ours waits for that one anyway.
    ended = _ends_a_line(fd)
    while not ended and time.monotonic() < until:
        time.sleep(_POLL_S)
        ended = _ends_a_line(fd)
    data = (b"" if ended else b"\n") + lines + (b"" if lines.endswith(b"\n") else b"\n")
    size = os.fstat(fd).st_size
    try:
        write_all(fd, data)
    except OSError:
        written = os.fstat(fd).st_size - size
        if written and os.pread(fd, written, size) == data[:written]:
            os.ftruncate(fd, size)  # the host's next line would be glued to half a line
        raise
