"""What a pin revived, and then let go again, is no different from what was held all the time."""

from __future__ import annotations

from tests.policy.scenario import Scenario


def test_a_revived_run_that_is_unpinned_ends_with_the_next_run():
    session = Scenario()
    session.bash("npm test")
    session.bash("npm test")
    assert session.pin("T1") == {"T1": "pinned"}
    session.unpin("T1")
    assert session.bash("npm test") == {"T1": "superseded", "T2": "superseded"}


def test_a_revived_search_that_is_unpinned_ends_with_the_next_search():
    session = Scenario({"tiers": {"short": {"ttl_tools": None}}})
    session.grep("login")
    session.grep("login")
    session.pin("T1")
    session.unpin("T1")
    assert session.grep("login") == {"T1": "superseded", "T2": "superseded"}


def test_a_revived_read_that_is_unpinned_ends_with_the_next_edit():
    session = Scenario()
    session.read("a.py")
    session.edit("a.py")
    session.pin("T1")
    session.unpin("T1")
    assert session.edit("a.py")["T1"] == "edited"


def test_a_revived_read_still_shows_what_it_shows():
    session = Scenario()
    session.read("a.py", 10, 20)
    before = [list(part) for part in session.result("T1").parts]
    session.edit("a.py")
    session.pin("T1")
    assert [list(part) for part in session.result("T1").parts] == before


def test_a_revived_result_does_not_keep_a_newer_one_with_the_same_content_alive():
    session = Scenario()
    session.bash("python a.py", "42")
    session.bash("python b.py", "42")
    assert session.pin("T1") == {"T1": "pinned"}
    assert session.bash("python c.py", "42") == {"T2": "same_content"}


def test_a_pinned_result_does_not_keep_a_newer_one_with_the_same_content_alive():
    session = Scenario()
    session.bash("python a.py", "42")
    session.pin("T1")
    session.bash("python b.py", "42")
    assert session.bash("python c.py", "42") == {"T2": "same_content"}
    assert session.live == ["T1", "T3"]


def test_an_unpinned_result_ends_with_the_same_content_as_any_other():
    session = Scenario()
    session.bash("python a.py", "42")
    session.pin("T1")
    session.bash("python b.py", "42")
    session.unpin("T1")
    assert session.bash("python c.py", "42") == {"T1": "same_content", "T2": "same_content"}


def test_live_results_stand_in_order_of_completion_after_a_revival_too():
    session = Scenario()
    session.read("a.py")
    session.read("b.py")
    session.edit("a.py")
    session.pin("T1")
    assert session.live == ["T1", "T2", "T3"]
