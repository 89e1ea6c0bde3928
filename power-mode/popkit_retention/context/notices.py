"""Notices of results that left a conversation, which name what is gone in few words. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence

from popkit_retention.core.policy import secret_shapes
from popkit_retention.core.policy.outlines import NAME, PLAIN, outline_of
from popkit_retention.core.policy.placeholder import why

from .dialogue import Changes, Dialogue, Exchange
from .judging import JudgedResult
from .message_records import ParsedMessage

_LABEL_CHARS = 80
# The most characters that the names of a result may have: a share of the result's, but this many in a short one.
_SHARE, _LEAST_CHARS = 0.2, 200
_NAMES = re.compile(NAME)
_is_plain = re.compile(PLAIN).match
# In spoken text, a short word is a name, too, if a sign, a number or a capital in it tells it from others; a word with an ending is a file.
_SHORT_NAMES = re.compile(r"(?<![\w./])(?:(?<!<)~?\.{0,2}/)?[.@]?[A-Za-z0-9_][A-Za-z0-9_\-./:@]{1,190}[A-Za-z0-9_]")
_is_plain_when_spoken = re.compile(r"[A-Za-z][a-z]+(?:[-/][A-Za-z]?[a-z]+)?\Z").match
_is_shaped = re.compile(r"[^_./0-9]*[_./0-9]|.*[a-z0-9][A-Z]").match


class Names:
    """The names in the texts of a conversation, and the number of places of each. `short`: whether short ones count, too."""

    __slots__ = ("_said", "dialogue", "places")

    def __init__(self, dialogue: Dialogue, changes: Changes, short: bool = False) -> None:
        self.dialogue = dialogue
        self._said: dict[Exchange, frozenset[str]] = {}
        self.places: Counter[str] = Counter()
        for parsed in dialogue.sent(changes):
            for text in texts_of(parsed):
                self.places.update(self._in(text))
                self.places.update(self._short_in(text) if short else ())

    def notices(self, leaving: Sequence[JudgedResult]) -> list[tuple[JudgedResult, str]]:
        """Return the notices of results that leave together. A name that leaves with several stays with the newest."""
        for judged in leaving:
            self.places.subtract(self._in(judged.text))
        newest_first = sorted(leaving, key=lambda judged: -judged.result.index)
        names = [
            self.fresh(judged.text, max(_LEAST_CHARS, int(len(judged.text) * _SHARE))) if _shows(judged) else [] for judged in newest_first
        ]
        return [(judged, _notice(judged, fresh)) for judged, fresh in zip(newest_first, harmless(names))]

    def said_in(self, exchange: Exchange) -> frozenset[str]:
        """Return the names in an exchange, and the short ones in its spoken text."""
        if exchange not in self._said:
            said: set[str] = set()
            for parsed in self.dialogue.parsed[exchange.start : exchange.end]:
                said.update(name for text in texts_of(parsed) for name in self._in(text))
                said.update(name for text in parsed.texts for name in self._short_in(text))
            self._said[exchange] = frozenset(said)
        return self._said[exchange]

    def fresh(self, text: str, room: int, short: bool = False) -> list[str]:
        """Return the names in a text that occur nowhere else, in its order, and count them. Where there are too many, the shortest are
        returned."""
        candidates = dict.fromkeys((*self._in(text), *self._short_in(text))) if short else self._in(text)
        is_plain = _is_plain_when_spoken if short else _is_plain
        names = [name for name in candidates if self.places[name] <= 0 and not is_plain(name)]
        chosen = set()
        for name in sorted(names, key=len):
            room -= len(name) + 1
            if room < 0:
                break
            chosen.add(name)
        self.places.update(chosen)
        return [name for name in names if name in chosen]

    def _in(self, text: str) -> tuple[str, ...]:
        """Return the names in a text, each once, in its order."""
        names = self.dialogue.names.get(text)
        if names is None:
            names = self.dialogue.names[text] = tuple(dict.fromkeys(_NAMES.findall(text)))
        return names

    def _short_in(self, text: str) -> tuple[str, ...]:
        """Return the short names in a text, in its order."""
        names = self.dialogue.short_names.get(text)
        if names is None:
            names = self.dialogue.short_names[text] = tuple(filter(_is_shaped, _SHORT_NAMES.findall(text)))
        return names


def _shows(judged: JudgedResult) -> bool:
    """Return whether a notice lists names. For a run, an outline says more."""
    return not judged.result.kind.startswith("run")


def _notice(judged: JudgedResult, names: str) -> str:
    result = judged.result
    label = " ".join("".join(char if char.isprintable() else " " for char in result.label).split())
    label = label if len(label) <= _LABEL_CHARS else label[: _LABEL_CHARS - 1] + "…"
    rest = names if _shows(judged) else outline_of(result, judged.text)
    return f"[PopKit left out {label} ({why(result, judged.quiet)})]" + ("\n" + rest if rest else "")


def harmless(texts: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of several texts as lines, without names that have the shape of a secret."""
    distinct = dict.fromkeys(name for names in texts for name in names)
    harmless = set(secret_shapes.without("\n".join(distinct)).split("\n"))
    return [" ".join(name for name in names if name in harmless) for names in texts]


def texts_of(parsed: ParsedMessage) -> list[str]:
    """Return all texts of a message, each result as one."""
    inputs = [json.dumps(use.input, ensure_ascii=False, default=str) for use in parsed.uses]
    return [*parsed.texts, *inputs, *(result.text for result in parsed.results)]
