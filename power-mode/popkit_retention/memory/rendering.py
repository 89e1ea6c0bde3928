"""The text of MEMORY.md: what stands in it, under titles, paths as a map. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hooks.utils.policy.estimate import CHARS_PER_TOKEN, estimate_tokens
from hooks.utils.state.memory import CONTENT

from .items import COMMAND, ERROR, NAME, PATH

_NAMES_WIDTH = 100  # characters of a line of names
HEAD = """# Project memory

From earlier sessions in this project. Files may have moved since.
"""
OTHER = "note"  # where an item of any other kind stands
TITLES = {
    PATH: "Files (names in them)",
    NAME: "Names",
    COMMAND: "Commands that worked",
    ERROR: "Errors and fixes",
    OTHER: "Notes",
}
FENCES = {PATH: "```", NAME: "```", COMMAND: "```sh"}
_TAG = re.compile(r"<(?=[/!?A-Za-z])")


@dataclass
class Entry:
    """What MEMORY.md lists of an item, or of several that are the same. `home`: the folder of a path, the file of a name."""

    kind: str
    text: str
    weight: float
    ids: list[str]
    home: str = ""
    held: bool = False
    sessions: int = 1

    @property
    def path(self) -> str:
        return f"{self.home}/{self.text}" if self.home else self.text


def one_line(text: str) -> str:
    """Return a text as it may stand in a line: nothing in it ends the line, or a fence or a tag around it."""
    if not text.isprintable():
        text = "".join([char if char.isprintable() else " " for char in text])
    return " ".join(_TAG.sub("‹", text.replace("```", "'''")).split())


def size(text: str) -> float:
    """Return the characters that a text counts for: wide ones cost more."""
    return len(text) if text.isascii() else estimate_tokens(text, CONTENT) * CHARS_PER_TOKEN[CONTENT]


def render(entries: list[Entry]) -> str:
    """Return MEMORY.md with these entries; a name stands behind its file where that is listed too."""
    by_kind: dict[str, list[Entry]] = {kind: [] for kind in TITLES}
    files = {entry.path for entry in entries if entry.kind == PATH}
    inside: dict[str, list[str]] = {}
    for entry in entries:
        if entry.kind == NAME and entry.home in files:
            inside.setdefault(entry.home, []).append(entry.text)
        else:
            by_kind[entry.kind].append(entry)
    parts = [HEAD]
    for kind, listed in by_kind.items():
        if listed:
            fence = FENCES.get(kind)
            lines = _LINES[kind](listed, inside)
            parts.append("\n".join([f"\n## {TITLES[kind]}", *([fence] if fence else []), *lines, *(["```"] if fence else []), ""]))
    return "".join(parts)


def _map(entries: list[Entry], inside: dict[str, list[str]]) -> list[str]:
    folders: dict[str, list[str]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.home, entry.text)):
        names = inside.get(entry.path)
        folders.setdefault(entry.home, []).append(f"{entry.text} ({', '.join(sorted(names))})" if names else entry.text)
    return [f"{home or '.'}/: {', '.join(files)}" for home, files in folders.items()]


def _names(entries: list[Entry], inside: dict[str, list[str]]) -> list[str]:
    lines: list[str] = []
    for name in sorted({entry.text for entry in entries}):
        if lines and len(lines[-1]) + len(name) + 2 <= _NAMES_WIDTH:
            lines[-1] += ", " + name
        else:
            lines.append(name)
    return lines


def _plain(entries: list[Entry], inside: dict[str, list[str]]) -> list[str]:
    return sorted(entry.text for entry in entries)


def _bullets(entries: list[Entry], inside: dict[str, list[str]]) -> list[str]:
    return [f"- {text}" for text in _plain(entries, inside)]


_LINES = {PATH: _map, NAME: _names, COMMAND: _plain, ERROR: _bullets, OTHER: _bullets}
