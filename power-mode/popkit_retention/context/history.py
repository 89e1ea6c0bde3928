"""Layer 4: what of the history a cut leaves under a strategy. Pure.

What leaves first is what is least likely to be missed: below 80 percent what was thought, and the long texts that the assistant wrote into
files; results that the engine calls dead, then those that are unlikely to be needed again, the more of them the tighter the budget, and
sooner in exchanges that are older than the newest that the strategy names. A notice stays in each one's place. What was said stays, and
which calls were made: that is little, and tells what was done. Only where no exchange is to stay, or for the sake of a limit of tokens, do
whole exchanges leave, the oldest first.

A tighter cut begins where the looser ones end, so it never leaves more than they do.
"""

from __future__ import annotations

from typing import NamedTuple

from . import dead
from .naming import Names
from .said import BARE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .dead import Judged
    from .dialogue import Changes, Dialogue
    from .models import PruningStrategy

# Tokens of a result: of fewer, a notice is more to read than what it saves. And what a cut of any result has to gain.
LEAST_TOKENS, LEAST_GAIN = 100, 40


class Depth(NamedTuple):
    """How deep a cut goes that lets so many newest `exchanges` stay: results leave that are less likely needed again than `need`, in older
    exchanges than `older`; with `dead_only` only those that are dead. `bare`: what stays of listings loses the numbers of its lines."""

    exchanges: int
    need: float
    older: float
    dead_only: bool
    bare: bool


# Strategies that let no more exchanges than this stay begin with what nobody misses.
LEAN = 5
# Chosen over recorded sessions (docs/measured.md). Everything is less likely than 2.
DEPTHS = (Depth(10, 0.1, 0.1, True, False), Depth(5, 0.08, 0.08, False, True), Depth(2, 0.35, 2.0, False, True))


def numbers_of(dialogue: Dialogue) -> list[int]:
    """The messages of the history that could leave."""
    return [number for each in dialogue.history for number in range(each.start, each.end) if dialogue.can_leave(number)]


def reduced(dialogue: Dialogue, standing: Changes, strategy: PruningStrategy, most: int | None, folder: str = "") -> Changes:
    """What a cut leaves under a strategy, and of no more than so many tokens (`most`, None for no such limit). What is out stays out."""
    changes = standing.copy()
    judged = [each for each in dead.judge(dialogue, folder) if each.number < dialogue.current.start]
    if strategy.tier4_messages <= LEAN:
        _lighten(dialogue, changes)
    names = Names(dialogue, changes)
    for depth in DEPTHS:
        if depth.exchanges >= strategy.tier4_messages:
            _go_to(depth, dialogue, changes, judged, names)
    if most is not None and dialogue.size(numbers_of(dialogue), changes) > most:
        _go_to(Depth(0, 2.0, 2.0, False, True), dialogue, changes, judged, names)
    _drop(dialogue, changes, 0 if strategy.tier4_messages <= 0 else most)
    return changes


def _lighten(dialogue: Dialogue, changes: Changes) -> None:
    """Lets go what costs least, for nothing that was said hangs on it: what was thought before the current request, as one run from the
    front, and the long texts in the input of calls, which stand in files."""
    for number in numbers_of(dialogue):
        said = dialogue.said[number]
        if number in changes.left:
            continue
        if said.thoughts:
            changes.unthought.add(number)
        for use in said.uses:
            if dialogue.spared(number, use) >= LEAST_GAIN:
                changes.notices.setdefault(number, {})[use.id] = BARE


def _go_to(depth: Depth, dialogue: Dialogue, changes: Changes, judged: list[Judged], names: Names) -> None:
    """Lets results leave as deep as it goes."""
    newest = dialogue.exchanges[-1 - depth.exchanges].start if len(dialogue.exchanges) > depth.exchanges else 0
    leaving = []
    for each in judged:
        if each.number in changes.left or changes.notices.get(each.number, {}).get(each.id):
            continue
        likely = depth.need if each.number >= newest else depth.older
        if (each.dead or not depth.dead_only) and each.need < likely and dialogue.meter.text(each.text) >= LEAST_TOKENS:
            leaving.append(each)
    for each, notice in names.notices(leaving):
        if dialogue.meter.text(each.text) - dialogue.meter.text(notice) >= LEAST_GAIN:
            changes.notices.setdefault(each.number, {})[each.id] = notice
    if depth.bare:
        for each in judged:
            if dialogue.bare(each.text) is not None and each.number not in changes.left:
                changes.notices.setdefault(each.number, {}).setdefault(each.id, "")


def _drop(dialogue: Dialogue, changes: Changes, most: float | None) -> None:
    """Leaves exchanges out, the oldest first, until no more than so many tokens stay."""
    if most is None:
        return
    now = dialogue.size(numbers_of(dialogue), changes)
    for exchange in dialogue.history:
        if now <= max(0, most):
            break
        numbers = {number for number in range(exchange.start, exchange.end) if dialogue.can_leave(number)}
        now -= dialogue.size(numbers, changes)
        changes.left |= numbers
        for number in numbers:
            changes.notices.pop(number, None)
            changes.additions.pop(number, None)
