"""Layer 4: the parts of the history that leave under a strategy, with the texts in their places: notices of results, remains of
exchanges. Pure.

The parts that are least likely to be missed leave first: below 80 percent the thinking, and the long texts that the assistant wrote into
files; results that the engine judges dead, then those that are unlikely to be needed again, the more of them the tighter the budget, and
sooner in exchanges that are older than the newest that the strategy names. What was read of a file before it was edited stays while 60
percent of the budget remain: an edit changes a few lines, which its call shows, and the others are still true. Then whole exchanges leave,
of the older ones, until the spoken text has no more than the strategy's share of its tokens: those first that say least of what nothing
else says (`exchange_order.py`); under the tightest strategy everything that stays, calls too, has to fit into that share. For a limit of
tokens the oldest leave first. A tighter cut begins where the looser ones end, so it never keeps more than they do.

A notice says what was there, why it left, and the names in it that nothing else shows: most of what is needed again of an old result is a
name (a path, an identifier, a version), and nearly all that only the result held fits into a few hundredths of it.
"""

from __future__ import annotations

from typing import NamedTuple

from .build_types import PruningStrategy
from .dialogue import Changes, Dialogue, Exchange
from .exchange_order import ExchangeOrder
from .exchange_remains import MOST_REQUESTS, remains_size, remains_tokens
from .judging import JudgedResult, judge
from .message_records import BARE
from .notices import Names

# Tokens of a result, below which a notice is more to read than it saves; and the gain that a cut of any result needs.
LEAST_TOKENS, LEAST_GAIN = 100, 40


class Depth(NamedTuple):
    """The depth of a cut that keeps this many newest `exchanges`: results leave that are less likely needed again than `need`, in older
    exchanges than `older`; with `dead_only`, only dead ones; without `edited`, none of a file that was edited since. `bare`: listings that
    stay lose the numbers of their lines. `spoken`: the share of the spoken text's tokens that stays."""

    exchanges: int
    need: float
    older: float
    dead_only: bool
    edited: bool
    bare: bool
    spoken: float


# Strategies that keep no more exchanges than this begin by removing the parts that nothing depends on.
LEAN = 5
# Chosen over recorded sessions (docs/measured.md). Every probability is below 2.
DEPTHS = (
    Depth(10, 0.1, 0.1, True, False, False, 1.0),
    Depth(5, 0.08, 0.08, False, False, True, 0.6),
    Depth(2, 0.35, 2.0, False, True, True, 0.5),
    Depth(0, 2.0, 2.0, False, True, True, 0.4),
)


def numbers_of(dialogue: Dialogue) -> list[int]:
    """Return the numbers of the messages in the history that could leave."""
    return [number for exchange in dialogue.history for number in range(exchange.start, exchange.end) if dialogue.can_leave(number)]


def newly_left(dialogue: Dialogue, before: Changes, changes: Changes) -> list[Exchange]:
    """Return the exchanges that a cut has left out."""
    return [exchange for exchange in dialogue.history if exchange.start in changes.left and exchange.start not in before.left]


def reduced(dialogue: Dialogue, before: Changes, strategy: PruningStrategy, most: int | None, folder: str = "") -> Changes:
    """Return the changes of a cut under a strategy, to at most `most` tokens (None for no limit), on top of those before."""
    changes = before.copy()
    judged = [result for result in judge(dialogue, folder) if result.number < dialogue.current.start]
    if strategy.tier4_messages <= LEAN:
        _lighten(dialogue, changes)
    names = Names(dialogue, changes)
    for depth in DEPTHS:
        if depth.exchanges >= strategy.tier4_messages:
            _replace_results(depth, dialogue, changes, judged, names)
            _leave_out(depth, dialogue, before, changes, names)
    if most is not None and dialogue.size(numbers_of(dialogue), changes) > most:
        _replace_results(Depth(0, 2.0, 2.0, False, True, True, 0.0), dialogue, changes, judged, names)
    _drop_oldest(dialogue, changes, most)
    return changes


def _lighten(dialogue: Dialogue, changes: Changes) -> None:
    """Remove the parts that nothing depends on: the thinking before the current request, as one run from the front, and the long texts in
    the input of calls, which files have."""
    for number in numbers_of(dialogue):
        parsed = dialogue.parsed[number]
        if number in changes.left:
            continue
        if parsed.thoughts:
            changes.without_thinking.add(number)
        for use in parsed.uses:
            if dialogue.spared(number, use) >= LEAST_GAIN:
                changes.notices.setdefault(number, {})[use.id] = BARE


