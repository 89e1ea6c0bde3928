"""What is pinned does not expire; a pin revives, and unpinning lets a lifetime go on."""

from __future__ import annotations

import pytest

from tests.policy.scenario import Scenario


def everything_that_ends(session: Scenario) -> None:
    session.edit("a.py")
    session.bash("git commit -m x")
    session.changed_on_disk("/p/a.py")
    session.read("a.py")
    session.grep("login")
    session.bash("npm test")
    session.nothing(10)
    session.wait(10_000)
    session.end_session()
    session.clear("T1", "T2", "T3", "T4")


@pytest.mark.parametrize("pinned", [{"T1", "T2", "T3", "T4"}, set()])
def test_nothing_ends_a_pinned_result_and_without_the_pin_all_of_these_end(session: Scenario, pinned: set[str]):
    session.read("a.py")
    session.grep("login")
    session.bash("npm test")
    session.edit("b.py")
    for id in pinned:
        session.pin(id)
    everything_that_ends(session)
    assert {"T1", "T2", "T3", "T4"} & set(session.live) == pinned


@pytest.mark.parametrize(
    ("pattern", "pinned"),
    [
        ("a.py", True),
        ("src/a.py", True),
        ("src/", True),
        ("*.py", True),
        ("/p/src/a.py", True),
        ("b.py", False),
        ("lib/", False),
        ("T2", False),
    ],
)
def test_a_path_pattern_pins_every_result_that_it_matches(session: Scenario, pattern, pinned):
    session.read("src/a.py")
    session.pin(pattern)
    assert session.edit("src/a.py") == ({} if pinned else {"T1": "edited"})


def test_a_path_pattern_pins_results_that_come_later_too(session: Scenario):
    session.pin("src/")
    session.read("src/a.py")
    session.bash("cat src/b.py")
    session.read("lib/c.py")
    assert session.bash("git commit -m x") == {"T3": "committed"}


def test_a_path_pattern_pins_results_that_show_a_file_but_no_receipts_of_its_edits(session: Scenario):
    session.read("a.py")
    session.pin("a.py")
    session.edit("a.py")
    assert session.nothing() == {"T2": "ttl_calls"}
    session.edit("a.py")
    session.pin("T4")
    session.nothing(3)
    assert {"T1", "T4"} <= set(session.live)


def test_a_pin_by_id_holds_no_other_result(session: Scenario):
    session.read("a.py", 1, 10)
    session.read("a.py", 20, 30)
    session.pin("T1")
    assert session.edit("a.py") == {"T2": "edited"}


def test_a_pin_of_the_configuration_holds_as_well():
    session = Scenario({"pins": ["docs/spec.md"]})
    session.read("docs/spec.md")
    session.read("docs/other.md")
    assert session.nothing(5) == {"T2": "ttl_calls"}
    assert session.edit("docs/spec.md") == {}
    session.unpin("docs/spec.md")
    session.nothing(9)
    assert "T1" in session.live


def test_a_pin_by_id_revives_an_expired_result(session: Scenario):
    session.grep("login")
    session.nothing(5)
    assert session.expired["T1"] == "ttl_calls"
    assert session.pin("T1") == {"T1": "pinned"}
    assert "T1" in session.live
    assert session.expired == {}
    assert session.decisions[-1].action == "revive"


def test_a_path_pattern_revives_what_it_matches_and_nothing_else(session: Scenario):
    session.read("src/a.py")
    session.read("lib/b.py")
    session.bash("git commit -m x")
    assert session.pin("src/") == {"T1": "pinned"}
    assert session.expired == {"T2": "committed"}


def test_a_pin_of_a_live_result_decides_nothing_and_pinning_twice_is_pinning_once(session: Scenario):
    session.read("a.py")
    assert session.pin("T1") == {}
    assert session.pin("T1") == {}
    session.unpin("T1")
    assert session.state.pins == []
    assert session.edit("a.py") == {"T1": "edited"}


def test_unpinning_what_is_not_pinned_changes_nothing(session: Scenario):
    session.read("a.py")
    session.pin("a.py")
    assert session.unpin("b.py") == {}
    assert session.edit("a.py") == {}


def test_what_two_pins_hold_one_still_holds(session: Scenario):
    session.read("a.py")
    session.pin("T1")
    session.pin("*.py")
    session.unpin("T1")
    assert session.edit("a.py") == {}
    session.unpin("*.py")
    assert session.edit("a.py")["T1"] == "edited"


# Unpinning lets a lifetime go on, and what was over is over again.


@pytest.mark.parametrize("target", ["T1", "a.py"])
def test_an_expired_result_that_was_pinned_has_ended_as_before_once_it_is_unpinned(session: Scenario, target):
    session.read("a.py")
    session.edit("a.py")
    before = list(session.result("T1").ended)
    session.pin(target)
    session.nothing(3)
    session.save_and_load()
    assert session.unpin(target) == {"T1": "edited"}
    assert session.result("T1").ended == before
    assert "T1" not in session.live
    assert session.state.counts.expired["medium"] == 1
    assert session.nothing(9).get("T1") is None


def test_what_a_pin_has_revived_is_superseded_by_nothing_and_supersedes_nothing(session: Scenario):
    session.bash("npm test")
    session.bash("npm test")
    session.pin("T1")
    assert session.bash("npm test") == {"T2": "superseded"}
    assert session.unpin("T1") == {"T1": "superseded"}
    assert session.live == ["T3"]


@pytest.mark.parametrize(("pinned_for", "left"), [(20, 0), (2, 2)])
def test_an_unpinned_search_lives_out_its_time_or_ends_with_the_next_call(session: Scenario, pinned_for: int, left: int):
    session.grep("login")
    session.pin("T1")
    session.nothing(pinned_for)
    assert session.unpin("T1") == {}
    assert session.nothing(left) == {}
    assert session.nothing() == {"T1": "ttl_calls"}


def test_an_unpinned_read_ends_with_the_next_edit(session: Scenario):
    session.read("a.py")
    session.pin("T1")
    session.edit("a.py")
    session.unpin("T1")
    assert session.nothing() == {"T2": "ttl_calls"}
    assert session.edit("a.py") == {"T1": "edited"}


def test_a_revived_read_still_shows_what_it_shows(session: Scenario):
    session.read("a.py", 10, 20)
    before = [list(part) for part in session.result("T1").parts]
    session.edit("a.py")
    session.pin("T1")
    assert [list(part) for part in session.result("T1").parts] == before


def test_a_pinned_result_does_not_keep_a_newer_one_with_the_same_content_alive(session: Scenario):
    session.bash("python a.py", "42")
    session.pin("T1")
    session.bash("python b.py", "42")
    assert session.bash("python c.py", "42") == {"T2": "same_content"}
    assert session.live == ["T1", "T3"]
