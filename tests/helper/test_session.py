"""A session through its helper: hourly jobs, what stands in prompts, what a shell asks; and a helper that stands still keeps nobody
waiting."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.core.io.files import LOCK_WAIT_S
from popkit_retention.core.operations import context_words
from popkit_retention.core.operations.changers import in_place_of
from popkit_retention.core.state import prompt_breakdowns
from popkit_retention.core.state.site import Site
from popkit_retention.memory.job import last_run
from popkit_retention.memory.stores.protocol import StoreUnavailable
from popkit_retention.memory.stores.sqlite import SqliteStore
from tests.bill.conversations import LINEAR, breakdown
from tests.kit.crowds import held
from tests.paths import PYTHONPATH
from tests.patience import until

from .asking import ROOT, SESSION, Helper, Transcript, lines
from .running import Running

# --- the hourly jobs run in a session that goes on ------------------------------------------------------------------------------------


@pytest.fixture
def helped(tmp_path: Path) -> Iterator[Callable[..., Helper]]:
    started: list[Helper] = []

    def start(**env: str) -> Helper:
        started.append(Helper(tmp_path, **env))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def asked_of_store(helper: Helper, what: Callable[[SqliteStore], Any]) -> Any:
    path = helper.home / "memory.sqlite"
    if not path.exists():
        return None
    try:
        with closing(SqliteStore(str(path))) as store:
            return what(store)
    except StoreUnavailable:  # it is in the making
        return None


def texts(helper: Helper) -> list[str]:
    return asked_of_store(helper, lambda store: [item.text for item in store.scan()]) or []


def test_what_a_session_teaches_is_learnt_and_the_job_runs_while_it_goes_on(helped):
    helper = helped(POPKIT_HOURLY_S="0.5")
    assert "on" in helper.run("memory", "on")
    for name in ("cart_total.ts", "later_on.ts"):
        (helper.project / "src").mkdir(exist_ok=True)
        (helper.project / "src" / name).write_text("x\n")
    transcript: Transcript = helper.has_read("src/cart_total.ts", ["x"])
    until(lambda: "src/cart_total.ts" in texts(helper), "the session is learnt")
    until(lambda: asked_of_store(helper, last_run), "the job has run")
    transcript.called("toolu_01", "Read", {"file_path": str(helper.project / "src/later_on.ts")}, "1\ty")
    until(lambda: "src/later_on.ts" in texts(helper), "it is learnt again")
    assert asked_of_store(helper, lambda store: [item.sessions for item in store.scan()]) == [1, 1]
    assert helper.failures() == ""


def test_without_an_hour_gone_or_where_memory_is_off_nothing_is_started(helped):
    helper = helped()
    helper.run("memory", "on")
    helper.has_read("src/cart_total.ts", ["x"])
    helper.ask("/health")
    assert texts(helper) == []
    helper.run("memory", "off")
    off = helped(POPKIT_HOURLY_S="0.05")
    for _ in range(20):
        off.ask("/health")
    assert texts(off) == []
    assert off.failures() == ""


# --- what stands in each prompt, and what is hidden of it -----------------------------------------------------------------------------


def test_what_the_client_says_is_kept_for_the_project(helper: Helper):
    helper.ask("/breakdown", {"breakdown": breakdown()})
    kept = prompt_breakdowns.load_breakdown(str(helper.home), os.path.realpath(helper.project))
    assert (kept["session"], kept["missing"]) == (SESSION, [])
    helper.ask("/breakdown", {"breakdown": {}})
    kept = prompt_breakdowns.load_breakdown(str(helper.home), os.path.realpath(helper.project))
    assert kept["problem"]["why"] == "it has no categories in use"
    assert len(kept["tools"]) == 5


def test_the_bill_is_answered_in_a_session_and_a_tool_is_hidden_there(helper: Helper):
    helper.ask("/breakdown", {"breakdown": breakdown()})
    assert helper.ask("/hidden") == {"names": [], "deferred": []}
    assert "MCP server linear (3 tools)" in helper.told("bill")
    assert "Nothing was changed" in helper.told(f"bill hide {LINEAR[0]}")
    helper.told(f"bill hide {LINEAR[0]} --yes")
    helper.told("bill defer plugin:docs:docs --yes")
    assert helper.ask("/hidden") == {"names": [LINEAR[0]], "deferred": ["mcp__plugin_docs_docs__"]}
    helper.told("bill show plugin:docs:docs")
    helper.told(f"bill show {LINEAR[0]}")
    assert helper.ask("/hidden") == {"names": [], "deferred": []}


def test_words_that_are_none_are_answered_with_those_that_are(helper: Helper):
    assert "takes" in helper.told("bill --since soon")


def test_the_pane_has_a_bill_page_and_hidden_tools_come_back_at_a_key_press(helper: Helper):
    shown = helper.ask("/view", {"page": "bill"})["pane"]
    assert "Claude Code has not said yet" in " ".join(shown["lines"])
    assert shown["operations"] == []
    helper.ask("/breakdown", {"breakdown": breakdown()})
    assert "is hidden" in helper.ask("/press", {"id": f"bill hide {LINEAR[0]} --yes"})["text"]
    shown = helper.ask("/view", {"page": "bill", "columns": 76})["pane"]
    assert any("MCP server linear (2 tools)" in line for line in shown["lines"])
    (back,) = shown["operations"]
    assert back["id"] == f"bill show {LINEAR[0]}"
    assert "is back" in helper.ask("/press", {"id": back["id"]})["text"]
    assert helper.ask("/hidden")["names"] == []


# --- a shell and the page ask through the helper --------------------------------------------------------------------------------------


@pytest.fixture
def busy(helper: Helper) -> Helper:
    transcript = helper.has_read("app.py", lines(400))
    for number in range(6):
        transcript.called(f"toolu_1{number}", "Bash", {"command": f"echo {number}"}, f"said {number}")
    transcript.answered(30_000)
    return helper


def shell(helper: Helper, *words: str) -> str:
    """What another process answers to the words."""
    site = Site(helper.env, SESSION, str(helper.project))
    return context_words.answer(" ".join(words), site, str(helper.transcript), time.time(), in_place_of(site))


def placeholders(client: Running) -> list[str]:
    shown = {each["tool_use_id"]: each["text"] for row in client.rows() for each in row["toolResults"]}
    return [id for id, text in shown.items() if text.startswith("[PopKit cleared ")]


def test_the_mod_hears_of_a_clear_in_a_shell_and_leaves_the_transcript_alone(busy: Helper):
    """The transcript is the client's."""
    before = busy.transcript.read_bytes()
    output = shell(busy, "clear", "--id", "T1", "--now")
    assert busy.process.stdout.readline() == b"compact\n"
    assert busy.transcript.read_bytes() == before
    assert "/resume" not in output
    client = Running(busy)
    client.compacts(own=True)
    assert placeholders(client) == ["toolu_00"]


