"""Prove that two checkouts belong to one repository.

Only the repository gives that proof: it lists its linked worktrees (worktrees/<id>/gitdir). Submodules and clones cannot be proved.
"""

from __future__ import annotations

from .repository import git_line, target_of
from .system import os, parent_of

# Parts of the mode of a file.
_KIND, _FOLDER, _REGULAR = 0o170000, 0o040000, 0o100000


def are_one(one: str, other: str) -> bool:
    """Return whether the tops of two checkouts are the same folder, or both provably belong to one repository."""
    if one == other or _is_same_folder(one, other):
        return True
    mine, theirs = _proved_repository(one), _proved_repository(other)
    return bool(mine and theirs) and _is_same_folder(mine, theirs)


def _proved_repository(top: str) -> str:
    """Return the folder of the repository that a checkout provably belongs to; "" for none."""
    from os.path import realpath

    try:
        top = realpath(top)
        dot_git = top + "/.git"
        kind = os.lstat(dot_git).st_mode & _KIND  # a link proves nothing
        if kind == _FOLDER:
            return dot_git
        return _listed_in(top, realpath(target_of(top, git_line(dot_git, "gitdir:")))) if kind == _REGULAR else ""
    except (OSError, ValueError):
        return ""


def _listed_in(top: str, git_folder: str) -> str:
    """Return the repository that lists `top` as a worktree in `git_folder`; "" where none does."""
    from os.path import realpath

    common = realpath(target_of(git_folder, git_line(git_folder + "/commondir")))
    back = target_of(git_folder, git_line(git_folder + "/gitdir"))
    listed = parent_of(git_folder) == common + "/worktrees" and back.endswith("/.git") and _is_same_folder(parent_of(back), top)
    return common if listed else ""


def _is_same_folder(one: str, other: str) -> bool:
    """Return whether two paths are one folder under different names: a link, or another case where the disk ignores case."""
    try:
        mine, theirs = os.stat(one), os.stat(other)
    except (OSError, ValueError):
        return False
    return (mine.st_dev, mine.st_ino) == (theirs.st_dev, theirs.st_ino) and mine.st_mode & _KIND == _FOLDER
