"""Clearing in the client's terminal where no code of ours runs inside the client: clear, /resume, undo, the ends of a session, /compact.

Where it does, everything happens in place: test_compact_terminal.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.patience import until

from .client import ClientHome
from .ends import OLDEST_IF_SLOW
from .installs import OLDEST_SUPPORTED, Installed
from .reclaimed import EXCERPT, LATE_RUN, READ, RUN, Reclaimed, Watched, blocks, changed, kinds, placeholders, plain, result, whole
from .scripted_api import Recorded, ScriptedApi, call, say
from .terminal import ClientTerminal

ROWS = 120  # a whole test on one screen
ASKING = ["--permission-mode", "default", "--allowedTools", "Bash(npm test)", "Edit", "Write"]
ADVICE, INDEX = "PopKit tracked the tool results", "Tool results from before the summary are archived"


@dataclass
class Story:
    """One session in a terminal: the newest request, the contents of the transcript, the screen and the ledger at each stage."""

    world: Reclaimed
    terminal: ClientTerminal
    session_id: str = ""
    requests: dict[str, Recorded] = field(default_factory=dict)
    contents: dict[str, dict] = field(default_factory=dict)
    screens: dict[str, str] = field(default_factory=dict)
    ledgers: dict[str, dict] = field(default_factory=dict)
    lines: list = field(default_factory=list)

    def note(self, stage: str, terminal: ClientTerminal) -> None:
        self.requests[stage] = self.world.api.turns()[-1]
        self.contents[stage] = self.world.contents(self.session_id)
        self.screens[stage] = terminal.text()

    def settle(self, stage: str) -> None:
        self.ledgers[stage] = self.world.asked("stats", "--session", self.session_id)["session"]


def command(terminal: ClientTerminal, words: str, says: str) -> None:
    """Asks /popkit:context and waits for the answer, once more than the screen has it now."""
    before = terminal.text().count(says)
    terminal.ask("/popkit:context " + words, lambda shown: shown.count(says) > before)
    terminal.wait_idle(0.3)


@pytest.fixture(scope="module", params=OLDEST_IF_SLOW)
def story(
    request: pytest.FixtureRequest, clients: dict[str, Installed], tmp_path_factory: pytest.TempPathFactory, hooks_alone: Path
) -> Iterator[Story]:
    """Work, clear, /resume, restore, read again, undo, /resume; in the permission mode that asks."""
    with ScriptedApi() as api:
        home = ClientHome(tmp_path_factory.mktemp("story"), clients[request.param], api.url)
        api.places["work"] = str(home.work)
        world = Reclaimed(home, api)
        with ClientTerminal(home, plugin_dir=hooks_alone, extra=ASKING, rows=ROWS) as terminal:
            played = Story(world, terminal)
            terminal.wait_ready()
            clear_and_load(played, terminal)
            come_back(played, terminal)
            played.lines = home.transcript(played.session_id)
            yield played


@pytest.fixture
def window(story: Story) -> Story:
    """The same window, with a session that has just begun; the project's files are as they were."""
    story.terminal.wait_idle()
    story.terminal.send("/clear")
    story.terminal.wait(lambda shown: "just talking" not in shown and "looked again" not in shown and "once more" not in shown)
    story.terminal.wait_idle()
    story.world.lay_out()
    story.world.api.clear()
    return story


def clear_and_load(played: Story, terminal: ClientTerminal) -> None:
    """Clear, which does not pay yet, then at any cost; a turn without it, and one after /resume."""
    terminal.turn("go [[SCRIPT:work]]", "the work is done")
    played.session_id = played.world.session_id()
    played.note("worked", terminal)
    command(terminal, "clear", "Nothing was changed")
    played.note("not paying", terminal)
    command(terminal, "clear --now", "To put everything back")
    played.note("cleared", terminal)
    terminal.turn("go [[SCRIPT:talk]]", "just talking")
    played.note("not loaded", terminal)
    played.settle("not loaded")
    terminal.load(played.session_id)
    played.note("resumed", terminal)
    terminal.turn("go [[SCRIPT:talk]]", "just talking")
    played.note("loaded", terminal)
    played.settle("loaded")


def come_back(played: Story, terminal: ClientTerminal) -> None:
    """The model restores and reads again, the user takes the clear back."""
    handle = placeholders(played.contents["cleared"])[RUN]
    played.world.api.scripts["back"] = [call(("Bash", {"command": f"popkit restore {handle}"})), say("it is back")]
    played.world.api.scripts["more"] = [call(("Bash", {"command": f"popkit restore {handle}; touch made"})), say("not reached")]
    terminal.turn("go [[SCRIPT:back]]", "it is back")
    played.note("restored", terminal)
    terminal.send("go [[SCRIPT:more]]")
    terminal.wait("Do you want to proceed?")
    played.screens["asked"] = terminal.text()
    terminal.interrupt()
    terminal.turn("go [[SCRIPT:look]]", "looked again")
    played.note("read again", terminal)
    command(terminal, "undo", "The last clear was taken back")
    played.note("undone", terminal)
    terminal.load(played.session_id)
    terminal.turn("go [[SCRIPT:talk]]", "just talking")
    played.note("loaded again", terminal)


