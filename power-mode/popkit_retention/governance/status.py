"""The status of governance, counted per domain. Reads domains and archives, and changes nothing."""

from __future__ import annotations

from collections import Counter

from . import archives
from .answers import counts, when
from .domains.rules import DAY_S, WITHIN_PERIOD, apply_rules
from .errors import DomainUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .data_folder import Folder
    from .domains import Domain
    from .domains.rules import Application
    from .policy_file import State
    from .shapes import ArchiveTotal, DomainFigures, DomainStatus, DueResources, PartStatus, Status
    from .workspace import Part


SOON_DAYS = 7
_NOTHING: DomainFigures = {
    "counts": {"eligible": 0, "protected": 0, "total": 0}, "left_out": 0, "reasons": {},
    "soon": {"count": 0, "first_at": None}, "marked": 0, "due_at": None, "holds": 0,
}  # fmt: skip


def status(state: State, parts: Iterable[tuple[Domain, Part]], folder: Folder, now: float) -> Status:
    """Return `revision`, `updated_at`, `archives` {count, bytes}, `domains`, and in `own` the same for each project with a policy of its
    own, with its `project`. For each: `policy`; `unavailable`, why it cannot be used, or ""; `counts` {eligible, protected, total};
    `left_out`: eligible beyond the limit; `reasons`: how many are protected, by the deciding reason; `soon` {count, first_at}: how many of
    those become eligible within a week if nobody uses them before, and when the first does; `marked`: how many are to be deleted, `due_at`:
    when the first of them can be, None for none; `holds`: how many are in force."""
    whole: list[PartStatus] = []
    own: list[PartStatus] = []
    for domain, part in parts:
        (own if part.is_own else whole).append({**_of_domain(domain, part, now), **part.named})
    names = [part_status["domain"] for part_status in whole]
    sizes = [summary.get("total_size_bytes", 0) for summary in archives.summaries(folder) if summary["domain"] in names]
    stored: ArchiveTotal = {"count": len(sizes), "bytes": sum(sizes)}
    return {"revision": state.revision, "updated_at": state.updated_at, "domains": whole, "own": own, "archives": stored}


def _of_domain(domain: Domain, part: Part, now: float) -> DomainStatus:
    try:
        applied = apply_rules(part.policy, domain.resources(now, part.project, without=part.without), now)
        marks = domain.marked().values()
        holds = sum(hold.in_force(now) for hold in domain.holds())
    except DomainUnavailable as error:
        return {"domain": domain.name, "policy": part.policy.to_json(), "unavailable": str(error), **_NOTHING}
    due = min((mark.due_at for mark in marks), default=None)
    return {
        "domain": domain.name,
        "policy": part.policy.to_json(),
        "unavailable": "",
        "counts": counts(applied),
        "left_out": applied.left_out,
        "reasons": dict(Counter(verdict.reasons[0] for verdict in applied.protected)),
        "soon": _soon(applied, now),
        "marked": len(marks),
        "due_at": when(due),
        "holds": holds,
    }


def _soon(applied: Application, now: float) -> DueResources:
    """Return how many resources only their age keeps, and not for long."""
    ages = (verdict.created_at for verdict in applied.protected if verdict.reasons == (WITHIN_PERIOD,))
    ripe = [at + applied.policy.older_than_days * DAY_S for at in ages if at is not None]
    coming = [at for at in ripe if at <= now + SOON_DAYS * DAY_S]
    return {"count": len(coming), "first_at": when(min(coming, default=None))}