def _replace_results(depth: Depth, dialogue: Dialogue, changes: Changes, judged: list[JudgedResult], names: Names) -> None:
    """Replace results by notices, to a depth."""
    newest = dialogue.exchanges[-1 - depth.exchanges].start if len(dialogue.exchanges) > depth.exchanges else 0
    leaving = []
    for result in judged:
        if result.number in changes.left or changes.notices.get(result.number, {}).get(result.id):
            continue
        if result.edited and not depth.edited:
            continue
        likely = depth.need if result.number >= newest else depth.older
        if (result.dead or not depth.dead_only) and result.need < likely and dialogue.meter.text(result.text) >= LEAST_TOKENS:
            leaving.append(result)
    for result, notice in names.notices(leaving):
        if dialogue.meter.text(result.text) - dialogue.meter.text(notice) >= LEAST_GAIN:
            changes.notices.setdefault(result.number, {})[result.id] = notice
    if depth.bare:
        for result in judged:
            if dialogue.bare(result.text) is not None and result.number not in changes.left:
                changes.notices.setdefault(result.number, {}).setdefault(result.id, "")


def _leave_out(depth: Depth, dialogue: Dialogue, before: Changes, changes: Changes, names: Names) -> None:
    """Leave older exchanges out in the order of `ExchangeOrder`, until the history, or its spoken text, has no more than the depth's share
    of its tokens. An exchange stays if one of its results does. Of the newest exchanges only the spoken text counts. At a depth without
    newest ones, the rest has no more tokens than that share of the spoken text."""
    if depth.spoken >= 1.0 or len(dialogue.history) <= depth.exchanges:
        return
    first = len(dialogue.history) - depth.exchanges
    newest, older, history = dialogue.history[first:], dialogue.history[:first], numbers_of(dialogue)
    if newest:
        older = [exchange for exchange in older if not _holds_results(dialogue, changes, exchange)]
        spoken = sum([dialogue.spoken(number) for exchange in newest for number in range(exchange.start, exchange.end)])
        whole = spoken + sum([dialogue.tokens[number].all for exchange in older for number in range(exchange.start, exchange.end)])
        over = spoken + sum([dialogue.size(range(exchange.start, exchange.end), changes) for exchange in older]) - depth.spoken * whole
        over = min(over, dialogue.size(history, changes) - depth.spoken * sum([dialogue.tokens[number].all for number in history]))
    else:
        over = dialogue.size(history, changes) - depth.spoken * sum(map(dialogue.spoken, history))
    gone = newly_left(dialogue, before, changes)
    over += remains_size(gone, dialogue)
    if over <= 0 and (newest or not any(_thinks_alone(dialogue, exchange) for exchange in older)):
        return
    staying = [exchange for exchange in dialogue.exchanges if exchange.start not in changes.left]
    # Without additions: those of an exchange that leaves are sent again behind the cut.
    sizes = {exchange.start: dialogue.own_size(range(exchange.start, exchange.end), changes) for exchange in staying}
    candidates = [exchange for exchange in older if exchange.start not in changes.left]
    order = ExchangeOrder(candidates, staying, sizes, names)
    while exchange := order.next():
        size, (of_names, of_request) = sizes[exchange.start], remains_tokens(exchange, dialogue)
        if (over > 0 and size - of_names - of_request >= LEAST_GAIN) or (not newest and _thinks_alone(dialogue, exchange)):
            over -= size - of_names - (of_request if len(gone) < MOST_REQUESTS else 0.0)
            gone.append(exchange)
            _take_out(exchange, dialogue, changes)
            order.leave(exchange)


def _holds_results(dialogue: Dialogue, changes: Changes, exchange: Exchange) -> bool:
    """Return whether an exchange has a result that stays for its content."""
    numbers = range(exchange.start, exchange.end)
    return any(
        tokens >= LEAST_TOKENS and not changes.notices.get(number, {}).get(result.id)
        for number in numbers
        for result, tokens in zip(dialogue.parsed[number].results, dialogue.tokens[number].results)
    )


def _thinks_alone(dialogue: Dialogue, exchange: Exchange) -> bool:
    """Return whether an exchange has an answer that consists of thinking: while it stays, nothing else may leave (`Dialogue.is_stuck`)."""
    return any(parsed.alone for parsed in dialogue.parsed[exchange.start : exchange.end])


def _drop_oldest(dialogue: Dialogue, changes: Changes, most: float | None) -> None:
    """Leave exchanges out, the oldest first, until at most this many tokens stay."""
    if most is None:
        return
    now = dialogue.size(numbers_of(dialogue), changes)
    for exchange in dialogue.history:
        if now <= max(0, most):
            break
        now -= dialogue.size(filter(dialogue.can_leave, range(exchange.start, exchange.end)), changes)
        _take_out(exchange, dialogue, changes)


def _take_out(exchange: Exchange, dialogue: Dialogue, changes: Changes) -> None:
    """Leave an exchange out, except for messages that the form keeps."""
    numbers = {number for number in range(exchange.start, exchange.end) if dialogue.can_leave(number)}
    changes.left |= numbers
    for number in numbers:
        changes.notices.pop(number, None)
        changes.additions.pop(number, None)
