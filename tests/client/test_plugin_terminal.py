"""The plugin in the client's terminal: the panel, the status line, the thresholds, rewind, /clear and /compact as a person meets them."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from popkit_retention.core.state import reconciling
from tests.patience import HANG_S

from . import installs
from .client import ClientHome
from .ends import OLDEST_IF_SLOW
from .plugin_copy import linked
from .scripted_api import ScriptedApi, call, say
from .terminal import ClientTerminal
from .test_plugin import ROOT, Tracked

APP = {"file_path": "{work}/src/app.js"}
SCRIPTS = {
    "look": [call(("Read", APP), ("Bash", {"command": "npm test"})), say("looked at it")],
    "search": [call(("Bash", {"command": "grep -rn add src"})), call(("Bash", {"command": "ls src"})), say("searched it")],
    "full": [
        call(("Bash", {"command": "mkdir -p docs"})),
        call(("Bash", {"command": "npm test"}), cache_read_input_tokens=162_000),
        say("it is full", cache_read_input_tokens=162_000),
    ],
}


@dataclass
class Window:
    """A client's window that several tests work in, and what is tracked of it."""

    tracked: Tracked
    terminal: ClientTerminal


@pytest.fixture(scope="module", params=OLDEST_IF_SLOW)
def opened(
    request: pytest.FixtureRequest, clients: dict[str, installs.Installed], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Window]:
    with ScriptedApi() as api:
        home = ClientHome(tmp_path_factory.mktemp("window"), clients[request.param], api.url)
        api.places["work"] = str(home.work)
        tracked = Tracked(home, api)
        api.scripts.update(SCRIPTS)
        tracked.popkit_home.mkdir(parents=True)
        (tracked.popkit_home / "retention-config.json").write_text('{"window_tokens": 176000}')
        with ClientTerminal(home, plugin_dir=linked(), columns=80, rows=100) as terminal:
            terminal.wait_ready()
            yield Window(tracked, terminal)


@pytest.fixture
def window(opened: Window) -> Window:
    """With a session that has just begun."""
    opened.terminal.wait_idle()
    begin_again(opened.terminal)
    return opened


def begin_again(terminal: ClientTerminal) -> None:
    terminal.send("/clear")
    terminal.wait(lambda text: "looked at it" not in text and "searched it" not in text)
    terminal.wait_idle()


def labels(tracked: Tracked, session_id: str) -> list[str]:
    """What a person is told is live, after the tracker has followed the transcript."""
    rebuilt = reconciling.reconcile(tracked.site(session_id), str(tracked.home.transcript_path(session_id)))
    return [result.label for result in rebuilt.state.live.values()]


def test_the_panel_appears_in_the_terminal_without_a_request_and_fits(window: Window):
    tracked, terminal = window.tracked, window.terminal
    look(terminal)
    before = len(tracked.api.turns())
    terminal.send("/popkit:context retention")
    terminal.wait("Retention status")
    screen = terminal.wait("Adjust tiers")
    assert len(tracked.api.turns()) == before
    shown = [line.rstrip() for line in screen]
    start = next(number for number, line in enumerate(shown) if "Retention status" in line)
    # Where code of ours runs inside the client, that answers, and no prompt has to be blocked for it.
    is_inside = tracked.home.installed.version != installs.OLDEST_SUPPORTED
    assert ("operation blocked by hook" in "".join(shown[max(0, start - 3) : start])) != is_inside
    assert shown[start].removesuffix("Retention status").isspace()
    indent = len(shown[start]) - len("Retention status")
    panel = [line[indent:] for line in shown[start : 1 + next(number for number, line in enumerate(shown) if "Adjust tiers" in line)]]
    assert max(map(len, panel)) <= 70
    assert any(line.startswith("Nothing to do: ") for line in panel)
    assert any(line.startswith("Session") and "npm test" in line for line in panel)


