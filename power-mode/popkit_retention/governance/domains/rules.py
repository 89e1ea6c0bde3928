"""The rules that release or keep each resource of a domain. Pure: the time is a parameter, nothing is deleted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from operator import attrgetter
from typing import NamedTuple

from popkit_retention.core.io.codec import as_text

from ..policies import LARGEST_CONTEXT_ID, LONGEST_ID, SOURCE_TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ..policies import RetentionPolicy

    Keeps = Callable[["Resource"], bool]


DAY_S = 86_400.0
# Reason codes. The first of a verdict decides, in the specification's order.
ELIGIBLE = "older_than_retention_period"
PROTECTED_SESSION, PROTECTED_CONTEXT = "protected_session", "protected_context"
INVALID_SOURCE_TYPE, EXCLUDED_SOURCE_TYPE = "invalid_source_type", "source_type_not_in_policy"
INVALID_TIMESTAMP, WITHIN_PERIOD = "invalid_timestamp", "within_retention_period"
INVALID_RESOURCE = "invalid_resource"
# Reasons that precede every policy, found by the domain or a collection.
ON_HOLD, PINNED, PLACEHOLDER = "on_hold", "pinned", "placeholder_in_transcript"


class Resource(NamedTuple):
    """A stored resource. `created_at`: seconds since the epoch from which its age counts, None where it is unknown. `sessions`: the ids of
    the sessions that it is from. `vetoes`: reason codes that keep it, whatever its policy says."""

    id: str
    created_at: float | None
    source_type: str
    sessions: tuple[str, ...] = ()
    context_id: int | None = None
    vetoes: tuple[str, ...] = ()


class Verdict(NamedTuple):
    """A policy's verdict on one resource: its reason codes, the deciding one first."""

    id: str
    reasons: tuple[str, ...]
    created_at: float | None


@dataclass(frozen=True)
class Application:
    """A policy's verdicts on resources. `eligible` (oldest first, at most the policy's limit) may be deleted, `protected` may not;
    `left_out` were eligible beyond the limit. `cutoff` in seconds: later resources are kept."""

    cutoff: float
    policy: RetentionPolicy
    eligible: list[Verdict]
    protected: list[Verdict]
    left_out: int

    @property
    def truncated(self) -> bool:
        """Return whether the limit left anything out."""
        return self.left_out > 0


def _in_kept_session(policy: RetentionPolicy, _: float) -> Keeps | None:
    kept = frozenset(policy.keep_session_ids)
    return (lambda resource: not kept.isdisjoint(resource.sessions)) if kept else None


def _in_kept_context(policy: RetentionPolicy, _: float) -> Keeps | None:
    kept = frozenset(policy.keep_context_ids)
    return (lambda resource: resource.context_id in kept) if kept else None


def _of_unknown_type(_policy: RetentionPolicy, _: float) -> Keeps:
    known = frozenset(SOURCE_TYPES)
    return lambda resource: resource.source_type not in known


def _of_excluded_type(policy: RetentionPolicy, _: float) -> Keeps | None:
    excluded = frozenset(SOURCE_TYPES).difference(policy.source_types)
    return (lambda resource: resource.source_type in excluded) if excluded else None


def _without_time(_policy: RetentionPolicy, _: float) -> Keeps:
    return lambda resource: resource.created_at is None


def _within_period(_policy: RetentionPolicy, cutoff: float) -> Keeps:
    return lambda resource: resource.created_at is not None and resource.created_at > cutoff


# The rules in the specification's order: the reason code of each, and what makes of a policy and its cutoff (seconds) the question whether
# a resource is kept, None where the policy asks for nothing.
RULES: tuple[tuple[str, Callable[[RetentionPolicy, float], Keeps | None]], ...] = (
    (PROTECTED_SESSION, _in_kept_session),
    (PROTECTED_CONTEXT, _in_kept_context),
    (INVALID_SOURCE_TYPE, _of_unknown_type),
    (EXCLUDED_SOURCE_TYPE, _of_excluded_type),
    (INVALID_TIMESTAMP, _without_time),
    (WITHIN_PERIOD, _within_period),
)


def apply_rules(policy: RetentionPolicy, resources: Iterable[Resource], now: float) -> Application:
    """Sort resources into those that a policy releases and those that it keeps. `now` in seconds."""
    cutoff = now - policy.older_than_days * DAY_S
    rules = [(reason, keeps) for reason, rule in RULES if (keeps := rule(policy, cutoff))]
    eligible: list[Verdict] = []
    protected: list[Verdict] = []
    for resource in resources:
        reasons = resource.vetoes + tuple([reason for reason, keeps in rules if keeps(resource)])
        if reasons:
            protected.append(Verdict(resource.id, reasons, resource.created_at))
        else:
            eligible.append(Verdict(resource.id, (ELIGIBLE,), resource.created_at))
    eligible.sort(key=attrgetter("created_at", "id"))
    within_limit = eligible[: policy.limit]
    return Application(cutoff, policy, within_limit, protected, len(eligible) - len(within_limit))


def resource_of(value: object) -> Resource:
    """Return a resource as a caller describes it: an object with `id`, `created_at`, `source_type`, `session_id`, `context_id`. It never
    fails: a value that is not understood is protected. A session's id is a text and a context's a number; values of another type equal
    neither."""
    if not isinstance(value, dict):
        return Resource("", None, "", vetoes=(INVALID_RESOURCE,))
    id, source_type = value.get("id"), value.get("source_type")
    session_id, context_id = value.get("session_id"), value.get("context_id")
    if isinstance(id, int) and not isinstance(id, bool) and abs(id) <= LARGEST_CONTEXT_ID:
        id = str(id)  # digits alone: it is only shown
    usable = id if isinstance(id, str) and len(id) <= LONGEST_ID and id.isprintable() else ""
    return Resource(
        usable,
        created_at_of(value),
        as_text(source_type),
        (session_id,) if isinstance(session_id, str) else (),
        context_id if isinstance(context_id, int) and not isinstance(context_id, bool) else None,
        () if usable else (INVALID_RESOURCE,),
    )


def created_at_of(value: Mapping[str, object]) -> float | None:
    """Return the seconds since the epoch of a `created_at`: an ISO 8601 text (UTC where it names no zone) or such seconds; None for
    anything else, milliseconds too."""
    created_at = value.get("created_at")
    if isinstance(created_at, str):
        return _from_iso(created_at)
    if isinstance(created_at, (int, float)) and not isinstance(created_at, bool) and 0 <= created_at <= _LAST_S:
        return float(created_at)
    return None


def _from_iso(text: str) -> float | None:
    if len(text) > _LONGEST_TIME:
        return None
    try:
        parsed = datetime.fromisoformat(text[:-1] + "+00:00" if text[-1:] in ("Z", "z") else text)
        at = (parsed if parsed.tzinfo else parsed.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError):
        return None
    return at if at >= 0 else None


_LAST_S = 253_402_300_799  # the end of the year 9999
_LONGEST_TIME = 40
