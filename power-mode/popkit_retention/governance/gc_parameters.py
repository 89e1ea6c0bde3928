"""The parameters of one collection, which may differ from the policy in force. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .errors import BadPolicy, BadRequest
from .policies import DEFAULT_POLICY, KEYS, RetentionPolicy, check_domain, merged
from .project_policies import KEEP_LISTS
from .quoting import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class GcParams(RetentionPolicy):
    """The specification's GcParams: the policy of one call, and its domain."""

    domain: str = ""


def validated_gc_args(raw_args: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments of a call, as a policy has them. BadRequest for an unknown name, a wrong type and an argument out of bounds: a
    policy is clamped, but a call must not delete anything other than what it names."""
    try:
        policy, adjusted = merged(DEFAULT_POLICY, raw_args)
    except BadPolicy as error:
        raise BadRequest(str(error)) from None
    for change in adjusted:
        if change.key not in KEEP_LISTS:  # in a keep list the adjustment only drops an id that was given twice
            raise BadRequest(f"{change.key} {change.why}; nothing was done")
    return {key: getattr(policy, key) for key in raw_args}


def resolve_gc_params_with_policy(
    domain: str, raw_args: Mapping[str, object], validated_args: Mapping[str, object], policy: RetentionPolicy
) -> GcParams:
    """Return the parameters of a call: for each key that it named (`raw_args`) the validated value (`validated_args`, in which the other
    keys may have defaults), else the policy's. Its keep lists are added to those of the policy. BadRequest as for `validated_gc_args`."""
    missing = [key for key in raw_args if key not in validated_args]
    if missing:
        raise BadRequest(f"{shown(missing[0])} was given, but not validated")
    explicit = validated_gc_args({key: validated_args[key] for key in raw_args})
    for key in KEEP_LISTS:
        if key in explicit:
            explicit[key] = tuple(dict.fromkeys((*getattr(policy, key), *explicit[key])))  # type: ignore[misc]  # a tuple
    resolved = replace(policy, **explicit)  # type: ignore[arg-type]  # each has been validated
    return GcParams(**{key: getattr(resolved, key) for key in KEYS}, domain=check_domain(domain))
