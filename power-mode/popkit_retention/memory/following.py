"""Find the items that a session followed: the assistant wrote their names soon after memory showed them.

The name of a path is its file's, that of a command the whole command; the names of any other text are its words that look like code. A text
without such a name cannot be seen to be followed.
"""

from __future__ import annotations

import re

from popkit_retention.core.state.memory_reading import commands_in, paths_in
from popkit_retention.core.state.memory_text import HEAD

from .items import COMMAND, NAME, PATH
from .lessons import Showing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from popkit_retention.core.policy.calls import Call

    from .items import Item

REQUESTS = 10  # within which an item is followed after it was shown

_CHARS = 20_000  # of one request's text
_TITLE = HEAD.partition("\n")[0]
_COMMAND = re.compile(r"\bpopkit(?:\.py)?['\"]?\s+memory\s+(?:admin\s+)?(?:search|list|why)\b")
_TOOL = "memory_search"
_WORD = re.compile(r"[\w.@~/-][\w./:@~-]*")
_AROUND = ".:-/@~"
_LINES = re.compile(r":\d.*")
# A part of a word that shows it to be code rather than prose.
_CODE = re.compile(r"[/_]|\w\.\w{2}|[a-z][A-Z]|^--\w|[A-Za-z]\d|\d[A-Za-z]")
_LEAST = 4  # characters of a name: shorter ones are written by chance
_BEGINNING = 60  # characters of a text by which it is recognised


class Showings:
    """Everything that memory showed in one session."""

    def __init__(self) -> None:
        self._texts: list[tuple[int, str]] = []  # with the number of requests that there were before
        self._wrote: list[str] = []  # by request

    def add_hook_text(self, text: str) -> None:
        """Add a text that a hook added to the conversation."""
        if _TITLE in text:
            self._texts.append((len(self._wrote), text))

    def observe(self, call: Call, text: str) -> None:
        """Observe a completed call, and the text that it returned."""
        command = call.tool_input.get("command")
        if call.tool.endswith(_TOOL) or (isinstance(command, str) and _COMMAND.search(command)):
            self._texts.append((len(self._wrote), text))

    def observe_written(self, request: int, text: str) -> None:
        """Observe a text that the assistant wrote in a request (numbered from 1)."""
        self._wrote += [""] * (request - len(self._wrote))
        self._wrote[request - 1] = "\n".join(filter(None, (self._wrote[request - 1], text)))[:_CHARS]

    def all(self) -> tuple[Showing, ...]:
        """Return everything that was shown, in order, each with what was written in the requests after it."""
        return tuple(Showing(text, "\n".join(self._wrote[at : at + REQUESTS])) for at, text in self._texts)


def followed_ids(shown: Sequence[Showing], items: Iterable[Item]) -> list[str]:
    """Return the ids of those items that were shown and whose names were written in the requests after that."""
    texts = [(_squeezed(each.text), _named_in(each.text), _squeezed(each.wrote), words_of(each.wrote)) for each in shown]
    return [
        item.id
        for item in items
        if any(_is_in(item, text, words) and _is_named(item, wrote, written) for text, words, wrote, written in texts)
    ]


def words_of(text: str) -> set[str]:
    """Return the words of a text, names and paths as they are written, and the last part of each path."""
    words = {_LINES.sub("", word).rstrip(_AROUND) for word in _WORD.findall(text)}
    return words | {word.rpartition("/")[2] for word in words if "/" in word}


def _named_in(text: str) -> set[str]:
    """Return what an answer of memory's names: its words, and the paths and commands that a MEMORY.md writes together."""
    return words_of(text) | set(paths_in(text)) | set(commands_in(text))


def _is_in(item: Item, text: str, words: set[str]) -> bool:
    """Return whether an answer of memory's shows an item."""
    if item.id in words:
        return True
    if item.kind in (PATH, NAME):
        return item.text in words or (item.kind == PATH and item.text.rpartition("/")[2] in words)
    if item.kind == COMMAND and item.text in words:
        return True
    beginning = _squeezed(item.text)[:_BEGINNING]
    return bool(beginning) and beginning in text


def _is_named(item: Item, wrote: str, words: set[str]) -> bool:
    """Return whether the assistant has written the name of an item."""
    if item.id in words:
        return True
    if item.kind == COMMAND:
        return _squeezed(item.text) in wrote
    if item.kind in (PATH, NAME):
        return item.text.rpartition("/")[2] in words
    return any(name in words for name in words_of(item.text) if len(name) >= _LEAST and _CODE.search(name))


def _squeezed(text: str) -> str:
    return " ".join(text.split())
