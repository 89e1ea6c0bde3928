"""What a plan decides of every result that stands in the context, and why. By lifetime (profile `spec`): what has expired and is past its
grace; by force what the user names; never what a reference leans on."""

from __future__ import annotations

import pytest

from popkit_retention.core.policy import events, planning
from popkit_retention.core.policy.economics import LIKELY_REQUESTS
from popkit_retention.core.policy.placeholder import gain, why
from tests.policy.conversing import LARGE, LONG, Conversing
from tests.policy.priced import LIFETIMES, prices


def spec(config: dict | None = None) -> Conversing:
    return Conversing(config, "spec")


def edited(quiet: int) -> Conversing:
    """A read whose file was edited in a later turn, so many calls ago."""
    session = spec()
    session.read("a.py", text=LONG)
    session.new_turn()
    session.edit("a.py")
    session.nothing(quiet - 1)
    return session


def test_what_a_newer_run_ended_goes_at_once():
    session = spec()
    session.bash("npm test", LONG)
    session.bash("npm test", LONG + "again")
    assert session.going() == ["T1"]
    assert session.why() == {"T1": "expired", "T2": "live"}


def test_what_came_again_word_for_word_goes_at_once():
    session = spec()
    session.call("mcp__a__b", {"x": 1}, LONG)
    session.call("mcp__a__b", {"x": 2}, LONG)
    assert session.going() == ["T1"]


def test_a_read_that_was_edited_goes_twenty_calls_after_its_last_use():
    session = edited(19)
    assert (session.going(), session.held(), session.why()["T1"]) == ([], ["T1"], "grace")
    session.nothing()
    assert (session.going(), session.held(), session.why()["T1"]) == (["T1"], [], "expired")


def test_grace_counts_from_the_last_use():
    session = spec()
    session.read("a.py", text=LONG)
    session.nothing(30)
    session.read("a.py", 10, 10)
    session.new_turn()
    session.edit("a.py")
    assert (session.going(), session.held()) == ([], ["T1"])
    session.nothing(18)
    assert (session.going(), session.held()) == ([], ["T1"])
    session.nothing()
    assert (session.going(), session.held()) == (["T1"], [])


@pytest.mark.parametrize(("kind", "calls"), [("read", 3), ("search", 4), ("run", 5), ("other", 6)])
def test_the_grace_of_each_kind_is_configured(kind, calls):
    session = spec({"grace_calls": {"read": 3, "search": 4, "run": 5, "ack": 0, "other": 6}})
    acts = {
        "read": lambda: session.read("a.py", text=LONG),
        "search": lambda: session.grep("x", text=LONG),
        "run": lambda: session.bash("npm test", LONG),
        "other": lambda: session.call("mcp__a__b", {}, LONG),
    }
    acts[kind]()
    session.clear("T1")
    session.nothing(calls - 1)
    assert (session.going(), session.held()) == ([], ["T1"])
    session.nothing()
    assert (session.going(), session.held()) == (["T1"], [])


def test_a_path_takes_what_has_expired_of_it():
    session = edited(40)
    session.bash("npm test", LONG)
    session.bash("npm test", LONG + "again")
    session.read("b.py", text=LONG + "b")
    assert session.going(pattern="*.py") == ["T1"]
    assert session.going(pattern="b.py") == []
    assert set(session.going()) == {"T1", "T42"}


def test_force_takes_live_results_and_needs_no_grace():
    session = edited(1)
    session.read("b.py", text=LONG + "b")
    session.bash("npm test", LONG)
    assert session.going(tier="medium") == ["T1", "T3"]
    assert session.going(ids=("T3", "T4")) == ["T3", "T4"]
    assert session.why(ids=("T3", "T4")) == {"T1": "live", "T2": "live", "T3": "asked", "T4": "asked"}


@pytest.mark.parametrize("profile", ["spec", "auto"])
def test_what_is_pinned_never_goes_and_says_so(profile: str):
    session = Conversing(profile=profile)
    session.read("a.py", text=LARGE)
    session.pin("T1")
    session.nothing(40)
    for asked in ({}, {"now": True}, {"tier": "medium"}, {"ids": ("T1",)}, {"pattern": "a.py"}):
        assert "T1" not in session.going(**asked)
        assert session.why(**asked)["T1"] == "pinned"


