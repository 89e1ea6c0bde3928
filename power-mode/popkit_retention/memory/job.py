"""The job: values, moves, compresses, marks or deletes every item, as each is due. It can be stopped anywhere and run again; a second run
changes nothing."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace

from popkit_retention.core import units
from popkit_retention.core.io.codec import as_object, seconds
from popkit_retention.core.retention_kit import sweep
from popkit_retention.core.retention_kit.marks import GRACE_S

from . import compression, holds, transitions, valuation
from .bounds import UNBOUNDED, excess
from .items import BY_JOB, BY_POLICY, BY_USER, CODE, COLD, EMBEDDING, FULL, HOT, LEVELS, SESSION, SUMMARY, Item
from .stored_lessons import session_number
from .stores.protocol import Batch, Change, Outdated, StoreUnavailable, audited
from .summariser import SummariserLate
from .tier_policies import DEFAULT, TierPolicies, levels_of
from .transitions import HOUR_S, Moment, Standing
from .valuation import DAY_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from popkit_retention.core.retention_kit.marks import Mark

    from .bounds import Bounds
    from .embeddings import Embedder
    from .stores.protocol import Store

KEY = "job"
EVERY_S = HOUR_S
BATCH = 2_000
ALERT_S = 3 * DAY_S
ALERT_SCORE = 0.5
MOST_ALERTS = 1_000
MOST_FAILURES = 10
# A summariser that was late this often is not called again in a run, which would hold the lock for hours.
MOST_LATE = 3
# The newest entries of the audit that are kept: some 10 MB, years of a busy project.
LOGGED = 50_000
# A score or a chance that has changed by less is not written.
_NOTICEABLE = 0.005


@dataclass
class Report:
    """The report of a run. `items`: how many it looked at · `moved`: "HOT to WARM" -> how many · `compressed`: level -> how many ·
    `marked`, `deleted` · `failed`: how many it left unchanged, for these `failures` · `alerts`: valuable items that are deleted within
    three days, unless at the user's request (id, project, text, when)."""

    items: int = 0
    moved: dict[str, int] = field(default_factory=dict)
    compressed: dict[str, int] = field(default_factory=dict)
    marked: int = 0
    deleted: int = 0
    failed: int = 0
    failures: list[str] = field(default_factory=list)
    alerts: list[dict[str, object]] = field(default_factory=list)

    def to_json(self) -> dict[str, object]:
        return dict(vars(self))


def due(store: Store, now: float) -> bool:
    """Return whether an hour has passed since the last run began; also when the clock was set back behind it."""
    at = seconds(as_object(store.value(KEY)).get("at"))
    return at is None or not 0 <= now - at < EVERY_S


def run(
    store: Store,
    now: float,
    embedder: Embedder,
    summarise: Callable[[str], str] | None = None,
    progress: Callable[[int], None] = lambda done: None,
    bounds: Bounds = UNBOUNDED,
    policies: TierPolicies = DEFAULT,
) -> Report:
    """Run the job over all projects of a store. `embedder` makes embeddings, `summarise` replaces our summaries; `progress` is called with
    the number of items done; `bounds`: of each project; `policies`: of the
    tiers."""
    report = Report()
    work = _Work(store, now, embedder, summarise, report, policies)
    for item in store.scan():
        work.consider(item)
        if report.items % BATCH == 0:
            work.write()
            progress(report.items)
    work.finish()
    work.keep_within(bounds)
    progress(report.items)
    store.set_value(KEY, {"at": now, **report.to_json()})
    store.shorten_log(LOGGED)
    return report


