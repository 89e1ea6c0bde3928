"""The controller's answers as JSON objects (times in ISO 8601, tuples as lists), with the status of governance and the explanation of one
resource. Reads domains and archives, and changes nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hooks.utils.archive.content import stamp
from hooks.utils.archive.holds import ITEM, PROJECT, SESSION

from . import DomainUnavailable, NotThere, archives
from .collection import USED_SINCE
from .domains import DAY_S, ELIGIBLE, ON_HOLD, PLACEHOLDER, WITHIN_PERIOD, apply_rules
from .policies import KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hooks.utils.archive.holds import Hold
    from hooks.utils.archive.marks import Mark

    from .collection import Collection
    from .data_folder import Folder
    from .domains import Applied, Described, Domain, Resource, Verdict
    from .log import Entry
    from .policies import RetentionPolicy
    from .policy_file import State
    from .revisions import Request
    from .workspace import Part

    Json = dict[str, object]


def policy(params: RetentionPolicy) -> Json:
    """Return the policy in such parameters."""
    return {key: value for key, value in params.to_json().items() if key in KEYS}


def counts(result: Applied) -> dict[str, int]:
    """Return how many resources a policy releases and keeps; the total includes those that the limit left out."""
    eligible, protected = len(result.eligible), len(result.protected)
    return {"eligible": eligible, "protected": protected, "total": eligible + protected + result.left_out}


def request(record: Request) -> Json:
    """Return an agent's request."""
    return {"request": record.id, "at": stamp(record.at), "domain": record.domain, "project": record.project, "asked": dict(record.config)}


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


def verdict(record: Verdict) -> Json:
    """Return a policy's verdict on one resource."""
    return {"id": record.id, "reasons": list(record.reasons), "created_at": when(record.created_at)}


def hold(domain: str, record: Hold) -> Json:
    """Return a hold, with its domain."""
    return {"domain": domain, **record.to_json(), **{name: when(getattr(record, name)) for name in ("created_at", "until", "released_at")}}


def entry(record: Entry) -> Json:
    """Return an entry of the log."""
    return {**record.to_json(), "at": stamp(record.at)}


def collection(domain: str, result: Collection, described: Mapping[str, Described]) -> Json:
    """Return what a collection did, or would do; `described`: descriptions of the resources that it names."""
    return {
        "domain": domain,
        "params": policy(result.params),
        "marks": _named(result.marks, described),
        "deletes": _named(result.deletes, described),
        "waiting": _named(result.waiting, described),
        "unmarked": [{"id": each.id, "reasons": list(each.reasons)} for each in result.unmarked],
        "kept": result.kept,
        "placeholders": result.placeholders,
        "truncated": result.truncated,
        "left_out": result.left_out,
        "compacted": result.compacted,
    }


def when(seconds: float | None) -> str | None:
    """Return a time; None stays None."""
    return None if seconds is None else stamp(seconds)


def _named(verdicts: Iterable[Verdict], described: Mapping[str, Described]) -> list[Json]:
    return [
        {"id": each.id, "label": described[each.id].label if each.id in described else "", "created_at": when(each.created_at)}
        for each in verdicts
    ]


# --- the status ---

SOON_DAYS = 7
_NOTHING: dict[str, object] = {
    "counts": {"eligible": 0, "protected": 0, "total": 0}, "left_out": 0, "reasons": {},
    "soon": {"count": 0, "first_at": None}, "marked": 0, "due_at": None, "holds": 0,
}  # fmt: skip


