"""Retention policies: which of a domain's stored data may be deleted, and when; the differences of one project's policy from the user's, to
which the user agreed for that project alone; the parameters of one call. Pure."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, NamedTuple

from . import BadPolicy, BadRequest, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


MEMORY, RAG = DOMAINS = ("memory", "rag")
CONTEXT, ACTION, THOUGHT = SOURCE_TYPES = ("context", "action", "thought")
FEWEST_DAYS, MOST_DAYS = 1, 3_650
SMALLEST_LIMIT, LARGEST_LIMIT = 1, 20_000
# Ours: the specification bounds neither.
MOST_KEPT_IDS = 10_000
LONGEST_ID = 200
LARGEST_CONTEXT_ID = 2**53 - 1


class Adjusted(NamedTuple):
    """What a policy does not keep as it was given: which key, what was given, what is kept instead, and why."""

    key: str
    given: object
    kept: object
    why: str


@dataclass(frozen=True)
class RetentionPolicy:
    """The specification's RetentionPolicy. `older_than_days`: what is younger is kept · `source_types`: what else may be deleted at all ·
    `keep_session_ids`, `keep_context_ids`: what of these is never deleted · `limit`: how much one collection takes at most · `vacuum`:
    whether it compacts the file when it is done · `auto_gc`: whether the hourly job collects."""

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
KEYS = tuple(each.name for each in fields(RetentionPolicy))


def check_domain(domain: object) -> str:
    """Return the domain of this name; BadPolicy for anything else."""
    if not isinstance(domain, str) or domain not in DOMAINS:
        raise BadPolicy(f"unknown domain {shown(domain)}. Known: {', '.join(DOMAINS)}")
    return domain


def merged(policy: RetentionPolicy, config: Mapping[str, object]) -> tuple[RetentionPolicy, list[Adjusted]]:
    """Return a new policy: what `config` says, else what `policy` said; and what of `config` was adjusted (INV-RET-3, INV-RET-4). BadPolicy
    for an unknown key, and for a value of a type that the key cannot have."""
    if not hasattr(config, "items"):
        raise BadPolicy(f"a policy is an object of {', '.join(KEYS)}, not {type(config).__name__}")
    unknown = [key for key in config if key not in KEYS]
    if unknown:
        raise BadPolicy(f"unknown key {shown(unknown[0])}. Known: {', '.join(KEYS)}")
    adjusted: list[Adjusted] = []
    values: dict[str, object] = {}
    for key, given in config.items():
        kept, why = _READ[key](key, given, getattr(policy, key))
        values[key] = kept
        if why:
            adjusted.append(Adjusted(key, given, list(kept) if isinstance(kept, tuple) else kept, why))
    return replace(policy, **values), adjusted  # type: ignore[arg-type]  # each has been read as its field has it


def keeps_more(before: RetentionPolicy, after: RetentionPolicy) -> bool:
    """Return whether whatever one policy keeps, a later one keeps too, and deletes no more of it at once or by itself."""
    return (
        after.older_than_days >= before.older_than_days
        and set(after.source_types) <= set(before.source_types)
        and set(after.keep_session_ids) >= set(before.keep_session_ids)
        and set(after.keep_context_ids) >= set(before.keep_context_ids)
        and after.limit <= before.limit
        and after.vacuum <= before.vacuum
        and after.auto_gc <= before.auto_gc
    )


def from_json(value: object) -> RetentionPolicy:
    """Return a stored policy, read strictly; BadPolicy for one that this module did not write."""
    if not isinstance(value, dict) or set(value) != set(KEYS):
        raise BadPolicy("a stored policy has these keys: " + ", ".join(KEYS))
    return _strictly_merged(value)


def _strictly_merged(value: object) -> RetentionPolicy:
    """Return the default policy with stored values, none of which may need an adjustment; BadPolicy."""
    policy, adjusted = merged(DEFAULT_POLICY, value)  # type: ignore[arg-type]  # anything but an object is a BadPolicy
    if adjusted:
        raise BadPolicy(f"{adjusted[0].key}: {adjusted[0].why}")
    return policy


def _days(key: str, given: object, _before: object) -> tuple[int | float, str]:
    number = _number(key, given)
    kept = min(max(number, FEWEST_DAYS), MOST_DAYS)
    whole = int(kept) if kept == int(kept) else kept
    return whole, "" if kept == number else f"must be from {FEWEST_DAYS} to {MOST_DAYS:,}"


def _limit(key: str, given: object, _before: object) -> tuple[int, str]:
    number = _number(key, given)
    kept = int(min(max(number, SMALLEST_LIMIT), LARGEST_LIMIT))
    return kept, "" if kept == number else f"must be a whole number from {SMALLEST_LIMIT} to {LARGEST_LIMIT:,}"


def _number(key: str, given: object) -> int | float:
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise BadPolicy(f"{key} must be a number, not {_said(given)}")
    if isinstance(given, float) and not math.isfinite(given):
        raise BadPolicy(f"{key} must be a finite number, not {given}")
    return given


def _switch(key: str, given: object, _before: object) -> tuple[bool, str]:
    if not isinstance(given, bool):
        raise BadPolicy(f"{key} must be true or false, not {_said(given)}")
    return given, ""


def _source_types(key: str, given: object, before: object) -> tuple[object, str]:
    words = _listed(key, given)
    known = tuple(each for each in dict.fromkeys(word for word in words if isinstance(word, str)) if each in SOURCE_TYPES)
    if len(known) == len(words):
        return (known, "") if known else (before, "must name at least one of " + ", ".join(SOURCE_TYPES))
    why = f"can hold {', '.join(SOURCE_TYPES)}, each once"
    return known or before, why


def _session_ids(key: str, given: object, _before: object) -> tuple[tuple[str, ...], str]:
    words = _listed(key, given)
    for word in words:
        if not isinstance(word, str) or not word or len(word) > LONGEST_ID or not word.isprintable():
            raise BadPolicy(f"{key}: {shown(word)} is not a session id (1 to {LONGEST_ID} printable characters)")
    return _once(words)


def _context_ids(key: str, given: object, _before: object) -> tuple[tuple[int, ...], str]:
    numbers = _listed(key, given)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int) or not 0 < number <= LARGEST_CONTEXT_ID:
            raise BadPolicy(f"{key}: {shown(number)} is not a context id (a whole number from 1)")
    return _once(numbers)


def _listed(key: str, given: object) -> list:
    if not isinstance(given, (list, tuple)):
        raise BadPolicy(f"{key} must be a list, not {_said(given)}")
    if len(given) > MOST_KEPT_IDS:
        raise BadPolicy(f"{key} can hold at most {MOST_KEPT_IDS:,} entries, not {len(given):,}")
    return list(given)


def _once(given: Iterable) -> tuple[tuple, str]:
    words = list(given)
    kept = tuple(dict.fromkeys(words))
    return kept, "" if len(kept) == len(words) else "can hold each id once"


def _said(given: object) -> str:
    return shown(given) if given is None or isinstance(given, (bool, int, float, str)) else type(given).__name__


_READ = {
    "older_than_days": _days,
    "source_types": _source_types,
    "keep_session_ids": _session_ids,
    "keep_context_ids": _context_ids,
    "limit": _limit,
    "vacuum": _switch,
    "auto_gc": _switch,
}


# --- a project's own policy ---------------------------------------------------------------------------------------------------------------


# What these lists hold is never deleted, so what the user adds to his own counts in the project, too.
KEEP_LISTS = ("keep_session_ids", "keep_context_ids")


@dataclass(frozen=True)
class Own:
    """`config`: the keys that the project has values of its own for · `released`: of each keep list among them, the ids that the user's
    list held and the project's does not."""

    config: Mapping[str, object] = field(default_factory=dict)
    released: Mapping[str, tuple[object, ...]] = field(default_factory=dict)

    def over(self, policy: RetentionPolicy) -> RetentionPolicy:
        """Return the policy that holds in the project, from the user's."""
        values = dict(self.config)
        for key in self.released:
            added = [id for id in getattr(policy, key) if id not in self.released[key]]
            values[key] = tuple(dict.fromkeys((*values[key], *added)))  # type: ignore[misc]  # a tuple
        return replace(policy, **values)  # type: ignore[arg-type]  # each has been read as its field has it

    def changed(self, policy: RetentionPolicy, config: Mapping[str, object]) -> Own:
        """Return the differences with these values too, as a policy holds them; `policy` is the user's."""
        left = {key: tuple(id for id in getattr(policy, key) if id not in config[key]) for key in KEEP_LISTS if key in config}  # type: ignore[operator]
        return Own({**self.config, **config}, {**self.released, **left})

    def to_json(self) -> dict[str, object]:
        """Return it as a JSON object, which `own_of` reads."""
        return {"config": _jsonable(self.config), "released": _jsonable(self.released)}


