"""What a person sees and types in a terminal of 80 columns and 24 rows: the conversation after a compaction, the pane and its keys, what is
asked while Claude works, the line under the prompt."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.patience import HANG_S

from .client import ClientHome
from .installs import Installed
from .kept import kept
from .plugin_copy import linked
from .scripted_api import Recorded, ScriptedApi, call, say
from .terminal import CTRL_U, ESCAPE, ClientTerminal
from .test_mod import ROOT

COLUMNS, ROWS = 80, 24
DROPPED_S = 15.0  # after which a key is pressed again
PANE_KEYS = "\x18", "\t"  # ctrl+x tab
KEYS = "keys: ctrl+x tab"
LEFT_OUT = "[PopKit left out "


def long_command(number: int) -> str:
    """A command that nothing but a line of a list can stand for, as its input goes to no disk."""
    lines = [f"entry_{line}_of_{number} = computeTheThing{line * 7919 + number}('{line}', other_{number})" for line in range(90)]
    return "\n".join([f"echo done {number}: <<'END'", *lines, "END"])


SCRIPTS = {
    "work": [*(call(("Bash", {"command": long_command(number)})) for number in range(14)), say("all the work is done")],
    "on": [say("it went on")],
    "wait": [call(("Bash", {"command": "until [ -e seen ]; do sleep 0.1; done"})), say("it was seen")],
}


@dataclass
class Story:
    """One session on one screen: what it showed at each stage, and the request behind the compaction."""

    home: ClientHome
    screens: dict[str, str] = field(default_factory=dict)
    request: Recorded | None = None
    asked_by_keys: int = -1


def play(home: ClientHome, api: ScriptedApi) -> Story:
    api.scripts.update(SCRIPTS)
    home.extra_env["POPKIT_DOOR_MS"] = "60000"  # the machine may be busy
    story = Story(home)
    with ClientTerminal(home, plugin_dir=linked(), columns=COLUMNS, rows=ROWS) as terminal:
        terminal.wait_ready()
        terminal.turn("go [[SCRIPT:work]]", "all the work is done")
        terminal.send("/compact")
        terminal.wait(lambda shown: "Compacted (" in shown and "(ctrl+o)" in shown)
        story.screens["compacted"] = terminal.text()
        terminal.turn("on [[SCRIPT:on]]", "it went on")
        story.request = api.turns()[-1]
        _use_the_pane(story, terminal, api)
        _ask_in_mid_turn(story, terminal)
        popkit(home, "statusline", "install")
        terminal.turn("on [[SCRIPT:on]]", "it went on")
        story.screens["status line"] = "\n".join(terminal.wait(re.compile(r"^  context \d+%", re.MULTILINE)))
    session_id = next(home.config.glob("projects/*/*.jsonl")).stem
    with ClientTerminal(home, plugin_dir=linked(), resume=session_id, columns=COLUMNS, rows=ROWS + 100) as terminal:
        terminal.wait_ready()
        story.screens["resumed"] = "\n".join(terminal.wait("(ctrl+o)"))
    return story


def _use_the_pane(story: Story, terminal: ClientTerminal, api: ScriptedApi) -> None:
    before = len(api.requests)
    terminal.send("/popkit")
    story.screens["pane"] = "\n".join(terminal.wait(lambda shown: "Context  " in shown and KEYS not in shown))
    terminal.press_until("2", lambda shown: "Tool call timeline" in shown)
    terminal.insist(lambda: terminal.press("x"), lambda _shown: terminal.prompt().startswith("x"), DROPPED_S)
    story.screens["without keys"] = "\n".join(terminal.wait(KEYS))
    terminal.insist(lambda: terminal.press(CTRL_U, *PANE_KEYS), lambda shown: KEYS not in shown, DROPPED_S)
    terminal.press_until("3", lambda shown: "left the context" in shown)
    terminal.press_until(ESCAPE, lambda shown: "1: Now" not in shown)
    terminal.send("/popkit")
    story.screens["pane again"] = "\n".join(terminal.wait(lambda shown: "1: Now" in shown and "Context  " in shown))
    terminal.press_until(ESCAPE, lambda shown: "1: Now" not in shown)
    story.asked_by_keys = len(api.requests) - before


def _ask_in_mid_turn(story: Story, terminal: ClientTerminal) -> None:
    terminal.send("wait [[SCRIPT:wait]]")
    terminal.wait("until [ -e seen ]")
    terminal.send("/popkit stats")
    story.screens["mid-turn"] = "\n".join(terminal.wait(lambda shown: "Retention efficiency" in shown))
    (story.home.work / "seen").touch()
    terminal.press_until(ESCAPE, lambda shown: "1: Now" not in shown)
    terminal.wait(lambda shown: "esc to interrupt" not in shown)
    story.screens["after the turn"] = "\n".join(terminal.wait_idle())


def popkit(home: ClientHome, *words: str) -> str:
    command = [ROOT / "bin" / "popkit", *words]
    return subprocess.run(command, env=home.env(), cwd=home.work, capture_output=True, text=True, timeout=HANG_S, check=True).stdout


@pytest.fixture(scope="module")
def story(clients: dict[str, Installed]) -> Iterator[Story]:
    with kept(clients["newest"], play) as session:
        for stage, shown in session.played.screens.items():
            print(f"\n{stage}\n{shown}")
        yield session.played


def test_what_left_is_a_line_for_the_person_and_a_list_for_claude(story: Story):
    assert story.request is not None
    lists = [line for line in story.request.text.split('"') if line.startswith(LEFT_OUT)]
    assert lists
    assert all(len(line) > 3 * COLUMNS for line in lists)
    for stage in ("compacted", "resumed"):
        shown = story.screens[stage]
        assert len(re.findall(r"^  PopKit left out .*… \(ctrl\+o\)$", shown, re.MULTILINE)) == len(lists), stage
        assert "popkit restore" not in shown, stage
        assert "<system-reminder>" not in shown, stage


def test_the_pane_opens_at_what_to_do_now_and_says_how_much_more_there_is(story: Story):
    for stage in ("pane", "pane again"):
        rows = [row for row in story.screens[stage].split("\n") if row.startswith("│")]
        assert re.search(r"↓ \d+ more lines", rows[-1]), stage
        assert all(row.endswith("│") and "…" not in row for row in rows), stage


def test_where_the_prompt_has_the_keys_the_pane_says_how_to_get_them_back(story: Story):
    assert KEYS not in story.screens["pane"]
    assert KEYS in story.screens["without keys"]
    assert story.asked_by_keys == 0


def test_what_is_asked_while_claude_works_is_answered_while_it_does(story: Story):
    assert "esc to interrupt" in story.screens["mid-turn"]
    assert "❯ /popkit" in story.screens["after the turn"] or "False expirations" in story.screens["after the turn"]


def test_the_status_line_needs_no_settings_where_the_client_draws_it(story: Story):
    assert "statusLine" not in (story.home.config / "settings.json").read_text()
    assert re.search(r"^  context \d+% · ", story.screens["status line"], re.MULTILINE)
