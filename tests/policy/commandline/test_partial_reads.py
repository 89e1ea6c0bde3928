"""Reads of parts of a file: one that covers an earlier one ends it, overlapping ones live side by side."""

from __future__ import annotations

import pytest

from popkit_retention.core.views.report import expiry
from tests.policy.scenario import Scenario

WHOLE = (0, 0)
# (earlier lines, later lines, whether the later read covers the earlier)
READS = [
    ((50, 100), (1, 200), True),
    ((50, 100), WHOLE, True),
    ((1, 100), (50, 150), False),
    (WHOLE, (1, 100), False),
    (WHOLE, WHOLE, True),
    ((7, 7), (8, 8), False),
]


@pytest.mark.parametrize(("earlier", "later", "covers"), READS)
def test_a_later_read_ends_an_earlier_one_it_covers_and_overlapping_reads_coexist(session: Scenario, earlier, later, covers):
    session.read("a.py", *earlier)
    assert session.read("a.py", *later) == ({"T1": "superseded"} if covers else {})


@pytest.mark.parametrize(
    ("earlier", "later", "covers"),
    [
        ("sed -n '10,20p' a.py", "sed -n '1,30p' a.py", True),
        ("cat a.py | head -20", "head -20 a.py", True),
        ("tail -n +30 a.py", "sed -n '20,$p' a.py", True),
        ("tail -20 a.py", "cat a.py", True),
        ("tail -20 a.py", "tail -20 a.py", False),  # which lines these are is not known
        ("cat a.py", "cat a.py | grep x", False),
    ],
)
def test_the_command_line_follows_the_same_rule(session: Scenario, earlier, later, covers):
    session.bash(earlier)
    assert session.bash(later) == ({"T1": "superseded"} if covers else {})


def test_a_read_and_a_cat_of_the_same_lines_end_each_other(session: Scenario):
    session.read("a.py", 10, 20)
    assert session.bash("sed -n '10,20p' a.py") == {"T1": "superseded"}
    assert session.read("a.py", 10, 20) == {"T2": "superseded"}
    assert session.bash("cat a.py") == {"T3": "superseded"}
    assert session.read("a.py") == {"T4": "superseded"}


def test_two_reads_that_cover_an_earlier_one_only_together_leave_it(session: Scenario):
    session.read("a.py", 1, 100)
    session.read("a.py", 1, 60)
    session.read("a.py", 50, 120)
    assert session.live == ["T1", "T2", "T3"]


def test_one_read_ends_every_one_that_it_covers(session: Scenario):
    session.read("a.py", 1, 50)
    session.read("a.py", 40, 90)
    session.read("a.py", 80, 200)
    session.read("b.py", 1, 50)
    assert session.read("a.py", 1, 100) == {"T1": "superseded", "T2": "superseded"}


def test_a_short_file_that_was_read_with_a_limit_covers_no_more_than_its_lines(session: Scenario):
    session.read("a.py")
    assert session.read("a.py", 1, 2000) == {}


def test_a_read_that_fails_covers_nothing(session: Scenario):
    session.read("a.py")
    assert session.read_fails("a.py") == {}


# Files of commits.


@pytest.mark.parametrize(
    "after",
    [
        lambda session: session.edit("src/a.py"),
        lambda session: session.changed_on_disk("/p/src/a.py"),
        lambda session: session.read("src/a.py"),
        lambda session: session.bash("cat src/a.py"),
        lambda session: session.bash("cat src/a.py", "line 1\nline 2"),
        lambda session: session.bash("git commit -qm x", committed=None),
        lambda session: session.bash("git commit -qm x", committed=["/p/src/a.py"]),
        lambda session: session.bash("git checkout dev"),
        lambda session: session.bash("git show dev:src/a.py"),
        lambda session: session.bash("git show main:src/a.py | head -5"),
    ],
)
def test_nothing_but_the_same_ends_a_file_of_a_commit(session: Scenario, after):
    session.bash("git show main:src/a.py", "line 1\nline 2")
    after(session)
    assert "T1" in session.live
    assert session.bash("git show main:src/a.py")["T1"] == "superseded"


def test_a_file_of_a_commit_waits_for_the_same(session: Scenario):
    session.bash("git show main:src/a.py")
    assert expiry(session.result("T1"), session.state, session.rules, session.at)["on"] == ["reread"]


def test_each_file_that_a_loop_shows_ends_with_its_edit(session: Scenario):
    session.bash('for f in a.py b.py; do echo "== $f"; cat $f; done')
    assert session.edit("a.py") == {}
    assert session.edit("b.py")["T1"] == "edited"


def test_a_compound_command_ends_when_all_that_it_shows_has(session: Scenario):
    session.bash("cd a && sed -n 1,80p x && rg foo src && git show main:y")
    session.edit("a/x")
    session.bash("cd a && rg foo src")
    assert session.live[0] == "T1"
    assert session.bash("cd a && git show main:y") == {"T1": "superseded"}


# "File unchanged".


def test_an_answer_that_a_file_is_unchanged_touches_the_earlier_read_and_no_more(session: Scenario):
    session.read("a.py")
    session.nothing(5)
    assert session.read_again("a.py") == {}
    assert session.quiet_age("T1") == 0
    assert session.tier("T7") == "ephemeral"
    assert session.nothing() == {"T7": "ttl_calls"}


def test_an_answer_that_the_file_is_unchanged_touches_no_other_file(session: Scenario):
    session.read("a.py")
    session.read("b.py")
    session.read_again("b.py")
    assert (session.quiet_age("T1"), session.quiet_age("T2")) == (2, 0)
