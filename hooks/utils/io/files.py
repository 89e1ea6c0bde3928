"""Private files: 0600 in 0700 folders, replaced whole or appended in one write, behind a lock that never waits forever."""

from __future__ import annotations

import time
from _thread import RLock

from ..errors import PopkitError
from .codec import as_object, loads
from .system import os, parent_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO

# How long a command waits for a lock, and a hook for all that others hold.
LOCK_WAIT_S = 5.0
HOOK_WAIT_S = 0.3
_POLL_S = 0.002
_SPILLED = ".missed-"
_BUFFER = 1 << 16  # transcripts are read through line by line
# Parts of the mode of a file.
_KIND, _FOLDER, _LINK, _REGULAR = 0o170000, 0o040000, 0o120000, 0o100000


def make_private_folder(path: str, may_be_link: bool = True) -> None:
    """Make a folder and its missing parents, 0700 whatever the umask is. OSError for a link where none may be: it could lead anywhere."""
    try:
        if not may_be_link and os.lstat(path).st_mode & _KIND == _LINK:
            raise OSError("a symbolic link instead of a folder of ours: " + path)
        os.stat(path)
        return
    except FileNotFoundError:
        pass
    parent = parent_of(path)
    if parent and parent != path:
        make_private_folder(parent)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass


def make_private_file(path: str, create: bool = True) -> None:
    """Make sure that a regular file is there and is ours alone; FileNotFoundError where there is none and none is to be made, OSError for
    anything else than a file.

    An existing file is not opened: closing it would release the locks that this process holds on it."""
    if create:
        make_private_folder(parent_of(path) or "/")
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        except FileExistsError:
            pass
    mode = os.lstat(path).st_mode
    if mode & _KIND != _REGULAR:
        raise OSError(22, "must be a regular file, not a link or anything else", path)
    if mode & 0o077:
        os.chmod(path, 0o600)


def read_text(path: str, limit: int = 0) -> str | None:
    """Return the text of a file (its first `limit` bytes), None when there is none; OSError for anything else."""
    data = read_bytes(path, limit)
    return None if data is None else text_of(data)


def read_value(path: str, limit: int = 0) -> object:
    """Return the JSON value in a file (in its first `limit` bytes); None where there is none, or none that can be read."""
    try:
        return loads(read_text(path, limit) or "null")
    except (OSError, ValueError):
        return None


def read_object(path: str, limit: int = 0) -> dict[str, Any]:
    """Return the JSON object in a file (in its first `limit` bytes); {} where there is none, or none that can be read."""
    return as_object(read_value(path, limit))


def text_of(data: bytes) -> str:
    """Return the text of bytes that we wrote: lone surrogates stay as they were written, other bytes that are not UTF-8 are replaced."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def encoded(text: str) -> bytes:
    """Return the bytes of a text, lone surrogates as they are."""
    return text.encode("utf-8", "surrogatepass")


def read_bytes(path: str, limit: int = 0) -> bytes | None:
    """Return the bytes of a file (its first `limit`), None when there is none; OSError for anything else."""
    try:
        fd = _open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    with open(fd, "rb", buffering=0) as file:
        # A read of a known size reserves that much memory, which a limited process may not have.
        return file.read(limit) if limit else file.readall()


def open_regular(path: str) -> BinaryIO:
    """Open a file for reading bytes; OSError unless it is a regular file."""
    return open(_open(path, os.O_RDONLY), "rb", buffering=_BUFFER)


def _open(path: str, flags: int) -> int:
    """Return a descriptor of a regular file; OSError for anything else: a pipe would block until its other end writes."""
    fd = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    if os.fstat(fd).st_mode & _KIND != _REGULAR:
        os.close(fd)
        raise OSError(22, "not a regular file", path)
    return fd


def replace_text(path: str, text: str, mode: int = 0o600) -> None:
    """Replace a file's text atomically (see replace)."""
    data = encoded(text)
    replace(path, lambda fd: write_all(fd, data), mode)


def replace_bytes(path: str, data: bytes) -> None:
    """Replace a file's bytes atomically (see replace)."""
    replace(path, lambda fd: write_all(fd, data))


def replace(path: str, write: Callable[[int], object], mode: int = 0o600, temporary: str = "", sync: bool = False) -> None:
    """Replace a file atomically by what `write` writes to the descriptor that it is given: a reader sees the old one or the new one, also
    after a kill. `temporary`: the path that it is written under first. `sync` puts its bytes on disk before it gets its name, which
    takes 8 ms."""
    temporary = temporary or path + "." + str(os.getpid()) + ".tmp"
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            write(fd)
            if mode != 0o600:
                os.chmod(fd, mode)
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(temporary, path)
    except BaseException as error:
        try:
            os.unlink(temporary)
        except OSError:
            pass  # it was never made, or has its name already; the error that matters is on its way
        if isinstance(error, OSError):
            error.filename = path  # a full disk names none
        raise


