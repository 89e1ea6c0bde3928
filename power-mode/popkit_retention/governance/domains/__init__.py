"""A domain: data of one kind that a retention policy rules over, and which of its resources a policy releases, and why. `memory` is the
long-term memory, `rag` the archive of contents that left contexts. Collection, holds and archives know a domain by this protocol alone.
The rules are pure: the time is a parameter, nothing is deleted."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..policies import LARGEST_CONTEXT_ID, LONGEST_ID, SOURCE_TYPES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from hooks.utils.archive.chains import Hold
    from hooks.utils.archive.deletion import Mark

    from ..policies import RetentionPolicy

# Who did something: a person in a shell, an agent's tool, the hourly job.
USER, TOOL, JOB = ACTORS = ("user", "tool", "job")


@dataclass(frozen=True)
class Content:
    """One resource as an archive keeps it: `data` comes back byte for byte; `about` is JSON, whatever the domain needs to put it back."""

    id: str
    data: bytes
    about: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Described:
    """One resource in words for a person: what it is (secrets masked), of which project (its key) and session, its bytes, and `stands`, a
    sentence on its stage of life."""

    id: str
    label: str
    project: str
    session: str
    bytes: int
    stands: str


class Domain(Protocol):
    """DomainUnavailable where its store cannot be used. Where `ids` are given, those that are unknown are passed over."""

    name: str

    def resources(
        self, now: float, project: str | None = None, ids: Sequence[str] | None = None, without: Collection[str] = ()
    ) -> Iterator[Resource]:
        """Return what is stored (of one project, by its key; these ids only; not of the projects `without`), with the vetoes of holds and
        pins at a time; never those whose content is gone already."""
        ...

    def matching_ids(self, word: str, project: str | None = None) -> list[str]:
        """Return the ids that a word can mean: the one that it is, else at most five that begin so."""
        ...

    def describe(self, ids: Sequence[str]) -> dict[str, Described]:
        """Return the descriptions of these for people."""
        ...

    def placeholders(self, ids: Sequence[str]) -> dict[str, list[str]]:
        """Return id -> the transcripts that have a placeholder for it. Slow: it reads transcripts."""
        ...

    def holds(self) -> list[Hold]:
        """Return all holds that ever were, oldest first."""
        ...

    def add_hold(self, hold: Hold) -> None:
        """Keep a hold; one of the same id is left as it is."""

    def release_hold(self, id: str, at: float) -> bool:
        """End a hold; return whether it was in force."""
        ...

    def marked(self) -> dict[str, Mark]:
        """Return what is to be deleted."""
        ...

    def mark(self, ids: Sequence[str], at: float, by: str) -> list[str]:
        """Mark resources, but for those that are held or marked already; return which ones it marked."""
        ...

    def unmark(self, ids: Sequence[str]) -> list[str]:
        """Take marks back; return which ones there were."""
        ...

    def delete(self, ids: Sequence[str], now: float) -> list[str]:
        """Delete marked resources for good, but for those that are held; return which ones went. In one transaction with their marks."""
        ...

    def contents(self, ids: Sequence[str]) -> Iterator[Content]:
        """Yield resources as an archive keeps them, in this order, without those that have no content any more."""
        ...

    def put_back(self, contents: Iterable[Content], now: float) -> list[str]:
        """Bring archived resources back under their ids; return which ones were missing and are there now. Their age counts from `now`.
        What is there already stays as it is. Done twice it changes nothing the second time."""
        ...

    def compact(self) -> bool:
        """Give the space of what was deleted back to the system; False where there was no room or time for it."""
        ...

    def close(self) -> None:
        """Close the store."""


# --- rules --------------------------------------------------------------------------------------------------------------------------------

DAY_S = 86_400.0
# Reason codes. The first of a verdict is the one that decides, in the specification's order.
ELIGIBLE = "older_than_retention_period"
PROTECTED_SESSION, PROTECTED_CONTEXT = "protected_session", "protected_context"
INVALID_SOURCE_TYPE, EXCLUDED_SOURCE_TYPE = "invalid_source_type", "source_type_not_in_policy"
INVALID_TIMESTAMP, WITHIN_PERIOD = "invalid_timestamp", "within_retention_period"
INVALID_RESOURCE = "invalid_resource"
# Reasons that precede every policy, and that the domain or a collection finds.
ON_HOLD, PINNED, PLACEHOLDER = "on_hold", "pinned", "placeholder_in_transcript"


class Resource(NamedTuple):
    """One stored thing. `created_at`: seconds since the epoch from which its age counts, None where it is unknown. `sessions`: the ids
    of the sessions that it is from. `vetoes`: reason codes that keep it, whatever its policy says."""

    id: str
    created_at: float | None
    source_type: str
    sessions: tuple[str, ...] = ()
    context_id: int | None = None
    vetoes: tuple[str, ...] = ()


class Verdict(NamedTuple):
    """What a policy says of one resource: its reason codes, the one that decides first."""

    id: str
    reasons: tuple[str, ...]
    created_at: float | None


@dataclass(frozen=True)
class Applied:
    """What a policy says of resources. `eligible` (oldest first, at most the policy's limit) may be deleted, `protected` may not;
    `left_out` were eligible beyond the limit. `cutoff` in seconds: what came to be later is kept."""

    cutoff: float
    policy: RetentionPolicy
    eligible: list[Verdict]
    protected: list[Verdict]
    left_out: int

    @property
    def truncated(self) -> bool:
        """Return whether the limit left anything out."""
        return self.left_out > 0


def apply_rules(policy: RetentionPolicy, resources: Iterable[Resource], now: float) -> Applied:
    """Sort resources into those that a policy releases and those that it keeps. `now` in seconds."""
    cutoff = now - policy.older_than_days * DAY_S
    keep_sessions, keep_contexts = frozenset(policy.keep_session_ids), frozenset(policy.keep_context_ids)
    selected = frozenset(policy.source_types)
    eligible: list[Verdict] = []
    protected: list[Verdict] = []
    for id, created_at, source_type, sessions, context_id, reasons in resources:
        if keep_sessions and not keep_sessions.isdisjoint(sessions):
            reasons += (PROTECTED_SESSION,)
        if context_id is not None and context_id in keep_contexts:
            reasons += (PROTECTED_CONTEXT,)
        if source_type not in selected:
            reasons += (EXCLUDED_SOURCE_TYPE if source_type in SOURCE_TYPES else INVALID_SOURCE_TYPE,)
        if created_at is None:
            reasons += (INVALID_TIMESTAMP,)
        elif created_at > cutoff:
            reasons += (WITHIN_PERIOD,)
        if reasons:
            protected.append(Verdict(id, reasons, created_at))
        else:
            eligible.append(Verdict(id, (ELIGIBLE,), created_at))
    eligible.sort(key=attrgetter("created_at", "id"))
    taken = eligible[: policy.limit]
    return Applied(cutoff, policy, taken, protected, len(eligible) - len(taken))


def resource_of(value: object) -> Resource:
    """Return a resource as a caller describes it: an object with `id`, `created_at`, `source_type`, `session_id`, `context_id`. It never
    fails: what is not understood is protected. A session's id is a text and a context's a number; nothing of another type equals them."""
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
        source_type if isinstance(source_type, str) else "",
        (session_id,) if isinstance(session_id, str) else (),
        context_id if isinstance(context_id, int) and not isinstance(context_id, bool) else None,
        () if usable else (INVALID_RESOURCE,),
    )


def created_at_of(value: Mapping[str, object]) -> float | None:
    """Return the seconds since the epoch of a `created_at`: an ISO 8601 text (UTC where it names no zone) or such seconds; None for
    anything else, milliseconds too."""
    given = value.get("created_at")
    if isinstance(given, str):
        return _from_iso(given)
    if isinstance(given, (int, float)) and not isinstance(given, bool) and 0 <= given <= _LAST_S:
        return float(given)
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
