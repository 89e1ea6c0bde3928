"""What is on trial in the helper: the coin is thrown at the first turn, and what it says holds for the door and for compactions."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.utils.state import trials
from hooks.utils.state.live import Site

from ..state.coins import fix
from .asking import SESSION, Helper, lines, numbered
from .running import Running


def begun(folder: Path, name: str, treated: bool, has_sent: bool = False) -> Helper:
    """A helper of a session of which the hook has seen the start, in its first turn."""
    fix(folder / "popkit", name, [treated])
    helper = Helper(folder, config={name: "try"})
    if has_sent:
        helper.has_read("app.py", lines(3)).answered(30_000)
    site = Site(helper.env, SESSION)
    site.remember(**trials.facts_at_start(site))
    helper.ask("/rows", {})
    return helper


def drawn(helper: Helper) -> list[tuple[str, bool]]:
    return [(row.session, row.treated) for run in trials.load(str(helper.home)).runs for row in run.rows]


@pytest.mark.parametrize("treated", [True, False])
def test_the_door_does_for_a_sessions_life_what_the_coin_said_at_its_first_turn(tmp_path: Path, treated: bool):
    helper = begun(tmp_path, "say_once", treated)
    for _ in range(2):
        helper.read("app.py", lines(40))
        assert (helper.read("app.py", lines(40))[1] == numbered(lines(40))) is not treated
        helper.read("other.py", lines(5))
        helper.stop()
        helper.start()
        helper.ask("/rows", {})
    assert drawn(helper) == [(SESSION, treated)]
    assert helper.failures() == ""
    helper.stop()


@pytest.mark.parametrize("treated", [True, False])
def test_noise_stays_outside_only_where_the_coin_said_so(tmp_path: Path, treated: bool):
    helper = begun(tmp_path, "shape", treated)
    answer = helper.result("Bash", {"command": "make"}, "\x1b[31mred\x1b[0m" * 99)[1]
    assert (answer == {}) is not treated
    helper.stop()


@pytest.mark.parametrize("treated", [True, False])
def test_a_compaction_is_answered_only_where_the_coin_said_so_before_the_first_request(tmp_path: Path, treated: bool):
    helper = begun(tmp_path, "compact", treated)
    made = helper.has_read("app.py", lines(400))
    edit = {"file_path": str(helper.project / "app.py"), "old_string": "a" * 900, "new_string": "b" * 900}
    made.called("toolu_01", "Edit", edit, "The file has been updated.")
    for number in range(6):
        made.called(f"toolu_1{number}", "Bash", {"command": f"echo {number}"}, f"said {number}")
    made.answered(30_000)
    assert ("rows" in Running(helper).compacts()) is treated
    assert drawn(helper) == [(SESSION, treated)]
    helper.stop()


def test_a_session_that_has_sent_requests_before_its_helper_came_is_in_no_trial(tmp_path: Path):
    helper = begun(tmp_path, "say_once", False, has_sent=True)
    helper.read("other.py", lines(40))
    assert helper.read("other.py", lines(40))[1] != numbered(lines(40))
    assert drawn(helper) == []
    helper.stop()


def test_popkit_try_out_answers_inside_the_client(tmp_path: Path):
    helper = begun(tmp_path, "say_once", True)
    said = helper.ask("/command", {"words": "try-out", "columns": 80})["text"]
    assert "say_once any: 0 of 20 sessions" in said
    helper.stop()