def append_text(path: str, text: str) -> None:
    """Append whole lines. A last line that a kill cut short is closed first, so that it corrupts no other."""
    fd = _open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW)
    try:
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":
            text = "\n" + text
        write_all(fd, encoded(text))
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


class Patience:
    """The time that this process still has for waiting on locks (seconds). A command waits without end; a hook gives up early, and its work
    is done at the next chance."""

    __slots__ = ("left_s",)

    def __init__(self) -> None:
        self.left_s = float("inf")

    def next_s(self, most_s: float = LOCK_WAIT_S) -> float:
        """Return how long the next lock may take."""
        return min(most_s, self.left_s)

    def spend_since(self, began: float) -> None:
        """Subtract the time since then (time.monotonic)."""
        self.left_s = max(0.0, self.left_s - (time.monotonic() - began))


patience = Patience()


class LockTimeout(PopkitError, OSError):
    """Another process held a lock for longer than this one waits."""


# The system's locks keep processes apart, not threads: (process, path) -> what keeps its threads apart.
_threads: dict = {}


class Lock:
    """An exclusive lock on a file beside the state, between processes and between the threads of each; where the system has no such locks,
    between threads alone. It waits `wait_s` seconds for others."""

    __slots__ = ("fd", "path", "thread", "wait_s")

    def __init__(self, path: str, wait_s: float = LOCK_WAIT_S):
        self.path = path
        self.fd = -1
        self.thread = _threads.setdefault((os.getpid(), path), RLock())
        self.wait_s = wait_s

    def __enter__(self) -> Lock:
        if not self.thread.acquire(False):
            self._wait(lambda left_s: self.thread.acquire(True, left_s))
        try:
            self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            if not self._is_ours():
                self._wait(self._try_until)
        except BaseException:
            self._release()
            raise
        return self

    def _is_ours(self) -> bool:
        """Try to lock the file; return whether no other process holds it."""
        if hasattr(os, "lockf"):  # `fcntl.flock` would do as well, but is a module more to load
            try:
                os.lockf(self.fd, os.F_TLOCK, 0)
            except (BlockingIOError, PermissionError):
                return False
            except OSError:
                pass  # a file system without locks: better none than no record
        return True

    def _try_until(self, left_s: float) -> bool:
        """Try again and again for `left_s` seconds; return whether the lock is ours."""
        until = time.monotonic() + left_s
        while True:
            time.sleep(_POLL_S)
            if self._is_ours():
                return True
            if time.monotonic() > until:
                return False

    def _wait(self, comes_within: Callable[[float], bool]) -> None:
        """Wait for the lock; LockTimeout where it does not come in the time that this process may wait."""
        began, wait_s = time.monotonic(), patience.next_s(self.wait_s)
        try:
            if not comes_within(wait_s):
                raise LockTimeout(f"held for more than {wait_s:g} s: {self.path}")
        finally:
            patience.spend_since(began)

    def __exit__(self, kind: type[BaseException] | None, *_exc: object) -> None:
        self._release()

    def _release(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        self.thread.release()


def lock_of(path: str, wait_s: float = LOCK_WAIT_S) -> Lock:
    """Return the lock of a file that is replaced as a whole: it is on a file beside it."""
    return Lock(path + ".lock", wait_s)


def spill(path: str, text: str) -> None:
    """Keep a text in a file beside another, for the next process that gets the lock of that one."""
    replace_text(f"{path}{_SPILLED}{time.time_ns():020}-{os.getpid()}", text)


def spilled(path: str) -> list[str]:
    """Return the files that `spill` has left beside a file, oldest first."""
    folder, _, name = path.rpartition("/")
    return [folder + "/" + entry for entry in names(folder) if entry.startswith(name + _SPILLED) and not entry.endswith(".tmp")]


def remove(path: str) -> None:
    """Delete a file, unless another process has."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def names(folder: str) -> list[str]:
    """Return the names in a folder, sorted; none where it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except (OSError, ValueError):
        return []


def remove_empty(folder: str) -> None:
    """Remove a folder, unless something is in it."""
    try:
        os.rmdir(folder)
    except OSError:
        pass


def size_of(path: str) -> int:
    """Return the bytes of the file at a path, or of the one that a link there leads to; 0 where there is none."""
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0


def stamp_of(path: str) -> list[int] | None:
    """Return [mtime in ns, size, inode] of a file; None where there is none."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return [stat.st_mtime_ns, stat.st_size, stat.st_ino]


def is_folder(path: str) -> bool:
    """Return whether there is a folder at a path, or a link to one."""
    try:
        return os.stat(path).st_mode & _KIND == _FOLDER
    except (OSError, ValueError):
        return False


def is_there(path: str) -> bool:
    """Return whether anything has this name, a link that leads nowhere too."""
    try:
        os.lstat(path)
    except (OSError, ValueError):
        return False
    return True