class _Work:
    def __init__(
        self,
        store: Store,
        now: float,
        embedder: Embedder,
        summarise: Callable[[str], str] | None,
        report: Report,
        policies: TierPolicies = DEFAULT,
    ) -> None:
        self.policies = policies
        self.store, self.now, self.embedder, self.summarise, self.report = store, now, embedder, summarise, report
        self.late = 0  # how often the user's summariser took too long
        self.held = holds.read(store, now)
        self.batch = Batch()
        self.moments: dict[str, tuple[Moment, Moment]] = {}  # of a project, for items that are not among its newest, and for those that are
        self.newest: dict[str, list[tuple[float, str]]] = {}  # project -> the newest items seen so far
        self.waiting: dict[str, Item] = {}  # items that stay where they are if they turn out to be among the newest

    def consider(self, item: Item) -> None:
        """Decide about one item, as far as that is possible before all are known."""
        self.report.items += 1
        may_be_newest = self._count_newest(item)
        if item.mark:
            self._delete_if_due(item, item.mark)
        elif may_be_newest and item.tier == HOT and transitions.decide(self._standing(item)).tier != HOT:
            self.waiting[item.id] = item
        else:
            self._settle(item)

    def finish(self) -> None:
        """Decide about the items that waited, and write the rest."""
        newest = {id for heap in self.newest.values() for _, id in heap}
        for item in self.waiting.values():
            self._settle(item, item.id in newest)
        self.write()

    def keep_within(self, bounds: Bounds) -> None:
        """Mark what is worth least in each project that holds more than it may."""
        if not bounds.are_set:
            return
        for project in sorted({total.project for total in self.store.totals()}):
            items = self.store.scan(project, marked=False, bare=True)
            for item, reason in excess(items, bounds, self.now, self._may_go):
                self.batch.change.append(Change(item.id, {"marked_at": self.now, "marked_by": BY_JOB}))
                self.report.marked += 1
                self._log("marked", item, [reason])
                if len(self.batch.change) >= BATCH:
                    self.write()
        self.write()

    def _may_go(self, item: Item) -> bool:
        return not (item.held or item.for_good or self.held.on(item))

    def write(self) -> None:
        """Write the batch, without items that were put on hold, marked or restored since the decision."""
        holds.touch_marks(self.batch)
        try:
            self.store.write(replace(self.batch, expected=self.held.expected()))
        except Outdated:
            self._drop_what_was_touched()
            self.write()
            return
        self.held.marks = self.batch.values.get(holds.MARKS_KEY, self.held.marks)
        self.batch = Batch()

    def _drop_what_was_touched(self) -> None:
        self.held = holds.read(self.store, self.now)
        marks = {change.id for change in self.batch.change if "marked_at" in change.to}
        going = set(self.batch.remove)
        touched = {
            item.id
            for item in self.store.get([*(change.id for change in self.batch.change), *going])
            if self.held.on(item) or (item.id in going and not self._is_due(item)) or (item.id in marks and (item.held or item.mark))
        }
        for entry in holds.drop(self.batch, touched):
            self._uncount(str(entry["action"]))

    def _moment(self, item: Item, newest: bool = False) -> Moment:
        both = self.moments.get(item.project)
        if both is None:
            session = session_number(self.store, item.project)
            both = self.moments[item.project] = (
                Moment(self.now, session, policies=self.policies),
                Moment(self.now, session, True, self.policies),
            )
        return both[newest]

    def _count_newest(self, item: Item) -> bool:
        """Return whether an item is among the newest of those seen so far."""
        heap = self.newest.setdefault(item.project, [])
        entry = (item.created_at, item.id)
        if len(heap) < self.policies.hot_newest:
            heapq.heappush(heap, entry)
            return True
        return heapq.heappushpop(heap, entry) is not entry

    def _delete_if_due(self, item: Item, mark: Mark) -> None:
        if self._is_due(item):
            self.batch.remove.append(item.id)
            self.report.deleted += 1
            self._log("deleted", item, [f"marked {(self.now - mark.at) / HOUR_S:.0f} h ago by the {mark.by or BY_JOB}"])
        elif not self.held.on(item) and mark.by != BY_USER and _is_of_value(item):
            self._alert(item, mark.due_at)

    def _is_due(self, item: Item) -> bool:
        """Return whether to delete an item now. Items that a policy has marked are governance's to delete."""
        return item.marked_by != BY_POLICY and self._next_step(item) == sweep.DELETE

    def _next_step(self, item: Item, released: bool = True) -> str:
        return sweep.next_step(item.mark, self.now, released, self.held.on(item) is not None)

    def _standing(self, item: Item, newest: bool = False) -> Standing:
        return transitions.standing_of(item, self._moment(item, newest), valuation.score(item, self.now))

    def _settle(self, item: Item, newest: bool = False) -> None:
        """Take an item as far as the rules lead now, so that another run has nothing left to do."""
        before, held = dict(vars(item)), self.held.on(item) is not None
        while True:
            standing = self._standing(item, newest)
            decision, score = transitions.decide(standing), standing.score
            if decision.tier != item.tier:
                self._count(self.report.moved, f"{item.tier} to {decision.tier}", item, decision.reasons)
                item.previous_tier, item.tier, item.tier_since, item.tier_score = item.tier, decision.tier, self.now, score
                item.by_hand = False
            elif decision.marks or item.held or held or not self._compress(item, score * standing.retention):
                break
        if abs(score - item.score) >= _NOTICEABLE or abs(standing.retention - item.retention) >= _NOTICEABLE:
            item.score, item.retention = score, standing.retention
        expired = item.has_expired(self.now) and not item.held
        if self._next_step(item, decision.marks or expired) == sweep.MARK:
            item.marked_at, item.marked_by = self.now, BY_JOB
            self.report.marked += 1
            self._log("marked", item, ["it has expired"] if expired else decision.reasons)
        if vars(item) != before:
            self.batch.change.append(Change(item.id, {name: value for name, value in vars(item).items() if value is not before[name]}))
        if item.tier == COLD and not held and not item.access_count and _is_of_value(item):
            self._foresee(item)

    def _compress(self, item: Item, score: float) -> bool:
        """Compress an item by one level, if that is due and its tier has that level; return whether it did. `score`: its worth, by the
        chance that it is still remembered. Paths and commands cannot be compressed."""
        age_hours = max(0.0, self.now - item.created_at) / HOUR_S
        due, level = compression.POLICY.should_compress(item.level, age_hours, score, item.access_count)
        if not due or level not in levels_of(item.tier):
            return False
        if item.profile == CODE and compression.fits(item.text, compression.TOKENS.get(level, 0)):
            return False
        if level == SUMMARY and self.late >= MOST_LATE:
            return False  # the next run asks again
        try:
            full = self._full_text(item)
            text = compression.at_level(full, level, self.summarise)
            embedding = compression.embedding_of(full, self.embedder.embed) if level == EMBEDDING else item.embedding
        except (OSError, ValueError, RuntimeError, StoreUnavailable) as error:
            self.late += isinstance(error, SummariserLate)
            self.report.failed += 1
            self.report.failures = [*self.report.failures, f"{item.id}: {error}"][:MOST_FAILURES]
            return False
        if item.level == FULL:
            self.batch.originals[item.id] = item.text
        why = [f"{units.counted(round(age_hours / 24), 'day')} old, worth {score:.2f}"]
        if text == item.text:
            self._log(f"short enough for {level}", item, why)
        else:
            self._count(self.report.compressed, level, item, why)
        item.text, item.level, item.embedding = text, level, embedding
        if level == EMBEDDING:
            item.details = {**item.details, "embedder": self.embedder.name}
        return True

    def _full_text(self, item: Item) -> str:
        """Return the text that the next level is made from, so that words are lost once, not level by level."""
        if item.level == FULL:
            return item.text
        return self.batch.originals.get(item.id) or self.store.original(item.id) or item.text

    def _count(self, counts: dict[str, int], name: str, item: Item, reasons: list[str] | tuple[str, ...]) -> None:
        counts[name] = counts.get(name, 0) + 1
        self._log(name, item, reasons)

    def _uncount(self, action: str) -> None:
        """Remove logged actions from the report."""
        if action in ("marked", "deleted"):
            setattr(self.report, action, getattr(self.report, action) - 1)
            return
        counts = self.report.compressed if action in LEVELS else self.report.moved
        if action not in counts:
            return
        counts[action] -= 1
        if not counts[action]:
            del counts[action]

    def _foresee(self, item: Item) -> None:
        """Add an alert where a valuable item is to be deleted soon."""
        if item.mark:
            self._alert(item, item.mark.due_at)
            return
        then = self.now + ALERT_S - GRACE_S
        if not transitions.decide(
            transitions.standing_of(item, transitions.after(self._moment(item), then), valuation.score(item, then))
        ).marks:
            return
        following = transitions.foresee(item, self._moment(item), lambda at: valuation.score(item, at))
        if following and following.decision.marks:
            self._alert(item, following.at + GRACE_S)

    def _alert(self, item: Item, at: float) -> None:
        if len(self.report.alerts) < MOST_ALERTS:
            self.report.alerts.append({"id": item.id, "project": item.project, "text": item.text[:100], "at": at})

    def _log(self, action: str, item: Item, reasons: list[str] | tuple[str, ...]) -> None:
        self.batch.log.append(audited(self.now, action, item.project, item.id, reasons=list(reasons)))


def _is_of_value(item: Item) -> bool:
    """Return whether somebody would miss an item: no session would teach it again, or it was pinned, was of use, or has a high score."""
    return item.source != SESSION or item.was_held or bool(item.reinforcements) or item.score >= ALERT_SCORE


def last_run(store: Store) -> dict[str, object] | None:
    """Return the report of the last run, with `at`; None before the first."""
    last = store.value(KEY)
    return last if isinstance(last, dict) else None
