"""Compactions without a model in the newest client: what stands afterwards, at once and in sessions that go on from there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from popkit_retention.core.state import memory

from .client import ClientHome, Run
from .compacted import PASTED, READ, RUN, Compacted, boundaries, good, own_rows, tell, thinks, toasts, words
from .installs import Installed
from .probe import Probe, probe_hook
from .reclaimed import placeholders, result, whole
from .scripted_api import Recorded, ScriptedApi

REMEMBERED = "# Project memory\n\n- tools/: count_the_lines.sh"
# What the host says at the beginning of a conversation, and again behind a compaction of any kind.
REMINDED = ("Always sing while working.", "# gitStatus", "Today's date is ", "Attribution for git commits", "# Environment", REMEMBERED)
PROMPTS = [
    "go [[SCRIPT:work]]", "see [[SCRIPT:see]]", "and [[SCRIPT:rest]]", "now [[SCRIPT:talk]]", "look [[SCRIPT:look]]",
    "once more [[SCRIPT:again]]", "then [[SCRIPT:talk]]",
]  # fmt: skip
ANSWERED = ["Two files.", "the work is done", "seen", "rested", "just talking", "looked again", "ran again", "just talking"]
STAGES = {
    "work": "go [[SCRIPT:work]]", "see": PASTED, "rest": "and [[SCRIPT:rest]]", "1": "/compact", "after 1": "now [[SCRIPT:talk]]",
    "look": "look [[SCRIPT:look]]", "again": "once more [[SCRIPT:again]]", "2": "/compact", "after 2": "then [[SCRIPT:talk]]",
}  # fmt: skip


@dataclass
class Story:
    """One session in one process, compacted twice, and others that go on from it: the last request of each stage."""

    world: Compacted
    run: Run
    requests: dict[str, Recorded] = field(default_factory=dict)
    agrees: dict[str, bool] = field(default_factory=dict)
    lines: list[dict[str, Any]] = field(default_factory=list)
    probe: Probe | None = None

    @property
    def id(self) -> str:
        return self.run.session_id


@pytest.fixture(scope="module")
def story(clients: dict[str, Installed], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    with ScriptedApi() as api:
        folder = tmp_path_factory.mktemp("c")
        probe = Probe.with_hooks(folder, {event: probe_hook() for event in ("PreCompact", "PostCompact", "SessionStart")})
        home = ClientHome(folder, clients["newest"], api.url, probe.env)
        api.places["work"] = str(home.work)
        world = Compacted(home, api)
        project = memory.project_of(str(world.popkit_home), str(home.work))
        project.turn_on(1.0)
        project.write_document(REMEMBERED)
        played = Story(world, world.play(list(STAGES.values()), extra=["--plugin-dir", str(probe.plugin_dir)]), probe=probe)
        for stage, prompt in STAGES.items():
            text = prompt if isinstance(prompt, str) else prompt[-1]["text"]
            found = [turn for turn in api.turns() if (words(turn, "user") or [""])[-1] == text]
            played.requests |= {stage: found[-1]} if found else {}
        played.agrees["running"] = world.agrees(played.id)
        played.lines = home.transcript(played.id)
        for stage, resume, flag in (("continued", None, "--continue"), ("forked", played.id, "--fork-session")):
            done = world.play("on we go [[SCRIPT:talk]]", resume, extra=[flag])
            played.requests[stage] = api.turns()[-1]
            if stage != "forked":  # its journal begins anew
                played.agrees[stage] = world.agrees(done.session_id)
        yield played


AFTER = {"after 1": "rest", "after 2": "again", "continued": "after 2", "forked": "after 2"}


def test_no_model_is_asked_and_the_person_is_told_in_a_line(story: Story):
    assert {request.kind for request in story.world.api.requests} == {"turn"}
    assert [entry["trigger"] for entry in boundaries(story.run)] == ["manual"] * 2
    print("\nfrom the event to the answer, ms:", [entry["duration_ms"] for entry in boundaries(story.run)])
    assert len(toasts(story.run)) == 2
    for toast in toasts(story.run):
        print(toast)
        assert toast.startswith("Compacted without a model: ")
        assert " taken out, and all can be restored" in toast
    assert story.world.errors() == ""


def test_what_was_said_is_word_for_word_in_every_request_after_one(story: Story):
    for stage, before in AFTER.items():
        tell(f"{before} -> {stage}", story.requests[before], story.requests[stage])
        said = words(story.requests[stage], "user")
        prompts = [text for text in said if not text.startswith(("[PopKit left out ", "[An image was here."))]
        known = PROMPTS[: len(prompts)]
        assert prompts[: len(known)] == known, stage
        answered = words(story.requests[stage], "assistant")
        assert answered[: len(ANSWERED)] == ANSWERED[: len(answered)], stage


@pytest.mark.parametrize("stage", AFTER)
def test_the_next_request_is_one_that_the_provider_takes(story: Story, stage: str):
    assert good(story.requests[stage]) == []


@pytest.mark.parametrize("stage", AFTER)
def test_no_reminder_is_sent_twice(story: Story, stage: str):
    sent = story.requests[stage].text
    assert {reminder: sent.count(json.dumps(reminder)[1:-1]) for reminder in REMINDED} == dict.fromkeys(REMINDED, 1)


@pytest.mark.parametrize("stage", AFTER)
def test_rows_of_commands_do_not_pile_up(story: Story, stage: str):
    assert own_rows(story.requests[stage]) == ["compact"], "the one that stands behind what was answered"


def test_dead_results_are_placeholders_and_come_back_whole(story: Story):
    before, after = story.requests["rest"], story.requests["after 1"]
    left = placeholders(after.tool_results())
    assert {RUN, READ} <= set(left)
    for id in (RUN, READ):
        assert story.world.popkit("restore", left[id]).stdout.strip() == result(before, id).strip()
    live = {id: text for id, text in after.tool_results().items() if not text.startswith("[PopKit cleared ")}
    assert live == {id: before.tool_results()[id] for id in live}


def test_pictures_that_cannot_be_carried_are_named(story: Story):
    said = words(story.requests["after 1"], "user")
    pasted = said[said.index("see [[SCRIPT:see]]") - 1]
    handle = re.fullmatch(r"\[An image was here\. A compaction cannot carry it; it is archived: popkit restore (\w+)\]", pasted)[1]
    assert story.world.popkit("restore", handle).returncode == 0
    shown = result(story.requests["after 1"], "toolu_see_0_0")
    assert shown.startswith("[PopKit cleared Read picture.png ")
    assert "popkit restore " in shown
    for stage in AFTER:
        assert story.requests[stage].text.count("An image was here.") == 1, stage


def test_thinking_does_not_survive_and_is_never_sent_twice(story: Story):
    assert len(thinks(story.requests["rest"])) == 4
    assert [thinks(story.requests[stage]) for stage in AFTER] == [[]] * len(AFTER)


@pytest.mark.parametrize("stage", ["continued", "forked"])
def test_a_session_that_goes_on_has_what_was_answered_and_nothing_old(story: Story, stage: str):
    before, after = (story.requests[name].tool_results() for name in ("after 2", stage))
    assert after == before
    assert "PASS test_number_3 " not in story.requests[stage].text


def test_the_transcript_is_whole_and_the_state_is_that_of_a_rebuild(story: Story):
    assert whole(story.lines)
    assert story.agrees == {"running": True, "continued": True}


def test_hooks_of_other_plugins_see_the_compaction_when_it_is_done(story: Story):
    assert story.probe.payloads("PreCompact") == []
    assert len(story.probe.payloads("PostCompact")) == 2
    assert [payload["source"] for payload in story.probe.payloads("SessionStart")][:3] == ["startup", "compact", "compact"]


def test_no_index_is_given_where_the_placeholders_are_it(story: Story):
    assert not [request for request in story.world.api.turns() if "from before the summary are archived" in request.text]
