"""Read the parts of a working tree that git commands show or change. Pure.

What is shown depends on the files on disk, on what is staged, or only on the commit that is checked out. What names its commits by their
hashes depends on none of these. A word that may be a branch or a path is taken to be a path, so that less ends it; but only what has the
same word covers it.
"""

from __future__ import annotations

from ..parts import TREE, normal_path
from .command import word_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parts import Part
    from .action import Changes, Move

FILES, INDEX, HEAD = "files", "index", "head"
_CHANGES = {
    **dict.fromkeys("add stage rm mv restore apply clean stash".split(), (FILES, INDEX)),
    **dict.fromkeys("commit checkout switch reset merge rebase pull cherry-pick revert am".split(), (FILES, INDEX, HEAD)),
}
# What many have as their own names of commands.
_ALIASES = {"co": "checkout", "sw": "switch"}
# With these a patch is looked at, or goes to the index alone.
_NO_FILES = frozenset(("--stat", "--numstat", "--summary", "--check", "--cached", "--dry-run"))
_LOOKING = (["stash", "list"], ["stash", "show"])
_OF_HEAD = frozenset(("log", "shortlog", "describe", "rev-parse"))
_REVISIONS = frozenset(("HEAD", "@", "FETCH_HEAD", "ORIG_HEAD", "main", "master", "develop", "trunk"))
# Options of `git reset` with which files change, too.
_OF_FILES = frozenset(("--hard", "--keep", "--merge"))
_MOST_PATHS = 64
_HEX = frozenset("0123456789abcdef")


def changes(words: list[str], cwd: str) -> Changes | None:
    """Return (folder, what changes, the words) of a git command, given by its words without the options of git itself; None for one that
    changes nothing."""
    changed = _CHANGES.get(_ALIASES.get(words[0], words[0])) if words and words[:2] not in _LOOKING else None
    return (cwd, changed, words) if changed else None


def move(words: list[str], cwd: str) -> Move | None:
    """Return (folder, how, name) of a git command that puts other files into the working tree than those of its branch and the edits
    since, or puts them back: `stash`, `unstash`, `to` a branch or commit, `perhaps` to one, if that is its name and not a file's, `back` to
    the one before, `again` from one to that before, `named`: a new branch for the same tree. None for any other."""
    command, *rest = words or [""]
    command = _ALIASES.get(command, command)
    named = [word for word in rest if word[:1] != "-"]
    if command == "stash":
        if not named or named[0] in ("push", "save"):
            return cwd, "stash", ""
        return (cwd, "unstash", "") if named[0] in ("pop", "apply") else None
    if command in ("checkout", "switch"):
        if command == "checkout" and ("--" in rest or (len(named) > 1 and not _makes_branch(rest))):
            return (cwd, "to", " ".join(named)) if named and rest[:1] != ["--"] and named[0] not in ("HEAD", "@") else None
        if not _makes_branch(rest):
            if rest[:1] == ["-"] or "@{-1}" in rest:
                return cwd, "back", ""
            is_path = command == "checkout" and named and _has_extension(named[0]) and not _is_revision(named[0])
            return (cwd, "perhaps" if is_path else "to", named[0]) if named and named[0] not in ("HEAD", "@", ".") else None
        return (cwd, "to" if len(named) > 1 else "named", named[0]) if named else None
    if command == "restore":
        return _restored(rest, cwd)
    if command == "apply":
        return _patched(rest, cwd)
    if command == "reset" and not _OF_FILES.isdisjoint(rest):
        if named and named[0] in ("ORIG_HEAD", "HEAD@{1}", "@{1}"):
            return cwd, "back", ""
        return (cwd, "to", named[0]) if named and named[0] not in ("HEAD", "@") else None
    if command == "bisect" and named and named[0] != "log":
        return cwd, "to", " ".join(["bisect", *rest])
    return None


def _restored(rest: list[str], cwd: str) -> Move | None:
    """Return the move of `git restore`, which takes files from a commit that is named."""
    source, paths, at = "", [], 0
    while at < len(rest):
        word = rest[at]
        at += 1
        name, equals, value = word.partition("=")
        if name in ("-s", "--source"):
            source = value if equals else word_at(rest, at)
            at += not equals
        elif word[:2] == "-s":
            source = word[2:]
        elif word[:1] != "-":
            paths.append(word)
    is_of_files = not ("--staged" in rest or "-S" in rest) or "--worktree" in rest or "-W" in rest
    return (cwd, "to", " ".join([source, *paths])) if is_of_files and source not in ("", "HEAD", "@") else None


