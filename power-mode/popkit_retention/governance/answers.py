"""The controller's answers as JSON objects: times in ISO 8601, tuples as lists. Pure."""

from __future__ import annotations

from popkit_retention.core.archive.content import stamp

from .policies import KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from popkit_retention.core.retention_kit.holds import Hold

    from .agent_requests import Request
    from .collection import Collection
    from .domains import Description
    from .domains.rules import Application, Verdict
    from .log import Entry
    from .policies import RetentionPolicy
    from .shapes import AppliedAnswer, CollectionPart, Counts, EntryAnswer, HoldAnswer, Json, NamedResource, RequestAnswer, VerdictAnswer


def policy(params: RetentionPolicy) -> Json:
    """Return the keys of a policy, without those that only one call has."""
    return {key: value for key, value in params.to_json().items() if key in KEYS}


def counts(result: Application) -> Counts:
    """Return how many resources a policy releases and keeps; the total includes those that the limit left out."""
    eligible, protected = len(result.eligible), len(result.protected)
    return {"eligible": eligible, "protected": protected, "total": eligible + protected + result.left_out}


def request(record: Request) -> RequestAnswer:
    """Return an agent's request."""
    return {"request": record.id, "at": stamp(record.at), "domain": record.domain, "project": record.project, "asked": dict(record.config)}


def applied(domain: str, result: Application) -> AppliedAnswer:
    """Return the result of a policy's rules on resources."""
    return {
        "success": True,
        "domain": domain,
        "cutoff_date": stamp(max(result.cutoff, 0.0)),
        "policy_applied": policy(result.policy),
        "eligible": [verdict(resource) for resource in result.eligible],
        "protected": [verdict(resource) for resource in result.protected],
        "counts": counts(result),
        "truncated": result.truncated,
        "left_out": result.left_out,
    }


def verdict(record: Verdict) -> VerdictAnswer:
    """Return a policy's verdict on one resource."""
    return {"id": record.id, "reasons": list(record.reasons), "created_at": when(record.created_at)}


def hold(domain: str, record: Hold) -> HoldAnswer:
    """Return a hold, with its domain."""
    return {
        "domain": domain,
        "id": record.id,
        "scope": record.scope,
        "target": record.target,
        "who": record.who,
        "why": record.why,
        "created_at": when(record.created_at),
        "until": when(record.until),
        "released_at": when(record.released_at),
    }


def entry(record: Entry) -> EntryAnswer:
    """Return an entry of the log."""
    return {
        "number": record.number,
        "at": stamp(record.at),
        "by": record.by,
        "action": record.action,
        "domain": record.domain,
        "ids": record.ids,
        "details": record.details,
        "hash": record.hash,
    }


def collection(domain: str, result: Collection, described: Mapping[str, Description]) -> CollectionPart:
    """Return what a collection did, or would do; `described`: descriptions of the resources that it names."""
    return {
        "domain": domain,
        "params": policy(result.params),
        "marks": _named(result.marks, described),
        "deletes": _named(result.deletes, described),
        "waiting": _named(result.waiting, described),
        "unmarked": [{"id": unmarked.id, "reasons": list(unmarked.reasons)} for unmarked in result.unmarked],
        "kept": result.kept,
        "placeholders": result.placeholders,
        "truncated": result.truncated,
        "left_out": result.left_out,
        "compacted": result.compacted,
    }


def when(seconds: float | None) -> str | None:
    """Return a time in seconds as ISO 8601; None for None."""
    return None if seconds is None else stamp(seconds)


def _named(verdicts: Iterable[Verdict], described: Mapping[str, Description]) -> list[NamedResource]:
    return [
        {
            "id": resource.id,
            "label": described[resource.id].label if resource.id in described else "",
            "created_at": when(resource.created_at),
        }
        for resource in verdicts
    ]


# The states of a resource, and the possible next changes.
HELD, KEPT, READY, MARKED = "on_hold", "kept", "eligible", "marked"
TO_BE_ELIGIBLE, TO_BE_MARKED, TO_BE_DELETED, TO_BE_UNMARKED, HOLD_ENDS = "eligible", "marked", "deleted", "unmarked", "hold_ends"
