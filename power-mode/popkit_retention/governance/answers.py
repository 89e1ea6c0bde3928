"""The controller's answers as JSON: times in ISO 8601, tuples as lists. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hooks.utils.archive.content import stamp

from .policies import KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .collection import Collection
    from .consent import Request
    from .domains import Described, Hold
    from .log import Entry
    from .policies import RetentionPolicy
    from .rules import Applied, Verdict

    Json = dict[str, object]


def policy(params: RetentionPolicy) -> Json:
    """Return the policy that such parameters amount to."""
    return {key: value for key, value in params.to_json().items() if key in KEYS}


def counts(result: Applied) -> dict[str, int]:
    """Return how many resources a policy releases and keeps; the total counts what the limit left out, too."""
    eligible, protected = len(result.eligible), len(result.protected)
    return {"eligible": eligible, "protected": protected, "total": eligible + protected + result.left_out}


def request(given: Request) -> Json:
    """Return an agent's request."""
    return {"request": given.id, "at": stamp(given.at), "domain": given.domain, "project": given.project, "asked": dict(given.config)}


def applied(domain: str, result: Applied) -> Json:
    """Return the result of a policy's rules on resources."""
    return {
        "success": True,
        "domain": domain,
        "cutoff_date": stamp(max(result.cutoff, 0.0)),
        "policy_applied": policy(result.policy),
        "eligible": [verdict(each) for each in result.eligible],
        "protected": [verdict(each) for each in result.protected],
        "counts": counts(result),
        "truncated": result.truncated,
        "left_out": result.left_out,
    }


def verdict(given: Verdict) -> Json:
    """One resource of those that a policy was applied to."""
    return {"id": given.id, "reasons": list(given.reasons), "created_at": when(given.created_at)}


def hold(domain: str, given: Hold) -> Json:
    """Return a hold, and of which domain."""
    return {"domain": domain, **given.to_json(), **{name: when(getattr(given, name)) for name in ("created_at", "until", "released_at")}}


def entry(given: Entry) -> Json:
    """Return an entry of the log."""
    return {**given.to_json(), "at": stamp(given.at)}


def collection(domain: str, given: Collection, described: Mapping[str, Described]) -> Json:
    """Return what a collection did, or would do; `described` for what it names."""
    return {
        "domain": domain,
        "params": policy(given.params),
        "marks": _named(given.marks, described),
        "deletes": _named(given.deletes, described),
        "waiting": _named(given.waiting, described),
        "unmarked": [{"id": each.id, "reasons": list(each.reasons)} for each in given.unmarked],
        "kept": given.kept,
        "placeholders": given.placeholders,
        "truncated": given.truncated,
        "left_out": given.left_out,
        "compacted": given.compacted,
    }


def when(seconds: float | None) -> str | None:
    """Return a time; None stays None."""
    return None if seconds is None else stamp(seconds)


def _named(verdicts: Iterable[Verdict], described: Mapping[str, Described]) -> list[Json]:
    return [
        {"id": each.id, "label": described[each.id].label if each.id in described else "", "created_at": when(each.created_at)}
        for each in verdicts
    ]
