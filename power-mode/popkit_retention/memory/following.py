"""Use strengthens: an item that was of use is reinforced, at most once in a session. It was of use where somebody opened or restored it,
and where a session followed it: memory showed it, and the assistant wrote its name soon after.

The name of a path is its file's, that of a command the whole of it; any other text has the names in it that look like code. A text
without such a name cannot be seen to be followed: only opening or restoring it shows that it was of use.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hooks.utils.state.memory_text import HEAD, commands_in, paths_in

from .items import ACCESSES_KEPT, COMMAND, NAME, PATH, Shown
from .stores import Batch, Change, listed, mapping
from .transitions import ACTIVE_HOURS, HOUR_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .extraction import Returned
    from .items import Item
    from .stores import Store

REQUESTS = 10  # so soon after it was shown an item is followed, if at all
APART_S = ACTIVE_HOURS * HOUR_S  # where nobody says which session it is, uses so close together are of one

_CHARS = 20_000  # of one request's text
_TITLE = HEAD.partition("\n")[0]
_COMMAND = re.compile(r"\bpopkit(?:\.py)?['\"]?\s+memory\s+(?:search|list|why)\b")
_TOOL = "memory_search"
_WORD = re.compile(r"[\w.@~/-][\w./:@~-]*")
_AROUND = ".:-/@~"
_LINES = re.compile(r":\d.*")
# Part of a word that stands in code rather than in prose.
_CODE = re.compile(r"[/_]|\w\.\w{2}|[a-z][A-Z]|^--\w|[A-Za-z]\d|\d[A-Za-z]")
_LEAST = 4  # characters of a name: shorter ones are written by chance
_BEGINNING = 60  # characters of a text by which it is recognised


class Showings:
    """Everything that memory showed in one session."""

    def __init__(self) -> None:
        self._texts: list[tuple[int, str]] = []  # with the number of requests that there were before
        self._wrote: list[str] = []  # by request

    def give(self, text: str) -> None:
        """Take in what a hook gave the assistant."""
        if _TITLE in text:
            self._texts.append((len(self._wrote), text))

    def see(self, returned: Returned) -> None:
        """Take in a completed call."""
        command = returned.call.tool_input.get("command")
        if returned.call.tool.endswith(_TOOL) or (isinstance(command, str) and _COMMAND.search(command)):
            self._texts.append((len(self._wrote), returned.text))

    def write(self, request: int, text: str) -> None:
        """Take in a text that the assistant wrote in a request (numbered from 1)."""
        self._wrote += [""] * (request - len(self._wrote))
        self._wrote[request - 1] = "\n".join(filter(None, (self._wrote[request - 1], text)))[:_CHARS]

    def all(self) -> tuple[Shown, ...]:
        """Return what was shown, in order, each with what was written in the requests after it."""
        return tuple(Shown(text, "\n".join(self._wrote[at : at + REQUESTS])) for at, text in self._texts)


def followed(shown: Sequence[Shown], items: Iterable[Item]) -> list[str]:
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


def reinforcement(item: Item, at: float) -> Change:
    """Return the change of an item that was of use at a time (seconds)."""
    return Change(item.id, {"reinforced": sorted([*item.reinforced, at])[-ACCESSES_KEPT:]}, {"reinforcements": 1})


def reinforce(store: Store, items: Sequence[Item], session: str, at: float) -> None:
    """Reinforce items that were of use in a session ("": in none that is known), except those that it has made or reinforced already."""
    for item in items:
        known = opened_in(store, item.project, session) if session else set()
        lesson = mapping(store.value(f"lesson:{item.project}:{session}")) if session else {}
        counted = {item.episode, *known, *mapping(lesson.get("writes")), *listed(lesson.get("followed"))}
        if session in counted or item.id in counted if session else at - max(item.reinforced, default=-APART_S) < APART_S:
            continue
        values: dict[str, object] = {key_of(item.project, session): sorted({*known, item.id})} if session else {}
        store.write(Batch(change=[reinforcement(item, at)], values=values))


def opened_in(store: Store, project: str, session: str) -> set[str]:
    """Return the ids of the items that were reinforced during a session, before it was learnt."""
    return set(listed(store.value(key_of(project, session))))


def key_of(project: str, session: str) -> str:
    """Return the key of what was reinforced during a session that is not learnt yet."""
    return f"opened:{project}:{session}"
