"""The policies of memory's tiers: the bounds that `transitions` goes by, in the specification's form (4.2 to 4.5).

The configuration has their numbers as `memory.tiers`, and `Memory(policies=…)` takes some of them for an agent's own memory. They have no
unused values; docs/design/memory.md explains each value or missing key that differs from the specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from popkit_retention.core.errors import PopkitError
from popkit_retention.core.policy.ruleset import MEMORY_TIERS

from .items import EMBEDDING, FULL, KEYWORDS, SUMMARY

Policy = Mapping[str, Any]


class BadTierPolicy(PopkitError, ValueError):
    """A policy that cannot be in force; the message names the key."""


def _fixed(policy: Policy) -> Policy:
    return MappingProxyType({name: _fixed(value) if isinstance(value, dict) else value for name, value in policy.items()})


HOT_TIER_POLICY = _fixed({**MEMORY_TIERS["hot"], "compression_allowed": False})
WARM_TIER_POLICY = _fixed({**MEMORY_TIERS["warm"], "compression_levels": (FULL, SUMMARY)})
COLD_TIER_POLICY = _fixed({**MEMORY_TIERS["cold"], "compression_levels": (FULL, SUMMARY, KEYWORDS, EMBEDDING)})
ARCHIVE_TIER_POLICY = _fixed({**MEMORY_TIERS["archive"], "compression_levels": (FULL, SUMMARY), "backup_frequency": "weekly"})
_POLICIES = {"hot": HOT_TIER_POLICY, "warm": WARM_TIER_POLICY, "cold": COLD_TIER_POLICY, "archive": ARCHIVE_TIER_POLICY}


def levels_of(tier: str) -> tuple[str, ...]:
    """Return the levels that items of a tier may be compressed to."""
    policy = _POLICIES[tier.lower()]
    return policy["compression_levels"] if policy.get("compression_allowed", True) else ()


@dataclass(frozen=True)
class TierPolicies:
    """The bounds in force, named for the tier that they are about; `policies_of` says which of the specification's keys each is.

    `_stays`: the worth from which an item stays there; `_entry`, `_back`: from which it comes there, first and again. `hot_newest`: as many
    of a project's newest items count as just said. `used_days`: for as long a use keeps an item where it is. `active_…`, `hot_uses`: the
    accesses within hours, and the uses, that bring it back to HOT. `gone_…`: what an item must be to be deleted, if COLD `deletes` at all.
    `reactivates`: whether an access takes an item out of COLD."""

    hot_hours: float
    hot_newest: int
    hot_entry: float
    hot_stays: float
    used_days: float
    warm_days: float
    warm_stays: float
    warm_entry: float
    warm_retention: float
    active_hours: float
    active_accesses: int
    hot_back: float
    hot_uses: int
    cold_days: float
    reactivates: bool
    deletes: bool
    gone_days: float
    gone_score: float
    gone_accesses: int
    gone_retention: float
    key_score: float
    key_accesses: int


def policies_of(changed: Mapping[str, Policy] | None = None) -> TierPolicies:
    """Return the policies with some values changed. `changed`: under "hot", "warm", "cold" and "archive", keys of the specification's
    policy of that tier, such as `{"hot": {"max_age_hours": 48}}`. Raise BadTierPolicy for a key that there is not, or a value that it
    cannot have."""
    given = {} if changed is None else _mapping("policies", changed)
    _known("", given, _POLICIES)
    hot, warm, cold, archive = (_merged(tier, MEMORY_TIERS[tier], given.get(tier, {})) for tier in _POLICIES)
    stays, back, entry = hot["retention_criteria"], warm["promotion_criteria"], warm["entry_criteria"]
    gone, key = cold["delete_if"], archive["entry_criteria"]
    return TierPolicies(
        hot_hours=hot["max_age_hours"],
        hot_newest=hot["max_messages"],
        hot_entry=hot["min_composite_score"],
        hot_stays=stays["composite_score_minimum"],
        used_days=stays["reinforced_within_days"],
        warm_days=warm["max_age_days"],
        warm_stays=warm["min_composite_score"],
        warm_entry=entry["composite_score_minimum"],
        warm_retention=entry["retention_probability_minimum"],
        active_hours=back["accessed_within_hours"],
        active_accesses=back["access_count_in_hot_window"],
        hot_back=back["composite_score_rises_above"],
        hot_uses=back["reinforcement_count_minimum"],
        cold_days=cold["max_age_days"],
        reactivates=cold["promotion_criteria"]["accessed_after_demotion"],
        deletes=cold["deletion_allowed"],
        gone_days=gone["age_days"],
        gone_score=gone["composite_score_below"],
        gone_accesses=gone["access_count"],
        gone_retention=gone["retention_probability_below"],
        key_score=key["composite_score_minimum"],
        key_accesses=key["access_count_minimum"],
    )


def _merged(path: str, policy: Policy, changed: object) -> dict[str, Any]:
    """Return a policy with the changes. Raise BadTierPolicy for what is in no policy of that form."""
    given = _mapping(path, changed)
    _known(path, given, policy)
    return {
        name: _merged(f"{path}.{name}", value, given.get(name, {}))
        if isinstance(value, dict)
        else _value(f"{path}.{name}", value, given.get(name, value))
        for name, value in policy.items()
    }


def _mapping(path: str, changed: object) -> Policy:
    if not isinstance(changed, Mapping):
        raise BadTierPolicy(f"{path} is {changed!r:.40}, not an object")
    return changed


def _known(path: str, given: Policy, policy: Policy) -> None:
    for name in given:
        if name not in policy:
            at = f"{path}.{name}" if path else str(name)
            raise BadTierPolicy(f"{at:.80} is no key of a tier's policy that can be changed. Known: {', '.join(policy)}")


def _value(path: str, default: object, value: object) -> object:
    """Return a value that is of its default's kind: a flag, a share of 0 to 1, a whole number or a number from 0."""
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise BadTierPolicy(f"{path} is {value!r:.40}: it may be true or false")
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1e300:  # finite in seconds, too
        raise BadTierPolicy(f"{path} is {value!r:.40}: it may be a number from 0 to 1e300")
    if isinstance(default, float) and value > 1:
        raise BadTierPolicy(f"{path} is {value!r:.40}: it may be 0 to 1")
    if ("count" in path or path.endswith("max_messages")) and not isinstance(value, int):
        raise BadTierPolicy(f"{path} is {value!r:.40}: it may be a whole number")
    return value


DEFAULT = policies_of()