def status(state: State, parts: Iterable[tuple[Domain, Part]], folder: Folder, now: float) -> Json:
    """Return `revision`, `updated_at`, `archives` {count, bytes}, `domains`, and in `own` the same for each project with a policy of its
    own, with its `project`. For each: `policy`; `unavailable`, why it cannot be used, or ""; `counts` {eligible, protected, total};
    `left_out`: eligible beyond the limit; `reasons`: how many are protected, by the deciding reason; `soon` {count, first_at}: how many of
    those become eligible within a week if nobody uses them before, and when the first does; `marked`: how many are to be deleted, `due_at`:
    when the first of them can be, None for none; `holds`: how many are in force."""
    whole: list[Json] = []
    own: list[Json] = []
    for domain, part in parts:
        (own if part.is_own else whole).append({**_of_domain(domain, part, now), **part.named})
    names = [each["domain"] for each in whole]
    sizes = [each.get("total_size_bytes", 0) for each in archives.summaries(folder) if each["domain"] in names]
    stored = {"count": len(sizes), "bytes": sum(size for size in sizes if isinstance(size, int))}
    return {"revision": state.revision, "updated_at": state.updated_at, "domains": whole, "own": own, "archives": stored}


def _of_domain(domain: Domain, part: Part, now: float) -> Json:
    head = {"domain": domain.name, "policy": part.policy.to_json()}
    try:
        applied = apply_rules(part.policy, domain.resources(now, part.project, without=part.without), now)
        marks = domain.marked().values()
        holds = sum(each.in_force(now) for each in domain.holds())
    except DomainUnavailable as error:
        return {**head, "unavailable": str(error), **_NOTHING}
    due = min((mark.due_at for mark in marks), default=None)
    return {
        **head,
        "unavailable": "",
        "counts": counts(applied),
        "left_out": applied.left_out,
        "reasons": dict(Counter(each.reasons[0] for each in applied.protected)),
        "soon": _soon(applied, now),
        "marked": len(marks),
        "due_at": when(due),
        "holds": holds,
    }


def _soon(applied: Applied, now: float) -> Json:
    """Return how many resources only their age keeps, and not for long."""
    ages = (each.created_at for each in applied.protected if each.reasons == (WITHIN_PERIOD,))
    ripe = [at + applied.policy.older_than_days * DAY_S for at in ages if at is not None]
    coming = [at for at in ripe if at <= now + SOON_DAYS * DAY_S]
    return {"count": len(coming), "first_at": when(min(coming, default=None))}


# --- the explanation of one resource ---

# The states of a resource, and the possible next changes.
HELD, KEPT, READY, MARKED = "on_hold", "kept", "eligible", "marked"
TO_BE_ELIGIBLE, TO_BE_MARKED, TO_BE_DELETED, TO_BE_UNMARKED, HOLD_ENDS = "eligible", "marked", "deleted", "unmarked", "hold_ends"


@dataclass(frozen=True)
class Next:
    """The next change, and its time (seconds); None: with the next collection."""

    what: str
    at: float | None


@dataclass(frozen=True)
class Explanation:
    """`state`: `on_hold`, `kept`, `eligible` or `marked`, `since` when (seconds; None where that is unknown). `reasons`: the codes of all
    rules that apply, the deciding one first. `next`: None where only a change of the policy or somebody's action changes anything."""

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

    def to_json(self) -> Json:
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
    """Return what the policy and the holds say of one id at a time (seconds). NotThere where nothing is stored under it."""
    resource = next(iter(domain.resources(now, ids=[id])), None)
    described = domain.describe([id]).get(id)
    if resource is None or described is None:
        raise NotThere(f"nothing is stored under {id} in {domain.name}. `popkit retention admin log --id {id}` shows what was done with it")
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
    """Return the rules' reasons, and those of a collection: a placeholder keeps a resource that the policy would release."""
    reasons = verdict.reasons
    if placeholders:
        reasons = (*(each for each in reasons if each != ELIGIBLE), PLACEHOLDER)
    if mark and verdict.created_at is not None and verdict.created_at > mark.at:
        reasons = (*reasons, USED_SINCE)
    return reasons


def _state(verdict: Verdict, policy: RetentionPolicy, mark: Mark | None, holds: list[Hold]) -> tuple[str, float | None, Next | None]:
    """Return the state, since when, and the next change."""
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
