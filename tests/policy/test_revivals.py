"""What a pin revived shows what it showed, and once it is let go it is as over as before."""

from __future__ import annotations

import pytest

from tests.policy.scenario import Scenario


@pytest.mark.parametrize(
    ("deed", "trigger"),
    [
        (lambda session: session.bash("npm test"), "superseded"),
        (lambda session: session.grep("login"), "superseded"),
        (lambda session: session.read("a.py"), "superseded"),
    ],
)
def test_what_a_pin_has_revived_has_ended_again_once_it_is_unpinned_and_ends_only_once(deed, trigger):
    session = Scenario({"tiers": {"short": {"ttl_tools": None}}})
    deed(session)
    deed(session)
    assert session.pin("T1") == {"T1": "pinned"}
    assert session.unpin("T1") == {"T1": trigger}
    assert deed(session) == {"T2": trigger}


def test_a_revived_read_still_shows_what_it_shows(session: Scenario):
    session.read("a.py", 10, 20)
    before = [list(part) for part in session.result("T1").parts]
    session.edit("a.py")
    session.pin("T1")
    assert [list(part) for part in session.result("T1").parts] == before


def test_a_revived_result_does_not_keep_a_newer_one_with_the_same_content_alive(session: Scenario):
    session.bash("python a.py", "42")
    session.bash("python b.py", "42")
    assert session.pin("T1") == {"T1": "pinned"}
    assert session.bash("python c.py", "42") == {"T2": "same_content"}


def test_a_pinned_result_does_not_keep_a_newer_one_with_the_same_content_alive(session: Scenario):
    session.bash("python a.py", "42")
    session.pin("T1")
    session.bash("python b.py", "42")
    assert session.bash("python c.py", "42") == {"T2": "same_content"}
    assert session.live == ["T1", "T3"]


def test_an_unpinned_result_ends_with_the_same_content_as_any_other(session: Scenario):
    session.bash("python a.py", "42")
    session.pin("T1")
    session.bash("python b.py", "42")
    session.unpin("T1")
    assert session.bash("python c.py", "42") == {"T1": "same_content", "T2": "same_content"}


def test_live_results_stand_in_order_of_completion_after_a_revival_too(session: Scenario):
    session.read("a.py")
    session.read("b.py")
    session.edit("a.py")
    session.pin("T1")
    assert session.live == ["T1", "T2", "T3"]
