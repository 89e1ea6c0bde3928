"""The texts in the place of what has left the history: notices of results, and remains of exchanges. Pure.

A notice says what was there, why it left, and the names in it that nothing else shows: most of what is needed again of an old result is a
name (a path, an identifier, a version), and nearly all that only the result held fit into a few hundredths of it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from hooks.utils.policy import secret_shapes
from hooks.utils.policy.outline import NAME, PLAIN, outline_of
from hooks.utils.policy.placeholder import why

from .dialogue import Changes, Dialogue, Exchange
from .judging import Judged
from .parsed import REQUEST, Parsed

# --- notices ------------------------------------------------------------------------------------------------------------------------------

_LABEL_CHARS = 80
# The most that the names of a result may have: a share of its characters, of a short one so many.
_SHARE, _LEAST_CHARS = 0.2, 200
_NAMES = re.compile(NAME)
_is_plain = re.compile(PLAIN).match
# In what was said a name is short, too, where a sign, a number or a capital within tells it from a word.
_SHORT_NAMES = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_\-./:@]{2,190}[A-Za-z0-9_]")
_is_shaped = re.compile(r"[^_./0-9]*[_./0-9]|.*[a-z0-9][A-Z]").match


class Names:
    """The names in the texts of a conversation, and in how many places each is. `short`: those that are short, too."""

    __slots__ = ("dialogue", "places")

    def __init__(self, dialogue: Dialogue, changes: Changes, short: bool = False) -> None:
        self.dialogue = dialogue
        self.places: Counter[str] = Counter()
        for parsed in dialogue.sent(changes):
            for text in _texts_of(parsed):
                self.places.update(self._in(text))
                self.places.update(_short_in(text) if short else ())

    def notices(self, leaving: Sequence[Judged]) -> list[tuple[Judged, str]]:
        """Return the notices of results that leave together. A name that leaves with several stays with the newest."""
        for judged in leaving:
            self.places.subtract(self._in(judged.text))
        newest_first = sorted(leaving, key=lambda each: -each.result.index)
        names = [self.fresh(each.text, max(_LEAST_CHARS, int(len(each.text) * _SHARE))) if _shows(each) else [] for each in newest_first]
        return [(judged, _notice(judged, fresh)) for judged, fresh in zip(newest_first, _harmless(names))]

    def last_used(self, exchanges: Sequence[Exchange]) -> dict[int, int]:
        """Return, by the start of each exchange, the number of the newest exchange that uses a name which stood first there, or else its
        own."""
        first: dict[str, int] = {}
        used = {}
        for at, exchange in enumerate(exchanges):
            used[exchange.start] = at
            for parsed in self.dialogue.parsed[exchange.start : exchange.end]:
                for name in (name for text in _texts_of(parsed) for name in self._in(text)):
                    used[first.setdefault(name, exchange.start)] = at
        return used

    def fresh(self, text: str, room: int, short: bool = False) -> list[str]:
        """Return the names in a text that are nowhere else, in its order, and count them; where there are too many, the short ones."""
        found = dict.fromkeys((*self._in(text), *_short_in(text))) if short else self._in(text)
        names = [name for name in found if self.places[name] <= 0 and not _is_plain(name)]
        kept = set()
        for name in sorted(names, key=len):
            room -= len(name) + 1
            if room < 0:
                break
            kept.add(name)
        self.places.update(kept)
        return [name for name in names if name in kept]

    def _in(self, text: str) -> tuple[str, ...]:
        """Return the names in a text, each once, in its order."""
        names = self.dialogue.names.get(text)
        if names is None:
            names = self.dialogue.names[text] = tuple(dict.fromkeys(_NAMES.findall(text)))
        return names


def _short_in(text: str) -> list[str]:
    return list(filter(_is_shaped, _SHORT_NAMES.findall(text)))


def _shows(judged: Judged) -> bool:
    """Return whether a notice has names; for a run, an outline says more."""
    return not judged.result.kind.startswith("run")


def _notice(judged: Judged, names: str) -> str:
    result = judged.result
    label = " ".join("".join(char if char.isprintable() else " " for char in result.label).split())
    label = label if len(label) <= _LABEL_CHARS else label[: _LABEL_CHARS - 1] + "…"
    rest = names if _shows(judged) else outline_of(result, judged.text)
    return f"[PopKit left out {label} ({why(result, judged.quiet)})]" + ("\n" + rest if rest else "")


def _harmless(texts: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of several texts as lines, without names that have the shape of a secret."""
    distinct = dict.fromkeys(name for names in texts for name in names)
    harmless = set(secret_shapes.without("\n".join(distinct)).split("\n"))
    return [" ".join(name for name in names if name in harmless) for names in texts]


