"""A clear that happened outside the transcript: an entry of the journal tells of it. What the hooks keep and what a rebuild gives agree."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from hooks.utils.policy import engine, events, planning
from hooks.utils.policy.context import OUTSIDE, reclaimable
from hooks.utils.policy.economics import Prices
from hooks.utils.reclaim import outlook
from hooks.utils.state import journal, live
from hooks.utils.views import report
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
        live.note(self.site, self.site.paths(), [journal.cleared_outside(self.ids, 900, HOW, self.at)])
        sessions.play(day.steps[steps:], run)

    def made(self):
        return live.rebuilt(self.site, self.site.paths(), str(self.day.transcript))

    def live(self) -> list:
        return list(self.made().state.live)


WORK = ("read", "read", "search", "test", "read")


@pytest.mark.parametrize(
    "then", [(), ("read", "edit", "test"), ("turn", "read", "commit"), ("compact", "read"), ("resume", "read")], ids="-".join
)
def test_hooks_and_a_rebuild_agree_on_it(tmp_path: Path, then: tuple):
    _assert_equal(Edited(tmp_path, *WORK, then=then))


def test_what_left_is_over_for_the_reason_that_was_given_and_nothing_is_left_of_it_to_reclaim(tmp_path: Path):
    kept = Edited(tmp_path, *WORK)
    state = kept.made().state
    for id in kept.ids:
        assert (state.expired[id].ended[0], state.expired[id].ended[4]) == ("manual", [HOW])
        assert state.expired[id].cleared == OUTSIDE
    assert not set(kept.ids) & set(reclaimable(state.expired))
    assert state.counts.ledger["results"] == 0
    assert state.counts.ledger["clears"] == 1


def test_what_had_expired_before_keeps_its_end(tmp_path: Path):
    kept = Edited(tmp_path, "test", "test", "read", "test")
    expired = next(result for result in kept.made().state.expired.values() if not result.cleared)
    entry = journal.cleared_outside([expired.id], 10, HOW, kept.at + 1)
    live.note(kept.site, kept.site.paths(), [entry])
    _assert_equal(kept)
    after = kept.made().state.expired[expired.id]
    assert (after.ended[0], after.cleared) == (expired.ended[0], OUTSIDE)


@pytest.mark.parametrize(
    "asked", [planning.Selection(), planning.Selection(now=True), planning.Selection(tier="medium"), planning.Selection(tier="session")]
)
def test_no_clear_takes_it(tmp_path: Path, asked: planning.Selection):
    kept = Edited(tmp_path, *WORK)
    found = planning.plan(kept.made().conversation, asked, kept.at + 9_000, _Never(), Prices(0.1, 1.25, 5.0, 300, False), cold=True)
    assert not {decision.result.id for decision in found.decisions} & set(kept.ids)


class _Never:
    """A model of need by which nothing is needed again."""

    def probability(self, result, state) -> float:
        return 0.0


def test_nobody_is_offered_a_handle_for_it(tmp_path: Path):
    kept = Edited(tmp_path, *WORK)
    looked = outlook.of(kept.site, str(kept.day.transcript), kept.made(), kept.at)
    rows = [row for row in report.build(looked)["results"] if row["id"] in kept.ids]
    assert {(row["state"], row["handle"]) for row in rows} == {("cleared", "")}


def test_a_pin_does_not_bring_it_back(tmp_path: Path):
    kept = Edited(tmp_path, *WORK)
    live.note(kept.site, kept.site.paths(), [journal.pinned(id, kept.at + 1) for id in kept.ids])
    _assert_equal(kept)
    assert not set(kept.ids) & set(kept.live())


def test_a_placeholder_that_stands_for_it_as_well_gives_it_its_handle(tmp_path: Path):
    kept = Edited(tmp_path, *WORK)
    made = kept.made()
    engine.observe(made.state, events.Cleared({kept.ids[0]: "abcd2345"}), made.conversation.rules)
    assert made.state.expired[kept.ids[0]].cleared == "abcd2345"
