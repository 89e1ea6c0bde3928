"""What was needed again after it had expired makes its kind live longer, until enough others expire and are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.policy import events
from hooks.utils.policy.lifetimes import LONGEST, MOST_POINTS, POINTS, changed, factor, understood
from hooks.utils.policy.need import features
from tests.policy.scenario import Scenario

POINTS_OF_KINDS = st.dictionaries(st.sampled_from(["read", "search", "run"]), st.integers(-500, 500))


def needed_again(profile: str = "auto") -> Scenario:
    """A search that came again, word for word, after it had expired."""
    session = Scenario(profile=profile)
    session.grep("x", text="a.py:1: x")
    session.nothing(10)
    session.grep("x", text="a.py:1: x")
    return session


def calls_lived(session: Scenario) -> int:
    """How many calls a new search lives."""
    session.grep(f"y{session.steps}")
    id, calls = f"T{session.steps}", 0
    while id in session.live:
        session.nothing()
        calls += 1
    return calls


def test_a_search_that_was_needed_again_lives_a_quarter_longer():
    assert calls_lived(Scenario(profile="auto")) == 5
    assert calls_lived(needed_again()) == 6


def test_the_reason_names_the_lifetime_that_it_had():
    session = needed_again()
    calls_lived(session)
    assert "6 calls have passed; short search results live here 6" in session.reasons(f"T{session.steps - 6}")


def test_it_lives_longer_in_seconds_too():
    session = needed_again()
    session.grep("y")
    session.wait(301)
    assert f"T{session.steps}" in session.live
    session.wait(80)
    assert session.expired[f"T{session.steps}"] == "ttl_seconds"


def test_one_that_is_alive_already_lives_longer_too():
    session = Scenario(profile="auto")
    session.grep("x", text="a.py:1: x")
    session.nothing(5)
    session.grep("other")
    session.grep("x", text="a.py:1: x")
    assert session.nothing(4) == {}
    assert session.nothing() == {"T7": "ttl_calls"}


@pytest.mark.parametrize(("profile", "calls"), [("spec", 5), ("conservative", 10), ("aggressive", 2)])
def test_fixed_profiles_learn_but_keep_to_their_lifetimes(profile: str, calls: int):
    session = needed_again(profile)
    assert session.state.lifetimes["search"]
    assert calls_lived(session) == calls


def test_other_kinds_live_as_before():
    session = needed_again()
    session.read("notes.md")
    assert session.nothing(4) == {}
    assert session.nothing()[f"T{session.steps - 5}"] == "ttl_calls"


@pytest.mark.parametrize("in_place", [False, True])
def test_what_was_restored_lengthens_its_kind_once(in_place: bool):
    session = Scenario(profile="auto")
    session.grep("x")
    session.observe(events.ManualClear(["T1"], session.at))
    session.observe(events.Cleared({"T1": "abcd2345"}))
    session.observe(events.Restored("T1", at=session.at))
    session.observe(events.Restored("T1", in_place, session.at))
    assert session.state.lifetimes == {"search": POINTS}
    assert sum(session.state.counts.false_expirations.values()) == 1


def test_enough_that_expire_and_are_not_needed_take_it_back():
    session = needed_again()
    for number in range(POINTS):
        session.grep(f"other {number}")
    session.nothing(6)
    assert session.state.lifetimes == {}
    assert calls_lived(session) == 5


def test_no_kind_lives_longer_than_the_longest():
    session = Scenario(profile="auto")
    for _ in range(12):
        session.grep("x", text="a.py:1: x")
        session.nothing(20)
    assert session.state.lifetimes["search"] <= MOST_POINTS
    assert calls_lived(session) <= 5 * LONGEST


def test_what_a_project_taught_takes_the_place_of_what_was_known():
    session = needed_again()
    session.observe(events.LifetimesLearnt({"search": MOST_POINTS}, session.at))
    assert calls_lived(session) == int(5 * LONGEST)
    session.observe(events.LifetimesLearnt({}, session.at))
    assert calls_lived(session) == 5


def test_it_is_still_known_after_a_load():
    session = needed_again()
    session.save_and_load()
    assert calls_lived(session) == 6


def test_ages_count_less_where_such_results_live_longer():
    session = Scenario(profile="auto")
    session.grep("x")
    session.nothing(4)
    before = dict(features(session.result("T1"), session.state))
    session.state.lifetimes = {"search": MOST_POINTS}
    after = dict(features(session.result("T1"), session.state))
    assert after["quiet"] < before["quiet"]
    assert after["age"] < before["age"]
    assert after["calls"] == before["calls"]


@given(st.integers(-10, 10_000))
def test_a_factor_lengthens_up_to_the_longest(points: int):
    assert factor(max(0, points)) <= LONGEST
    assert factor(0) == 1.0 <= factor(max(0, points))


@given(POINTS_OF_KINDS, POINTS_OF_KINDS)
def test_points_stay_within_their_bounds_and_none_is_kept_at_nothing(points: dict, by: dict):
    new = changed(points, by)
    assert all(0 < have <= MOST_POINTS for have in new.values())
    assert understood(new) == new


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda some: st.lists(some) | st.dictionaries(st.text(), some)
    )
)
def test_whatever_was_stored_is_read_as_points_or_not_at_all(value: object):
    assert all(type(points) is int and 0 < points <= MOST_POINTS for points in understood(value).values())
