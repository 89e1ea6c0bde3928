"""Collection: the marking of resources that a policy releases, followed by their deletion a day later.

Each step is logged before it is done, works in batches, and takes the lock for only one batch; a collection that is killed at any moment
and run again ends in the same state.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from popkit_retention.core.retention_kit import sweep

from .domains import JOB, USER
from .domains.rules import ON_HOLD, PINNED, PLACEHOLDER, Verdict, apply_rules
from .policies import LARGEST_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from collections.abc import Collection as Ids
    from contextlib import AbstractContextManager

    from popkit_retention.core.retention_kit.marks import Mark

    from .data_folder import Folder
    from .domains import Domain
    from .gc_parameters import GcParams
    from .log import Entry, Log
    from .policies import RetentionPolicy

    Changing = Callable[[], AbstractContextManager[Log]]

# Operations of the log.
MARK, UNMARK, DELETE = "mark", "unmark", "delete"
BATCH = 2_000
# Reasons for taking a mark back, beside those of the rules.
USED_SINCE, GONE, UNDONE = "used_since_marked", "gone", "undone"
_VETOES = frozenset((ON_HOLD, PINNED))
_TAKEN_BACK = {sweep.RENEW: USED_SINCE, sweep.UNMARK: PLACEHOLDER}


@dataclass(frozen=True)
class Collection:
    """The result of one collection of a domain. `marks`: to be deleted a day later · `deletes`: marked for a day · `unmarked`: marked, but
    now kept, with the reasons · `waiting`: marked for less than a day · `kept`: how many are kept, by the deciding reason · `placeholders`:
    id -> the transcripts with a placeholder for it; such an id is kept, unless the user insisted · `left_out`: how many the limit left for
    the next collection."""

    params: GcParams
    project: str | None = None
    marks: list[Verdict] = field(default_factory=list)
    deletes: list[Verdict] = field(default_factory=list)
    unmarked: list[Verdict] = field(default_factory=list)
    waiting: list[Verdict] = field(default_factory=list)
    kept: dict[str, int] = field(default_factory=dict)
    placeholders: dict[str, list[str]] = field(default_factory=dict)
    left_out: int = 0
    compacted: bool = False

    @property
    def truncated(self) -> bool:
        """Return whether the limit left anything out."""
        return self.left_out > 0


@dataclass(frozen=True)
class Collector:
    """The parameters of a collection. `changing` takes the lock, finishes what others left undone, and yields the log · `current` returns
    the parameters in force, `without` the projects that another policy now rules: changes made in the meantime apply · `now` in
    seconds · `progress(what, done, of)` is called after each `batch`, and may raise to stop between two."""

    changing: Changing
    domain: Domain
    current: Callable[[], GcParams]
    now: float
    by: str
    project: str | None = None
    placeholders_too: bool = False
    progress: Callable[[str, int, int], object] = lambda what, done, of: None
    batch: int = BATCH
    without: Callable[[], Ids[str]] = tuple


def plan(job: Collector, policy: RetentionPolicy | None = None) -> Collection:
    """Return what a collection would do; change nothing. The oldest come first, deletions and new marks together at most as many as the
    limit. `policy`: the policy without the options of this call. Where the call asks for less than the policy, it takes back no mark that
    the policy allows; and where the policy asks for less than a user did, the hourly job leaves that user's marks alone."""
    domain, params, now, project = job.domain, job.current(), job.now, job.project
    marks = domain.marked()
    allowed, protected = _judged(job, params)
    placeholders = domain.placeholders([verdict.id for verdict in allowed]) if allowed else {}
    stays = set() if job.placeholders_too else set(placeholders)
    kept = Counter(verdict.reasons[0] for verdict in protected)
    kept.update({PLACEHOLDER: len(stays)} if stays else {})
    revocable = {id for id, mark in marks.items() if job.by != JOB or mark.by != USER}
    barred = [
        verdict for verdict in protected if verdict.id in marks and (verdict.id in revocable or not _VETOES.isdisjoint(verdict.reasons))
    ]
    unmarked = _not_allowed(job, policy or params, barred)
    steps = {verdict.id: _next_step(job, verdict, marks, released=verdict.id not in stays) for verdict in allowed}
    taken_back = [
        verdict
        for verdict in allowed
        if steps[verdict.id] == sweep.RENEW or (steps[verdict.id] == sweep.UNMARK and verdict.id in revocable)
    ]
    unmarked += [verdict._replace(reasons=(_TAKEN_BACK[steps[verdict.id]],)) for verdict in taken_back]
    waiting = [verdict for verdict in allowed if steps[verdict.id] == sweep.WAIT]
    candidates = [verdict for verdict in allowed if steps[verdict.id] in (sweep.DELETE, sweep.MARK, sweep.RENEW)]
    if project is None:
        known = {verdict.id for verdict in (*allowed, *protected)}
        missing = [id for id in marks if id not in known]
        ruled_by_others = {resource.id for resource in domain.resources(now, ids=missing)} if missing else set()
        unmarked += [Verdict(id, (GONE,), None) for id in missing if id not in ruled_by_others]
    chosen = candidates[: params.limit]
    deletes = [verdict for verdict in chosen if steps[verdict.id] == sweep.DELETE]
    to_mark = [verdict for verdict in chosen if steps[verdict.id] != sweep.DELETE]
    return Collection(
        params, project, to_mark, deletes, unmarked, waiting, dict(kept), placeholders, len(candidates) - len(chosen)
    )  # fmt: skip


