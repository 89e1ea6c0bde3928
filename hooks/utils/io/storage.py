"""Stores in our folder, as each declares itself.

A store declares its files, how `popkit doctor` checks it and what a person may want to keep, in the constant STORAGE of a module that
`stores` of its feature names, or `popkit_retention/operations/stores.py`.
"""

from __future__ import annotations

from . import files
from .system import join, os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .findings import Check

    # (our folder, the project's folder, the environment, the time in seconds) -> a finding
    Checker = Callable[[str, str, Mapping[str, str], float], Check]

LOGS = "logs and the like"  # the title of small files that belong to no larger store
# What SQLite, locks and atomic writes append to a name, and what they put between it and a process id.
_ENDINGS = ("-journal", "-shm", "-wal", ".lock", ".old", ".tmp")
_BEHIND = (".missed-", ".tmp-")


class Storage:
    """The files of a store. `title`: as a person reads it, shared by stores that are shown as one · `files`: folder below ours ("" for our
    own) -> a regular expression of the paths in it · `check`: what doctor calls · `keep`: how to keep it before it is deleted, in words,
    and the command or the folder for that ({} is our folder) · `stays`: it is the user's, and uninstall leaves it · `proof`: a file of ours
    without which nothing there is ours."""

    __slots__ = ("check", "files", "keep", "proof", "stays", "title")

    def __init__(self, title: str, files: Mapping[str, str], check: Checker | None = None, keep: tuple[str, ...] = (), stays: bool = False,
                 proof: str = ""):  # fmt: skip
        self.title = title
        self.files = files
        self.check = check
        self.keep = keep
        self.stays = stays
        self.proof = proof

    def owns(self, popkit_home: str, path: str) -> bool:
        """Return whether a file is one of these, by its path below our folder."""
        import re

        for folder, pattern in self.files.items():
            inside = path[len(folder) + 1 :] if folder and path.startswith(folder + "/") else "" if folder or "/" in path else path
            if inside and any(re.fullmatch(pattern, name, re.DOTALL) for name in (inside, _stem(inside))):
                return not self.proof or files.is_there(join(popkit_home, self.proof))
        return False

    def bytes_in(self, popkit_home: str) -> int:
        """Return how many bytes it keeps."""
        paths = (path for folder in self.files for path in paths_in(popkit_home, folder))
        return sum(size_of(path) for path in paths if self.owns(popkit_home, below(popkit_home, path)))


def _stem(path: str) -> str:
    """Return a path without what a writer puts behind it: `interpreter.123`, `swept.123.tmp`, `archive.sqlite.missed-1-2`."""
    folder, slash, name = path.rpartition("/")
    for mark in _BEHIND:
        name = name.partition(mark)[0]
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    stem, _, pid = name.rpartition(".")
    return folder + slash + (stem if pid.isdigit() else name)


def paths_in(popkit_home: str, folder: str) -> Iterator[str]:
    """Yield the files below a folder of ours, or directly in our folder for "". No link is followed."""
    from os import walk

    for inside, folders, names in walk(join(popkit_home, folder) if folder else popkit_home):
        if not folder:
            folders.clear()
        yield from [join(inside, name) for name in names]


def below(popkit_home: str, path: str) -> str:
    """Return the path of a file from our folder on."""
    return path[len(popkit_home.rstrip("/")) + 1 :]


def size_of(path: str) -> int:
    """Return the bytes of a file; 0 for one that has just been replaced."""
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
