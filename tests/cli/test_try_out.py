"""`popkit try-out`: trials are started and stopped on the user's word, shown as counts while they run, and read once."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from hooks.utils.policy.trials import PER_ARM
from hooks.utils.state import trials
from popkit_retention.operations import stores
from tests.bill.conversations import Conversation
from tests.cli import inside
from tests.state.coins import run_of


class Tried:
    """A home of ours, the client's folder, and the command in them."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.projects = folder / "claude" / "projects" / "-shop"
        self.projects.mkdir(parents=True)
        self.environ = {"POPKIT_HOME": str(self.home), "CLAUDE_CONFIG_DIR": str(folder / "claude")}
        self.work = folder

    def run(self, *words: str, code: int = 0) -> str:
        """What the command prints, in one line."""
        done = inside.run(["try-out", *words], self.environ, self.work)
        assert done.returncode == code, done.stderr
        return " ".join((done.stdout or done.stderr).split())

    def shown(self) -> list[dict]:
        return json.loads(self.run("--json"))["trials"]

    def configured(self, text: str | None = None) -> str:
        path = self.home / "retention-config.json"
        if text is not None:
            self.home.mkdir(exist_ok=True)
            path.write_text(text)
        return path.read_text()

    def has_run(self, sessions: int, effect: float = 1.0, seed: int = 1) -> None:
        """Let a trial of hints have so many sessions that are over, with the hint and without by turns."""
        self.configured('{"hints": "try"}')
        with trials.Changing(str(self.home)) as known:
            known.runs = [run_of(sessions)]
        chance = random.Random(seed)
        for row in run_of(sessions).rows:
            conversation = Conversation()
            for _ in range(round(20 * (effect if row.treated else 1)) + chance.randint(0, 3)):
                conversation.request()
            conversation.write(self.projects / f"{row.session}.jsonl")


@pytest.fixture
def tried(tmp_path: Path) -> Tried:
    return Tried(tmp_path)


# --- start and stop --------------------------------------------------------------------------------------------------------------------


def test_without_a_trial_it_says_what_can_be_tried_and_keeps_nothing(tried: Tried):
    assert "popkit try-out start NAME" in tried.run()
    assert tried.shown() == []
    assert not (tried.home / trials.NAME).exists()


@pytest.mark.parametrize(
    ("name", "before", "during"),
    [
        ("hints", "{}", {"retention": {"hints": "try"}}),
        ("say_once", '{"retention": {"say_once": "reads", "pins": ["a"]}}', {"retention": {"say_once": "try", "pins": ["a"]}}),
        ("shape", '{"shape": "strong"}', {"shape": "try"}),
        ("compact", '{"profile": "spec"}', {"profile": "spec", "compact": "try"}),
    ],
)
def test_a_trial_is_started_on_ones_word_and_its_end_has_the_setting_as_it_was(tried: Tried, name: str, before: str, during: dict):
    tried.configured(before)
    assert "Nothing was changed" in tried.run("start", name, "--dry-run")
    assert "--yes skips the question" in tried.run("start", name, code=1)
    assert tried.configured() == before
    assert f"popkit try-out stop {name}" in tried.run("start", name, "--yes")
    assert json.loads(tried.configured()) == during
    assert [(trial["name"], trial["status"]) for trial in tried.shown()] == [(name, "running")]
    assert "on trial already" in tried.run("start", name)
    assert "Nothing was changed" in tried.run("stop", name, "--dry-run")
    assert "ended unread" in tried.run("stop", name, "--yes")
    after = json.loads(tried.configured())
    assert after.get("retention", after) == json.loads(before).get("retention", json.loads(before))
    assert tried.shown()[0]["status"] == "stopped"


def test_memory_is_tried_by_a_member_of_its_record(tried: Tried):
    tried.configured('{"memory": {"tokens": 300}}')
    assert "projects whose memory is on" in tried.run("start", "memory", "--yes")
    assert json.loads(tried.configured()) == {"memory": {"tokens": 300, "try": True}}
    tried.run("stop", "memory", "--yes")
    assert json.loads(tried.configured()) == {"memory": {"tokens": 300}}
    tried.configured("{}")
    tried.run("start", "memory", "--yes")
    tried.run("stop", "memory", "--yes")
    assert json.loads(tried.configured()) in ({}, {"retention": {}}), "as it was before"


def test_what_cannot_be_done_says_what_can(tried: Tried):
    assert "shape is not on trial" in tried.run("stop", "shape", code=1)
    assert "hints, say_once, shape, memory or compact" in tried.run("start", "profile", code=1)
    tried.configured('// mine\n{"hints": "off"}')
    assert '"hints": "try"' in tried.run("start", "hints", "--yes", code=1)


