"""The state that one build hands on to the next, so that a request begins with everything that was sent before.

A state is plain JSON values; a corrupt one is ignored. Of the caller's messages it has only digests and counts of tokens; of the
builder's own texts (notices, additions) the text, which has to be sent again to the letter.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, NamedTuple

from .dialogue import Addition, Changes, Dialogue, Tokens
from .provider_forms import Provider

SCHEMA = 2
# The state of a longer conversation is not handed on: the next build begins without one.
MOST_MESSAGES = 20_000


class PreviousBuild(NamedTuple):
    """The last build: the digests of the caller's messages with their counts, the changes, the tier4_messages of the strategy that the
    history is cut for, which messages were thinking `alone`, whether all counts were `exact`, and the `provider` and `model` of it."""

    digests: list[str]
    tokens: dict[str, Tokens]
    changes: Changes
    level: int
    alone: Set[int] = frozenset()
    exact: bool = True
    provider: Provider = Provider.ANTHROPIC
    model: str = ""


NOTHING = PreviousBuild([], {}, Changes(), -1)


def alike(digests: Sequence[str], others: Sequence[str]) -> int:
    """Return how many messages two conversations have in common before they differ, by their digests."""
    return next((number for number, (digest, other) in enumerate(zip(digests, others)) if digest != other), min(len(digests), len(others)))


def handed_on(dialogue: Dialogue, changes: Changes, level: int, model: str, provider: str) -> dict[str, object]:
    """Return the state to hand on."""
    if len(dialogue.parsed) > MOST_MESSAGES:
        return {}
    return {
        "schema": SCHEMA, "provider": provider, "model": model, "level": level, "digests": dialogue.digests,
        "tokens": [[tokens.all, tokens.thinking, *tokens.results] for tokens in dialogue.tokens], "exact": dialogue.meter.exact,
        "alone": _runs({number for number, parsed in enumerate(dialogue.parsed) if parsed.alone}), **as_json(changes),
    }  # fmt: skip


def as_json(changes: Changes) -> dict[str, object]:
    """Return changes as plain values."""
    return {
        "left": _runs(changes.left),
        "without_thinking": _runs(changes.without_thinking),
        "notices": {str(number): notices for number, notices in changes.notices.items()},
        "additions": {str(number): [list(addition) for addition in additions] for number, additions in changes.additions.items()},
    }


def read(state: Any, model: str | None = None) -> PreviousBuild:
    """Return the last build; NOTHING for any other value. Counts for another model are not used; None: the model that it was for."""
    try:
        if state["schema"] != SCHEMA or len(state["digests"]) > MOST_MESSAGES:
            return NOTHING
        changes = Changes()
        changes.left, changes.without_thinking = _numbers(state["left"]), _numbers(state["without_thinking"])
        changes.notices = {int(number): _texts(notices) for number, notices in state["notices"].items()}
        changes.additions = {
            int(number): [Addition(*map(_text, fields)) for fields in additions] for number, additions in state["additions"].items()
        }
        digests = [_text(digest) for digest in state["digests"]]
        counts = [Tokens(_count(whole), _count(thinking), tuple(map(_count, results))) for whole, thinking, *results in state["tokens"]]
        provider, own_model, alone = Provider(state["provider"]), _text(state["model"]), _numbers(state["alone"])
        known = dict(zip(digests, counts)) if model in (None, own_model) else {}
        exact = not known or state["exact"] is True
        return PreviousBuild(digests, known, changes, int(state["level"]), alone, exact, provider, own_model)
    except (TypeError, ValueError, KeyError, AttributeError):
        return NOTHING


def carried(previous: PreviousBuild, dialogue: Dialogue) -> tuple[Changes, int]:
    """Return the changes of earlier builds that still apply, and the number of messages that the caller has not changed since."""
    same = alike(previous.digests, dialogue.digests)
    old, changes = previous.changes, Changes()
    whole = {number for exchange in dialogue.history if exchange.end <= same for number in range(exchange.start, exchange.end)}
    changes.left = {number for number in old.left & whole if dialogue.can_leave(number)}
    changes.without_thinking = {number for number in old.without_thinking if number < same}
    for number, notices in old.notices.items():
        if number < same:
            ids = [*(result.id for result in dialogue.parsed[number].results), *(use.id for use in dialogue.parsed[number].uses)]
            changes.notices[number] = {id: notices[id] for id in ids if id in notices}
    changes.additions = {number: list(additions) for number, additions in old.additions.items() if number < same}
    return changes, same


def first_difference(previous: PreviousBuild, same: int, before: Changes, after: Changes) -> int | None:
    """Return the number of the first message that is sent otherwise than before; None where all are sent as before."""
    for number in range(same):
        if before.of(number) != after.of(number):
            return number
    return same if same < len(previous.digests) else None


def key_of(numbers: set[int]) -> str:
    """Return numbers of messages as the key of the addition in their place: "0-5 9-9"."""
    return " ".join(f"{first}-{last}" for first, last in _runs(numbers))


def numbers_in(key: str) -> set[int]:
    """Return the numbers in such a key; an empty set for any other text."""
    try:
        return _numbers([[int(number) for number in run.split("-")] for run in key.split()])
    except ValueError:
        return set()


def _runs(numbers: set[int]) -> list[list[int]]:
    """Return numbers as runs [first, last]."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs


def _numbers(runs: Any) -> set[int]:
    return {number for first, last in runs for number in range(_count(first), min(_count(last), MOST_MESSAGES) + 1)}


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("not a count")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


def _texts(value: Any) -> dict[str, str]:
    return {_text(name): _text(text) for name, text in value.items()}


# The most states that are kept, and the most of them that begin with the same message.
MOST, MOST_ALIKE = 2_000, 32
