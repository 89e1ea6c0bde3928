"""Lifetimes by calls and by seconds, under each profile: a result of call i that lives n calls ends when call i + n completes."""

from __future__ import annotations

import pytest

from tests.policy.scenario import Scenario


@pytest.mark.parametrize("lifetime", [1, 2, 3, 5, 8, 40])
@pytest.mark.parametrize("earlier", [0, 1, 7])
def test_a_result_of_call_i_that_lives_n_calls_ends_when_call_i_plus_n_completes(lifetime, earlier):
    session = Scenario({"tiers": {"short": {"ttl_tools": lifetime}}})
    session.nothing(earlier)
    session.grep("login")
    born = f"T{earlier + 1}"
    assert session.nothing(lifetime - 1) == {}
    assert session.nothing() == {born: "ttl_calls"}
    assert session.state.expired[born].ended[1] == earlier + 1 + lifetime


@pytest.mark.parametrize(
    "make",
    [
        lambda session: session.read("a.py"),
        lambda session: session.bash("npm test"),
        lambda session: session.bash("python manage.py shell -c 'print(1)'"),
        lambda session: session.bash_fails("mkdir /p"),
        lambda session: session.call("mcp__db__query", {"sql": "select 1"}),
    ],
)
def test_what_has_no_lifetime_does_not_end_by_age(session: Scenario, make):
    make(session)
    session.nothing(60)
    session.wait(100_000)
    assert "T1" in session.live


@pytest.mark.parametrize(("waited", "ended"), [(299, {}), (300, {"T1": "ttl_seconds"}), (100_000, {"T1": "ttl_seconds"})])
def test_a_search_ends_after_300_seconds(session: Scenario, waited, ended):
    session.grep("login")
    assert session.wait(waited) == ended


def test_seconds_count_without_a_tick_too_when_the_next_call_completes(session: Scenario):
    session.grep("login")
    session.at += 400
    assert session.nothing() == {"T1": "ttl_seconds"}


def test_every_search_that_is_old_enough_ends_and_no_other(session: Scenario):
    session.grep("first")
    session.grep("second")
    session.at += 200
    session.grep("third")
    assert session.wait(120) == {"T1": "ttl_seconds", "T2": "ttl_seconds"}
    assert session.live == ["T3"]


def test_time_that_goes_backwards_ends_nothing(session: Scenario):
    session.grep("login")
    assert session.wait(-1000) == {}
    assert session.wait(1000 + 299) == {}
    assert session.wait(1) == {"T1": "ttl_seconds"}


def test_the_reason_gives_the_age_and_the_lifetime(session: Scenario):
    session.grep("login")
    session.nothing(5)
    assert session.reasons("T1") == "5 calls have passed, and short results live 5"


@pytest.mark.parametrize(
    ("lifetime_s", "lives", "age_s", "passed"),
    [
        (90, "90 s", 119, "119 s"), (90, "90 s", 120, "2 min"), (300, "5 min", 659, "10 min"), (300, "5 min", 7_199, "119 min"),
        (300, "5 min", 7_200, "2 h"), (7_200, "2 h", 172_799, "47 h"), (172_800, "2 days", 390_848, "4 days"),
    ],
)  # fmt: skip
def test_the_reason_gives_a_time_in_a_unit_that_people_use(lifetime_s: int, lives: str, age_s: int, passed: str):
    session = Scenario({"tiers": {"short": {"ttl_seconds": lifetime_s}}})
    session.grep("login")
    session.wait(age_s)
    assert session.reasons("T1") == f"{passed} have passed, and short results live {lives}"


def test_a_lifetime_can_be_given_to_any_tier_but_preserved():
    lived = {"ttl_tools": 2, "ttl_seconds": 60}
    session = Scenario({"tiers": dict.fromkeys(("medium", "session", "preserved"), lived)})
    session.read("a.py")
    session.bash("npm test")
    assert session.read_fails("missing.py") == {"T1": "ttl_calls"}
    assert session.nothing() == {"T2": "ttl_calls"}
    session.wait(1_000)
    assert session.live == ["T3"]


def test_touching_does_not_prolong_a_lifetime(session: Scenario):
    session.grep("login")
    session.nothing(3)
    session.grep("login", "src")
    assert session.quiet_age("T1") == 0
    assert session.nothing() == {"T1": "ttl_calls"}


# `aggressive` halves the lifetimes, `conservative` doubles them; a shorter one takes hold at once, a longer one revives nothing.


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
