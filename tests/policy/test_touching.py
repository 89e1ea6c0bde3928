"""Touching restarts the quiet age of a result; it never un-expires."""

from __future__ import annotations

from hooks.utils.policy.events import Prompted
from tests.policy.scenario import Scenario


def test_the_quiet_age_of_a_result_counts_the_calls_since_it_came(session: Scenario):
    session.read("a.py")
    assert session.quiet_age("T1") == 0
    session.nothing(7)
    assert session.quiet_age("T1") == 7


def test_an_edit_touches_the_files_that_were_read_in_the_same_turn(session: Scenario):
    session.read("a.py")
    session.bash("cat b.py")
    session.nothing(3)
    session.edit("c.py")
    assert (session.quiet_age("T1"), session.quiet_age("T2")) == (0, 0)


def test_an_edit_does_not_touch_what_was_read_in_an_earlier_turn(session: Scenario):
    session.read("a.py")
    session.new_turn()
    session.read("b.py")
    session.edit("c.py")
    assert (session.quiet_age("T1"), session.quiet_age("T2")) == (2, 0)


def test_an_edit_that_fails_touches_nothing(session: Scenario):
    session.read("a.py")
    session.edit("c.py", failed=True)
    assert session.quiet_age("T1") == 1


def test_an_edit_touches_no_searches_and_no_runs(session: Scenario):
    session.grep("login")
    session.bash("npm test")
    session.edit("c.py")
    assert (session.quiet_age("T1"), session.quiet_age("T2")) == (2, 1)


def test_a_re_read_of_a_part_touches_the_read_that_holds_it(session: Scenario):
    session.read("a.py")
    session.nothing(5)
    session.read("a.py", 10, 20)
    assert session.quiet_age("T1") == 0


def test_no_touch_brings_an_expired_result_back(session: Scenario):
    session.read("a.py")
    session.edit("a.py")
    session.read("a.py", 1, 5)
    session.edit("b.py")
    session.read_again("a.py")
    assert session.expired["T1"] == "edited"
    assert "T1" not in session.live


def test_a_turn_is_what_the_user_says_where_the_host_names_no_turns(session: Scenario):
    session.turn = None
    session.read("a.py")
    session.observe(Prompted(session.at))
    session.read("b.py")
    session.edit("c.py")
    assert (session.quiet_age("T1"), session.quiet_age("T2")) == (2, 0)
    assert session.state.turn == 2
