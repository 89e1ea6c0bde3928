"""Compactions without a model in the terminal of the newest client, as a person meets them: clear, undo, restore, /compact, rewind."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from .compacted import READ, RUN, Compacted, Worked, good, own_rows, tell, words
from .kept import Kept
from .plugin_copy import linked
from .reclaimed import placeholders, result, whole
from .scripted_api import Recorded, say
from .terminal import ESCAPE, ClientTerminal

CLEARED, BACK = "Compacted without a model: ", "Put back in place: "
PROMPTS = ["go [[SCRIPT:work]]", "and [[SCRIPT:rest]]"]


@dataclass
class Story:
    """One session in one window: its last request before all, that of each stage, and what the screen shows then."""

    world: Compacted
    terminal: ClientTerminal
    before: Recorded
    requests: dict[str, Recorded] = field(default_factory=dict)
    screens: dict[str, str] = field(default_factory=dict)
    agrees: dict[str, bool] = field(default_factory=dict)
    handle: str = ""
    receipt: dict = field(default_factory=dict)
    asked_by_the_pane: int = -1
    lines: list = field(default_factory=list)

    def talk(self, stage: str) -> None:
        """A turn, whose request shows what stands. Its answer is like no other: a compaction draws the whole conversation anew."""
        script, answer = stage.replace(" ", "-"), f"that was said {stage}"
        self.world.api.scripts[script] = [say(answer)]
        self.terminal.turn(f"{stage} [[SCRIPT:{script}]]", answer)
        self.requests[stage] = self.world.api.turns()[-1]
        self.agrees[stage] = self.world.agrees(self.world.session_id())

    def does(self, stage: str, command: str, says: str) -> None:
        """Types a command, or gives it in a shell beside the client, and waits until its compaction is over and told."""
        before = self.done()
        if command.startswith("/"):
            self.terminal.send(command)
        else:
            assert self.world.popkit(*command.split(), "--session", self.world.session_id()).returncode == 0
        self.screens[stage] = "\n".join(self.terminal.wait(lambda shown: says in shown and self.done() > before))
        self.terminal.wait_idle()

    def shows(self, stage: str, command: str, says: str) -> None:
        """Does it, then talks."""
        self.does(stage, command, says)
        self.talk(stage)

    def put_back_in_the_pane(self) -> None:
        """Opens the receipt of the last compaction in the pane, and puts back from there what it took out."""
        before, done, terminal = len(self.world.api.turns()), self.done(), self.terminal
        receipts = self.world.popkit_home / "sessions" / self.world.session_id() / "main.receipts.jsonl"
        self.receipt = json.loads(receipts.read_text().splitlines()[-1])
        terminal.send("/popkit")
        terminal.wait("Reclaimable")
        terminal.press_until("3", lambda shown: "left the context" in shown)
        terminal.wait_idle()
        self.screens["receipt"] = terminal.text()
        print("\n" + self.screens["receipt"])
        terminal.press_until("u", lambda shown: "all were put back" in unframed(shown))
        terminal.wait(lambda _shown: self.done() > done)
        print("\n" + terminal.text())
        terminal.press_until(ESCAPE, lambda shown: "left the context" not in shown)
        self.asked_by_the_pane = len(self.world.api.turns()) - before

    def done(self) -> int:
        return sum(len(self.world.journal(self.world.session_id(), event)) for event in ("compact", "back"))


@pytest.fixture(scope="module")
def story(request: pytest.FixtureRequest, kept_work: Kept) -> Iterator[Story]:
    worked: Worked = kept_work.as_it_was()
    world = worked.world
    # The pane stands below.
    with ClientTerminal(world.home, plugin_dir=linked(), resume=worked.session_id, columns=80, rows=120) as terminal:
        played = Story(world, terminal, worked.last)
        terminal.wait("rested")
        terminal.wait_idle()
        played.shows("cleared", "/popkit clear --now", CLEARED)
        played.shows("undone", "/popkit undo", BACK)
        played.does("compacted", "/compact", CLEARED)
        played.put_back_in_the_pane()
        played.shows("cleared outside", "context clear --now", CLEARED)
        played.handle = placeholders(played.requests["cleared outside"].tool_results())[RUN]
        played.shows("restored", f"/popkit restore {played.handle} --in-place", BACK)
        if request.config.getoption("--slow"):
            terminal.rewind()
            played.talk("rewound")
            # Back over all that stands of the conversation as it was compacted last, and the row of that compaction.
            terminal.rewind(len(words(played.requests["rewound"], "user")) + 2)
            played.talk("before it")
        played.lines = world.home.transcript(worked.session_id)
        yield played


def test_a_clear_takes_effect_at_once_in_the_same_session(story: Story):
    tell("/popkit clear", story.before, story.requests["cleared"])
    assert {RUN, READ} <= set(placeholders(story.requests["cleared"].tool_results()))
    assert story.world.api.of_kind("summary") == []


def test_the_person_is_told_what_came_of_it_and_never_to_resume(story: Story):
    for stage, says in {"cleared": CLEARED, "undone": BACK, "compacted": CLEARED, "restored": BACK}.items():
        assert says in story.screens[stage]
        assert "/resume " + story.world.session_id() not in unframed(story.screens[stage]), stage  # the client's own tips name the word


def test_undo_gives_everything_back_in_place(story: Story):
    before, after = story.before.tool_results(), story.requests["undone"].tool_results()
    assert after == before


def test_one_result_is_put_back_in_its_place(story: Story):
    before, after = story.requests["cleared outside"], story.requests["restored"]
    tell("restore --in-place", before, after)
    assert set(placeholders(before.tool_results())) - set(placeholders(after.tool_results())) == {RUN}
    assert result(story.requests["restored"], RUN) == result(story.before, RUN)


def test_a_clear_in_a_shell_is_done_in_the_running_conversation(story: Story):
    tell("popkit context clear", story.requests["undone"], story.requests["cleared outside"])
    assert RUN in placeholders(story.requests["cleared outside"].tool_results())


@pytest.mark.slow
def test_a_rewind_to_behind_a_compaction_has_what_was_answered(story: Story):
    before, after = story.requests["restored"], story.requests["rewound"]
    assert after.tool_results() == before.tool_results()
    assert words(after, "user")[:-1] == words(before, "user")[:-1]


@pytest.mark.slow
def test_a_rewind_to_before_a_compaction_has_what_stood_then(story: Story):
    then, sent = story.requests["cleared outside"], story.requests["before it"]
    tell("rewound to before the restore", story.requests["rewound"], sent)
    assert sent.tool_results() == then.tool_results()
    assert words(sent, "user")[:-1] == words(then, "user")[:-1]


def test_the_provider_accepts_every_request_and_command_rows_do_not_pile_up(story: Story):
    assert {stage: good(request) for stage, request in story.requests.items()} == {stage: [] for stage in story.requests}
    rows = {stage: own_rows(request) for stage, request in story.requests.items()}
    assert {stage for stage, names in rows.items() if names not in ([], ["compact"])} == set()
    assert [stage for stage, request in story.requests.items() if "/compact" in words(request, "user")] == []


def test_what_was_said_stays_word_for_word(story: Story):
    for stage, request in story.requests.items():
        prompts = [text for text in words(request, "user") if not text.startswith("[PopKit left out ")]
        assert prompts[:2] == PROMPTS, stage
        assert words(request, "assistant")[:3] == ["Two files.", "the work is done", "rested"], stage


def test_the_transcript_is_whole_and_the_state_is_that_of_a_rebuild_all_along(story: Story):
    assert whole(story.lines)
    assert story.agrees == dict.fromkeys(story.agrees, True)
    assert story.world.errors() == ""


def unframed(shown: str) -> str:
    """What a screen says, without the frames of panes and the ends of lines."""
    return " ".join(shown.replace("│", " ").split())


def test_the_pane_shows_a_compaction_s_receipt_and_undoes_it_without_a_request(story: Story):
    shown = story.screens["receipt"]
    joined = unframed(shown)
    assert f"{len(story.receipt['calls'])} results left the context, and all can be restored." in joined
    for call in story.receipt["calls"]:
        assert re.search(rf"~\S+ +T{call['number']} ", shown), call
        why = call["left"][0][2]
        assert why[1:] in joined, call
    assert story.asked_by_the_pane == 0
