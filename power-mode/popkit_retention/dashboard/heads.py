"""What the beginning of a transcript tells: where its session began, and with which words. Kept, since a beginning does not change."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from hooks.utils.answers import text
from hooks.utils.edges import files
from hooks.utils.host import entries
from hooks.utils.policy.masking import mask

if TYPE_CHECKING:
    from collections.abc import Iterator

BYTES = 256 * 1024
TITLE = 120  # columns
_KEPT = 20_000
_OF_A_CONVERSATION = ("user", "assistant", "system", "attachment")


class Head(NamedTuple):
    """The folder in which a session began and its user's first words, masked and cut; "" for what is not told."""

    project: str = ""
    title: str = ""


_known: dict[str, tuple[int, int, Head]] = {}


def head_of(path: str) -> Head:
    """The Head of a transcript; an empty one where it cannot be read."""
    try:
        stat = os.stat(path)
        length = min(stat.st_size, BYTES)
        node, seen, head = _known.get(path, (0, -1, Head()))
        if node != stat.st_ino or (seen != length and not head.title):
            head = _read(path)
            if len(_known) >= _KEPT:
                _known.clear()
            _known[path] = (stat.st_ino, length, head)
        return head
    except (OSError, ValueError):
        return Head()


def _read(path: str) -> Head:
    project = None
    for entry in _entries(path):
        if project is None and isinstance(entry.get("uuid"), str) and entry.get("type") in _OF_A_CONVERSATION:
            project = entry["cwd"] if isinstance(entry.get("cwd"), str) else ""
        if entries.is_prompt(entry):
            title = text.clean(mask(_words(entry)[: 8 * TITLE])).strip()
            return Head(project or "", text.cut(title, TITLE))
    return Head(project or "")


def _entries(path: str) -> Iterator[dict[str, Any]]:
    left = BYTES
    with files.open_regular(path) as file:
        while left > 0 and (line := file.readline(left)):
            left -= len(line)
            entry = entries.entry_of(line)
            if entry is not None:
                yield entry


def _words(entry: dict[str, Any]) -> str:
    content = entry["message"]["content"]
    if isinstance(content, str):
        return content
    return " ".join(block["text"] for block in entries.blocks_of(entry) if isinstance(block.get("text"), str))
