"""A file that was edited, or changed on disk by other means, ends what was read of it; touching a result restarts its quiet age."""

from __future__ import annotations

import pytest

from popkit_retention.core.policy.events import Prompted
from tests.policy.scenario import Scenario

EDIT_TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit")


@pytest.mark.parametrize("tool", EDIT_TOOLS)
def test_a_successful_edit_ends_the_reads_of_its_file(session: Scenario, tool):
    session.read("a.py")
    session.read("b.py")
    assert session.edit("a.py", tool) == {"T1": "edited"}
    assert session.live == ["T2", "T3"]


@pytest.mark.parametrize("tool", EDIT_TOOLS)
def test_an_edit_that_fails_ends_nothing(session: Scenario, tool):
    session.read("a.py")
    assert session.edit("a.py", tool, failed=True) == {}
    assert session.live == ["T1", "T2"]


@pytest.mark.parametrize("path", ["a.py", "/p/a.py", "./a.py", "src/../a.py", "/p//a.py"])
def test_one_file_is_one_file_however_it_is_written(session: Scenario, path):
    session.read("/p/a.py")
    assert session.edit(path) == {"T1": "edited"}


@pytest.mark.parametrize("path", ["b.py", "/a.py", "src/a.py", "a.pyc", "A.py", "/p/a"])
def test_an_edit_of_another_file_ends_nothing(session: Scenario, path):
    session.read("/p/a.py")
    assert session.edit(path) == {}


def test_every_part_that_was_read_of_a_file_ends(session: Scenario):
    session.read("a.py", 1, 50)
    session.read("a.py", 40, 90)
    session.bash("sed -n '200,240p' a.py")
    session.bash("cat a.py | head -5")
    assert session.edit("a.py") == dict.fromkeys(("T1", "T2", "T3", "T4"), "edited")


@pytest.mark.parametrize(
    "command",
    ["cat a.py", "sed -n '1,80p' a.py", "head -40 a.py", "tail -n 20 a.py", "nl -ba a.py", "cd src && cat ../a.py", "cat /p/a.py"],
)
def test_what_the_command_line_read_of_a_file_ends_too(session: Scenario, command):
    session.bash(command)
    assert session.tier("T1") == "medium"
    assert session.edit("a.py") == {"T1": "edited"}


def test_an_edit_does_not_end_searches_runs_or_errors(session: Scenario):
    session.grep("login", "a.py")
    session.bash("pytest a.py")
    session.read_fails("a.py")
    assert session.edit("a.py") == {}


@pytest.mark.parametrize(("path", "tier"), [("README.md", "short"), ("package.json", "medium"), ("auth.test.ts", "session")])
def test_an_edit_ends_reads_of_every_tier_that_may_expire(session: Scenario, path, tier):
    session.read(path)
    assert session.tier("T1") == tier
    assert session.edit(path) == {"T1": "edited"}


def test_an_edit_does_not_end_a_preserved_read(session: Scenario):
    session.read("STATUS.json")
    assert session.edit("STATUS.json") == {}


def test_the_reason_names_the_edit(session: Scenario):
    session.read("src/a.py")
    session.edit("src/a.py")
    assert session.reasons("T1") == "its file was edited: Edit src/a.py"


def test_tiers_whose_events_lack_edit_are_not_ended_by_one():
    session = Scenario({"tiers": {"medium": {"expiry_events": ["commit"]}}})
    session.read("a.py")
    assert session.edit("a.py") == {}


# Changed on disk.


@pytest.mark.parametrize("how", ["modified", "deleted"])
def test_a_file_that_changed_on_disk_by_other_means_ends_its_reads_with_that_reason(session: Scenario, how):
    session.read("a.py")
    session.read("b.py")
    assert session.changed_on_disk("/p/a.py", how) == {"T1": "changed_on_disk"}
    assert session.reasons("T1") == "its file changed on disk: " + how
    assert session.live == ["T2"]


def test_a_formatter_that_the_command_line_runs_ends_nothing_by_its_name_alone(session: Scenario):
    session.read("a.py")
    assert session.bash("sed -i s/a/b/ a.py") == {}
    assert session.changed_on_disk("/p/a.py") == {"T1": "changed_on_disk"}


# --- touching ----------------------------------------------------------------------------------------------------------------------------


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
