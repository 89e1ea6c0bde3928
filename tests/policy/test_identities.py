"""Results that come in parallel, results that repeat an id, and what is counted of them."""

from __future__ import annotations

import pytest

from tests.policy.scenario import Scenario


def test_parallel_calls_are_numbered_in_the_order_of_completion(session: Scenario):
    session.read("a.py", id="toolu_B")
    session.read("b.py", id="toolu_A")
    assert [(result.id, result.index) for result in session.state.live.values()] == [("toolu_B", 1), ("toolu_A", 2)]


@pytest.mark.parametrize("line", ["make", "# all\nmake\nls -l", "cd src\nmake", "X=1\nmake"])
def test_a_result_is_called_by_the_first_line_that_does_something(session: Scenario, line: str):
    session.bash(line)
    assert session.result("T1").label == "Bash make"


def test_a_repeated_id_replaces_its_result_which_then_ends_nothing_of_its_own(session: Scenario):
    session.read("a.py", id="X")
    session.grep("login", id="X")
    assert (session.live, session.tier("X")) == (["X"], "short")
    assert session.edit("a.py") == {}
    assert session.live == ["X", "T3"]


def test_a_result_that_was_replaced_does_not_end_by_its_own_age(session: Scenario):
    session.grep("login", id="X")
    session.read("a.py", id="X")
    assert session.nothing(6) == {}
    assert session.wait(1_000) == {}
    assert "X" in session.live


def test_a_replaced_result_is_gone_from_what_a_newer_search_ends(session: Scenario):
    session.grep("login", id="X")
    session.read("a.py", id="X")
    assert session.grep("login") == {}
    assert session.live == ["X", "T3"]


def test_an_id_is_never_live_and_expired_at_once(session: Scenario):
    session.read("a.py", id="X")
    session.edit("a.py")
    assert session.expired == {"X": "edited"}
    session.read("b.py", id="X")
    assert "X" in session.live
    assert "X" not in session.expired


def test_a_result_repeated_with_the_same_content_ends_only_what_it_replaces(session: Scenario):
    session.read("a.py", text="x = 1", id="X")
    session.read("a.py", text="x = 1", id="X")
    assert session.live == ["X"]
    assert session.expired == {}


# Saved and loaded.


def test_the_folder_that_a_call_left_behind_is_saved(session: Scenario):
    session.bash("cd src", cwd="/p/src")
    session.save_and_load()
    session.bash("cat a.py && cd ..", cwd="/p")
    assert session.edit("/p/src/a.py")["T2"] == "edited"


# Counts.


def test_the_counts_tell_results_and_ends_by_tier_and_trigger(session: Scenario):
    session.read("a.py")
    session.grep("login")
    session.grep("login")
    session.edit("a.py")
    for _ in range(3):
        session.bash("npm test")
    counts = session.state.counts
    assert counts.results == {"medium": 1, "short": 2, "ephemeral": 1, "session": 3}
    assert counts.expired == {"medium": 1, "short": 1, "ephemeral": 1, "session": 2}
    assert counts.triggers == {"superseded": 3, "edited": 1, "ttl_calls": 1}
    assert counts.superseded == 3
    assert sum(counts.results_tokens.values()) == sum(
        result.tokens for result in [*session.state.live.values(), *session.state.expired.values()]
    )
    assert sum(counts.expired_tokens.values()) == sum(result.tokens for result in session.state.expired.values())
