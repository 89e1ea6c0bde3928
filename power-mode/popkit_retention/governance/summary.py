"""How governance stands: the policies, what is stored, what of it may be deleted, is protected, marked, held, archived. Changes nothing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from . import answers, archiving
from .errors import DomainUnavailable
from .rules import DAY_S, WITHIN_PERIOD, apply_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .domains import Domain
    from .folder import Folder
    from .policy_file import State
    from .rules import Applied
    from .site import Part

SOON_DAYS = 7
_NOTHING: dict[str, object] = {
    "counts": {"eligible": 0, "protected": 0, "total": 0}, "left_out": 0, "reasons": {},
    "soon": {"count": 0, "first_at": None}, "marked": 0, "due_at": None, "holds": 0,
}  # fmt: skip


def of(state: State, parts: Iterable[tuple[Domain, Part]], folder: Folder, now: float) -> dict[str, object]:
    """`revision`, `updated_at`, `archives` {count, bytes}, `domains`, and in `own` the same of each project that has a policy of its own,
    with its `project`. Of each: `policy`; `unavailable`, why it cannot be used, or ""; `counts` {eligible, protected, total}; `left_out`:
    eligible beyond the limit; `reasons`: how many are protected, by the reason that decides; `soon` {count, first_at}: how many of those
    become eligible within a week if nobody uses them before, and when the first does; `marked`: how many are to be deleted, `due_at`: from
    when on the first of them can be, None for none; `holds`: how many are in force."""
    told: list[dict[str, object]] = []
    own: list[dict[str, object]] = []
    for domain, part in parts:
        (own if part.is_own else told).append({**_of_domain(domain, part, now), **part.named})
    names = [each["domain"] for each in told]
    sizes = [each.get("total_size_bytes", 0) for each in archiving.archives(folder) if each["domain"] in names]
    archives = {"count": len(sizes), "bytes": sum(size for size in sizes if isinstance(size, int))}
    return {"revision": state.revision, "updated_at": state.updated_at, "domains": told, "own": own, "archives": archives}


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
    """What only its age keeps, and not for long."""
    ages = (each.created_at for each in found.protected if each.reasons == (WITHIN_PERIOD,))
    ripe = [at + found.policy.older_than_days * DAY_S for at in ages if at is not None]
    coming = [at for at in ripe if at <= now + SOON_DAYS * DAY_S]
    return {"count": len(coming), "first_at": answers.when(min(coming, default=None))}