def test_an_undo_in_a_shell_puts_it_back_in_place(busy: Helper):
    client = Running(busy)
    shell(busy, "clear", "--id", "T1", "--now")
    client.compacts(own=True)
    shell(busy, "undo")
    client.compacts(own=True)
    assert placeholders(client) == []


def test_an_undo_of_what_is_not_done_yet_takes_it_back(busy: Helper):
    shell(busy, "clear", "--id", "T1", "--now")
    assert "and is cancelled" in shell(busy, "undo")
    assert "skip" in Running(busy).compacts(own=True)


def test_a_dry_run_asks_nobody(busy: Helper):
    shell(busy, "clear", "--id", "T1", "--dry-run")
    assert "skip" in Running(busy).compacts(own=True)


def test_of_a_session_that_runs_no_more_a_clear_is_noted(busy: Helper):
    before = busy.transcript.read_bytes()
    busy.ask("/end")
    busy.process.wait()
    answer = json.loads(shell(busy, "clear", "--id", "T1", "--now", "--json"))
    assert (answer["cleared"], answer["later"]) == (True, True)
    assert busy.transcript.read_bytes() == before


# --- a helper that is stopped, swapped out, or slept with its laptop ------------------------------------------------------------------


@pytest.fixture
def stopped(started: None, helper: Helper) -> Iterator[Helper]:
    """A helper that was stopped, and all locks of its session held by somebody who will not let go either."""
    helper.has_read("app.py", lines(40))
    helper.read("app.py", lines(40))
    helper.ask("/view", {})
    helper.process.send_signal(signal.SIGSTOP)
    locks = sorted(map(str, (helper.home / "sessions" / SESSION).glob("*.lock")))
    assert locks
    with held(helper.home / "archive.sqlite", *locks):
        yield helper
    helper.process.send_signal(signal.SIGCONT)


WORDS = {
    "context retention": "Retention status", "context timeline": "Tool call timeline", "context stats": "Retention efficiency",
    "context why 1": "Read app.py", "context clear --dry-run": "", "context pin 1": "",
}  # fmt: skip


def test_popkit_context_answers(stopped: Helper):
    with ThreadPoolExecutor(len(WORDS)) as at_once:
        answers = at_once.map(lambda words: stopped.run(*words.split(), "--session", stopped.session), WORDS)
        assert {words: expected for (words, expected), answer in zip(WORDS.items(), answers) if expected not in answer} == {}


def test_popkit_context_waits_once_for_all_that_is_held(stopped: Helper):
    code = (
        "import os, sys; from popkit_retention.core.io import files; from popkit_retention.cli.main import main;"
        " main(['context', *sys.argv[1:]], os.environ); print('left', files.patience.left_s)"
    )
    asked = ["retention", "--session", stopped.session]
    done = subprocess.run(
        [sys.executable, "-c", code, *asked],
        env={**stopped.env, "PYTHONPATH": PYTHONPATH},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Retention status" in done.stdout
    assert done.stdout.splitlines()[-1] == "left 0.0", f"of {LOCK_WAIT_S} s, which is what one lock may take"


def test_every_other_command_comes_back(stopped: Helper):
    asked = ["doctor", "try", "statusline", "restore list", "restore aaaaaaaa", "uninstall --dry-run", "memory list"]
    with ThreadPoolExecutor(len(asked)) as at_once:
        list(at_once.map(lambda words: stopped.run(*words.split()), asked))
    assert stopped.process.poll() is None
