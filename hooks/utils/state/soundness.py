"""Check a loaded state thoroughly, where a load itself checks only the essentials."""

from __future__ import annotations

from ..policy.parts import is_of_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..policy.context import ContextState


def _is_amount(value: object) -> bool:
    """Return whether a value is a finite number; those of a ledger have a fraction."""
    return type(value) is int or (type(value) is float and value - value == 0)


def is_sound(state: ContextState) -> bool:
    """Return whether every value of a state is of its type."""
    live = list(state.live.values())
    numbers = [state.at, state.calibration, *(result.at for result in live)]
    tables = [table for table in state.counts.to_json().values() if isinstance(table, dict)]
    texts = [state.recent.values(), *((result.tool, result.label, result.hash, result.verdict, *result.subjects) for result in live)]
    return (
        all(number - number == 0 for number in numbers)  # not infinite, which JSON has no form for
        and all(_is_amount(amount) for table in tables for amount in table.values())
        and all(isinstance(value, str) for values in texts for value in values)
        and all(_is_part(part) for result in live for part in result.parts)
    )


def _is_part(part: object) -> bool:
    if not isinstance(part, list) or len(part) != 2 or not isinstance(part[0], str) or not isinstance(part[1], list):
        return False
    kind = int if is_of_lines(part) else str
    return all(isinstance(item, kind) for item in part[1]) and (kind is str or len(part[1]) == 2)