def test_what_saves_hardly_more_than_its_placeholder_stays_unless_it_is_forced():
    session = spec()
    session.bash("npm test", "x" * 110)
    session.bash("npm test", "y" * 110)
    result = session.state.expired["T1"]
    assert 0 < gain(result, 1.0, session.rules) < planning.LEAST_GAIN
    assert (session.going(now=True), session.why(now=True)["T1"]) == ([], "small")
    assert session.going(ids=("T1",)) == ["T1"]
    result.tokens = 12
    assert (session.going(ids=("T1",)), session.why(ids=("T1",))["T1"]) == ([], "small")


def test_a_result_below_twice_its_placeholder_stays_unless_forced():
    """However much its removal would save."""
    session = edited(40)
    session.state.calibration = 1.7
    result = session.result("T1")
    result.tokens = round(1.9 * session.plan().decisions[0].placeholder)
    assert gain(result, session.state.calibration, session.rules) >= planning.LEAST_GAIN
    assert (session.going(now=True), session.why(now=True)["T1"]) == ([], "small")
    assert session.going(ids=("T1",)) == ["T1"]


@pytest.mark.parametrize(
    ("trigger", "words"),
    [("edited", "edited later"), ("superseded", "a newer one follows"), ("ttl_calls", "old"), ("of tomorrow", "expired")],
)
def test_why_a_result_went_is_said_in_a_few_words(trigger, words):
    session = edited(1)
    session.state.expired["T1"].ended[0] = trigger
    assert why(session.state.expired["T1"]) == words


def test_a_live_result_leaves_by_the_user_s_word_or_unnamed_because_it_is_unused():
    session = spec()
    session.read("a.py")
    session.nothing(22)
    assert why(session.state.live["T1"]) == "by the user"
    assert why(session.state.live["T1"], session.quiet_age("T1")) == "unused for 22 calls"
    gone = edited(22)
    assert why(gone.state.expired["T1"], gone.quiet_age("T1")) == "edited later"


@pytest.mark.parametrize("ttl_s", LIFETIMES)
def test_removals_by_lifetime_or_force_pay_within_the_usual_number_of_requests(ttl_s: int):
    session = edited(40)
    plan = session.plan(cold=False, priced=prices(ttl_s))
    assert plan.likely_requests == LIKELY_REQUESTS[ttl_s]
    assert plan.pays is (plan.sum.pays_after <= LIKELY_REQUESTS[ttl_s])
    assert session.plan(cold=True).pays
    assert not session.plan(pattern="nothing").pays


# --- what references lean on ------------------------------------------------------------------------------------------------------


def referring() -> Conversing:
    """Two reads of a file; the second entered with a reference to the first."""
    session = spec()
    session.read("a.py", text=LARGE)
    session.read("a.py", text=LARGE + "more")
    session.observe(events.Entered("T2", 200, ("T1",), "abcd2345", 9_000, ("90 lines that the context already shows",), 9.0, 0))
    return session


def test_a_result_that_one_that_stays_refers_to_stays_whoever_asks():
    session = referring()
    assert session.why()["T1"] == "leaned_on", "it was superseded, and would go"
    assert session.going(now=True) == []
    assert session.going(ids=("T1",)) == []
    assert session.why(ids=("T1",))["T1"] == "leaned_on"


def test_both_may_go_at_once_and_the_one_that_refers_alone():
    assert referring().going(ids=("T1", "T2")) == ["T1", "T2"]
    assert referring().going(ids=("T2",)) == ["T2"]


def test_a_chain_of_references_stays_down_to_its_first():
    session = referring()
    session.read("a.py", text=LARGE + "most")
    session.observe(events.Entered("T3", 100, ("T2",), "abcd2346", 9_000, ("one more",), 9.0, 0))
    assert session.going(ids=("T1", "T2")) == []
    assert session.going(ids=("T1", "T2", "T3")) == ["T1", "T2", "T3"]


def test_once_what_refers_is_cleared_nothing_holds_what_it_referred_to():
    session = referring()
    session.observe(events.Cleared({"T2": "abcd2345"}))
    assert session.going(ids=("T1",)) == ["T1"]


def test_what_entered_shorter_holds_so_many_tokens_and_no_more():
    session = referring()
    [row] = [decision for decision in session.plan().decisions if decision.result.id == "T2"]
    assert row.result.tokens == 200
    assert sum(session.state.counts.results_tokens.values()) == sum(result.tokens for result in session.conversation.results())
