"""The text of MEMORY.md: its entries under titles, paths as a tree; and the paths in such a text. Pure."""

from __future__ import annotations

import re

from ..policy.estimate import CHARS_PER_TOKEN, estimate_tokens
from .memory import CONTENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .memory_checks import Fact

PATH, NAME, COMMAND, ERROR, NOTE = "path", "name", "command", "error", "note"
TEST, LINT, BUILD, FORMAT, RUN = PURPOSES = ("test", "lint", "build", "format", "run")
HEAD = "# Project memory\n\nFrom earlier sessions in this project.\n"
MARK = "*"  # behind a file that has changed
LEGEND = f"Files marked {MARK} have changed since.\n"
# In the order in which they are listed; NOTE is where an item of any other kind is listed, too.
TITLES = {
    COMMAND: "Commands that work",
    PATH: "Files (names defined in them)",
    ERROR: "Errors and fixes",
    NOTE: "Notes",
    NAME: "Names",
}
FENCES = {PATH: "```", NAME: "```", COMMAND: "```sh"}
_TAG = re.compile(r"<(?=[/!?A-Za-z])")
_FOLDER = re.compile(r"( *)(?:- )?(\S.*?)/(?:: (.*))?\Z")
_FILES = re.compile(r", (?![^(]*\))")


class Entry:
    """What MEMORY.md lists of an item, or of several that are the same. `home`: the folder of a path, the file of a name, what a command
    is for (one of PURPOSES). `facts`: what has to be so for it to be listed. `changed`: whether its file has changed since. `family`: of a
    command, of which one alone is listed."""

    __slots__ = ("changed", "facts", "family", "held", "home", "ids", "kind", "text", "weight")

    def __init__(
        self, kind: str, text: str, home: str = "", facts: Sequence[Fact] = (), ids: Sequence[str] = (), weight: float = 0.0,
        held: bool = False,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.text = text
        self.home = home
        self.facts = list(facts)
        self.ids = list(ids)
        self.weight = weight
        self.held = held
        self.changed = False
        self.family = ""

    @property
    def said(self) -> str:
        """Return what it says, as others may have said it, too."""
        return self.path if self.kind == PATH else self.text

    @property
    def path(self) -> str:
        """Return the path that an entry of a PATH is, from the top of the repository."""
        return f"{self.home}/{self.text}" if self.home else self.text


def one_line(text: str) -> str:
    """Return a text as it may stand in a line: nothing in it ends the line, or a fence or a tag around it."""
    if not text.isprintable():
        text = "".join([char if char.isprintable() else " " for char in text])
    return " ".join(_TAG.sub("‹", text.replace("```", "'''")).split())


def size(text: str) -> float:
    """Return the characters that a text counts for: wide ones cost more."""
    return len(text) if text.isascii() else estimate_tokens(text, CONTENT) * CHARS_PER_TOKEN[CONTENT]


def render(entries: Iterable[Entry]) -> str:
    """Return MEMORY.md with these entries, "" for none. Names stand behind their file where that is listed too."""
    by_kind: dict[str, list[Entry]] = {kind: [] for kind in TITLES}
    entries = list(entries)
    files = {entry.path for entry in entries if entry.kind == PATH}
    inside: dict[str, list[str]] = {}
    for entry in entries:
        if entry.kind == NAME and entry.home in files:
            inside.setdefault(entry.home, []).append(entry.text)
        else:
            by_kind[entry.kind].append(entry)
    parts = [HEAD + (LEGEND if any(entry.changed for entry in by_kind[PATH]) else "")] if entries else []
    for kind, listed in by_kind.items():
        if listed:
            fence = FENCES.get(kind)
            lines = _LINES[kind](listed, inside)
            parts.append("\n".join([f"\n## {TITLES[kind]}", *([fence] if fence else []), *lines, *(["```"] if fence else []), ""]))
    return "".join(parts)


def folders_above(folders: Iterable[str]) -> set[str]:
    """Return the folders that have a line of their own in a tree: those given, and those in which several of its branches begin."""
    given = set(folders)
    branches: dict[str, set[str]] = {}
    for folder in given:
        names = folder.split("/")
        for depth in range(1, len(names)):
            branches.setdefault("/".join(names[:depth]), set()).add(names[depth])
    return given | {folder for folder, below in branches.items() if len(below) > 1}


def _tree(entries: list[Entry], inside: dict[str, list[str]]) -> list[str]:
    files: dict[str, list[str]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.home, entry.text)):
        names = inside.get(entry.path)
        shown = entry.text + (MARK if entry.changed else "")
        files.setdefault(entry.home, []).append(f"{shown} ({', '.join(sorted(names))})" if names else shown)
    lines, above = [], [""]
    for folder in sorted(folders_above(files), key=lambda folder: folder.split("/")):
        while above[-1] and not folder.startswith(above[-1] + "/"):
            above.pop()
        name = folder[len(above[-1]) + 1 :] if above[-1] else folder or "."
        lines.append(" " * (len(above) - 1) + name + "/" + (f": {', '.join(files[folder])}" if folder in files else ""))
        above += [folder] if folder else []
    return lines


def paths_in(text: str) -> list[str]:
    """Return the paths that the tree in a MEMORY.md lists."""
    found = []
    above: list[tuple[int, str]] = []
    for line in text.split("\n"):
        match = _FOLDER.match(line)
        if not match:
            continue
        depth = len(match[1])
        while above and above[-1][0] >= depth:
            above.pop()
        folder = "" if match[2] == "." else (above[-1][1] + "/" if above else "") + match[2]
        above.append((depth, folder))
        for file in _FILES.split(match[3]) if match[3] else ():
            name = file.partition(" (")[0].rstrip(MARK)
            found.append(f"{folder}/{name}" if folder else name)
    return found


def _commands(entries: list[Entry], inside: dict[str, list[str]]) -> list[str]:
    order = {purpose: place for place, purpose in enumerate(PURPOSES)}
    return [entry.text for entry in sorted(entries, key=lambda entry: (order.get(entry.home, len(order)), entry.text))]


def _names(entries: list[Entry], inside: dict[str, list[str]]) -> list[str]:
    by_file: dict[str, list[str]] = {}
    for entry in entries:
        by_file.setdefault(entry.home, []).append(entry.text)
    return [(f"{home}: " if home else "") + ", ".join(sorted(names)) for home, names in sorted(by_file.items())]


def _bullets(entries: list[Entry], inside: dict[str, list[str]]) -> list[str]:
    return sorted(f"- {entry.text}" for entry in entries)


_LINES = {COMMAND: _commands, PATH: _tree, ERROR: _bullets, NOTE: _bullets, NAME: _names}
