"""A line that shows several things ends when each of them has come again or has died with its file."""

from __future__ import annotations

from tests.policy.scenario import Scenario


def test_a_line_that_read_two_files_lives_until_both_are_edited(session: Scenario):
    session.bash("cat a.py b.py")
    assert session.edit("a.py") == {}
    assert session.edit("b.py")["T1"] == "edited"


def test_a_line_that_read_a_file_and_ran_the_tests_keeps_what_the_tests_said(session: Scenario):
    session.bash("cat a.py; npm test")
    assert session.tier("T1") == "session"
    assert session.edit("a.py") == {}
    assert session.bash("npm test")["T1"] == "superseded"


def test_a_line_that_read_two_files_lives_until_both_are_committed(session: Scenario):
    session.bash("cat a.py b.py")
    assert session.bash("git commit -m x", committed=["/p/a.py"]) == {}
    assert session.bash("git commit -m y", committed=["/p/b.py"])["T1"] == "committed"


def test_a_line_that_shows_two_things_is_ended_when_both_have_come_again(session: Scenario):
    session.bash("cat a.py && cat b.py")
    assert session.read("a.py") == {}
    assert session.read("b.py") == {"T1": "superseded"}


def test_one_line_ends_all_that_it_shows_again(session: Scenario):
    session.read("a.py")
    session.bash("npm test")
    assert session.bash("cat a.py; npm test") == {"T1": "superseded", "T2": "superseded"}


def test_a_search_beside_a_read_does_not_keep_it_alive(session: Scenario):
    session.bash("rg login; cat a.py")
    assert session.tier("T1") == "medium"
    assert session.edit("a.py") == {"T1": "edited"}


def test_a_line_that_ran_the_tests_is_not_ended_by_a_commit_or_a_change_on_disk_either(session: Scenario):
    session.bash("cat a.py; npm test")
    session.bash("git commit -m x")
    session.bash("git commit -m y", committed=["/p/a.py"])
    session.changed_on_disk("/p/a.py")
    assert "T1" in session.live


def test_a_pattern_that_pins_a_file_of_a_line_pins_the_line(session: Scenario):
    session.bash("cat a.py src/b.py")
    session.pin("src/")
    session.edit("a.py")
    session.edit("src/b.py")
    assert "T1" in session.live
