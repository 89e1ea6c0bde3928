"""The code inside the client as a person meets it in a terminal: the band, the pane, a rewind."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from . import installs
from .client import ClientHome
from .plugin_copy import linked
from .scripted_api import ScriptedApi, call, say
from .terminal import ENTER, ESCAPE, ClientTerminal
from .test_mod import BIG, Session, referred

# Prints what a clear is worth: much. No two runs share a line, or the door would refer to it, and a result that is referred to stays.
TEST_JS = """const fs = require('fs')
const run = fs.existsSync('runs') ? 1 + Number(fs.readFileSync('runs')) : 1
fs.writeFileSync('runs', String(run))
for (let n = 0; n < 550; n++) console.log('check ' + n * 7 % 13 + ' of suite ' + Math.sin(n + 1000 * run))
console.log('PASS 550 tests')
"""
LARGE = "{work}/large.py"
WARM = re.compile(r"warm for (\d+:\d\d)\s")
SCRIPTS = {
    "first": [call(("Read", {"file_path": BIG, "limit": 200})), say("read it")],
    "second": [call(("Read", {"file_path": BIG, "offset": 2, "limit": 150})), say("read again")],
    "tested": [*[call(("Bash", {"command": "npm test"})) for _ in range(4)], say("all tested")],
}


@pytest.fixture
def session(clients: dict[str, installs.Installed], tmp_path: Path, api: ScriptedApi) -> Session:
    played = Session(ClientHome(tmp_path, clients["newest"], api.url), api)
    api.scripts.update(SCRIPTS)
    return played


@dataclass
class Window:
    """A client's window that several tests work in, and the API behind it."""

    api: ScriptedApi
    terminal: ClientTerminal


@pytest.fixture(scope="module")
def opened(clients: dict[str, installs.Installed], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Window]:
    with ScriptedApi() as api:
        home = Session(ClientHome(tmp_path_factory.mktemp("window"), clients["newest"], api.url), api).home
        (home.work / "large.py").write_text("".join(f"answer_{n} = compute({n * 7919}, 'of {n}')\n" for n in range(500)))
        api.scripts.update(SCRIPTS)
        with ClientTerminal(home, plugin_dir=linked(), columns=170) as terminal:
            terminal.wait_ready()
            yield Window(api, terminal)


@pytest.fixture
def window(opened: Window) -> Window:
    """With a session that has just begun."""
    opened.terminal.wait_idle()
    opened.terminal.send("/clear")
    opened.terminal.wait(lambda shown: "[[SCRIPT:" not in shown and "Project memory" not in shown)
    opened.terminal.wait_idle()
    return opened


def test_the_pane_opens_without_a_request_and_is_live(window: Window):
    terminal = window.terminal
    terminal.turn("go [[SCRIPT:first]]", "read it")
    before = asked(window.api)
    terminal.send("/popkit")
    terminal.wait("Reclaimable")
    terminal.wait("Calls     1 tool call in 1 turn")
    terminal.wait("tokens, as Claude Code counts them: ")
    first = countdown("\n".join(terminal.wait(WARM)))
    terminal.wait(lambda shown: countdown(shown) not in ("", first))
    assert asked(window.api) == before
    terminal.send("go [[SCRIPT:second]]")
    terminal.wait("Calls     2 tool calls in 2 turns")
    terminal.press_until(ESCAPE, lambda shown: "Reclaimable" not in shown)


def test_an_answer_is_shown_as_it_is_although_claude_code_reads_it_as_markdown(window: Window):
    terminal = window.terminal
    terminal.send("/popkit:context memory add keep __init__.py and *all* of `src` as it is")
    terminal.wait("Remembered: 1 item")
    terminal.send("/popkit:context memory admin file")
    terminal.wait("- keep __init__.py and *all* of `src` as it is")
    terminal.wait("# Project memory")


def test_counts_of_tokens_are_no_secrets_to_the_clients_masker(window: Window):
    terminal = window.terminal
    terminal.turn("go [[SCRIPT:first]]", "read it")
    terminal.send("/popkit:context stats --json")
    assert "[REDACTED]" not in "\n".join(terminal.wait(re.compile(r'"kept_out_tokens": \d')))


