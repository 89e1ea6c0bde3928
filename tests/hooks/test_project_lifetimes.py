"""What was needed again after it had expired lives longer in its project: seen, kept, and taken back on the user's word."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hooks.utils.policy.lifetimes import MOST_POINTS, POINTS
from hooks.utils.state import project_lifetimes
from tests.hooks import payloads, processes

SHOP, OTHER = "/home/dev/shop", "/home/dev/other"


class Days:
    """Sessions of projects, one after another, through real hooks."""

    def __init__(self, folder: Path):
        self.home, self.at = processes.Home(folder), 1_800_000_000.0

    def environ(self, project: str = SHOP) -> dict[str, str]:
        return self.home.env(CLAUDE_PROJECT_DIR=project, POPKIT_CLOCK=repr(self.at), CLAUDE_CONFIG_DIR=str(self.home.parent / "claude"))

    def hook(self, payload: dict, project: str = SHOP) -> processes.Ran:
        self.at += 1
        ran = processes.run_event(payload, self.environ(project))
        assert ran.code == 0, ran
        return ran

    def begin(self, session: str, project: str = SHOP, source: str = "startup") -> None:
        self.hook(payloads.common("SessionStart", session_id=session, source=source, cwd=project), project)

    def search(self, session: str, pattern: str = "x", project: str = SHOP, **more) -> None:
        self.hook(payloads.grep(pattern, f"src/{pattern}.js:1: {pattern}", session_id=session, **more), project)

    def needed_again(self, session: str, project: str = SHOP, **more) -> None:
        """A search, its end, and the same again."""
        self.search(session, project=project, **more)
        for number in range(5):
            self.hook(payloads.bash(f"mkdir out/{self.at}/{number}", session_id=session, **more), project)
        self.search(session, project=project, **more)

    def lifetimes(self, session: str, agent: str = "") -> dict:
        return self.home.state(session, agent).lifetimes

    def answer(self, session: str, words: str) -> str:
        """What `/popkit:context WORDS` answers."""
        ran = self.hook(payloads.common("UserPromptSubmit", session_id=session, prompt=f"/popkit:context {words}"))
        return json.loads(ran.stdout)["reason"]


@pytest.fixture
def days(tmp_path: Path) -> Days:
    return Days(tmp_path)


def test_a_later_session_of_the_project_begins_with_it(days: Days):
    days.begin("one")
    days.needed_again("one")
    assert days.lifetimes("one") == {"search": POINTS}
    days.begin("two")
    assert days.lifetimes("two") == {"search": POINTS}


def test_another_project_does_not(days: Days):
    days.begin("one")
    days.needed_again("one")
    days.begin("two", OTHER)
    days.search("two", project=OTHER)
    assert days.lifetimes("two") == {}


def test_so_does_a_subagent(days: Days):
    days.begin("one")
    days.needed_again("one")
    days.search("one", "y", agent_id="a1")
    assert days.lifetimes("one", "a1") == {"search": POINTS}


def test_what_a_subagent_finds_out_counts_for_the_project(days: Days):
    days.begin("one")
    days.needed_again("one", agent_id="a1")
    days.begin("two")
    assert days.lifetimes("two") == {"search": POINTS}


def test_a_session_that_goes_on_takes_up_what_others_have_taught_since(days: Days):
    days.begin("one")
    days.search("one", "y")
    days.begin("two")
    days.needed_again("two")
    days.begin("one", source="resume")
    assert days.lifetimes("one") == {"search": POINTS}


def test_a_session_that_nobody_announced_begins_with_it(days: Days):
    days.begin("one")
    days.needed_again("one")
    days.search("two", "y")
    assert days.lifetimes("two") == {"search": POINTS}


def test_the_panel_and_the_answer_show_it(days: Days):
    days.begin("one")
    days.needed_again("one")
    assert "Lifetimes search x1.25: needed again in this project" in days.answer("one", "retention")
    said = days.answer("one", "lifetimes")
    assert "search      x1.25" in said
    assert "lifetimes --reset" in said
    assert "the model that is shipped" in said


def test_nothing_is_shown_where_nothing_was_learnt(days: Days):
    days.begin("one")
    days.search("one")
    assert "Lifetimes" not in days.answer("one", "retention")
    assert "None: nothing that had expired was needed again." in days.answer("one", "lifetimes")


def test_a_reset_forgets_it_here_and_for_later_sessions(days: Days):
    days.begin("one")
    days.needed_again("one")
    said = days.answer("one", "lifetimes --reset")
    assert "Forgotten" in said
    assert "x1.25" not in said
    assert days.lifetimes("one") == {}
    days.begin("two")
    assert days.lifetimes("two") == {}


def test_after_a_reset_it_is_learnt_anew(days: Days):
    days.begin("one")
    days.needed_again("one")
    days.answer("one", "lifetimes --reset")
    days.needed_again("one")
    assert days.lifetimes("one") == {"search": POINTS}
    days.begin("two")
    assert days.lifetimes("two") == {"search": POINTS}


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"schema": 1, "points": {"search": "much"}}', b'{"schema": 2, "points": {"search": 20}}']
)
def test_a_damaged_file_means_nothing_was_learnt_and_stops_nothing(days: Days, damage: bytes):
    path = Path(project_lifetimes.path_of(str(days.home.path), SHOP))
    path.parent.mkdir(parents=True)
    path.write_bytes(damage)
    days.begin("one")
    days.needed_again("one")
    assert days.lifetimes("one") == {"search": POINTS}
    assert project_lifetimes.read(str(days.home.path), SHOP) == {"search": POINTS}
    assert days.home.failures() == []


def test_many_at_once_lose_nothing(tmp_path: Path):
    home = str(tmp_path / "popkit")
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda number: _changed(home, {"search": 1, f"kind{number % 3}": 2}), range(12)))
    assert project_lifetimes.read(home, SHOP) == {"search": 12, "kind0": 8, "kind1": 8, "kind2": 8}


def _changed(home: str, by: dict) -> None:
    code = f"from hooks.utils.state.project_lifetimes import change; change({home!r}, {SHOP!r}, {by!r})"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=processes.ROOT)


def test_a_change_keeps_within_the_bounds(tmp_path: Path):
    home = str(tmp_path / "popkit")
    project_lifetimes.change(home, SHOP, {"search": 10 * MOST_POINTS, "read": -3})
    assert project_lifetimes.read(home, SHOP) == {"search": MOST_POINTS}


def test_its_file_is_private_and_named_by_no_path(days: Days):
    days.begin("one", "/home/dev/../../etc")
    days.needed_again("one", "/home/dev/../../etc")
    (path,) = days.home.path.glob("projects/*/lifetimes.json")
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text())["project"] == "/home/dev/../../etc"
