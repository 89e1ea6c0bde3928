"""The status of governance (the policies, what is stored, what of it may be deleted, is protected, marked, held, archived) and the
explanation of one resource (the rules that apply, since when, what comes next and when). Changes nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hooks.utils.archive.content import stamp

from . import answers, archives
from .collection import USED_SINCE
from .domains import ITEM, PROJECT, SESSION
from .errors import DomainUnavailable, NotThere
from .rules import DAY_S, ELIGIBLE, ON_HOLD, PLACEHOLDER, WITHIN_PERIOD, apply_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .data_folder import Folder
    from .domains import Described, Domain, Hold, Mark
    from .policies import RetentionPolicy
    from .policy_file import State
    from .rules import Applied, Resource, Verdict
    from .workspace import Part

SOON_DAYS = 7
_NOTHING: dict[str, object] = {
    "counts": {"eligible": 0, "protected": 0, "total": 0}, "left_out": 0, "reasons": {},
    "soon": {"count": 0, "first_at": None}, "marked": 0, "due_at": None, "holds": 0,
}  # fmt: skip


def of(state: State, parts: Iterable[tuple[Domain, Part]], folder: Folder, now: float) -> dict[str, object]:
    """Return `revision`, `updated_at`, `archives` {count, bytes}, `domains`, and in `own` the same of each project that has a policy of its
    own, with its `project`. Of each: `policy`; `unavailable`, why it cannot be used, or ""; `counts` {eligible, protected, total};
    `left_out`: eligible beyond the limit; `reasons`: how many are protected, by the reason that decides; `soon` {count, first_at}: how many
    of those become eligible within a week if nobody uses them before, and when the first does; `marked`: how many are to be deleted,
    `due_at`: from when on the first of them can be, None for none; `holds`: how many are in force."""
    whole: list[dict[str, object]] = []
    own: list[dict[str, object]] = []
    for domain, part in parts:
        (own if part.is_own else whole).append({**_of_domain(domain, part, now), **part.named})
    names = [each["domain"] for each in whole]
    sizes = [each.get("total_size_bytes", 0) for each in archives.summaries(folder) if each["domain"] in names]
    stored = {"count": len(sizes), "bytes": sum(size for size in sizes if isinstance(size, int))}
    return {"revision": state.revision, "updated_at": state.updated_at, "domains": whole, "own": own, "archives": stored}


def _of_domain(domain: Domain, part: Part, now: float) -> dict[str, object]:
    head = {"domain": domain.name, "policy": part.policy.to_json()}
    try:
        found = apply_rules(part.policy, domain.resources(now, part.project, without=part.without), now)
        marks = domain.marked().values()
        holds = sum(each.in_force(now) for each in domain.holds())
    except DomainUnavailable as error:
        return {**head, "unavailable": str(error), **_NOTHING}
    due = min((mark.due_at for mark in marks), default=None)
    return {
        **head,
        "unavailable": "",
        "counts": answers.counts(found),
        "left_out": found.left_out,
        "reasons": dict(Counter(each.reasons[0] for each in found.protected)),
        "soon": _soon(found, now),
        "marked": len(marks),
        "due_at": answers.when(due),
        "holds": holds,
    }


def _soon(found: Applied, now: float) -> dict[str, object]:
    """Return how many resources only their age keeps, and not for long."""
    ages = (each.created_at for each in found.protected if each.reasons == (WITHIN_PERIOD,))
    ripe = [at + found.policy.older_than_days * DAY_S for at in ages if at is not None]
    coming = [at for at in ripe if at <= now + SOON_DAYS * DAY_S]
    return {"count": len(coming), "first_at": answers.when(min(coming, default=None))}


# --- the explanation of one resource ------------------------------------------------------------------------------------------------------


# The states of a resource, and what can come next.
HELD, KEPT, READY, MARKED = "on_hold", "kept", "eligible", "marked"
TO_BE_ELIGIBLE, TO_BE_MARKED, TO_BE_DELETED, TO_BE_UNMARKED, HOLD_ENDS = "eligible", "marked", "deleted", "unmarked", "hold_ends"


@dataclass(frozen=True)
class Next:
    """What comes next, and at which time (seconds); None: with the next collection."""

    what: str
    at: float | None


@dataclass(frozen=True)
class Explanation:
    """`state`: `on_hold`, `kept`, `eligible` or `marked`, `since` when (seconds; None where nobody can tell). `reasons`: the codes of all
    rules that speak, the one that decides first. `next`: None where nothing comes but by a change of the policy or by somebody's hand."""

    domain: str
    described: Described
    created_at: float | None
    state: str
    reasons: tuple[str, ...]
    since: float | None
    next: Next | None
    holds: list[Hold]
    mark: Mark | None
    placeholders: list[str]

    def to_json(self) -> dict[str, object]:
        """Return it as a JSON object, its times in ISO 8601."""
        described = self.described
        return {
            "domain": self.domain, "id": described.id, "label": described.label, "project": described.project, "session": described.session,
            "bytes": described.bytes, "created_at": _iso(self.created_at), "state": self.state, "reasons": list(self.reasons),
            "since": _iso(self.since), "next": {"what": self.next.what, "at": _iso(self.next.at)} if self.next else None,
            "holds": [
                {"id": hold.id, "scope": hold.scope, "target": hold.target, "who": hold.who, "why": hold.why,
                 "created_at": _iso(hold.created_at), "until": _iso(hold.until)} for hold in self.holds
            ],
            "marked": {"at": _iso(self.mark.at), "by": self.mark.by} if self.mark else None,
            "placeholders": self.placeholders, "stands": described.stands,
        }  # fmt: skip


