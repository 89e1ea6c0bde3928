"""The names that stand for what a compaction left out: of all that left, those that are likely to be written again. Pure.

More than half of what the next requests write of what left are names: a path, an identifier, a version. A few hundred of them take the room
of one large result. A name is worth more the later it was last shown, the more calls showed it, and most if a call was made with it.
"""

from __future__ import annotations

from . import chance, secret_shapes
from .masking import mask
from .messages import texts_in
from .outline import is_name, names_said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Sequence

    from .messages import Use
    from .ways import Pair

# Tokens of names, as a share of the conversation.
SHARE = 0.005
# So many of the newest calls are looked at: what only older ones hold is hardly written again.
_CALLS = 250
# Chosen over recorded compactions (`python benchmarks/compacting.py --transcripts FOLDER --tune`): what a name is worth halves in so many
# calls; to be in a call's input counts as much as so many results; a name costs so many characters beside its own.
_HALVED, _IN_INPUT, _BESIDE = 20, 3, 5
_CHARS_PER_TOKEN = 2.5
# Characters that stand between names and what they belong to.
_FRAME = 12
# A text that holds a key in several lines gives none: these look like names.
_KEY = "-----BEGIN "


def names_of_left(pairs: Sequence[Pair], homes: Collection[str], standing: Container[str], tokens: float) -> dict[str, list[str]]:
    """Return {id of a call: names that stand for what left of it}, in at most so many `tokens`. `homes`: ids of the calls of which something
    left. Each name stands once, with the newest of these that held it, and none that is `standing` already."""
    worth: dict[str, float] = {}
    home: dict[str, str] = {}
    newest: dict[str, int] = {}  # name -> calls since it was last shown
    for pair in reversed(pairs[-_CALLS:]):
        of_input = _names(_texts_of(pair.use))
        for name in of_input | _names([pair.shown.text]):
            newest.setdefault(name, pair.age)
            worth[name] = worth.get(name, 0.0) + 1.0 + (_IN_INPUT if name in of_input else 0.0)
            if pair.use.id in homes:
                home.setdefault(name, pair.use.id)
    ranked = sorted((-worth[name] / ((_HALVED + newest[name]) * (_BESIDE + len(name))), name) for name in home if name not in standing)
    room, chosen = tokens * _CHARS_PER_TOKEN, {}
    for _, name in ranked:
        if not (is_name(name) and is_harmless(name)):
            continue
        room -= len(name) + 1 + (0 if home[name] in chosen else _FRAME)
        if room < 0:
            break
        chosen.setdefault(home[name], []).append(name)
    return chosen


def is_harmless(name: str) -> bool:
    """Return whether a name has no form of a key and was not drawn by chance."""
    return not secret_shapes.spans(name) and not chance.runs(name)


def _names(texts: Iterable[str]) -> set[str]:
    return names_said(text for text in texts if _KEY not in text)


def _texts_of(use: Use) -> list[str]:
    """Return the texts of a call, of a command without its secrets."""
    line = use.input.get(use.traits.line)
    return [mask(text) if text is line else text for text in texts_in(use.input)]
