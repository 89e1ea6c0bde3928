"""The notices that stand in the place of results: what each was, why it is out, and the names in it that nothing else shows. Pure.

Most of what is needed again of an old result is a name: a path, an identifier, a version. One that stands elsewhere need not stand twice,
so nearly all that only the result held fits into a few hundredths of it.
"""

from __future__ import annotations

import json
import re
from collections import Counter

from hooks.utils.policy import secret_shapes
from hooks.utils.policy.outline import NAME, PLAIN, outline_of
from hooks.utils.policy.placeholder import why

from .said import REQUEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from .dead import Judged
    from .dialogue import Changes, Dialogue
    from .said import Said

_LABEL_CHARS = 80
# Of a result's characters, the share that its names have at most; of a short one so many.
_SHARE, _LEAST_CHARS = 0.2, 200
_NAMES = re.compile(NAME)
_is_plain = re.compile(PLAIN).match


class Names:
    """Which names the texts of a conversation show, and in how many places."""

    __slots__ = ("dialogue", "places")

    def __init__(self, dialogue: Dialogue, changes: Changes) -> None:
        self.dialogue = dialogue
        self.places: Counter[str] = Counter()
        for text in _texts(dialogue, changes):
            self.places.update(self._in(text))

    def notices(self, leaving: Sequence[Judged]) -> list[tuple[Judged, str]]:
        """The notices of results that leave together. A name that leaves with several stays with the newest."""
        for judged in leaving:
            self.places.subtract(self._in(judged.text))
        newest_first = sorted(leaving, key=lambda each: -each.result.index)
        names = [self.fresh(each.text, max(_LEAST_CHARS, int(len(each.text) * _SHARE))) if _shows(each) else [] for each in newest_first]
        return [(judged, _notice(judged, fresh)) for judged, fresh in zip(newest_first, _harmless(names))]

    def fresh(self, text: str, room: int) -> list[str]:
        """The names in a text that stand nowhere else, in its order; where there are too many, the short ones. From now on they stand."""
        found = [name for name in self._in(text) if self.places[name] <= 0 and not _is_plain(name)]
        kept = set()
        for name in sorted(found, key=len):
            room -= len(name) + 1
            if room < 0:
                break
            kept.add(name)
        self.places.update(kept)
        return [name for name in found if name in kept]

    def _in(self, text: str) -> tuple[str, ...]:
        """The names in a text, each once, in its order."""
        found = self.dialogue.names.get(text)
        if found is None:
            found = self.dialogue.names[text] = tuple(dict.fromkeys(_NAMES.findall(text)))
        return found


def _shows(judged: Judged) -> bool:
    """Whether names stand in a notice; of a run, an outline says more."""
    return not judged.result.kind.startswith("run")


def _notice(judged: Judged, names: str) -> str:
    result = judged.result
    label = " ".join("".join(char if char.isprintable() else " " for char in result.label).split())
    label = label if len(label) <= _LABEL_CHARS else label[: _LABEL_CHARS - 1] + "…"
    told = names if _shows(judged) else outline_of(result, judged.text)
    return f"[PopKit left out {label} ({why(result, judged.quiet)})]" + ("\n" + told if told else "")


def _harmless(texts: Sequence[Sequence[str]]) -> list[str]:
    """The names of several texts as they are told. What has the shape of a secret is no name."""
    found = dict.fromkeys(name for names in texts for name in names)
    harmless = set(secret_shapes.without("\n".join(found)).split("\n"))
    return [" ".join(name for name in names if name in harmless) for names in texts]


def _texts(dialogue: Dialogue, changes: Changes) -> Iterable[str]:
    """All texts that are sent, each result as one."""
    for said in dialogue.sent(changes):
        yield from _of_one(said)


# --- of exchanges that have left ----------------------------------------------------------------------------------------------------------

LEFT = "left"
_ASKED_CHARS, _MOST_ASKED = 160, 30
# Of their characters, the share that their names have at most, and so many.
_LEFT_SHARE, _MOST_CHARS = 0.1, 12_000


def remains_of(dialogue: Dialogue, changes: Changes, numbers: Collection[int], most: float = float("inf")) -> str:
    """What stands for the messages with these numbers, which are left out: what the user had asked, and the names that nothing else
    shows, those of the newest messages first. Of more than `most` tokens the names go, then the oldest requests; "" where nothing fits."""
    asked = [
        " ".join("\n".join(dialogue.said[number].texts).split()) for number in sorted(numbers) if dialogue.said[number].part == REQUEST
    ]
    asked = [text if len(text) <= _ASKED_CHARS else text[: _ASKED_CHARS - 1] + "…" for text in asked if text][-_MOST_ASKED:]
    names, found = Names(dialogue, changes), []
    texts = [text for number in sorted(numbers, reverse=True) for text in _of_one(dialogue.said[number])]
    room = min(_MOST_CHARS, int(sum(map(len, texts)) * _LEFT_SHARE))
    for text in texts:
        found.append(names.fresh(text, room))
        room -= sum(len(name) + 1 for name in found[-1])
    told = " ".join(filter(None, _harmless(found)))
    text = _remains(asked, told)
    if dialogue.meter.text(text) > most:
        text = _remains(asked, "")
    while asked and dialogue.meter.text(text) > most:
        asked = asked[1:]
        text = _remains(asked, "")
    return text if dialogue.meter.text(text) <= most else ""


def _remains(asked: Sequence[str], names: str) -> str:
    lines = ["PopKit left out what was said before." + (" The user had asked:" if asked else ""), *(f"- {text}" for text in asked)]
    return "\n".join([*lines, "Names in it: " + names] if names else lines)


def _of_one(said: Said) -> list[str]:
    return [
        *said.texts,
        *(json.dumps(use.input, ensure_ascii=False, default=str) for use in said.uses),
        *(each.text for each in said.results),
    ]