def carry_out(job: Collector, planned: Collection) -> Collection:
    """Carry out a plan: take marks back, delete, mark, and compact if the policy says so and anything was deleted. Judge each batch again
    under the lock: resources that have since been held, used or kept by a new policy are kept. Return what was really done."""
    unmarked = _unmark(job, planned.unmarked)
    kept = Counter(planned.kept)
    deletes = _in_batches(job, "deleted", planned.deletes, _delete_batch, kept)
    marks = _in_batches(job, "marked", planned.marks, _mark_batch, kept)
    compacted = bool(deletes) and job.current().vacuum and job.domain.compact()
    return replace(planned, marks=marks, deletes=deletes, unmarked=unmarked, kept=dict(kept), compacted=compacted)


def collect(job: Collector) -> Collection:
    """Plan a collection and carry it out."""
    return carry_out(job, plan(job))


def undo(changing: Changing, domain: Domain, ids: Sequence[str], now: float, by: str, project: str | None = None) -> list[str]:
    """Take marks back: those of these ids, else all of the domain (of a project); return the ids that were marked."""
    undone: list[str] = []
    with changing() as log:
        marks = domain.marked()
        wanted = [id for id in dict.fromkeys(ids or marks) if id in marks]
        if project is not None:
            wanted = [resource.id for resource in domain.resources(now, project, wanted)]
        for batch in _batches(wanted):
            _log_unmarked(domain, log, {id: [UNDONE] for id in batch}, now, by)
            undone += batch
    return undone


def finish_mark(folder: Folder, domain: Domain, log: Log, entry: Entry, now: float) -> None:
    """Complete a logged marking; the caller holds the lock."""
    todo = entry.todo or {}
    domain.mark(todo["ids"], todo["at"], todo["by"])
    log.done(entry.number)


def finish_unmark(folder: Folder, domain: Domain, log: Log, entry: Entry, now: float) -> None:
    """Complete a logged unmarking; the caller holds the lock."""
    domain.unmark((entry.todo or {})["ids"])
    log.done(entry.number)


def finish_delete(folder: Folder, domain: Domain, log: Log, entry: Entry, now: float) -> None:
    """Log the ids that an interrupted deletion has deleted, and let the domain finish with those; the caller holds the lock. Nothing else
    is deleted: the rest is still marked, and the next collection judges it as usual."""
    ids = (entry.todo or {})["ids"]
    marks = domain.marked()
    remaining = {
        resource.id for resource in domain.resources(now, ids=ids) if resource.created_at is None or resource.created_at < entry.at
    }
    # Deletions of one domain follow each other under the lock: if this one is logged, its entry is the newest.
    is_logged = any(logged.details.get("of") == entry.number for logged in log.entries(most=1, domain=entry.domain, action="deleted"))
    went = [id for id in ids if id not in marks and id not in remaining]
    domain.delete(went, now)  # deletes their copies, if the kill came before that
    _log_deleted(log, entry, [] if is_logged else went, now)


def _not_allowed(job: Collector, policy: RetentionPolicy, verdicts: list[Verdict]) -> list[Verdict]:
    """Return the verdicts whose resources this policy keeps as well."""
    allowed = {verdict.id for verdict in _judged(job, policy, [verdict.id for verdict in verdicts])[0]} if verdicts else set()
    return [verdict for verdict in verdicts if verdict.id not in allowed]


