"""The sources of a project that builds may ask: its files, and its long-term memory where the user has switched that on.

Nothing outside of the project's folder is read, nothing but text, and no file whose name says that it holds secrets: keys, credentials,
environments, and git's own.
"""

from __future__ import annotations

import os
import re
import stat
import threading
import time
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from fnmatch import fnmatchcase

from hooks.utils.io import home
from hooks.utils.policy.masking import mask

from .build_types import FileText, Remembered, Sources
from .signatures import outline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.memory import Memory


_PROJECTS = 16  # known at once


class ProjectSources:
    """The memory and the files of projects, for all builds; of the projects used last."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._known: OrderedDict[str, Sources] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, project: str) -> AbstractContextManager[Sources]:
        return nullcontext(self._of(project) if project else Sources())

    def _of(self, project: str) -> Sources:
        with self._lock:
            sources = self._known.get(project) or Sources(ProjectMemory(self._environ, project), ProjectFiles(project))
            self._known[project] = sources
            self._known.move_to_end(project)
            if len(self._known) > _PROJECTS:
                self._known.popitem(last=False)
            return sources


# --- files ---

MOST_BYTES = 128 * 1_024
_PATH_CHARS = 4_096
_FILES = 128  # that are remembered
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening a pipe would block until its other end is opened.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LOST_SHARE = 0.01  # of the characters of a text in another encoding than UTF-8


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
        """Return the file that a path means, relative to the project or absolute in it; None for one that is outside, a folder, no text,
        larger than MOST_BYTES, of a kind that holds secrets, or not there."""
        with self._lock:
            return self._read(path, with_outline)

    def _read(self, path: str, with_outline: bool) -> FileText | None:
        try:
            parts = self._parts(path)
            opened = self._opened(parts) if parts else None
            if opened is None and parts:
                parts = self._parts(os.path.realpath(os.path.join(self._root, *parts)))  # there may be links in it
                opened = self._opened(parts) if parts else None
        except (OSError, ValueError):  # not there, not readable, or no name that a disk can have
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
    """Return the text of a file's bytes; None where they are no text, or too long."""
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
    """Return a folder without links; "" for none, and for a name that no disk can have."""
    try:
        return os.path.realpath(folder) if folder else ""
    except (OSError, ValueError):
        return ""


# --- memory ---

MOST_MEMORIES = 50  # asked for: little of it fits
REST_S = 300.0  # for so long an unavailable store is not asked again: a server that is down may take long to fail


class ProjectMemory:
    """The memory of the repository that a folder is in, as a MemorySource that threads may share: empty where it is off, does not exist
    yet, or its store is unavailable.

    The store is opened for each query, and closed again: most builds make none, and threads do not share a connection. A query does not
    count as a use of an item, since every request makes one.
    """

    def __init__(self, environ: Mapping[str, str], folder: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._environ = environ
        self._folder = folder
        self._clock = clock
        self._rests_until = float("-inf")

    def relevant(self, request: str, most: int | None) -> Sequence[Remembered]:
        """Return the best memories for a request: an item's score counts in full where it matches best, and half where it does not match.
        Items that an agent has added and no user has accepted are left out."""
        from hooks.utils.state.memory import project_of
        from popkit_retention.memory import Memory, StoreUnavailable

        if self._clock() < self._rests_until:
            return []
        with suppress(OSError, home.NoHome):
            try:
                if project_of(home.popkit_home(self._environ), self._folder).is_on():
                    with closing(Memory.of(self._environ, self._folder, create=False)) as memory:
                        return _best(memory, request)[: MOST_MEMORIES if most is None else most]
            except StoreUnavailable:
                self._rests_until = self._clock() + REST_S
        return []


def _best(memory: Memory, request: str) -> list[Remembered]:
    from popkit_retention.memory.search import search

    matches = search(memory.store, request, memory.project, MOST_MEMORIES)
    best = max([relevance for _, relevance in matches], default=0.0) or 1.0
    relevances = {item.id: relevance / best for item, relevance in matches}
    items = {item.id: item for item in [*(item for item, _ in matches), *memory.list(most=MOST_MEMORIES)]}
    memories = [
        Remembered(item.id, item.text, item.score * (1 + relevances.get(item.id, 0.0)) / 2)
        for item in items.values()
        if item.text.strip() and not item.waits
    ]
    return sorted(memories, key=lambda each: (-each.score, each.id))


# --- files with secrets ---

# In small letters. All files in these folders are secret, whatever their names.
_SECRET_FOLDERS = frozenset((".git", ".hg", ".svn", ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".terraform", ".vault"))
_SECRET_NAMES = (
    ".env", ".env.*", ".env-*", ".env_*", "*.env", ".envrc", ".envrc.*", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf",
    ".htpasswd",
    ".git-credentials", ".dockercfg", ".vault-token", ".boto", ".s3cfg", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key",
    "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.gpg", "*.asc", "*.age", "*.der", "*.tfstate", "*.tfstate.*", "*.tfvars",
    "*.tfvars.json", "credentials", "credentials.*", "credential.*", "secrets", "secrets.*", "secret.*", "*.secret", "*.secrets",
    "*-credentials.json", "client_secret*.json", "service-account*.json", "service_account*.json", "auth.json", ".htaccess", "*.ovpn",
    "*.mobileprovision", "terraform.rc", ".terraformrc", "kubeconfig", "wallet.dat",
)  # fmt: skip
# Endings that editors and people give to the name of a copy.
_COPY_ENDINGS = ("~", ".bak", ".orig", ".old", ".save", ".swp")
# Those of file managers, before the extension: "key copy 2.pem", "key (1).pem".
_COPIED = re.compile(r"(?: \(\d+\)| copy(?: \d+)?)(?=\.[^.]*\Z|\Z)")
_PUBLIC_NAMES = (
    "*.example", "*.sample", "*.template", "*.dist", "*-example", "*-sample", "*-template", "*_example", "*_sample", "*_template", "*.pub",
    "*.py", "*.ts", "*.js", "*.go", "*.rs", "*.java", "*.rb", "*.md",
)  # fmt: skip


def is_secret(parts: list[str]) -> bool:
    """Return whether a path of these components leads to a secret. A disk may take names for the same that differ in case, form, invisible
    characters or dots and spaces at the end."""
    folded = [_folded(part) for part in parts]
    if any(part in _SECRET_FOLDERS for part in folded) or not folded:
        return True
    name = _original(folded[-1])
    if any(fnmatchcase(name, public) for public in _PUBLIC_NAMES):
        return False
    return any(fnmatchcase(name, secret) for secret in _SECRET_NAMES)


def _original(name: str) -> str:
    """Return the name of the file that a name is a copy of, or a copy of a copy."""
    for end in _COPY_ENDINGS:
        if name.endswith(end):
            return _original(name.removesuffix(end))
    if len(name) > 2 and name[0] == name[-1] == "#":  # Emacs' own saves
        return _original(name[1:-1])
    original = _COPIED.sub("", name)
    return name if original == name else _original(original)


def _folded(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name)
    visible = "".join(char for char in plain if unicodedata.category(char) != "Cf")
    return visible.casefold().rstrip(". ").partition(":")[0]
