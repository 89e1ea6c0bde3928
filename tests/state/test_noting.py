"""What is noted while a session goes on, a clear outside of the context or a result that entered shorter, is the same for hooks and a
rebuild, and what was cleared outside has no handle that anybody is offered."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path

import pytest

from popkit_retention.core.policy import engine, events, planning
from popkit_retention.core.policy.context import OUTSIDE, reclaimable, result_of
from popkit_retention.core.policy.economics import Prices
from popkit_retention.core.policy.plans import Selection
from popkit_retention.core.reclaim import outlook
from popkit_retention.core.state import journal, noting, reconciling, store
from popkit_retention.core.state.opening import open_context
from popkit_retention.core.views import report
from tests.hooks import processes, sessions
from tests.state.test_live_equals_replay import ACTIONS, Kept, _assert_equal, _run_inside

HOW = "cleared by the provider"


class Edited(Kept):
    """A day of which the provider clears some results in the middle."""

    def __init__(self, folder: Path, *acts: str, then: tuple = ()):
        day = sessions.Day(folder, random.Random(7))
        day.begin()
        for act in acts:
            ACTIONS[act](day)
        steps = len(day.steps)
        for act in then:
            ACTIONS[act](day)
        super().__init__(processes.Home(folder), day)
        run = _run_inside(self.home, day)
        sessions.play(day.steps[:steps], run)
        self.ids = self.live()[:2]
        self.at = day.steps[steps - 1].at + 0.5
        noting.note(self.site, self.site.paths(), [journal.cleared_outside(self.ids, 900, HOW, self.at)])
        sessions.play(day.steps[steps:], run)

    def replayed(self):
        return reconciling.rebuilt(self.site, self.site.paths(), str(self.day.transcript))

    def live(self) -> list:
        return list(self.replayed().state.live)


WORK = ("read", "read", "search", "test", "read")


@pytest.mark.parametrize(
    "then", [(), ("read", "edit", "test"), ("turn", "read", "commit"), ("compact", "read"), ("resume", "read")], ids="-".join
)
def test_hooks_and_a_rebuild_agree_on_it(tmp_path: Path, then: tuple):
    _assert_equal(Edited(tmp_path, *WORK, then=then))


def test_removed_results_ended_for_the_given_reason_and_leave_nothing_to_reclaim(tmp_path: Path):
    kept = Edited(tmp_path, *WORK)
    state = kept.replayed().state
    for id in kept.ids:
        assert (state.expired[id].ended[0], state.expired[id].ended[4]) == ("manual", [HOW])
        assert state.expired[id].cleared == OUTSIDE
    assert not set(kept.ids) & set(reclaimable(state.expired))
    assert state.counts.ledger["results"] == 0
    assert state.counts.ledger["clears"] == 1


def test_what_had_expired_before_keeps_its_end(tmp_path: Path):
    kept = Edited(tmp_path, "test", "test", "read", "test")
    expired = next(result for result in kept.replayed().state.expired.values() if not result.cleared)
    entry = journal.cleared_outside([expired.id], 10, HOW, kept.at + 1)
    noting.note(kept.site, kept.site.paths(), [entry])
    _assert_equal(kept)
    after = kept.replayed().state.expired[expired.id]
    assert (after.ended[0], after.cleared) == (expired.ended[0], OUTSIDE)


@pytest.mark.parametrize("asked", [Selection(), Selection(now=True), Selection(tier="medium"), Selection(tier="session")])
def test_no_clear_takes_it(tmp_path: Path, asked: Selection):
    kept = Edited(tmp_path, *WORK)
    plan = planning.plan(kept.replayed().conversation, asked, kept.at + 9_000, _Never(), Prices(0.1, 1.25, 5.0, 300, False), cold=True)
    assert not {decision.result.id for decision in plan.decisions} & set(kept.ids)


class _Never:
    """A model of need by which nothing is needed again."""

    def probability(self, result, state) -> float:
        return 0.0


def test_nobody_is_offered_a_handle_for_it(tmp_path: Path):
    kept = Edited(tmp_path, *WORK)
    looked = outlook.of(kept.site, str(kept.day.transcript), kept.replayed(), kept.at)
    rows = [row for row in report.build(looked)["results"] if row["id"] in kept.ids]
    assert {(row["state"], row["handle"]) for row in rows} == {("cleared", "")}


def test_a_pin_does_not_bring_it_back(tmp_path: Path):
    kept = Edited(tmp_path, *WORK)
    noting.note(kept.site, kept.site.paths(), [journal.pinned(id, kept.at + 1) for id in kept.ids])
    _assert_equal(kept)
    assert not set(kept.ids) & set(kept.live())


def test_a_placeholder_that_replaced_it_too_gives_it_its_handle(tmp_path: Path):
    kept = Edited(tmp_path, *WORK)
    rebuilt = kept.replayed()
    engine.observe(rebuilt.state, events.Cleared({kept.ids[0]: "abcd2345"}), rebuilt.conversation.rules)
    assert rebuilt.state.expired[kept.ids[0]].cleared == "abcd2345"


# --- what entered shorter -------------------------------------------------------------------------------------------------------------


def _entered(kept: Kept, id: str) -> None:
    """Notes that a result has entered as 100 tokens."""
    entry = journal.entered(id, (), "abcd2345", 9_000, 400, 100, ["noise"], kept.day.steps[-1].at + 1)
    paths, event = kept.site.paths(), journal.event_of(entry)
    assert isinstance(event, events.Entered)
    store.journal(paths, entry)
    noting.note_entered(kept.site, paths, event)


def test_hooks_and_a_rebuild_agree_on_what_entered_shorter_live_or_not(tmp_path: Path):
    kept = Edited(tmp_path, *WORK, "read", "test", "test")
    state = kept.replayed().state
    ended = next(result.id for result in state.expired.values() if not result.cleared)
    for id in (ended, list(state.live)[-1], "toolu_unknown"):
        _entered(kept, id)
        _assert_equal(kept)
    assert [kept.replayed().state.live[list(state.live)[-1]].tokens, kept.replayed().state.expired[ended].tokens] == [100, 100]


def test_of_a_large_state_only_the_row_of_what_entered_is_read(tmp_path: Path):
    kept, count = Edited(tmp_path, *WORK), 3_000
    paths = kept.site.paths()
    with paths.locked():
        stored, _ = open_context(kept.site, paths, store.load(paths))
        one = next(iter(stored.state.live.values()))
        for number in range(count):
            row = [f"toolu_many{number}", *one.to_row()[1:]]
            stored.state.live[row[0]] = result_of(row)
        store.save(paths, stored)
    size = Path(paths.state).stat().st_size
    id = f"toolu_many{count // 2}"
    _entered(kept, "toolu_many0")  # loads what it needs
    tracemalloc.start()
    try:
        _entered(kept, id)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    after = store.load(paths)
    assert after is not None
    assert [after.state.live[id].tokens, after.state.live["toolu_many1"].tokens] == [100, one.tokens]
    assert peak <= 4 * size