def explain(domain: Domain, id: str, policy: RetentionPolicy, now: float) -> Explanation:
    """Return what the policy and the holds say of one id at a time (seconds). NotThere where nothing of that id is stored."""
    resource = next(iter(domain.resources(now, ids=[id])), None)
    described = domain.describe([id]).get(id)
    if resource is None or described is None:
        raise NotThere(f"nothing is stored under {id} in {domain.name}. `popkit retention log --id {id}` says what was done with it")
    applied = apply_rules(policy, [resource], now)
    verdict = (applied.eligible or applied.protected)[0]
    mark = domain.marked().get(id)
    placeholders = domain.placeholders([id]).get(id, [])
    holds = [hold for hold in domain.holds() if hold.in_force(now) and _is_about(hold, resource, described)]
    verdict = verdict._replace(reasons=_reasons(verdict, mark, placeholders))
    state, since, coming = _state(verdict, policy, mark, holds)
    return Explanation(
        domain.name, described, resource.created_at, state, verdict.reasons, since, coming, holds, mark, placeholders
    )  # fmt: skip


def _is_about(hold: Hold, resource: Resource, described: Described) -> bool:
    if hold.scope == ITEM:
        return hold.target == resource.id
    if hold.scope == SESSION:
        return hold.target in resource.sessions
    return hold.scope == PROJECT and hold.target == described.project


def _reasons(verdict: Verdict, mark: Mark | None, placeholders: list[str]) -> tuple[str, ...]:
    """Return the rules' reasons, and those of a collection: a placeholder keeps what the policy would let go of."""
    reasons = verdict.reasons
    if placeholders:
        reasons = (*(each for each in reasons if each != ELIGIBLE), PLACEHOLDER)
    if mark and verdict.created_at is not None and verdict.created_at > mark.at:
        reasons = (*reasons, USED_SINCE)
    return reasons


def _state(verdict: Verdict, policy: RetentionPolicy, mark: Mark | None, holds: list[Hold]) -> tuple[str, float | None, Next | None]:
    """Return the state, since when, and what comes next."""
    reasons, born = verdict.reasons, verdict.created_at
    ripe = None if born is None else born + policy.older_than_days * DAY_S
    if reasons == (ELIGIBLE,):
        return (MARKED, mark.at, Next(TO_BE_DELETED, mark.due_at)) if mark else (READY, ripe, Next(TO_BE_MARKED, None))
    if ON_HOLD in reasons:
        since = min((hold.created_at for hold in holds), default=None)
        ends = [hold.until for hold in holds if hold.until is not None]
        coming = Next(HOLD_ENDS, max(ends)) if holds and len(ends) == len(holds) else None
        return HELD, since, Next(TO_BE_UNMARKED, None) if mark else coming
    if mark:
        return MARKED, mark.at, Next(TO_BE_UNMARKED, None)
    return KEPT, born, Next(TO_BE_ELIGIBLE, ripe) if reasons == (WITHIN_PERIOD,) else None


def _iso(seconds: float | None) -> str | None:
    return None if seconds is None else stamp(seconds)
