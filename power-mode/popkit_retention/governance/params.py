"""The parameters of one collection, or of one look at what a policy says: what a call asks for, else what the policy has. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .errors import BadPolicy, BadRequest, shown
from .policies import DEFAULT_POLICY, KEYS, RetentionPolicy, check_domain, merged

if TYPE_CHECKING:
    from collections.abc import Mapping

# What a call adds to what the policy keeps: no argument may take a kept session or context away from it (INV-RET-5).
_ADDED = ("keep_session_ids", "keep_context_ids")


@dataclass(frozen=True)
class GcParams(RetentionPolicy):
    """The specification's GcParams: the policy of one call, and the domain that it is about."""

    domain: str = ""


def validated_gc_args(raw_args: Mapping[str, object]) -> dict[str, object]:
    """What a call gave, as a policy holds it. BadRequest for an unknown name, a wrong type and for what is out of bounds: a policy would
    be clamped, but a call that deletes something else than it was told to would surprise."""
    try:
        policy, adjusted = merged(DEFAULT_POLICY, raw_args)
    except BadPolicy as error:
        raise BadRequest(str(error)) from None
    for each in adjusted:
        if each.key not in _ADDED:  # there it is an id that was given twice
            raise BadRequest(f"{each.key} {each.why}; nothing was done")
    return {key: getattr(policy, key) for key in raw_args}


def resolve_gc_params_with_policy(
    domain: str, raw_args: Mapping[str, object], validated_args: Mapping[str, object], policy: RetentionPolicy
) -> GcParams:
    """The parameters of a call: for each key that it named (`raw_args`) what validation made of it (`validated_args`, in which defaults may
    stand for the others), else the policy's. What it keeps is added to what the policy keeps. BadRequest as for `validated_gc_args`."""
    missing = [key for key in raw_args if key not in validated_args]
    if missing:
        raise BadRequest(f"{shown(missing[0])} was given, but not validated")
    explicit = validated_gc_args({key: validated_args[key] for key in raw_args})
    for key in _ADDED:
        if key in explicit:
            explicit[key] = tuple(dict.fromkeys((*getattr(policy, key), *explicit[key])))  # type: ignore[misc]  # a tuple
    resolved = replace(policy, **explicit)  # type: ignore[arg-type]  # each has been validated
    return GcParams(**{key: getattr(resolved, key) for key in KEYS}, domain=check_domain(domain))
