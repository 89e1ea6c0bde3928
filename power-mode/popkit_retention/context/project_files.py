"""The files of a project as a source of builds. Nothing is read outside the project's folder, nothing but text, and no file whose name
suggests secrets."""

from __future__ import annotations

import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from popkit_retention.core.policy.masking import mask

from .secret_files import is_secret
from .signatures import outline
from .sources import FileText

MOST_BYTES = 128 * 1_024
_PATH_CHARS = 4_096
_FILES = 128  # kept in memory
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening a pipe would block until its other end is opened.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LOST_SHARE = 0.01  # of the characters of a text that is not UTF-8


class ProjectFiles:
    """The files of one project's folder, as a FileSource that threads may share. A file is read again when it has changed.

    A path comes from a conversation, so it is hostile. It is opened component by component, following no link, so that nothing that is
    swapped meanwhile leads out; a link that stays inside is resolved first and then opened in the same way.
    """

    def __init__(self, folder: str, outlined: Callable[[str, str], str] = outline) -> None:
        """`folder` is named by the user and may be a link itself; "" reads nothing. `outlined`: the outline of a text by its path."""
        self._folder = folder.rstrip("/")
        self._root = _real(folder)
        self._known: OrderedDict[str, FileText] = OrderedDict()
        self._lock = threading.Lock()
        self._outlined = outlined
        self._outlines: OrderedDict[tuple[str, str], str] = OrderedDict()  # by path and stamp

    def read(self, path: str, with_outline: bool = False) -> FileText | None:
        """Return the file that a path means, relative to the project or absolute in it; None for a path outside the project, a folder, a
        file that is missing, is not text, is larger than MOST_BYTES or may hold secrets."""
        with self._lock:
            return self._read(path, with_outline)

    def _read(self, path: str, with_outline: bool) -> FileText | None:
        try:
            parts = self._parts(path)
            opened = self._opened(parts) if parts else None
            if opened is None and parts:
                parts = self._parts(os.path.realpath(os.path.join(self._root, *parts)))  # there may be links in it
                opened = self._opened(parts) if parts else None
        except (OSError, ValueError):  # missing, unreadable, or not a valid file name
            return None
        if opened is None or parts is None:
            return None
        fd, status = opened
        try:
            file = self._file("/".join(parts), fd, status)
        except OSError:
            return None
        finally:
            os.close(fd)
        return file._replace(outline=self._outline(file)) if file is not None and with_outline else file

    def _outline(self, file: FileText) -> str:
        """Return a file's outline, remembered also where there is none: a parser may take a tenth of a second to find that out."""
        key = (file.path, file.stamp)
        if key not in self._outlines:
            while len(self._outlines) >= _FILES:
                self._outlines.popitem(last=False)
            self._outlines[key] = self._outlined(file.text, file.path)
        return self._outlines[key]

    def _parts(self, path: str) -> list[str] | None:
        """Return the components of a path below the project's folder; None for one that leads out of it, or to a secret."""
        if not self._root or not path or len(path) > _PATH_CHARS or "\0" in path:
            return None
        if path.startswith("/"):
            for folder in (self._folder, self._root):
                if path.startswith(folder + "/"):
                    path = path[len(folder) + 1 :]
                    break
            else:
                return None
        parts = [part for part in os.path.normpath(path).split("/") if part not in ("", ".")]
        return None if not parts or ".." in parts or is_secret(parts) else parts

    def _opened(self, parts: Sequence[str]) -> tuple[int, os.stat_result] | None:
        """Return (descriptor, status) of a regular file below the folder; None where a component is a link. OSError for anything else."""
        folder = os.open(self._root, _FOLDER & ~os.O_NOFOLLOW)
        try:
            for part in parts[:-1]:
                if stat.S_ISLNK(os.lstat(part, dir_fd=folder).st_mode):
                    return None
                inner = os.open(part, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = inner
            status = os.lstat(parts[-1], dir_fd=folder)
            if stat.S_ISLNK(status.st_mode):
                return None
            if not stat.S_ISREG(status.st_mode):
                raise OSError("no regular file")
            fd = os.open(parts[-1], _FILE, dir_fd=folder)
        finally:
            os.close(folder)
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):  # it has been swapped since
            os.close(fd)
            raise OSError("no regular file")
        return fd, status

    def _file(self, path: str, fd: int, status: os.stat_result) -> FileText | None:
        stamp = f"{status.st_ino:x}-{status.st_size:x}-{status.st_mtime_ns:x}-{status.st_ctime_ns:x}"
        known = self._known.get(path)
        if known is not None and known.stamp == stamp:
            self._known.move_to_end(path)
            return known
        text = _text(_bytes(fd)) if status.st_size <= MOST_BYTES else None
        if text is None:
            return None
        while len(self._known) >= _FILES:
            self._known.popitem(last=False)
        file = self._known[path] = FileText(path, _masked(text), "", stamp)
        return file


def _bytes(fd: int) -> bytes:
    """Return a file's bytes, at most one more than MOST_BYTES: it may grow while it is read."""
    pieces, left = [], MOST_BYTES + 1
    while left > 0:
        piece = os.read(fd, left)
        if not piece:
            break
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _text(data: bytes) -> str | None:
    """Return the text of a file's bytes; None where they are not text, or too many."""
    if len(data) > MOST_BYTES or b"\0" in data:
        return None
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").replace("\r\n", "\n")
    lost = text.count("\ufffd")
    return text if lost <= len(text) * _LOST_SHARE else None


def _masked(text: str) -> str:
    """Return a text without its secrets, masked paragraph by paragraph, which takes a quarter of the time: most have nothing that looks
    like one. A sealed block may have an empty line in it."""
    pieces: list[str] = []
    for piece in text.split("\n\n"):
        if pieces and pieces[-1].count("-----BEGIN") > pieces[-1].count("-----END"):
            pieces[-1] += "\n\n" + piece
        else:
            pieces.append(piece)
    return "\n\n".join(map(mask, pieces))


def _real(folder: str) -> str:
    """Return a folder with its links resolved; "" for no folder, or an invalid name."""
    try:
        return os.path.realpath(folder) if folder else ""
    except (OSError, ValueError):
        return ""
