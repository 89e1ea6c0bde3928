"""`aggressive` halves the lifetimes, `conservative` doubles them; a shorter one takes hold at once, a longer one revives nothing."""

from __future__ import annotations

import pytest

from tests.policy.scenario import Scenario


@pytest.mark.parametrize(
    ("profile", "short", "ephemeral"), [("auto", 5, 1), ("aggressive", 2, 1), ("spec", 5, 1), ("default", 5, 1), ("conservative", 10, 2)]
)
def test_a_profile_scales_the_lifetimes_in_calls(profile, short, ephemeral):
    session = Scenario(profile=profile)
    session.grep("login")
    session.edit("a.py")
    ends = {}
    while len(ends) < 2:
        for id in session.nothing():
            ends[id] = session.state.index - session.result(id).index
    assert ends == {"T1": short, "T2": ephemeral}


def test_a_shorter_profile_ends_at_once_what_is_too_old_for_it(session: Scenario):
    session.grep("old")
    session.nothing()
    session.grep("new")
    assert session.choose("aggressive") == {"T1": "ttl_calls"}
    assert session.nothing() == {}
    assert session.nothing() == {"T3": "ttl_calls"}


def test_a_shorter_profile_ends_at_once_what_too_many_seconds_have_passed_for(session: Scenario):
    session.grep("login")
    session.at += 200
    assert session.choose("aggressive") == {"T1": "ttl_seconds"}


def test_a_longer_profile_prolongs_what_is_live(session: Scenario):
    session.grep("login")
    session.nothing(4)
    session.choose("conservative")
    assert session.nothing(5) == {}
    assert session.nothing() == {"T1": "ttl_calls"}


def test_choosing_a_profile_ends_nothing_that_is_pinned_or_has_no_lifetime(session: Scenario):
    session.grep("login")
    session.pin("T1")
    session.read("a.py")
    session.bash("npm test")
    session.nothing(4)
    assert session.choose("aggressive") == {}
    session.unpin("T1")
    assert session.nothing() == {"T1": "ttl_calls"}
