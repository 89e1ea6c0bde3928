"""The beginning of a session as its transcript has it: the folder, the first words, the name. It does not change, so it is cached."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import Any, NamedTuple

from popkit_retention.core import text
from popkit_retention.core.hosts import recordings
from popkit_retention.core.hosts.transcripts import entries
from popkit_retention.core.io import files
from popkit_retention.core.io.codec import text_in_field
from popkit_retention.core.policy.masking import mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

BYTES = 256 * 1024
TITLE = 120  # columns
_KEPT = 20_000
# What an editor or another program around Claude Code puts before a person's own words; its names are not those of markup.
_ENCLOSED = re.compile(r"\s*<([a-z]+[_-][\w-]*)>.*?</\1>", re.DOTALL)
_OF_A_CONVERSATION = ("user", "assistant", "system", "attachment")


class Head(NamedTuple):
    """The folder in which a session began, its user's first words, as written, and the name that the user gave it; "" where unknown."""

    project: str = ""
    words: str = ""
    name: str = ""

    @property
    def title(self) -> str:
        """Return the title for the page: the first words, or the name, as for a session that begins with a summary."""
        return shown(self.words or self.name, TITLE)


@lru_cache(maxsize=8_192)
def shown(words: str, most: int) -> str:
    """Return a text from outside as the page may show it: on one line, with secrets masked, in at most so many columns."""
    return text.cut(text.clean(mask(words)).strip(), most)


_known: dict[str, tuple[int, int, Head]] = {}


def head_of(path: str) -> Head:
    """Return the Head of a transcript, or of a session in another host's own storage; an empty one where it cannot be read."""
    if recordings.is_address(path):
        return _head_of_stored(path)
    try:
        stat = os.stat(path)
        length = min(stat.st_size, BYTES)
        node, seen, head = _known.get(path, (0, -1, Head()))
        if node != stat.st_ino or (seen != length and not head.words):
            head = _read(path)
            if len(_known) >= _KEPT:
                _known.clear()
            _known[path] = (stat.st_ino, length, head)
        return head
    except (OSError, ValueError):
        return Head()


def _head_of_stored(address: str) -> Head:
    """Return the Head of a session in another host's storage; it is read again until it has a prompt."""
    _, _, head = _known.get(address, (0, -1, Head()))
    if not head.words:
        try:
            head = _read(address)
        except OSError:
            return Head()
        _known[address] = (0, 0, head)
    return head


def _read(path: str) -> Head:
    project, name = None, ""
    for entry in _entries(path):
        if entry.get("type") == "custom-title" and isinstance(entry.get("customTitle"), str):
            name = entry["customTitle"][: 4 * TITLE]
        if project is None and isinstance(entry.get("uuid"), str) and entry.get("type") in _OF_A_CONVERSATION:
            project = text_in_field(entry, "cwd")
        if entries.is_prompt(entry):
            own = _own(_words(entry))
            if own:
                return Head(project or "", own[: 4 * TITLE], name)
    return Head(project or "", "", name)


def _entries(path: str) -> Iterator[dict[str, Any]]:
    left = BYTES
    if _is_translated(path):
        for at, line in entries.lines(path):
            if at > BYTES:
                return
            entry = entries.entry_of(line)
            if entry is not None:
                yield entry
        return
    with files.open_regular(path) as file:
        while left > 0 and (line := file.readline(left)):
            left -= len(line)
            entry = entries.entry_of(line)
            if entry is not None:
                yield entry


def _is_translated(path: str) -> bool:
    if recordings.is_address(path):
        return True
    with files.open_regular(path) as file:
        return entries.translation_of(file) is not None


def _words(entry: dict[str, Any]) -> str:
    """Return the user's words in a prompt; for a command, its name and arguments."""
    content = entry["message"]["content"]
    if not isinstance(content, str):
        return " ".join(block["text"] for block in entries.blocks_of(entry) if isinstance(block.get("text"), str))
    if content.startswith("<command-"):
        return " ".join(filter(None, (_within(content, name) for name in ("command-name", "command-args")))) or content
    return content


def _own(words: str) -> str:
    """Return a person's own words in a prompt."""
    at = 0
    while enclosed := _ENCLOSED.match(words, at):
        at = enclosed.end()
    return words[at:].strip()


def _within(content: str, name: str) -> str:
    return content.partition(f"<{name}>")[2].partition(f"</{name}>")[0].strip()