def _texts_of(parsed: Parsed) -> list[str]:
    """Return all texts of a message, each result as one."""
    inputs = [json.dumps(use.input, ensure_ascii=False, default=str) for use in parsed.uses]
    return [*parsed.texts, *inputs, *(result.text for result in parsed.results)]


# --- remains of exchanges -----------------------------------------------------------------------------------------------------------------

LEFT = "left"
_ASKED_CHARS, MOST_ASKED = 160, 30
# The most that their names may have: a share of their characters, and so many.
_LEFT_SHARE, _MOST_CHARS = 0.1, 12_000
_USUAL_SHARE = 0.05  # that the names of recorded chats have of their tokens


def remains_of(dialogue: Dialogue, changes: Changes, numbers: Collection[int], most: float = float("inf")) -> str:
    """Return the text in the place of the messages with these numbers, which are left out: the user's requests, and the names that nothing
    else shows, those of the newest messages first. Of more than `most` tokens the names go, then the oldest requests; "" where nothing
    fits."""
    asked = _asked(dialogue, sorted(numbers))[-MOST_ASKED:]
    names, fresh = Names(dialogue, changes, short=True), []
    left = [dialogue.parsed[number] for number in sorted(numbers, reverse=True)]
    texts = [(text, at < len(parsed.texts)) for parsed in left for at, text in enumerate(_texts_of(parsed))]
    room = min(_MOST_CHARS, int(sum([len(text) for text, _ in texts]) * _LEFT_SHARE))
    for text, is_said in texts:
        fresh.append(names.fresh(text, room, short=is_said))
        room -= sum(len(name) + 1 for name in fresh[-1])
    text = _remains(asked, " ".join(filter(None, _harmless(fresh))))
    if dialogue.meter.text(text) > most:
        text = _remains(asked, "")
    while asked and dialogue.meter.text(text) > most:
        asked = asked[1:]
        text = _remains(asked, "")
    return text if dialogue.meter.text(text) <= most else ""


def remains_tokens(exchange: Exchange, dialogue: Dialogue) -> tuple[float, float]:
    """Return about how many tokens will stand in the place of an exchange: of its names, and of the user's request."""
    numbers = [number for number in range(exchange.start, exchange.end) if dialogue.can_leave(number)]
    asked = sum([dialogue.meter.text("- " + text) for text in _asked(dialogue, numbers)])
    return sum([dialogue.tokens[number].all for number in numbers]) * _USUAL_SHARE, float(asked)


def _asked(dialogue: Dialogue, numbers: Iterable[int]) -> list[str]:
    """Return the beginning of each request of the user's in these messages."""
    requests = [dialogue.parsed[number] for number in numbers if dialogue.parsed[number].part == REQUEST]
    asked = [" ".join("\n".join(request.texts).split()) for request in requests]
    return [text if len(text) <= _ASKED_CHARS else text[: _ASKED_CHARS - 1] + "…" for text in asked if text]


def _remains(asked: Sequence[str], names: str) -> str:
    lines = ["PopKit left out what was said before." + (" The user had asked:" if asked else ""), *(f"- {text}" for text in asked)]
    return "\n".join([*lines, "Names in it: " + names] if names else lines)