def test_a_setting_that_says_try_by_hand_is_on_trial_and_one_that_does_not_any_more_is_paused(tried: Tried):
    tried.configured('{"hints": "try"}')
    assert [(trial["name"], trial["status"]) for trial in tried.shown()] == [("hints", "running")]
    tried.has_run(2)
    tried.configured('{"hints": "on"}')
    assert tried.shown()[0]["status"] == "paused"
    assert tried.shown()[0]["arms"]["with"]["sessions"] == 1


def test_a_trial_that_was_stopped_or_read_can_be_started_again(tried: Tried):
    tried.run("start", "hints", "--yes")
    tried.run("stop", "hints", "--yes")
    tried.run("start", "hints", "--yes")
    assert [(run.number, run.is_open) for run in trials.load(str(tried.home)).runs] == [(1, False), (2, True)]
    assert [trial["status"] for trial in tried.shown()] == ["running"]


def test_a_corrupt_file_is_reported_and_left_alone(tried: Tried):
    tried.home.mkdir()
    (tried.home / trials.NAME).write_text("{")
    assert "Move it away" in tried.run(code=1)
    checked = trials.check(str(tried.home), "", {}, 0.0)
    assert (checked.level, "not as it was written" in checked.text) == ("problem", True)
    assert (tried.home / trials.NAME).read_text() == "{"


def test_what_is_kept_of_trials_is_known_to_doctor_and_uninstall(tried: Tried):
    tried.run("start", "hints", "--yes")
    owner = stores.owner(str(tried.home), str(tried.home / trials.NAME))
    assert owner is not None
    assert (owner.title, owner.keep[1]) == ("trials", "popkit try-out --json")
    assert trials.check(str(tried.home), "", {}, 0.0).text == "on trial: hints"


# --- the reading -----------------------------------------------------------------------------------------------------------------------


def test_while_a_trial_runs_its_sessions_say_nothing_but_that_they_are_over(tmp_path: Path):
    outputs = []
    for effect in (0.5, 2.0):
        (tmp_path / str(effect)).mkdir()
        tried = Tried(tmp_path / str(effect))
        tried.has_run(2 * PER_ARM - 1, effect)
        outputs.append((tried.run(), tried.run("--json")))
    assert outputs[0] == outputs[1]
    assert "20 of 20 sessions" in outputs[0][0]
    assert "19 of 20 sessions" in outputs[0][0]


def test_a_complete_trial_is_read_once_and_stays_as_it_was_read(tried: Tried):
    tried.has_run(2 * PER_ARM, 0.5)
    first = tried.run()
    assert "fewer" in first
    assert 'Advice: set "hints": "on"' in first
    (read,) = tried.shown()
    assert read["result"]["outcomes"]["requests"]["high"] < 0.7
    assert len(read["result"]["sessions"]) == 2 * PER_ARM
    for row in run_of(2 * PER_ARM).rows:  # whatever becomes of the sessions
        longer = Conversation()
        for _ in range(90):
            longer.request()
        longer.write(tried.projects / f"{row.session}.jsonl")
    assert tried.run() == first
    assert tried.shown() == [read]


def test_where_both_arms_do_the_same_it_says_that_nothing_can_be_concluded(tried: Tried):
    tried.has_run(2 * PER_ARM)
    shown = tried.run()
    assert shown.count("cannot be told apart from no effect") == 3
    assert "Detecting a change of 10 % would take" in shown


def test_a_session_in_which_nobody_asked_for_anything_is_no_session_without_a_transcript(tried: Tried):
    tried.has_run(2 * PER_ARM + 2)
    silent = Conversation()
    silent.entries = []
    silent.command("/context")
    silent.write(tried.projects / "s0.jsonl")
    (read,) = tried.shown()
    assert [(arm["sessions"], arm["no_prompt"], arm["missing"]) for arm in read["result"]["arms"].values()] == [(20, 1, 0), (20, 0, 0)]


def test_a_session_whose_bill_is_gone_or_partial_is_reported_and_not_guessed(tried: Tried):
    tried.has_run(2 * PER_ARM + 4)
    (tried.projects / "s0.jsonl").unlink()
    partial = Conversation()
    partial.add("assistant", message={"id": "m-x", "role": "assistant", "model": "claude-opus-4-6", "content": []})
    partial.write(tried.projects / "s1.jsonl")
    (read,) = tried.shown()
    assert [(arm["sessions"], arm["missing"], arm["partial"]) for arm in read["result"]["arms"].values()] == [(20, 1, 0), (20, 0, 1)]
    assert "1 and 0 without a transcript, 0 and 1 with usage that is not known" in tried.run()
