"""Choose the names that represent the removed parts of a conversation. Pure.

More than half of what the next requests write of what left are names: a path, an identifier, a version. A few hundred of them take the room
of one large result. A name is worth more the later it was last shown, the more calls showed it, and most if a call was made with it.
"""

from __future__ import annotations

from heapq import heapify, heappop

from . import random_words, secret_shapes
from .estimate import CHARS_PER_TOKEN
from .messages import texts_in
from .outlines import LONGEST_NAME, SHORTEST_NAME, is_plain, possible_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Sequence

    from .ways import Pair

# What names may take: this share of a conversation, and no more tokens than this.
_SHARE, _TOKENS = 0.035, 4_000
# So many of the newest calls are searched: what only older ones hold is hardly written again.
_CALLS = 128
# Chosen over recorded compactions (`python benchmarks/compacting.py --transcripts FOLDER --tune`): a name is worth half as much after so
# many calls; to be in the input of a call counts as much as so many results; a name costs so many characters beside its own.
_HALVED, _IN_INPUT, _BESIDE = 20, 3, 5
_CHARS_PER_TOKEN = CHARS_PER_TOKEN["code"]  # as in the results beside which most of them stand
# Characters between names and what they belong to.
_FRAME = 12
# A text that holds a key in several lines gives none: these look like names.
_KEY = "-----BEGIN "


def room_for_names(before: float, calibration: float) -> float:
    """Return the estimated tokens that names may take of a conversation of so many (`before`)."""
    return min(_SHARE * before, _TOKENS / calibration)


def names_of_left(pairs: Sequence[Pair], homes: Collection[str], shown_names: Container[str], tokens: float) -> dict[str, list[str]]:
    """Return {id of a call: names that represent what left of it}, in at most so many `tokens`. `homes`: ids of the calls of which
    something left. Each name occurs once, with the newest of these that held it, and none of the `shown_names`."""
    newest = [(pair, *_names_of(pair)) for pair in pairs[-_CALLS:]]
    since: dict[str, int] = {}  # name -> calls since it was last shown
    home: dict[str, str] = {}
    for pair, of_input, of_result in newest:  # the last word is the newest's
        all_names = of_input | of_result
        since.update(dict.fromkeys(all_names, pair.age))
        if pair.use.id in homes:
            home.update(dict.fromkeys(all_names, pair.use.id))
    shown = {name: 0 for name in home if name not in shown_names}  # how often, a call's input counted more
    for _, of_input, of_result in newest:
        for name in shown.keys() & of_input:
            shown[name] += 1 + _IN_INPUT
        for name in shown.keys() & (of_result - of_input):
            shown[name] += 1
    worth = [(-many / ((_HALVED + since[name]) * (_BESIDE + len(name))), name) for name, many in shown.items()]
    heapify(worth)  # few of them are taken
    chosen: dict[str, list[str]] = {}
    room = tokens * _CHARS_PER_TOKEN
    while worth:
        name = heappop(worth)[1]
        if is_plain(name) or random_words.random_runs(name):
            continue
        room -= len(name) + 1 + (0 if home[name] in chosen else _FRAME)
        if room < 0:
            break
        chosen.setdefault(home[name], []).append(name)
    return {id: safe for id, names in chosen.items() if (safe := _without_keys(names))}


def _names_of(pair: Pair) -> tuple[set[str], set[str]]:
    """Return the names in what a call was made with, and in its result."""
    return _names([pair.masked if text is pair.argument else text for text in texts_in(pair.use.input)]), _names([pair.shown.text])


def _names(texts: Iterable[str]) -> set[str]:
    return {word for word in possible_names(text for text in texts if _KEY not in text) if SHORTEST_NAME <= len(word) <= LONGEST_NAME}


def _without_keys(names: list[str]) -> list[str]:
    if not secret_shapes.spans(" ".join(names)):
        return names
    return [name for name in names if not secret_shapes.spans(name)]
