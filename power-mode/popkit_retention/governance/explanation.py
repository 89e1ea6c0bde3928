"""The explanation of one resource: the rules that keep or release it, its next step. Nothing is changed."""

from __future__ import annotations

from dataclasses import dataclass

from .answers import (
    HELD,
    HOLD_ENDS,
    KEPT,
    MARKED,
    READY,
    TO_BE_DELETED,
    TO_BE_ELIGIBLE,
    TO_BE_MARKED,
    TO_BE_UNMARKED,
    when,
)
from .collection import USED_SINCE
from .domains.rules import DAY_S, ELIGIBLE, ON_HOLD, PLACEHOLDER, WITHIN_PERIOD, apply_rules
from .errors import ResourceNotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.retention_kit.holds import Hold
    from popkit_retention.core.retention_kit.marks import Mark

    from .domains import Description, Domain
    from .domains.rules import Verdict
    from .policies import RetentionPolicy
    from .shapes import ExplanationAnswer


@dataclass(frozen=True)
class NextChange:
    """The next change of a resource. `at`: its time in seconds, None if it comes with the next collection."""

    what: str
    at: float | None


@dataclass(frozen=True)
class Explanation:
    """`state`: `on_hold`, `kept`, `eligible` or `marked`, `since` when (seconds; None where that is unknown). `reasons`: the codes of all
    rules that apply, the deciding one first. `next`: None where only a change of the policy or somebody's action changes anything."""

    domain: str
    described: Description
    created_at: float | None
    state: str
    reasons: tuple[str, ...]
    since: float | None
    next: NextChange | None
    holds: list[Hold]
    mark: Mark | None
    placeholders: list[str]

    def to_json(self) -> ExplanationAnswer:
        """Return it as a JSON object, its times in ISO 8601."""
        described = self.described
        return {
            "domain": self.domain, "id": described.id, "label": described.label, "project": described.project, "session": described.session,
            "bytes": described.bytes, "created_at": when(self.created_at), "state": self.state, "reasons": list(self.reasons),
            "since": when(self.since), "next": {"what": self.next.what, "at": when(self.next.at)} if self.next else None,
            "holds": [
                {"id": hold.id, "scope": hold.scope, "target": hold.target, "who": hold.who, "why": hold.why,
                 "created_at": when(hold.created_at), "until": when(hold.until)} for hold in self.holds
            ],
            "marked": {"at": when(self.mark.at), "by": self.mark.by} if self.mark else None,
            "placeholders": self.placeholders, "stands": described.stage,
        }  # fmt: skip


def explain(domain: Domain, id: str, policy: RetentionPolicy, now: float) -> Explanation:
    """Return what the policy and the holds say of one id at a time (seconds). ResourceNotFound where nothing is stored under it."""
    resource = next(iter(domain.resources(now, ids=[id])), None)
    described = domain.describe([id]).get(id)
    if resource is None or described is None:
        raise ResourceNotFound(
            f"nothing is stored under {id} in {domain.name}. `popkit retention admin log --id {id}` shows what was done with it"
        )
    applied = apply_rules(policy, [resource], now)
    verdict = (applied.eligible or applied.protected)[0]
    mark = domain.marked().get(id)
    placeholders = domain.placeholders([id]).get(id, [])
    holds = [hold for hold in domain.holds() if hold.in_force(now) and hold.names(resource.id, resource.sessions, described.project)]
    verdict = verdict._replace(reasons=_reasons(verdict, mark, placeholders))
    state, since, coming = _state(verdict, policy, mark, holds)
    return Explanation(
        domain.name, described, resource.created_at, state, verdict.reasons, since, coming, holds, mark, placeholders
    )  # fmt: skip


def _reasons(verdict: Verdict, mark: Mark | None, placeholders: list[str]) -> tuple[str, ...]:
    """Return the rules' reasons, and those of a collection: a placeholder keeps a resource that the policy would release."""
    reasons = verdict.reasons
    if placeholders:
        reasons = (*(reason for reason in reasons if reason != ELIGIBLE), PLACEHOLDER)
    if mark and mark.precedes(verdict.created_at):
        reasons = (*reasons, USED_SINCE)
    return reasons


def _state(verdict: Verdict, policy: RetentionPolicy, mark: Mark | None, holds: list[Hold]) -> tuple[str, float | None, NextChange | None]:
    """Return the state, since when, and the next change."""
    reasons, born = verdict.reasons, verdict.created_at
    ripe = None if born is None else born + policy.older_than_days * DAY_S
    if reasons == (ELIGIBLE,):
        return (MARKED, mark.at, NextChange(TO_BE_DELETED, mark.due_at)) if mark else (READY, ripe, NextChange(TO_BE_MARKED, None))
    if ON_HOLD in reasons:
        since = min((hold.created_at for hold in holds), default=None)
        ends = [hold.until for hold in holds if hold.until is not None]
        coming = NextChange(HOLD_ENDS, max(ends)) if holds and len(ends) == len(holds) else None
        return HELD, since, NextChange(TO_BE_UNMARKED, None) if mark else coming
    if mark:
        return MARKED, mark.at, NextChange(TO_BE_UNMARKED, None)
    return KEPT, born, NextChange(TO_BE_ELIGIBLE, ripe) if reasons == (WITHIN_PERIOD,) else None