def own_of(value: object) -> Own:
    """Return a stored one, read strictly; BadPolicy for what this module did not write."""
    if not isinstance(value, dict) or set(value) != {"config", "released"}:
        raise BadPolicy("a project's policy has the keys config, released")
    config, released = (_read(value[key]) for key in ("config", "released"))
    if set(released) != {key for key in KEEP_LISTS if key in config}:
        raise BadPolicy("released must name the keep lists of config")
    return Own(config, released)  # type: ignore[arg-type]  # keep lists are tuples


def _read(value: object) -> dict[str, object]:
    policy = _strictly_merged(value)
    return {key: getattr(policy, key) for key in value}  # type: ignore[attr-defined]


def _jsonable(values: Mapping[str, object]) -> dict[str, object]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


# --- the parameters of one call -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GcParams(RetentionPolicy):
    """The specification's GcParams: the policy of one call, and the domain that it is about."""

    domain: str = ""


def validated_gc_args(raw_args: Mapping[str, object]) -> dict[str, object]:
    """Return what a call gave, as a policy holds it. BadRequest for an unknown name, a wrong type and for what is out of bounds: a policy
    would be clamped, but a call must not delete something else than it names."""
    try:
        policy, adjusted = merged(DEFAULT_POLICY, raw_args)
    except BadPolicy as error:
        raise BadRequest(str(error)) from None
    for each in adjusted:
        if each.key not in KEEP_LISTS:  # there it is an id that was given twice
            raise BadRequest(f"{each.key} {each.why}; nothing was done")
    return {key: getattr(policy, key) for key in raw_args}


def resolve_gc_params_with_policy(
    domain: str, raw_args: Mapping[str, object], validated_args: Mapping[str, object], policy: RetentionPolicy
) -> GcParams:
    """Return the parameters of a call: for each key that it named (`raw_args`) what validation made of it (`validated_args`, in which
    defaults may stand for the others), else the policy's. What it keeps is added to what the policy keeps. BadRequest as for
    `validated_gc_args`."""
    missing = [key for key in raw_args if key not in validated_args]
    if missing:
        raise BadRequest(f"{shown(missing[0])} was given, but not validated")
    explicit = validated_gc_args({key: validated_args[key] for key in raw_args})
    for key in KEEP_LISTS:
        if key in explicit:
            explicit[key] = tuple(dict.fromkeys((*getattr(policy, key), *explicit[key])))  # type: ignore[misc]  # a tuple
    resolved = replace(policy, **explicit)  # type: ignore[arg-type]  # each has been validated
    return GcParams(**{key: getattr(resolved, key) for key in KEYS}, domain=check_domain(domain))
