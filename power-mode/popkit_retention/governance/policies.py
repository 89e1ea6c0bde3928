"""Retention policies, each of which says how long the stored data of a domain is kept. Pure."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import NamedTuple

from .errors import BadPolicy
from .quoting import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any


MEMORY, RAG = DOMAINS = ("memory", "rag")
CONTEXT, ACTION, THOUGHT = SOURCE_TYPES = ("context", "action", "thought")
FEWEST_DAYS, MOST_DAYS = 1, 3_650
SMALLEST_LIMIT, LARGEST_LIMIT = 1, 20_000
# Ours: the specification bounds neither.
MOST_KEPT_IDS = 10_000
LONGEST_ID = 200
LARGEST_CONTEXT_ID = 2**53 - 1


class Adjustment(NamedTuple):
    """A value that a policy did not keep as it was: the key, the value that was given, the value that is kept instead, and why."""

    key: str
    given: object
    kept: object
    why: str


@dataclass(frozen=True)
class RetentionPolicy:
    """The specification's RetentionPolicy. `older_than_days`: younger data is kept · `source_types`: the only types that may be deleted ·
    `keep_session_ids`, `keep_context_ids`: their data is never deleted · `limit`: the most that one collection takes · `vacuum`: whether it
    compacts the file afterwards · `auto_gc`: whether the hourly job collects."""

    older_than_days: int | float = 30
    source_types: tuple[str, ...] = SOURCE_TYPES
    keep_session_ids: tuple[str, ...] = ()
    keep_context_ids: tuple[int, ...] = ()
    limit: int = 5_000
    vacuum: bool = False
    auto_gc: bool = False

    def to_json(self) -> dict[str, object]:
        """Return it as a JSON object: tuples as lists."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


DEFAULT_POLICY = RetentionPolicy()
KEYS = tuple(field.name for field in fields(RetentionPolicy))


def check_domain(domain: object) -> str:
    """Return the domain of this name; BadPolicy for anything else."""
    if not isinstance(domain, str) or domain not in DOMAINS:
        raise BadPolicy(f"unknown domain {shown(domain)}. Known: {', '.join(DOMAINS)}")
    return domain


def merged(policy: RetentionPolicy, config: Mapping[str, object]) -> tuple[RetentionPolicy, list[Adjustment]]:
    """Return a new policy with the values of `config`, else of `policy`; and the values of `config` that were adjusted (INV-RET-3,
    INV-RET-4). BadPolicy for an unknown key, and for a value of a type that the key cannot have."""
    if not hasattr(config, "items"):
        raise BadPolicy(f"a policy is an object of {', '.join(KEYS)}, not {type(config).__name__}")
    unknown = [key for key in config if key not in KEYS]
    if unknown:
        raise BadPolicy(f"unknown key {shown(unknown[0])}. Known: {', '.join(KEYS)}")
    adjusted: list[Adjustment] = []
    values: dict[str, object] = {}
    for key, value in config.items():
        adjusted_value, why = _ROWS[key].read(key, value, getattr(policy, key))
        values[key] = adjusted_value
        if why:
            adjusted.append(Adjustment(key, value, list(adjusted_value) if isinstance(adjusted_value, tuple) else adjusted_value, why))
    return replace(policy, **values), adjusted  # type: ignore[arg-type]  # each has been read as its field has it


def keeps_more(before: RetentionPolicy, after: RetentionPolicy) -> bool:
    """Return whether the later policy keeps everything that the earlier one keeps, and deletes no more of it at once or by itself."""
    return all(row.keeps_more(getattr(before, key), getattr(after, key)) for key, row in _ROWS.items())


def from_json(value: object) -> RetentionPolicy:
    """Return a stored policy, read strictly; BadPolicy for one that this module did not write."""
    if not isinstance(value, dict) or set(value) != set(KEYS):
        raise BadPolicy("a stored policy has these keys: " + ", ".join(KEYS))
    return strictly_merged(value)


def strictly_merged(value: object) -> RetentionPolicy:
    """Return the default policy with stored values, none of which may need an adjustment; BadPolicy."""
    policy, adjusted = merged(DEFAULT_POLICY, value)  # type: ignore[arg-type]  # anything but an object is a BadPolicy
    if adjusted:
        raise BadPolicy(f"{adjusted[0].key}: {adjusted[0].why}")
    return policy


