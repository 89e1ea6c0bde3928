"""The end of a session, a clear by the user, a compaction, and a driver's word that something is superseded."""

from __future__ import annotations

import pytest

from popkit_retention.core.policy.context import result_of
from popkit_retention.core.policy.events import ClientEnded, Resumed, SessionEnded
from popkit_retention.core.policy.occasions import RESUMED_WITHIN_S
from tests.policy.scenario import Scenario


def one_of_each(session: Scenario) -> None:
    session.read("a.py")  # T1 medium
    session.bash("npm test")  # T2 session
    session.bash_fails("npm run build")  # T3 session
    session.read_fails("missing.py")  # T4 preserved
    session.grep("login")  # T5 short
    session.edit("b.py")  # T6 ephemeral


RUNS = {"T2": "session_end", "T3": "session_end"}
# Why a client says that a session ends, where it has ended itself.
ENDS = ["", "other", "logout", "prompt_input_exit", "bypass_permissions_disabled", "a later client's word"]


@pytest.mark.parametrize("why", ["resume", "clear"])
def test_a_session_that_the_client_leaves_for_another_never_ends_by_that(session: Scenario, why: str):
    one_of_each(session)
    assert session.observe(ClientEnded(session.at, why)) == {}
    assert session.wait(9 * RESUMED_WITHIN_S).get("T2") is None


@pytest.mark.parametrize("why", ENDS)
def test_a_session_s_result_outlives_its_client_as_long_as_a_resume_is_possible(session: Scenario, why: str):
    one_of_each(session)
    assert session.observe(ClientEnded(session.at, why)) == {}
    assert "T2" not in session.wait(RESUMED_WITHIN_S - 1)
    assert session.wait(1) == RUNS
    assert session.reasons("T2") == "the session ended"


@pytest.mark.parametrize("goes_on", [lambda session: session.observe(Resumed(session.at)), Scenario.nothing], ids=["a prompt", "a call"])
def test_a_session_that_goes_on_has_not_ended(session: Scenario, goes_on):
    one_of_each(session)
    for _ in range(3):
        session.observe(ClientEnded(session.at, "other"))
        session.at += RESUMED_WITHIN_S - 60
        assert not RUNS.keys() & goes_on(session).keys()
    assert not RUNS.keys() & session.wait(9 * RESUMED_WITHIN_S).keys()


@pytest.mark.parametrize("goes_on", [lambda session: session.observe(Resumed(session.at)), Scenario.nothing], ids=["a prompt", "a call"])
def test_a_session_that_goes_on_after_its_time_had_ended(session: Scenario, goes_on):
    one_of_each(session)
    session.observe(ClientEnded(session.at, "other"))
    session.at += RESUMED_WITHIN_S
    assert RUNS.items() <= goes_on(session).items()


def test_a_session_that_is_over_ends_at_once(session: Scenario):
    one_of_each(session)
    session.observe(ClientEnded(session.at, "other"))
    assert session.observe(SessionEnded(session.at)) == RUNS
    assert session.state.closed == 0


def test_the_end_of_a_session_ends_nothing_where_the_configuration_does_not_say_so():
    session = Scenario({"tiers": {"session": {"expiry_events": ["supersede"]}}})
    one_of_each(session)
    assert session.end_session() == {}


def test_the_end_of_a_session_ends_any_tier_that_the_configuration_says():
    session = Scenario({"tiers": {"medium": {"expiry_events": ["edit", "session_end"]}}})
    one_of_each(session)
    assert session.end_session() == {"T1": "session_end", "T2": "session_end", "T3": "session_end"}


def test_a_session_that_is_resumed_goes_on_counting(session: Scenario):
    session.grep("login")
    session.end_session()
    assert session.nothing(4) == {}
    assert session.nothing() == {"T1": "ttl_calls"}


def test_a_clear_by_the_user_ends_results_of_every_tier(session: Scenario):
    one_of_each(session)
    ids = ("T1", "T2", "T3", "T4", "T5", "T6")
    assert [session.tier(id) for id in ids] == ["medium", "session", "session", "preserved", "short", "ephemeral"]
    assert session.clear(*ids) == dict.fromkeys(ids, "manual")
    assert session.live == []
    assert session.reasons("T4") == "cleared by the user"