def _patched(rest: list[str], cwd: str) -> Move | None:
    """Return the move of a patch: taken back it makes another tree, which ends where it is applied again."""
    if not _NO_FILES.isdisjoint(rest):
        return None
    name = " ".join(["without", *[word for word in rest if word[:1] != "-"]])
    return cwd, "to" if any(word[:2] == "-R" or word == "--reverse" for word in rest) else "again", name


def move_of_other(words: list[str], cwd: str) -> Move | None:
    """Return the same for programs other than git."""
    named = [word for word in words[1:] if word[:1] != "-"]
    if words[0] == "patch":
        return _patched(words[1:], cwd)
    if words[0] == "gh" and named[:2] == ["pr", "checkout"]:
        return cwd, "to", " ".join(named[1:])
    if words[0] in ("hg", "sl", "svn", "jj") and named[:1] and named[0] in ("update", "up", "checkout", "co", "goto", "switch", "edit"):
        return cwd, "to", " ".join(words[2:])
    return None


def _has_extension(name: str) -> bool:
    """Return whether a name is that of a file, and of no version."""
    last = name.rpartition("/")[2].rpartition(".")
    return name == "." or bool(last[1] and last[2][:1].isalpha() and last[2].isalnum() and not last[0][-1:].isdigit())


def _makes_branch(rest: list[str]) -> bool:
    return any(word in ("-b", "-B", "-c", "-C", "--create", "--orphan") for word in rest)


def part_of(part: Part, words: list[str], cwd: str) -> Part:
    """Return the part of a git command that shows something, its plain part where the output does not change or is unknown."""
    on = None if part[0].endswith("@?") else _shown(words, cwd)
    return (TREE, [part[0], *on, *part[1]]) if on else part


def without_paths(words: list[str], targets: list[str]) -> list[str]:
    """Return the targets of a git command that may be something else than paths, for a command limited to paths."""
    if words[0] == "status":
        return []
    if "--no-index" in words:
        return targets
    before = targets[: targets.index("--")] if "--" in targets else targets
    revisions = [target for target in before if "--" in targets or _is_revision(target) or _may_be_branch(target)]
    return revisions if words[0] == "diff" and not _is_of_commits(revisions) else targets


def _is_of_commits(revisions: list[str]) -> bool:
    """Return whether a difference is one between commits, and of no working tree."""
    return len(revisions) > 1 or any(map(_is_range, revisions))


def _shown(words: list[str], cwd: str) -> list[str] | None:
    """Return [what it depends on, the paths that it is about]; None for nothing that changes."""
    command = words[0] if words else ""
    at = words.index("--") if "--" in words else len(words)
    named, paths = [word for word in words[1:at] if word[:1] != "-"], words[at + 1 :]
    if command == "status":
        return [FILES, *_roots(named + paths, cwd)]
    if command == "diff" and "--no-index" not in words:
        revisions = [word for word in named if at < len(words) or _is_revision(word)]
        if _is_of_commits(revisions):
            return None if all(map(_is_certain, revisions)) else [HEAD, cwd]
        on = INDEX if "--cached" in words or "--staged" in words else FILES
        return [on, *_roots([word for word in named if word not in revisions] + paths, cwd)]
    if command == "show":
        return [HEAD, cwd] if not named or any(word.startswith(("HEAD", "@")) for word in named) else None
    if command in _OF_HEAD:
        return None if named and all(map(_is_certain, named)) else [HEAD, cwd]
    return None


def _roots(paths: list[str], cwd: str) -> list[str]:
    return [normal_path(path, cwd) for path in paths] if 0 < len(paths) <= _MOST_PATHS else [cwd]


def _may_be_branch(word: str) -> bool:
    return not (word[:1] in ("/", ".") or word[-1:] == "/" or _has_extension(word))


def _is_range(word: str) -> bool:
    return ".." in word and "../" not in word and word != ".."


def _is_revision(word: str) -> bool:
    base = word.partition(":")[0].partition("~")[0].partition("^")[0].partition("@{")[0]
    return _is_range(word) or base in _REVISIONS or word[:2] == "@{" or base.startswith(("origin/", "upstream/")) or _is_hash(base)


def _is_hash(word: str) -> bool:
    return 7 <= len(word) <= 64 and _HEX.issuperset(word)


def _is_certain(word: str) -> bool:
    """Return whether a word names commits by their hashes alone."""
    return all(_is_hash(side.partition(":")[0].partition("~")[0].partition("^")[0]) for side in word.replace("...", "..").split(".."))
