"""Tell which repository a folder belongs to: its worktrees and clones are one project. Reads git's files; runs no git, writes nothing.

git's own layout (gitrepository-layout(5), git-worktree(1)): `.git` is a folder, or a file that leads to one; a worktree's has a `commondir`
that leads to the repository, where the configuration names its `origin`. A folder that is gone, or is another machine's, is identified by
its path alone, and by how Claude Code and others lay out the worktrees that they make.

What a folder says of itself (its origin, where its `.git` leads) is a claim: anybody can write that into a folder. `proof.are_one` asks for
proof.
"""

from __future__ import annotations

import sys

from . import files
from .system import absolute, os, parent_of, sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Bounds: folders of a path, bytes of a `.git` file (one line) and of a configuration.
_DEEPEST = 64
_LINE_BYTES = 4_096
_CONFIG_BYTES = 262_144
# A clone of a clone of a clone.
_ORIGINS = 4
_LONGEST_PATH = 4_096
_NAME_CHARS = 40
_HASH_CHARS = 12
_LEAST_HASH = 40  # characters of a commit's
_KIND, _FOLDER, _LINK = 0o170000, 0o040000, 0o120000
# Where tools keep worktrees: below the repository's folder, or elsewhere under its name.
_BELOW = ("/.claude/worktrees/", "/.worktrees/")
_APART = ("/.claude-worktrees/", "/.cursor/worktrees/", "/conductor/workspaces/")


class Repository:
    """`key`: the same for all checkouts, safe as a file name; a folder only claims it · `root`: the top of this checkout, or the folder
    itself, with `/` everywhere · `name`: what a person calls it · `claimed_by`: the folder whose git files say so, which is above `root`
    for a worktree that is gone."""

    __slots__ = ("claimed_by", "key", "name", "root")

    def __init__(self, key: str, root: str, name: str, claimed_by: str = "") -> None:
        self.key = key
        self.root = root
        self.name = name
        self.claimed_by = claimed_by or root

    def __repr__(self) -> str:
        return f"Repository({self.key!r}, {self.root!r}, {self.name!r})"


def of(folder: str) -> Repository:
    """Return the repository of a folder; where there is none, the folder itself is the project. Never fails."""
    folder = _tidy(folder)
    root, identity, claimed_by = _place(folder, _ORIGINS)
    return _named(identity, root, claimed_by)


def identified_by_path(repository: Repository) -> Repository:
    """Return the same checkout, identified by where it lies, whatever repository it claims to be of."""
    return _named(_real(repository.claimed_by), repository.root, repository.claimed_by)


def _named(identity: str, root: str, claimed_by: str) -> Repository:
    name = identity.rstrip("/").rpartition("/")[2] or "root"
    slug = "".join([char if char.isascii() and char.isalnum() else "-" for char in name]).strip("-")[:_NAME_CHARS] or "project"
    mark = sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    shown = "".join([char if char.isprintable() else "?" for char in name])[:_NAME_CHARS]
    return Repository(f"{slug}-{mark}".lower(), root, shown, claimed_by)


def within(path: str, root: str) -> str | None:
    """Return a path as the repository with a checkout at `root` names it, "" for the top; None for one outside. Other checkouts of it
    count, as far as their paths tell."""
    path, root = _slashed(path), root.rstrip("/")
    homes = [root + "/"]
    for mark in _BELOW:
        before, matched, _ = root.partition(mark)
        if matched:
            homes.append(before + "/")
    inside = next((path[len(home) :] for home in homes if path.startswith(home)), "" if path == root else None)
    if inside is not None:
        for mark in _BELOW:
            before, matched, after = ("/" + inside).partition(mark)
            if matched and not before:
                return after.partition("/")[2]
        return inside
    for mark in _APART:
        before, matched, after = root.partition(mark)
        there = before + mark + after.partition("/")[0] + "/"
        if matched and path.startswith(there):
            return path[len(there) :].partition("/")[2]
    return None


def _slashed(path: str) -> str:
    """Return a path with `/` everywhere, also a path of Windows on another system."""
    if path[1:3] in (":\\", ":/") or path.startswith("\\\\"):
        return path[:1].upper() + path[1:].replace("\\", "/")
    return path


def _tidy(folder: str) -> str:
    """Return an absolute path with `/` everywhere, without detours, of at most the length that a path may have."""
    folder = folder.replace("\0", "")[:_LONGEST_PATH]
    if folder[1:3] in (":\\", ":/") or folder.startswith("\\\\"):
        return _slashed(folder).rstrip("/")
    return absolute(folder or ".").rstrip("/") or "/"


def _place(folder: str, origins: int) -> tuple[str, str, str]:
    """Return (the top of the checkout that a folder lies in, the identity of its repository, the folder whose files say so)."""
    at = folder
    for _ in range(_DEEPEST):
        common = _common_folder(at)
        if common:
            linked = _made_by_tools(folder) if len(at) < len(folder) else None
            # The path of a deleted worktree lies within its repository.
            return (linked[0] if linked and linked[1] == at else at), _identity(common, at, origins), at
        if not at or at == "/" or at.endswith(":"):
            break
        at = parent_of(at) or "/"
    root, identity = _made_by_tools(folder) or (folder, _real(folder))
    return root, identity, identity  # nothing is claimed: its path identifies it


def _made_by_tools(folder: str) -> tuple[str, str] | None:
    """Return (the top of a worktree, the folder that names its repository), where the path has the layout of such tools."""
    for mark in _BELOW:
        before, matched, after = folder.partition(mark)
        if matched and before and after:
            return before + mark + after.partition("/")[0], before
    for mark in _APART:
        before, matched, after = folder.partition(mark)
        project, _, rest = after.partition("/")
        if matched and rest:
            return f"{before}{mark}{project}/{rest.partition('/')[0]}", f"{before}{mark}{project}"
    return None


