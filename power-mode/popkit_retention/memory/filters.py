"""Filters of items: conditions on their fields or metadata. Pure.

    {"user_id": "ana", "kind": {"in": ["note", "order"]}, "created_at": {"gte": 1.79e9}, "metadata.lang": "en"}

All conditions have to hold. A plain value means that the field equals it; an object has operators: `in` (a list), `gt`, `gte`, `lt`, `lte`.
Ranges compare numbers with numbers and texts with texts. A name that the metadata does not have equals None, and is in no range.
"""

from __future__ import annotations

from typing import NamedTuple

from popkit_retention.core.errors import PopkitError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .items import Item

METADATA = "metadata."
# The fields that a filter may name, beside names in the metadata.
SCOPES = ("user_id", "agent_id", "session_id")
TEXTS = (*SCOPES, "id", "project", "kind", "profile", "source", "episode", "speaker", "tier", "level")
NUMBERS = ("created_at", "last_accessed", "expires_at", "confidence", "score", "retention", "writes", "access_count")
EQUAL, IN = "eq", "in"
_COMPARED: dict[str, Callable[[float | str, float | str], bool]] = {
    "gt": lambda own, value: own > value,  # type: ignore[operator]
    "gte": lambda own, value: own >= value,  # type: ignore[operator]
    "lt": lambda own, value: own < value,  # type: ignore[operator]
    "lte": lambda own, value: own <= value,  # type: ignore[operator]
}
OPERATORS = (EQUAL, IN, *_COMPARED)
LONGEST_LIST = 500


class BadFilter(PopkitError, ValueError):
    """A filter that names an unknown field or operator, or a value that cannot be compared; the message says which."""


class Condition(NamedTuple):
    """A condition on one field: its name, an operator of OPERATORS, and a value (of IN: a tuple of values)."""

    field: str
    operator: str
    value: object

    @property
    def key(self) -> str:
        """Return the name in the metadata; "" for a condition on a field."""
        return self.field[len(METADATA) :] if self.field.startswith(METADATA) else ""

    def holds(self, item: Item) -> bool:
        """Return whether an item meets it."""
        own = item.metadata.get(self.key) if self.key else getattr(item, self.field)
        if self.operator == EQUAL:
            return _same(own, self.value)
        if self.operator == IN:
            return any(_same(own, value) for value in self.value)  # type: ignore[attr-defined]
        return _kind(own) == _kind(self.value) is not None and _COMPARED[self.operator](own, self.value)  # type: ignore[arg-type]


def where_of(filter: Mapping[str, object] | None) -> tuple[Condition, ...]:
    """Return the conditions of a filter; none for None. Raise BadFilter."""
    if filter is None:
        return ()
    if not hasattr(filter, "items"):
        raise BadFilter(f"a filter is an object of fields and values, not {type(filter).__name__}")
    conditions: list[Condition] = []
    for field, wanted in filter.items():
        _check_field(field)
        operators = wanted if isinstance(wanted, dict) else {EQUAL: wanted}
        if not operators:
            raise BadFilter(f"{field}: no operator. Known: {', '.join(OPERATORS)}")
        conditions += [_condition(field, operator, value) for operator, value in operators.items()]
    return tuple(conditions)


def matches(item: Item, where: Sequence[Condition]) -> bool:
    """Return whether an item meets all conditions."""
    return all(condition.holds(item) for condition in where)


def _check_field(field: object) -> None:
    if isinstance(field, str) and field.startswith(METADATA):
        if len(field) > len(METADATA) and '"' not in field and field.isprintable():
            return
        raise BadFilter(f"{field!r:.60}: a name in the metadata is printable, without quotation marks")
    if field not in TEXTS and field not in NUMBERS:
        raise BadFilter(f"{field!r:.60} is no field to filter by. Known: {', '.join((*TEXTS, *NUMBERS))}, metadata.NAME")


def _condition(field: str, operator: object, value: object) -> Condition:
    if operator not in OPERATORS:
        raise BadFilter(f"{field}: unknown operator {operator!r:.40}. Known: {', '.join(OPERATORS)}")
    if operator == IN:
        if not isinstance(value, (list, tuple, set, frozenset)) or len(value) > LONGEST_LIST:
            raise BadFilter(f"{field}: `in` takes a list of at most {LONGEST_LIST} values")
        for each in value:
            _check_value(field, each)
        return Condition(field, IN, tuple(value))
    _check_value(field, value)
    if operator != EQUAL and _kind(value) is None:
        raise BadFilter(f"{field}: {operator} compares with a number or a text, not {type(value).__name__}")
    return Condition(field, str(operator), value)


def _check_value(field: str, value: object) -> None:
    """Raise BadFilter for a value that the field can never have: a mistake, since nothing would be found."""
    fits = value is None or isinstance(value, (str, bool, int, float))
    if field in TEXTS:
        fits = isinstance(value, str)
    elif field in NUMBERS:
        fits = _kind(value) == "number" or (value is None and field == "expires_at")
    if not fits or value != value:  # noqa: PLR0124  NaN
        raise BadFilter(f"{field}: {value!r:.40} is no value to compare with")


def _kind(value: object) -> str | None:
    """Return how a value is compared: as a number, as a text, or not at all."""
    if isinstance(value, bool):
        return None
    return "number" if isinstance(value, (int, float)) else "text" if isinstance(value, str) else None


def _same(own: object, value: object) -> bool:
    """Return whether two JSON values are equal: true is not 1."""
    return own == value and isinstance(own, bool) == isinstance(value, bool)
