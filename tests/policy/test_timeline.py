"""The specification's eight steps: which result ends at which step, and by what."""

from __future__ import annotations

from popkit_retention.core import timeline
from tests.policy.scenario import Scenario

# What each step ends where git cannot tell what the commit holds.
ENDED_AT = {
    1: {},
    2: {},
    3: {},
    4: {"T1": "edited"},
    5: {"T4": "ttl_calls"},
    6: {"T2": "superseded"},
    7: {"T5": "superseded"},
    8: {"T3": "committed"},
}


def walk(committed):
    """What each of the eight steps ends, and the context after them."""
    session = Scenario({})
    ended = {
        1: session.read("src/auth.ts"),
        2: session.grep("login"),
        3: session.read("src/config.ts"),
        4: session.edit("src/auth.ts"),
        5: session.bash_fails("npm test", "1 failing"),
        6: session.grep("login"),
        7: session.bash("npm test", "1 passing"),
        8: session.bash("git commit -am 'fix login'", "[main 1a2b3c4] fix login", committed=committed),
    }
    return ended, session


def test_each_step_ends_what_the_specification_says_where_git_cannot_tell():
    assert walk(None)[0] == ENDED_AT


def test_each_step_ends_what_is_specified_when_config_ts_is_not_in_the_commit():
    assert walk(["/p/src/auth.ts"])[0] == {**ENDED_AT, 8: {}}


def test_config_ts_ends_with_a_commit_that_git_says_it_is_in():
    assert walk(["/p/src/auth.ts", "/p/src/config.ts"])[0][8] == {"T3": "committed"}


def test_after_the_eight_steps_the_search_the_passing_run_and_the_commit_are_left():
    assert walk(None)[1].live == ["T6", "T7", "T8"]
    assert walk(["/p/src/auth.ts"])[1].live == ["T3", "T6", "T7", "T8"]


def test_the_tiers_are_those_of_the_specification():
    session = walk(None)[1]
    assert {f"T{step}": session.tier(f"T{step}") for step in range(1, 9)} == {
        "T1": "medium",
        "T2": "short",
        "T3": "medium",
        "T4": "ephemeral",
        "T5": "session",
        "T6": "short",
        "T7": "session",
        "T8": "ephemeral",
    }


def test_every_end_says_which_call_brought_it_about():
    session = walk(None)[1]
    assert {decision.id: (decision.index, decision.by) for decision in session.decisions} == {
        "T1": (4, "T4"),
        "T4": (5, "T5"),
        "T2": (6, "T6"),
        "T5": (7, "T7"),
        "T3": (8, "T8"),
    }


def test_the_script_that_checks_the_timeline_expects_the_same_ends():
    assert {step: list(ended) for step, ended in ENDED_AT.items()} == timeline.TIMELINE
    lines, good = timeline.timeline_report()
    assert good
    assert not any("FAIL" in line for line in lines)