def _common_folder(top: str) -> str:
    """Return the folder of the repository that a checkout is of; "" where none begins here."""
    dot_git = top.rstrip("/") + "/.git"
    try:
        kind = os.stat(dot_git).st_mode & _KIND
        if kind == _FOLDER:
            return dot_git
        line = files.read_text(dot_git, _LINE_BYTES) or ""
        if not line.startswith("gitdir:"):
            return ""
        git_folder = _led_to(top, line[len("gitdir:") :])
        if os.stat(git_folder).st_mode & _KIND != _FOLDER:
            return ""
        common = files.read_text(git_folder + "/commondir", _LINE_BYTES)
        return _led_to(git_folder, common) if common else git_folder
    except (OSError, ValueError):
        return ""


def head(top: str) -> str:
    """Return the commit that a checkout is at; "" where its files do not tell."""
    common = _common_folder(top)
    try:
        git_folder = common
        if os.stat(top + "/.git").st_mode & _KIND != _FOLDER:
            git_folder = _led_to(top, (files.read_text(top + "/.git", _LINE_BYTES) or "")[len("gitdir:") :])
        content = (files.read_text(git_folder + "/HEAD", _LINE_BYTES) or "").strip()
        if content.startswith("ref: "):
            name = content[len("ref: ") :]
            packed = files.read_text(common + "/packed-refs") or "" if not files.is_there(f"{common}/{name}") else ""
            loose = files.read_text(f"{common}/{name}", _LINE_BYTES) or ""
            content = loose.strip() or next((line.split()[0] for line in packed.splitlines() if line.endswith(" " + name)), "")
    except (OSError, ValueError):
        return ""
    return content if len(content) >= _LEAST_HASH and not content.strip("0123456789abcdef") else ""


def blob_of(data: bytes) -> str:
    """Return git's name for these bytes."""
    name: str = _sha1()(b"blob %d\0" % len(data) + data).hexdigest()
    return name


def _sha1() -> Callable[[bytes], Any]:
    """Return the hash that git names by: OpenSSL's, which is seven times as fast, where `hashlib` has loaded it anyway, which takes as long
    as hashing half a megabyte without it."""
    if "hashlib" not in sys.modules:
        try:
            from _sha1 import sha1  # type: ignore[import-not-found]
        except ImportError:
            pass
        else:
            return sha1
    from hashlib import sha1

    return sha1


def _led_to(folder: str, line: str) -> str:
    path = line.strip("\r\n ")
    return absolute(path if path.startswith("/") else folder + "/" + path)


def _identity(common: str, top: str, origins: int) -> str:
    """Return the identity of a repository: its origin, or where it lies."""
    try:
        url = _origin(files.read_text(common + "/config", _CONFIG_BYTES) or "")
    except OSError:
        url = ""
    if not url:
        return _real(common.removesuffix("/.git"))
    local = _local_path(url, top)
    if not local:
        return _without_extras(url)
    # A clone of a folder is one project with it.
    known = _common_folder(local)
    return _identity(known, local, origins - 1) if known and origins else _real(local)


def _origin(config: str) -> str:
    """Return the first address of the remote "origin" in a git configuration (git-config(1)); "" for none."""
    inside = False
    for line in config.splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line[1:].partition("]")[0].split(None, 1)
            inside = [section[0].lower(), *section[1:]] == ["remote", '"origin"'] if section else False
            line = line.partition("]")[2].strip()
        name, equals, value = line.partition("=")
        if inside and equals and name.strip().lower() == "url":
            return value.strip().strip('"')
    return ""


def _local_path(url: str, top: str) -> str:
    """Return the folder that an address means; "" for one on another machine."""
    if url.startswith("file://"):
        return absolute("/" + url[len("file://") :].partition("/")[2]).rstrip("/")
    head = url.partition("/")[0]
    if "://" in url or ":" in head:
        return ""
    return absolute(url if url.startswith("/") else top + "/" + url).rstrip("/")


def _without_extras(url: str) -> str:
    """Return an address without scheme, user, port and `.git`, in small letters: `git@github.com:A/B.git` is `https://github.com/a/b`."""
    _scheme, separator, rest = url.partition("://")
    if separator:
        host, _, path = rest.partition("/")
        host = host.rpartition("@")[2].partition(":")[0]
    else:
        host, _, path = url.partition(":")
        host = host.rpartition("@")[2]
    path = path.strip("/").removesuffix(".git").rstrip("/")
    return f"{host}/{path}".lower()


def _real(path: str) -> str:
    """Return a path without links; one of another system unchanged."""
    if _is_real(path):
        return path
    from os.path import isabs, realpath  # seldom: `os` costs a session's start 1 ms

    try:
        return realpath(path) if isabs(path) else path
    except (OSError, ValueError):
        return path


def _is_real(path: str) -> bool:
    """Return whether a path is absolute, leads somewhere, and goes over no detour and no link."""
    if not path.startswith("/") or path.endswith("/") or absolute(path) != path:
        return False
    try:
        while path:
            if os.lstat(path).st_mode & _KIND == _LINK:
                return False
            path = parent_of(path)
    except (OSError, ValueError):
        return False
    return True


def git_line(path: str, begins: str = "") -> str:
    """Return the rest of a line in a file of git's after its beginning; ValueError for another file."""
    line = (files.read_text(path, _LINE_BYTES) or "").strip("\r\n ")
    if not line.startswith(begins) or len(line) == len(begins) or "\0" in line:
        raise ValueError("no file of git's: " + path)
    return line[len(begins) :].strip(" ")


def target_of(folder: str, path: str) -> str:
    return path if path.startswith("/") or path[1:3] in (":\\", ":/") else folder + "/" + path
