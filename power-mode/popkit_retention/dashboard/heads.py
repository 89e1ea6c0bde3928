"""What the beginning of a transcript tells: where its session began, and with which words. Kept, since a beginning does not change."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from hooks.utils import text
from hooks.utils.edges import files
from hooks.utils.hosts.claude_code import entries
from hooks.utils.policy.masking import mask

if TYPE_CHECKING:
    from collections.abc import Iterator

BYTES = 256 * 1024
TITLE = 120  # columns
_KEPT = 20_000
# What an editor or another program around Claude Code puts before a person's own words; its names are no names of markup.
_ENCLOSED = re.compile(r"\s*<([a-z]+[_-][\w-]*)>.*?</\1>", re.DOTALL)
_OF_A_CONVERSATION = ("user", "assistant", "system", "attachment")


class Head(NamedTuple):
    """The folder in which a session began, its user's first words, as they were written, and the name that the user gave it; "" for what is
    not told."""

    project: str = ""
    said: str = ""
    named: str = ""

    @property
    def title(self) -> str:
        """What a page may show as its title: the first words, or its name, as of a session that begins with a summary."""
        return shown(self.said or self.named, TITLE)


@lru_cache(maxsize=8_192)
def shown(words: str, most: int) -> str:
    """A text from outside as a page may show it: on one line, secrets masked, of at most so many columns."""
    return text.cut(text.clean(mask(words)).strip(), most)


_known: dict[str, tuple[int, int, Head]] = {}


def head_of(path: str) -> Head:
    """The Head of a transcript; an empty one where it cannot be read."""
    try:
        stat = os.stat(path)
        length = min(stat.st_size, BYTES)
        node, seen, head = _known.get(path, (0, -1, Head()))
        if node != stat.st_ino or (seen != length and not head.said):
            head = _read(path)
            if len(_known) >= _KEPT:
                _known.clear()
            _known[path] = (stat.st_ino, length, head)
        return head
    except (OSError, ValueError):
        return Head()


def _read(path: str) -> Head:
    project, named = None, ""
    for entry in _entries(path):
        if entry.get("type") == "custom-title" and isinstance(entry.get("customTitle"), str):
            named = entry["customTitle"][: 4 * TITLE]
        if project is None and isinstance(entry.get("uuid"), str) and entry.get("type") in _OF_A_CONVERSATION:
            project = entry["cwd"] if isinstance(entry.get("cwd"), str) else ""
        if entries.is_prompt(entry):
            own = _own(_words(entry))
            if own:
                return Head(project or "", own[: 4 * TITLE], named)
    return Head(project or "", "", named)


def _entries(path: str) -> Iterator[dict[str, Any]]:
    left = BYTES
    with files.open_regular(path) as file:
        while left > 0 and (line := file.readline(left)):
            left -= len(line)
            entry = entries.entry_of(line)
            if entry is not None:
                yield entry


def _words(entry: dict[str, Any]) -> str:
    """What the user said in a prompt; of a command its name and what was said with it."""
    content = entry["message"]["content"]
    if not isinstance(content, str):
        return " ".join(block["text"] for block in entries.blocks_of(entry) if isinstance(block.get("text"), str))
    if content.startswith("<command-"):
        return " ".join(filter(None, (_within(content, name) for name in ("command-name", "command-args")))) or content
    return content


def _own(words: str) -> str:
    """A person's own words in a prompt."""
    at = 0
    while enclosed := _ENCLOSED.match(words, at):
        at = enclosed.end()
    return words[at:].strip()


def _within(content: str, name: str) -> str:
    return content.partition(f"<{name}>")[2].partition(f"</{name}>")[0].strip()