def test_a_clear_that_does_not_pay_changes_nothing_and_names_the_command_that_would(story: Story):
    assert "Not cleared: it " in story.screens["not paying"]
    assert "/popkit:context clear --now" in story.screens["not paying"]
    assert story.contents["not paying"] == story.contents["worked"]
    assert not placeholders(story.contents["worked"])


def test_a_clear_leaves_placeholders_for_what_has_expired_and_says_how_to_load_them(story: Story):
    before, after = story.contents["worked"], story.contents["cleared"]
    assert {plain(use_id) for use_id in before if before[use_id] != after[use_id]} == {RUN, READ}
    assert set(placeholders(after)) == {RUN, READ}
    assert list(before) == list(after)
    assert "/resume " + story.session_id in story.screens["cleared"]


def test_until_it_has_loaded_the_transcript_the_client_sends_the_originals(story: Story):
    sent = story.requests["not loaded"]
    assert changed(blocks(story.requests["worked"]), blocks(sent)[: len(blocks(story.requests["worked"]))]) == {}
    assert not placeholders(sent.tool_results())
    ledger = story.ledgers["not loaded"]
    assert ledger["tokens_reclaimed"] == 0
    assert ledger["figures"]["pending_tokens"] > 0


def test_after_resume_the_next_request_carries_placeholders_in_exactly_the_cleared_results(story: Story):
    before, after = blocks(story.requests["not loaded"]), blocks(story.requests["loaded"])
    differing = changed(before, after[: len(before)])
    assert differing is not None
    assert set(map(plain, differing)) == set(placeholders(differing)) == {RUN, READ}
    for name in ("system", "tools", "model"):
        assert story.requests["loaded"].body[name] == story.requests["not loaded"].body[name]


def test_the_ledger_counts_what_the_next_request_shows_gone(story: Story):
    loaded = story.ledgers["loaded"]
    assert loaded["tokens_reclaimed"] > 0
    assert loaded["figures"]["pending_tokens"] == 0
    sizes = [len(str(blocks(story.requests[stage]))) for stage in ("not loaded", "loaded")]
    gone = (sizes[0] - sizes[1]) / 4  # the scripted usage counts 4 characters as a token
    assert loaded["tokens_reclaimed"] == pytest.approx(gone, rel=0.15)


def test_the_client_is_content(story: Story):
    assert story.world.errors() == ""
    assert whole(story.lines)
    for stage in ("resumed", "loaded", "read again", "loaded again"):
        assert "rror" not in story.screens[stage].replace("Errors", "")
        assert "❯" in story.screens[stage]


def test_the_model_restores_without_a_question_and_gets_the_content(story: Story):
    original = result(story.requests["worked"], RUN)
    assert "test_number_60 " in original
    assert result(story.requests["restored"], "toolu_back_0_0").strip() == original.strip()
    assert "Do you want" not in story.screens["restored"]


def test_with_anything_behind_it_the_restore_is_asked_for(story: Story):
    assert "touch made" in story.screens["asked"]
    assert not (story.world.home.work / "made").exists()


def test_what_was_cleared_can_be_read_again(story: Story):
    read = result(story.requests["read again"], "toolu_look_0_0")
    assert "item1 " in read
    assert "item0400" in read


def test_undo_gives_the_originals_back_once_they_are_loaded(story: Story):
    assert not placeholders(story.contents["undone"])
    worked = story.contents["worked"]
    assert {use_id: story.contents["undone"][use_id] for use_id in worked} == worked
    before, after = blocks(story.requests["worked"]), blocks(story.requests["loaded again"])
    assert changed(before, after[: len(before)]) == {}


@pytest.fixture
def world(home: ClientHome, api: ScriptedApi) -> Reclaimed:
    return Reclaimed(home, api)


def test_a_clear_typed_during_a_turn_runs_as_it_ends_and_loses_no_line(world: Reclaimed, hooks_alone: Path):
    (world.home.work / "many").write_text("")
    # Else hardly anything of the run enters, and its clear does not pay.
    world.configure(shape="off")
    with ClientTerminal(world.home, plugin_dir=hooks_alone, rows=ROWS) as terminal:
        terminal.wait_ready()
        terminal.send("go [[SCRIPT:late]]")
        terminal.wait(lambda _: (world.home.work / "count").exists())
        path = world.home.transcript_path(world.session_id())
        with Watched(path) as watched:
            terminal.send("/popkit:context clear")
            assert "the late work is done" not in terminal.text()
            terminal.wait(lambda _: b'"enqueue"' in path.read_bytes())
            (world.home.work / "seen").write_text("")
            terminal.wait("To put everything back")
            terminal.wait(
                lambda _: not {"system:informational", "system:local_command"}.isdisjoint(kinds(world.home.transcript(path.stem)))
            )
            terminal.wait_idle()
        session_id = world.session_id()
        lines = world.home.transcript(session_id)
        assert set(placeholders(world.contents(session_id))) == {LATE_RUN}
        assert watched.lost() == []
        assert whole(lines)
        assert {"queue-operation:enqueue", "queue-operation:dequeue", "system:stop_hook_summary"} <= kinds(lines)
        answer = [line for line in lines if line["type"] == "assistant"][-1]
        assert answer["message"]["content"][0]["text"] == "the late work is done"
        terminal.load(session_id)
        terminal.turn("go [[SCRIPT:talk]]", "just talking")
    assert set(placeholders(world.api.turns()[-1].tool_results())) == {LATE_RUN}
    assert whole(world.home.transcript(session_id))
    assert world.errors() == ""