def _judged(job: Collector, params: RetentionPolicy, ids: Sequence[str] | None = None) -> tuple[list[Verdict], list[Verdict]]:
    """Return the resources that the policy releases (regardless of its limit), and those that it keeps."""
    resources = list(job.domain.resources(job.now, job.project, ids, job.without()))
    applied = apply_rules(replace(params, limit=max(LARGEST_LIMIT, len(resources))), resources, job.now)
    return applied.eligible, applied.protected


def _next_step(job: Collector, verdict: Verdict, marks: Mapping[str, Mark], released: bool = True) -> str:
    """Return the next step of a resource that the policy releases, unless something else keeps it."""
    return sweep.next_step(marks.get(verdict.id), job.now, released, used_at=verdict.created_at)


def _batches(ids: Sequence[str], size: int = BATCH) -> Iterator[list[str]]:
    for start in range(0, len(ids), size):
        yield list(ids[start : start + size])


def _in_batches(
    job: Collector, what: str, verdicts: list[Verdict], work: Callable[[Collector, Log, list[str], Counter], list[str]], kept: Counter
) -> list[Verdict]:
    """Work through a plan, one batch under the lock at a time; return the verdicts for which the work was done."""
    done: set[str] = set()
    seen = 0
    for ids in _batches([verdict.id for verdict in verdicts], job.batch):
        with job.changing() as log:
            done.update(work(job, log, ids, kept))
        seen += len(ids)
        job.progress(what, seen, len(verdicts))
    return [verdict for verdict in verdicts if verdict.id in done]


def _still_allowed(job: Collector, ids: list[str], kept: Counter) -> list[Verdict]:
    """Judge these ids again and return the verdicts on those that policy and holds release, oldest first. Count the others in `kept`, by
    their deciding reason."""
    allowed, protected = _judged(job, job.current(), ids)
    kept.update(verdict.reasons[0] for verdict in protected)
    return allowed


def _mark_batch(job: Collector, log: Log, ids: list[str], kept: Counter) -> list[str]:
    marks = job.domain.marked()
    wanted = [verdict.id for verdict in _still_allowed(job, ids, kept) if _next_step(job, verdict, marks) == sweep.MARK]
    if not wanted:
        return []
    todo = {"do": MARK, "ids": wanted, "at": job.now, "by": job.by}
    entry = log.append("marked", job.domain.name, wanted, _policy_details(job), job.by, job.now, todo)
    done = job.domain.mark(wanted, job.now, job.by)
    log.done(entry.number)
    return done


def _delete_batch(job: Collector, log: Log, ids: list[str], kept: Counter) -> list[str]:
    """Delete a batch. The entry "deleting" names the ids that are to go, the entry "deleted" those that went: the domain may refuse an id
    that a hook has touched in the meantime."""
    marks = job.domain.marked()
    wanted = [verdict.id for verdict in _still_allowed(job, ids, kept) if _next_step(job, verdict, marks) == sweep.DELETE]
    if not wanted:
        return []
    todo = {"do": DELETE, "ids": wanted}
    entry = log.append("deleting", job.domain.name, wanted, _policy_details(job), job.by, job.now, todo)
    went = job.domain.delete(wanted, job.now)
    _log_deleted(log, entry, went, job.now)
    return went


def _log_deleted(log: Log, entry: Entry, went: list[str], now: float) -> None:
    """Log which ids of an entry "deleting" were deleted."""
    if went:
        log.append("deleted", entry.domain, went, {"of": entry.number}, entry.by, now)
    log.done(entry.number)


def _unmark(job: Collector, verdicts: list[Verdict]) -> list[Verdict]:
    by_id = {verdict.id: verdict for verdict in verdicts}
    undone: list[Verdict] = []
    for ids in _batches(list(by_id), job.batch):
        with job.changing() as log:
            marks = job.domain.marked()
            reasons = {id: list(by_id[id].reasons) for id in ids if id in marks}
            if reasons:
                _log_unmarked(job.domain, log, reasons, job.now, job.by)
        undone += [by_id[id] for id in reasons]
        job.progress("unmarked", len(undone), len(verdicts))
    return undone


def _log_unmarked(domain: Domain, log: Log, reasons: dict[str, list[str]], now: float, by: str) -> None:
    ids = list(reasons)
    entry = log.append("unmarked", domain.name, ids, {"reasons": reasons}, by, now, {"do": UNMARK, "ids": ids})
    domain.unmark(ids)
    log.done(entry.number)


def _policy_details(job: Collector) -> dict[str, object]:
    """Return the log's details of the policy that applied."""
    params = job.current()
    return {"older_than_days": params.older_than_days, "source_types": list(params.source_types), "project": job.project}