def test_a_threshold_is_announced_once_with_what_to_do(window: Window):
    terminal = window.terminal
    terminal.turn("go [[SCRIPT:search]]", "searched it")
    terminal.send("go [[SCRIPT:full]]")
    terminal.wait("it is full")
    terminal.wait("PopKit: the context is 92% full (162k of 176k tokens).")
    terminal.wait("Full, and little to clear: /compact (what is dead goes first)")
    terminal.wait_idle()
    terminal.turn("again [[SCRIPT:full]]", "it is full")
    assert terminal.text().count("PopKit: the context is") == 1
    sent = json.dumps([request.body["messages"] for request in window.tracked.api.turns()])
    assert "PopKit: the context is" not in sent


@pytest.mark.asked_to_write("settings.json")
def test_once_the_status_line_is_installed_the_next_answer_shows_it(window: Window):
    """By its own command, while the client runs. What `doctor` reads of the client: test_install.py."""
    statusline(window.tracked, "install")
    window.terminal.turn("go [[SCRIPT:full]]", "it is full")
    # Of what the host lets in, or of where it compacts in a window of a million tokens.
    window.terminal.wait(re.compile(r"context (92|17)% · .*(expired|reclaimable).* · cache warm"))
    statusline(window.tracked, "uninstall")


def statusline(tracked: Tracked, word: str) -> None:
    command = [ROOT / "bin" / "popkit", "statusline", word, "--yes"]
    subprocess.run(command, env=tracked.home.env(), cwd=tracked.home.work, capture_output=True, check=True, timeout=HANG_S)


def test_a_rewound_branch_is_neither_live_nor_expired(window: Window):
    tracked, terminal = window.tracked, window.terminal
    look(terminal)
    terminal.turn("then [[SCRIPT:search]]", "searched it")
    session_id = tracked.session_id()
    assert "Bash ls src" in labels(tracked, session_id)
    terminal.rewind()
    terminal.turn("instead [[SCRIPT:look]]", "looked at it")
    rebuilt = reconciling.reconcile(tracked.site(session_id), str(tracked.home.transcript_path(session_id)))
    known = [result.label for result in [*rebuilt.state.live.values(), *rebuilt.state.expired.values()]]
    assert not any("grep" in label or "ls src" in label for label in known)
    assert rebuilt.state.index == 4


LOOKED = ["Read src/app.js", "Bash npm test"]


def look(terminal: ClientTerminal) -> None:
    """A file is read and the tests are run."""
    terminal.turn("go [[SCRIPT:look]]", "looked at it")


def asks(terminal: ClientTerminal, words: str, says: str) -> str:
    """The screen once /popkit:context has answered."""
    terminal.ask("/popkit:context " + words, lambda shown: says in shown)
    return "\n".join(terminal.wait_idle())


def test_clear_begins_a_new_session_and_what_is_current_in_the_old_one_stays_so(window: Window):
    tracked, terminal = window.tracked, window.terminal
    look(terminal)
    first = tracked.session_id()
    begin_again(terminal)
    terminal.turn("go [[SCRIPT:search]]", "searched it")
    assert tracked.live_labels(first) == LOOKED
    second = tracked.session_id()
    assert second != first
    assert tracked.stored(second)["index"] == 2
    terminal.load(first)
    panel = asks(terminal, "retention", "Adjust tiers")
    assert any(line.strip().startswith("Session") and "npm test" in line for line in panel.splitlines())
    assert labels(tracked, second)[-1] == "Bash ls src"
    assert labels(tracked, first) == LOOKED
    assert tracked.errors() == ""


def test_a_fork_that_has_ended_ends_nothing_in_the_session_that_it_comes_from(window: Window):
    tracked = window.tracked
    look(window.terminal)
    first = tracked.session_id()
    known = []

    def prompts() -> Iterator[str]:
        yield "go [[SCRIPT:search]]"
        known.extend(labels(tracked, tracked.session_id()))

    fork = tracked.home.run_headless(prompts(), plugin_dir=linked(), resume=first, extra=["--fork-session"]).session_id
    assert fork != first
    assert known[:2] == LOOKED
    assert labels(tracked, fork)[:2] == LOOKED
    assert tracked.live_labels(first) == LOOKED
    assert labels(tracked, first) == LOOKED
    assert tracked.errors() == ""