def leave(terminal: ClientTerminal, ending: str) -> None:
    """Ends the client in one of three ways, and waits until it has ended."""
    if ending == "hang-up":
        terminal.hang_up()
        return
    if ending == "exit":
        terminal.send("/exit")
        terminal.wait_end()
    else:
        terminal.leave()


def test_clear_at_exit_leaves_a_lean_transcript_for_the_next_resume(world: Reclaimed, hooks_alone: Path):
    world.clear_at_exit()
    session_id, cleared = None, set()
    for number, ending in enumerate(("exit", "ctrl-c twice", "hang-up")):
        world.lay_out()
        world.api.scripts[f"runs{number}"] = world.api.scripts["runs"]
        with ClientTerminal(world.home, plugin_dir=hooks_alone, resume=session_id) as terminal:
            terminal.wait_ready()
            terminal.turn(f"go [[SCRIPT:runs{number}]]", "ran twice")
            session_id = world.session_id()
            with Watched(world.home.transcript_path(session_id)) as watched:
                leave(terminal, ending)
        assert cleared <= set(placeholders(world.api.turns()[-1].tool_results())), "what the end before had cleared"
        cleared.add(f"toolu_runs{number}_0_0")
        until(lambda: set(placeholders(world.contents(session_id))) == cleared, f"the clear after {ending}")  # noqa: B023
        assert watched.lost() == [], ending
        assert whole(world.home.transcript(session_id)), ending
    world.configure()
    run = world.home.run_headless("go [[SCRIPT:talk]]", plugin_dir=hooks_alone, resume=session_id)
    assert run.results[-1]["result"] == "just talking"
    assert set(placeholders(world.api.turns()[-1].tool_results())) == cleared
    assert whole(world.home.transcript(session_id))
    assert world.errors() == ""


def test_a_compaction_is_told_what_is_dead_and_gives_back_an_index(window: Story):
    world, terminal = window.world, window.terminal
    terminal.turn("go [[SCRIPT:edit]]", "the list is edited")
    terminal.send("/compact keep the plan")
    terminal.wait(lambda _: world.api.of_kind("summary"))
    terminal.wait("ompacted")
    terminal.wait_idle(1)
    shown = terminal.text()
    terminal.turn("go [[SCRIPT:look]]", "looked again")
    (summary,) = world.api.of_kind("summary")
    assert summary.text.count(ADVICE) == 1
    # A hook's output is shown and repeated; what code inside the client says is for the summariser alone.
    assert ADVICE in world.api.turns()[-1].text
    assert "PopKit tracked" in shown
    assert "keep the plan" in summary.text
    assert "src/list.js" in summary.text[summary.text.index(ADVICE) :]
    first, last = (request.text for request in (world.api.turns()[-2], world.api.turns()[-1]))
    assert INDEX in first
    assert "PASS test_number_3 " not in first
    # Its own memory of the file would let the oldest client answer that it is unchanged.
    assert "Note 62: " in last[last.index("toolu_look_0_1") :]
    assert world.errors() == ""


def test_an_excerpt_that_was_cleared_is_read_in_full_again_and_that_is_charged(window: Story):
    world, terminal = window.world, window.terminal
    world.api.scripts |= {
        "excerpt": [call(("Read", EXCERPT)), say("an excerpt")],
        "again": [call(("Read", EXCERPT)), say("once more")],
    }
    terminal.turn("go [[SCRIPT:excerpt]]", "an excerpt")
    session_id = world.session_id()
    command(terminal, "clear --id T1 --now", "To put everything back")
    terminal.load(session_id)
    terminal.turn("go [[SCRIPT:again]]", "once more")
    sent = world.api.turns()[-1]
    assert set(placeholders(sent.tool_results())) == {"toolu_excerpt_0_0"}
    assert "Note 62: " in sent.text
    ledger = world.asked("stats", "--session", session_id)["session"]["figures"]
    if world.home.installed.version == OLDEST_SUPPORTED:  # takes no other output from a hook, but a text beside it
        assert result(sent, "toolu_again_0_0").startswith("File unchanged")
        assert ledger["advice_tokens"] > 1_000
    else:
        assert "Note 62: " in result(sent, "toolu_again_0_0")
        assert ledger["refetched"] == 1
    assert world.errors() == ""
