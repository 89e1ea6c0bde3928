"""Layer 4: what of the history a cut leaves, within the budget of its strategy. Pure.

What leaves first is what costs least: results that the engine calls dead, then those that are least likely needed again. Of each a notice
stays in its place, with the names that nothing else shows. What was said stays long: it is little, and tells what was done. Where that
does not suffice, exchanges leave, the oldest first.
"""

from __future__ import annotations

from . import dead
from .dialogue import Changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .dead import Judged
    from .dialogue import Dialogue
    from .models import PruningStrategy

# Tokens: for less, a notice is more to read than what it saves.
LEAST_GAIN = 50
# Of the tokens of the whole history, the share that a cut leaves at most, by the exchanges that a strategy lets stay.
SHARES = {10: 1.0, 5: 0.6, 2: 0.4, 0: 0.0}


def numbers_of(dialogue: Dialogue) -> list[int]:
    """The messages of the history that could leave."""
    return [number for each in dialogue.history for number in range(each.start, each.end) if dialogue.can_leave(number)]


def reduced(dialogue: Dialogue, standing: Changes, strategy: PruningStrategy, most: int | None, folder: str = "") -> Changes:
    """What a cut leaves: as much as the strategy allows, and at most so many tokens (`most`, None for no such limit). What is out stays
    out."""
    changes, numbers = standing.copy(), numbers_of(dialogue)
    whole = sum([dialogue.tokens[number].all for number in numbers])
    target = SHARES.get(strategy.tier4_messages, 1.0) * whole
    target = target if most is None else min(target, max(0, most))
    now = dialogue.size(numbers, changes)
    for judged, notice, gain in _candidates(dialogue, changes, folder):
        if now <= target and not judged.dead:
            break
        changes.notices.setdefault(judged.number, {})[judged.id] = notice
        now -= gain
    _drop(dialogue, changes, target, strategy, most)
    return changes


def _candidates(dialogue: Dialogue, changes: Changes, folder: str) -> Iterator[tuple[Judged, str, int]]:
    """(Judged, notice, tokens gained) of the results that may leave, those first that cost least."""
    found = []
    for judged in dead.judge(dialogue, folder):
        number = judged.number
        if number >= dialogue.current.start or number in changes.left or judged.id in changes.notices.get(number, {}):
            continue
        found.append(judged)
    for judged in sorted(found, key=lambda each: (not each.dead, each.need)):
        notice = judged.notice()
        gain = dialogue.meter.text(judged.text) - dialogue.meter.text(notice)
        if gain >= LEAST_GAIN:
            yield judged, notice, gain


def _drop(dialogue: Dialogue, changes: Changes, target: float, strategy: PruningStrategy, most: int | None) -> None:
    """Leaves exchanges out, the oldest first, until what stays fits: the newest that a strategy keeps only go for `most`."""
    history = dialogue.history
    now = dialogue.size(numbers_of(dialogue), changes)
    for at, exchange in enumerate(history):
        wanted = target if len(history) - at > strategy.tier4_messages else now if most is None else most
        if now <= max(0, wanted):
            break
        numbers = {number for number in range(exchange.start, exchange.end) if dialogue.can_leave(number)}
        now -= dialogue.size(numbers, changes)
        changes.left |= numbers
        for number in numbers:
            changes.notices.pop(number, None)
            changes.additions.pop(number, None)