def test_a_clear_by_the_user_leaves_what_is_pinned_and_what_is_not_named(session: Scenario):
    one_of_each(session)
    session.pin("T4")
    session.pin("a.py")
    assert session.clear("T1", "T2", "T4", "T99") == {"T2": "manual"}


def test_clearing_twice_is_clearing_once(session: Scenario):
    session.read("a.py")
    assert session.clear("T1", "T1") == {"T1": "manual"}
    assert session.clear("T1") == {}


def test_a_compaction_ends_everything_before_it(session: Scenario):
    one_of_each(session)
    session.pin("T1")
    session.edit("c.py")
    ids = session.live
    assert session.compact() == dict.fromkeys(ids, "compacted")
    assert {decision.action for decision in session.decisions[-len(ids) :]} == {"compact"}
    assert session.live == []
    assert session.expired == {}


def test_a_compaction_leaves_what_the_host_carried_over(session: Scenario):
    session.read("a.py")
    session.read("b.py")
    session.read("c.py")
    session.edit("c.py")
    session.edit("b.py")
    assert "T1" not in session.compact("T1", "T2")
    assert session.live == ["T1"]
    assert session.expired == {"T2": "edited"}
    assert session.edit("a.py") == {"T1": "edited"}


def test_after_a_compaction_calls_are_counted_on_and_nothing_earlier_ends_again(session: Scenario):
    session.grep("login")
    session.read("a.py")
    session.compact()
    assert session.edit("a.py") == {}
    assert session.grep("login") == {"T3": "ttl_calls"}
    assert session.state.index == 4
    assert session.nothing(5) == {"T4": "ttl_calls"}


# False expirations: expired, and then fetched again unchanged.


@pytest.mark.parametrize(
    ("fetch", "end", "tier"),
    [
        (lambda session: session.grep("login", text="a.py:1:login"), lambda session: session.nothing(5), "short"),
        (lambda session: session.read("a.py", text="x = 1"), lambda session: session.bash("git commit -m x"), "medium"),
    ],
)
def test_an_unchanged_refetch_after_an_end_by_age_or_commit_was_a_false_expiration(session: Scenario, fetch, end, tier: str):
    fetch(session)
    end(session)
    fetch(session)
    assert session.state.counts.false_expirations == {tier: 1}


def test_what_changed_in_between_or_was_superseded_was_none(session: Scenario):
    session.grep("login", text="a.py:1:login")
    session.nothing(5)
    session.grep("login", text="a.py:2:login")
    session.read("a.py", text="x = 1")
    session.read("a.py", text="x = 2")
    session.read("a.py", text="x = 1")
    assert session.state.counts.false_expirations == {}


def test_of_the_newest_128_ends_it_is_known():
    session = Scenario()
    for number in range(129):
        session.grep(f"x{number}")
    session.clear(*session.live)
    session.grep("y", text="what T1 returned")
    assert session.state.counts.false_expirations == {}
    session.grep("z", text="what T2 returned")
    assert session.state.counts.false_expirations == {"short": 1}


def test_a_run_of_an_earlier_session_that_goes_the_same_way_again_was_not_missed(session: Scenario):
    session.bash("npm test", "12 passing")
    session.bash("python report.py", "42")
    session.end_session()
    session.bash("npm test", "12 passing")
    session.bash("python report.py", "42")
    assert session.state.counts.false_expirations == {"session": 1}, "the report, not the tests"


@pytest.mark.parametrize("ended", [7, "manual", [], ["manual"], ["manual", 1, 0.0, "", None]])
def test_a_row_whose_end_is_none_is_no_result(session: Scenario, ended: object):
    session.bash("npm test")
    session.end_session()
    row = session.result("T1").to_row()
    assert result_of(row).reasons == ["the session ended"]
    row[row.index(session.result("T1").ended)] = ended
    with pytest.raises(ValueError, match="wrong types"):
        result_of(row)
