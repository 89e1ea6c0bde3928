"""What one build hands on to the next, so that what was sent stands in front, unchanged. Pure; plain JSON values, junk is passed over.

Of the caller's messages the state has digests and counts of tokens alone; of what the builder itself has written (notices, additions) the
text, which has to be sent again to the letter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .dialogue import Addition, Changes, Tokens
from .said import alike

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set

    from .dialogue import Dialogue

SCHEMA = 2
# A state of more messages is not handed on: the next build begins anew.
MOST_MESSAGES = 20_000


class Previous(NamedTuple):
    """The last build: the digests of the caller's messages then and their counts, how what was sent differed, the tier4_messages of the
    strategy that the history is cut for, which messages were thinking `alone`, and whether all counts were `exact`."""

    digests: list[str]
    tokens: dict[str, Tokens]
    changes: Changes
    level: int
    alone: Set[int] = frozenset()
    exact: bool = True


NOTHING = Previous([], {}, Changes(), -1)


def handed_on(dialogue: Dialogue, changes: Changes, level: int, model: str, provider: str) -> dict[str, Any]:
    """The state to hand on."""
    if len(dialogue.said) > MOST_MESSAGES:
        return {}
    return {
        "schema": SCHEMA, "provider": provider, "model": model, "level": level, "digests": dialogue.digests,
        "tokens": [[each.all, each.thinking, *each.results] for each in dialogue.tokens], "exact": dialogue.meter.exact,
        "alone": _runs({number for number, said in enumerate(dialogue.said) if said.alone}), **as_json(changes),
    }  # fmt: skip


def as_json(changes: Changes) -> dict[str, Any]:
    """Changes as plain values."""
    return {
        "left": _runs(changes.left),
        "unthought": _runs(changes.unthought),
        "notices": {str(number): notices for number, notices in changes.notices.items()},
        "additions": {str(number): [list(each) for each in additions] for number, additions in changes.additions.items()},
    }


def read(state: Any, model: str) -> Previous:
    """The last build; NOTHING for what is no state of ours. Counts of another model's tokens do not hold."""
    try:
        if state["schema"] != SCHEMA or len(state["digests"]) > MOST_MESSAGES:
            return NOTHING
        changes = Changes()
        changes.left, changes.unthought = _numbers(state["left"]), _numbers(state["unthought"])
        changes.notices = {int(number): _texts(notices) for number, notices in state["notices"].items()}
        changes.additions = {
            int(number): [Addition(*map(_text, each)) for each in additions] for number, additions in state["additions"].items()
        }
        digests = [_text(digest) for digest in state["digests"]]
        counts = [Tokens(_count(whole), _count(thinking), tuple(map(_count, results))) for whole, thinking, *results in state["tokens"]]
        known = dict(zip(digests, counts)) if state["model"] == model else {}
        alone = _numbers(state["alone"])
        return Previous(digests, known, changes, int(state["level"]), alone, not known or state["exact"] is True)
    except (TypeError, ValueError, KeyError, AttributeError):
        return NOTHING


def standing(previous: Previous, dialogue: Dialogue) -> tuple[Changes, int]:
    """How what is sent differs by earlier builds from the caller's messages, and how many of these the caller has not changed since."""
    same = alike(previous.digests, dialogue.digests)
    old, changes = previous.changes, Changes()
    whole = {number for each in dialogue.history if each.end <= same for number in range(each.start, each.end)}
    changes.left = {number for number in old.left & whole if dialogue.can_leave(number)}
    changes.unthought = {number for number in old.unthought if number < same}
    for number, notices in old.notices.items():
        if number < same:
            ids = [*(result.id for result in dialogue.said[number].results), *(use.id for use in dialogue.said[number].uses)]
            changes.notices[number] = {id: notices[id] for id in ids if id in notices}
    changes.additions = {number: list(each) for number, each in old.additions.items() if number < same}
    return changes, same


def first_difference(previous: Previous, same: int, before: Changes, after: Changes) -> int | None:
    """The number of the first message that was sent before and is not sent just so now; None where all of it stands."""
    for number in range(same):
        if before.of(number) != after.of(number):
            return number
    return same if same < len(previous.digests) else None


def key_of(numbers: set[int]) -> str:
    """Numbers of messages as the key of what tells of them: "0-5 9-9"."""
    return " ".join(f"{first}-{last}" for first, last in _runs(numbers))


def numbers_in(key: str) -> set[int]:
    """The numbers in such a key; none in any other."""
    try:
        return _numbers([[int(number) for number in run.split("-")] for run in key.split()])
    except ValueError:
        return set()


def _runs(numbers: set[int]) -> list[list[int]]:
    """Numbers as runs [first, last]."""
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
