"""Find the files of a commit in its transcript, without asking git or reading a file.

It tells what was edited since the commit before, what was staged or named, and what `git status` listed. Files that something else has
changed (a script, a subagent) it may not know: what was read of them stays.
"""

from __future__ import annotations

from .calls import Call
from .masking import mask
from .parts import UNKNOWN, lies_in, normal_path
from .tools import EDITS

# Options of `git commit` that take the next word; of a cluster of letters what follows one of these is its value.
_VALUES = frozenset(
    "--message --file --author --date --template --fixup --squash --reuse-message --reedit-message --cleanup --trailer".split()
)
_VALUE_LETTERS = "mFCct"
_ALL = ("-A", "--all", "-u", "--update", "--no-ignore-removal")
_STATES = frozenset(" MTADRCU?")
_LONG = ("modified:", "new file:", "deleted:", "renamed:", "both modified:", "typechange:")


class Commits:
    """The files changed since the last commit; fed with every completed call, in order."""

    __slots__ = ("changed", "cwd", "last", "staged")

    def __init__(self) -> None:
        self.changed: dict[str, None] = {}  # path -> None, in order
        self.staged: dict[str, None] = {}  # likewise
        self.last: list[str] = []  # files of the last commit
        self.cwd = ""  # that the call before left behind

    def files_of(self, call: Call, text: str) -> list[str] | None:
        """Return the files of the commits that a call made, as absolute paths; None for a call that made none. `text` is what it
        returned."""
        cwd, self.cwd = self.cwd or call.cwd, call.cwd or self.cwd
        if call.outcome.error:
            return None
        if call.operation in EDITS:
            if call.path:
                self.changed[_path(call.path, cwd)] = None
            return None
        return self._line(call.traits.as_posix(call.command), cwd, text) if "git" in call.command else None

    def _line(self, command: str, cwd: str, text: str) -> list[str] | None:
        from .classify import COMMAND_CHARS
        from .commandline import bash

        files: list[str] | None = None
        for action in bash.actions(command[:COMMAND_CHARS], cwd):
            if action.name.startswith("git status"):
                self._list(text, cwd)
            if not action.changes:
                continue
            folder, _, words = action.changes
            if words[0] == "commit":
                files = sorted({*(files or ()), *self._commit(words, folder), *_printed(text, folder)})
            elif words[0] in ("add", "stage", "rm", "mv"):
                self._stage(words, folder)
        return files

    def _stage(self, words: list[str], folder: str) -> None:
        paths = [word for word in words[1:] if word[:1] != "-"]
        if paths:
            self.staged.update(dict.fromkeys(self._below(paths, folder)))
        elif any(word in _ALL for word in words):
            self.staged.update(self.changed)

    def _commit(self, words: list[str], folder: str) -> list[str]:
        paths, takes_all = _committed_paths(words)
        if takes_all:
            files = [*self.staged, *self.changed]
        elif paths:
            files = self._below(paths, folder)
        else:
            files = list(self.staged or self.changed)
        if "--amend" in words:
            files += self.last
        for path in files:
            self.staged.pop(path, None)
            self.changed.pop(path, None)
        self.last = files
        return files

    def _below(self, paths: list[str], folder: str) -> list[str]:
        """Return the files that paths name: themselves, but for the folder, and what has changed below them."""
        roots = [root for root in (_path(path, folder) for path in paths) if not root.startswith(UNKNOWN)]
        below = [path for path in self.changed if any(lies_in(path, root) for root in roots)]
        return [*(root for root in roots if root != folder), *below]

    def _list(self, text: str, folder: str) -> None:
        """Take in what `git status` says, in its long or its short form."""
        for line in text.splitlines():
            entry = line.strip()
            name = next((entry[len(head) :] for head in _LONG if entry.startswith(head)), "") if line[:1] == "\t" else ""
            if line[:1] == "\t" and not name:
                name = entry  # untracked
            elif not name and line[2:3] == " " and line[:2] != "  " and _STATES.issuperset(line[:2]):
                name = line[3:]
            if name:
                self.changed[_path(name.rpartition(" -> ")[2].strip().strip('"'), folder)] = None


def _printed(text: str, folder: str) -> list[str]:
    """Return the files that `git commit` names when it has made one: those that came and those that went."""
    commits = []
    for line in text.splitlines():
        kind, _, rest = line.strip().partition(" mode ")
        if line[:1] == " " and kind in ("create", "delete") and rest[:6].isdigit():
            commits.append(_path(rest[7:].strip('"'), folder))
    return commits


def _committed_paths(words: list[str]) -> tuple[list[str], bool]:
    """Return (the paths that a `git commit` names, whether it takes all that has changed)."""
    paths: list[str] = []
    takes_all, at = False, 1
    while at < len(words):
        word = words[at]
        if word == "--":
            return paths + words[at + 1 :], takes_all
        if word in _VALUES:
            at += 1
        elif word[:2] == "--":
            takes_all = takes_all or word == "--all"
        elif word[:1] == "-":
            letters = word[1:]
            value = next((place for place, letter in enumerate(letters) if letter in _VALUE_LETTERS), len(letters))
            takes_all = takes_all or "a" in letters[:value]
            at += value == len(letters) - 1
        else:
            paths.append(word)
        at += 1
    return paths, takes_all


def _path(path: str, folder: str) -> str:
    """Return a path as the engine names it."""
    return mask(normal_path(path, folder), tell_apart=True)