def _days(key: str, value: object, _before: object) -> tuple[int | float, str]:
    number = _number(key, value)
    clamped = min(max(number, FEWEST_DAYS), MOST_DAYS)
    whole = int(clamped) if clamped == int(clamped) else clamped
    return whole, "" if clamped == number else f"must be from {FEWEST_DAYS} to {MOST_DAYS:,}"


def _limit(key: str, value: object, _before: object) -> tuple[int, str]:
    number = _number(key, value)
    clamped = int(min(max(number, SMALLEST_LIMIT), LARGEST_LIMIT))
    return clamped, "" if clamped == number else f"must be a whole number from {SMALLEST_LIMIT} to {LARGEST_LIMIT:,}"


def _number(key: str, value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadPolicy(f"{key} must be a number, not {_in_words(value)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise BadPolicy(f"{key} must be a finite number, not {value}")
    return value


def _switch(key: str, value: object, _before: object) -> tuple[bool, str]:
    if not isinstance(value, bool):
        raise BadPolicy(f"{key} must be true or false, not {_in_words(value)}")
    return value, ""


def _source_types(key: str, value: object, before: object) -> tuple[object, str]:
    words = _listed(key, value)
    known = tuple(each for each in dict.fromkeys(word for word in words if isinstance(word, str)) if each in SOURCE_TYPES)
    if len(known) == len(words):
        return (known, "") if known else (before, "must name at least one of " + ", ".join(SOURCE_TYPES))
    why = f"can hold {', '.join(SOURCE_TYPES)}, each once"
    return known or before, why


def _session_ids(key: str, value: object, _before: object) -> tuple[tuple[str, ...], str]:
    words = _listed(key, value)
    for word in words:
        if not isinstance(word, str) or not word or len(word) > LONGEST_ID or not word.isprintable():
            raise BadPolicy(f"{key}: {shown(word)} is not a session id (1 to {LONGEST_ID} printable characters)")
    return _once(words)


def _context_ids(key: str, value: object, _before: object) -> tuple[tuple[int, ...], str]:
    numbers = _listed(key, value)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int) or not 0 < number <= LARGEST_CONTEXT_ID:
            raise BadPolicy(f"{key}: {shown(number)} is not a context id (a whole number from 1)")
    return _once(numbers)


def _listed(key: str, value: object) -> list:
    if not isinstance(value, (list, tuple)):
        raise BadPolicy(f"{key} must be a list, not {_in_words(value)}")
    if len(value) > MOST_KEPT_IDS:
        raise BadPolicy(f"{key} can hold at most {MOST_KEPT_IDS:,} entries, not {len(value):,}")
    return list(value)


def _once(values: Iterable) -> tuple[tuple, str]:
    words = list(values)
    unique = tuple(dict.fromkeys(words))
    return unique, "" if len(unique) == len(words) else "can hold each id once"


def _in_words(value: object) -> str:
    return shown(value) if value is None or isinstance(value, (bool, int, float, str)) else type(value).__name__


def _no_less(before: Any, after: Any) -> bool:
    return after >= before


def _no_more(before: Any, after: Any) -> bool:
    return after <= before


def _none_removed(before: Iterable, after: Iterable) -> bool:
    return set(after) >= set(before)


def _none_added(before: Iterable, after: Iterable) -> bool:
    return set(after) <= set(before)


class _Row(NamedTuple):
    """A key of a policy: how its values are read, as (what is kept, why it is not what was given), and whether the later of two values
    keeps everything that the earlier one keeps."""

    read: Callable[[str, object, object], tuple[object, str]]
    keeps_more: Callable[[Any, Any], bool]


_ROWS = {
    "older_than_days": _Row(_days, _no_less),
    "source_types": _Row(_source_types, _none_added),
    "keep_session_ids": _Row(_session_ids, _none_removed),
    "keep_context_ids": _Row(_context_ids, _none_removed),
    "limit": _Row(_limit, _no_more),
    "vacuum": _Row(_switch, _no_more),
    "auto_gc": _Row(_switch, _no_more),
}
