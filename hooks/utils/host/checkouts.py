"""Whether two folders are provably checkouts of one repository on this machine. Files are read, no git is asked, nothing is written.

What a folder says of itself (its origin, where its `.git` leads) proves nothing: anybody can write that into a folder. A linked worktree is
proved by the repository, which lists it: gitrepository-layout(5), worktrees/<id>/gitdir. Submodules and clones cannot be proved.
"""

from __future__ import annotations

from ..edges import files
from ..edges.system import os, parent_of

_KIND, _FOLDER, _REGULAR = 0o170000, 0o040000, 0o100000
_LINE_BYTES = 4_096
_NAMED = "gitdir:"


def same(one: str, other: str) -> bool:
    """Whether the tops of two checkouts are the same folder, or both provably belong to one repository."""
    if one == other or _is_one(one, other):
        return True
    mine, theirs = _repository_of(one), _repository_of(other)
    return bool(mine and theirs) and _is_one(mine, theirs)


def _repository_of(top: str) -> str:
    """The folder of the repository that a checkout provably belongs to; "" for none."""
    from os.path import realpath

    try:
        top = realpath(top)
        dot_git = top + "/.git"
        kind = os.lstat(dot_git).st_mode & _KIND  # a link is no proof
        if kind == _FOLDER:
            return dot_git
        return _listed_in(top, realpath(_led_to(top, _line(dot_git, _NAMED)))) if kind == _REGULAR else ""
    except (OSError, ValueError):
        return ""


def _listed_in(top: str, git_folder: str) -> str:
    """The repository that lists `top` as a worktree in `git_folder`; "" where none does."""
    from os.path import realpath

    common = realpath(_led_to(git_folder, _line(git_folder + "/commondir")))
    back = _led_to(git_folder, _line(git_folder + "/gitdir"))
    listed = parent_of(git_folder) == common + "/worktrees" and back.endswith("/.git") and _is_one(parent_of(back), top)
    return common if listed else ""


def _line(path: str, begins: str = "") -> str:
    """What stands in a file of git's behind its beginning; ValueError for another file."""
    line = (files.read_text(path, _LINE_BYTES) or "").strip("\r\n ")
    if not line.startswith(begins) or len(line) == len(begins) or "\0" in line:
        raise ValueError("no file of git's: " + path)
    return line[len(begins) :].strip(" ")


def _led_to(folder: str, path: str) -> str:
    return path if path.startswith("/") or path[1:3] in (":\\", ":/") else folder + "/" + path


def _is_one(one: str, other: str) -> bool:
    """Whether two paths are one folder, whatever they are called: a link, another case where the disk knows none."""
    try:
        mine, theirs = os.stat(one), os.stat(other)
    except (OSError, ValueError):
        return False
    return (mine.st_dev, mine.st_ino) == (theirs.st_dev, theirs.st_ino) and mine.st_mode & _KIND == _FOLDER