def asked(api: ScriptedApi) -> int:
    """How many requests were made, but for a title, which the client asks for when it likes."""
    return len(api.requests) - len(api.of_kind("title"))


def countdown(shown: str) -> str:
    """How long the pane says that the cache is warm; "" where it says nothing, or half of it stands there."""
    found = WARM.search(shown)
    return found[1] if found else ""


@pytest.mark.parametrize("columns", [60, pytest.param(200, marks=pytest.mark.slow)])
def test_the_band_and_the_pane_are_worked_by_keys_and_every_operation_can_be_undone(session: Session, columns: int):
    session.popkit.mkdir(parents=True)
    (session.popkit / "retention-config.json").write_text(json.dumps({"retention": {"profile": "spec", "shape": "off"}}))
    (session.home.work / "test.js").write_text(TEST_JS)
    with ClientTerminal(session.home, plugin_dir=linked(), columns=columns, rows=60) as terminal:
        terminal.wait_ready()
        terminal.turn("go [[SCRIPT:tested]]", "all tested")
        terminal.wait("PopKit: Clear now")
        before = asked(session.api)
        terminal.insist(lambda: in_the_band(terminal, ENTER), lambda shown: "Archived: 3 cleared results" in shown, 60)
        [transcript] = session.home.config.glob("projects/*/*.jsonl")
        assert transcript.read_text().count("[PopKit cleared ") == 3
        terminal.send("/popkit")  # the pane has the keys
        terminal.wait("Reclaimable")
        undo(terminal)
        terminal.press_until("2", lambda shown: "Tool call timeline" in shown)
        terminal.press_until("4", lambda shown: "[ w: Compact when the cache is cold ]" in shown)
        terminal.press_until("5", lambda shown: "System tools" in shown)
        terminal.press_until("1", lambda shown: "Reclaimable: ~" in shown)
        terminal.press_until("c", lambda shown: "[ u: Undo the last clear ]" in shown)
        undo(terminal)
        terminal.press_until(ESCAPE, lambda shown: "Reclaimable" not in shown)
        assert asked(session.api) == before


def in_the_band(terminal: ClientTerminal, key: str) -> None:
    """Press a key there."""
    terminal.press("\x18", "\t")  # ctrl+x tab: the band has the keys
    terminal.wait_idle(0.3)
    terminal.press(key)


def undo(terminal: ClientTerminal) -> None:
    """Take the last clear back by its key, and wait until that is done."""
    terminal.wait("[ u: Undo the last clear ]")
    terminal.press_until("u", lambda shown: re.search("Put(ting it)? back in place", shown))
    terminal.wait(lambda shown: "Put back in place: 3 results" in shown and "Putting" not in shown)
    terminal.wait(lambda shown: "Undo the last clear" not in shown and "not counted until" not in shown)


def test_after_a_rewind_nothing_leans_on_what_was_taken_back(window: Window):
    terminal = window.terminal
    terminal.turn("go [[SCRIPT:first]]", "read it")
    terminal.rewind()
    terminal.turn("instead [[SCRIPT:second]]", "read again")
    assert not any(map(referred, window.api.turns()[-1].tool_results().values()))


def test_how_much_was_kept_out_is_shown_once_and_to_nobody_but_the_person(window: Window):
    terminal, read, other = window.terminal, call(("Read", {"file_path": LARGE})), call(("Bash", {"command": "true"}))
    # On a busy machine an answer may come too late, and that read enters whole: two that do not are enough.
    window.api.scripts["often"] = [read, other] * 5 + [read, say("read it often")]
    terminal.send("go [[SCRIPT:often]]")
    terminal.wait(re.compile(r"kept \d+k tokens out of this session"))
    terminal.wait_idle()
    terminal.wait(lambda shown: "tokens out of this session" not in shown)
    terminal.turn("go [[SCRIPT:first]]", "read it")
    assert "tokens out of this session" not in terminal.text()
    terminal.turn("once more [[SCRIPT:second]]", "read again")
    assert not any("out of this session" in request.text for request in window.api.requests)
