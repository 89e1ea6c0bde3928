"""Values of a request as plain JSON data, which a builder can read: pydantic models, tuples and iterators are what callers give too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .. import said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SCALARS = (str, int, float, bool, type(None))


def made_plain(value: Any) -> Any:
    """The same data plain; the very object where it is plain already, so nothing is copied and an iterator is read only once. What has no
    plain form stays as it is."""
    if isinstance(value, _SCALARS):
        return value
    if isinstance(value, dict):
        return _same_or(value, {name: made_plain(each) for name, each in value.items()})
    if isinstance(value, list):
        made = [made_plain(each) for each in value]
        return value if all(new is old for new, old in zip(made, value)) else made
    if isinstance(value, Mapping):
        return {name: made_plain(each) for name, each in value.items()}
    if isinstance(value, (tuple, set, frozenset, Iterator)):
        return [made_plain(each) for each in value]
    return said.plain(value)


def _same_or(before: dict[Any, Any], made: dict[Any, Any]) -> dict[Any, Any]:
    return before if all(made[name] is each for name, each in before.items()) else made


def is_left_out(value: object) -> bool:
    """Whether a value is one of the marks by which the packages say that an argument was not given."""
    return type(value).__name__ in {"Omit", "NotGiven"}
