"""The resident helper as a process: its socket, its end, whatever it is asked."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from popkit_retention.core.handlers import session_events
from popkit_retention.core.policy.context import shared_facts
from popkit_retention.core.state import reconciling, sockets, store
from popkit_retention.core.state.site import Site
from popkit_retention.core.version import VERSION
from tests.patience import HANG_S

from .asking import ROOT, SESSION, Helper, Transcript, lines, numbered

pytestmark = pytest.mark.usefixtures("started")


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"\xff\xfe", b'{"message": ' + b"[" * 100_000], ids=["none", "half", "list", "bytes", "deep"]
)
def test_garbage_is_answered_with_nothing(helper: Helper, raw: bytes):
    assert helper.ask("/row", raw=raw) == {}
    assert helper.ask("/nowhere", raw=raw) == {}
    assert helper.read("app.py", lines(9))[1] == numbered(lines(9))


def test_a_failure_is_counted_like_a_hooks(helper: Helper):
    helper.ask("/row", raw=b"{")
    assert "!! " in helper.failures()
    assert "serve /row JSONDecodeError" in helper.failures()


def test_the_socket_is_the_users_alone(helper: Helper):
    path = Path(helper.announced["socket"])
    assert helper.announced["protocol"] == 1
    assert len(os.fsencode(path)) <= 100
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)


def test_a_home_with_a_long_name_has_its_socket_elsewhere(tmp_path: Path):
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    helper = Helper(deep)
    path = Path(helper.announced["socket"])
    assert not path.is_relative_to(deep)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    helper.ask("/end")
    helper.process.wait(HANG_S)
    assert not path.parent.exists()
    assert not (helper.home / "run").exists()
    helper.stop()


def test_a_home_with_a_long_name_leaves_nothing_elsewhere_after_a_kill(tmp_path: Path):
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    helper = Helper(deep)
    first = Path(helper.announced["socket"])
    assert sockets.of_session(str(helper.home), SESSION) == [str(first)], "who asks for it finds it"
    helper.stop()
    helper.start()
    assert not first.parent.exists()
    helper.ask("/end")
    helper.process.wait(HANG_S)
    helper.stop()


def test_it_ends_when_it_is_told_and_takes_its_socket_along(helper: Helper):
    assert helper.ask("/end") == {}
    assert helper.process.wait(HANG_S) == 0
    assert not Path(helper.announced["socket"]).parent.exists()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_it_takes_its_socket_along_however_it_is_ended(helper: Helper, how: signal.Signals):
    helper.ask("/health")
    helper.process.send_signal(how)
    helper.process.wait(HANG_S)
    assert not Path(helper.announced["socket"]).parent.exists()


def test_the_end_of_a_session_takes_along_the_socket_of_a_helper_that_was_killed(helper: Helper):
    helper.stop()
    assert Path(helper.announced["socket"]).exists()
    payload = {"hook_event_name": "SessionEnd", "reason": "other", "session_id": SESSION, "cwd": str(helper.project)}
    command = [sys.executable, "-S", "-E", str(ROOT / "hooks" / "session-end.py")]
    subprocess.run(command, input=json.dumps({**payload, "transcript_path": ""}).encode(), env=helper.env, check=True)
    assert not Path(helper.announced["socket"]).parent.exists()
    assert helper.failures() == ""


@pytest.mark.parametrize("state", ["running", "stopped", "killed"])
def test_an_uninstall_leaves_no_socket_and_ends_the_helper(helper: Helper, state: str):
    if state == "stopped":
        helper.process.send_signal(signal.SIGSTOP)
    elif state == "killed":
        helper.stop()
    assert "Deleted." in helper.run("uninstall", "--yes")
    assert not helper.home.exists()
    if state != "killed":
        helper.process.send_signal(signal.SIGCONT)
        assert helper.process.wait(HANG_S) == 0
    assert not helper.home.exists()


def test_helpers_that_end_and_start_at_once_do_not_take_each_others_folder(helper: Helper):
    with ThreadPoolExecutor(4) as pool:
        others = list(pool.map(lambda _: Helper(helper.home.parent), range(4)))
        list(pool.map(lambda each: each.ask("/end"), others))
    assert helper.ask("/health")["rows"] == 0
    assert [each.process.wait(HANG_S) for each in others] == [0] * 4
    for each in others:
        each.stop()


def test_it_ends_when_nobody_reads_it_any_more(helper: Helper):
    helper.process.stdout.close()
    assert helper.process.wait(HANG_S) == 0


def test_after_a_kill_the_next_one_knows_what_was_there_and_the_socket_is_swept(helper: Helper):
    first = helper.announced["socket"]
    helper.has_read("app.py", lines(40))
    os.kill(helper.process.pid, signal.SIGKILL)
    helper.process.wait(HANG_S)
    helper.stop()
    helper.start()
    assert not Path(first).exists()
    assert "as in your Read of app.py above" in helper.read("app.py", [*lines(40), "more"])[1]


def test_many_at_once_are_each_answered(helper: Helper):
    def read(number: int) -> str:
        block = {"type": "tool_result", "tool_use_id": f"many_{number}", "content": numbered(lines(30))}
        call = {f"many_{number}": {"tool": "Read", "input": {"file_path": str(helper.project / "app.py"), "offset": number}}}
        answer = helper.ask("/row", {"message": {"content": [block]}, "calls": call, "agent_id": f"agent{number % 2}"})
        return answer["content"][0]["content"] if answer else ""

    with ThreadPoolExecutor(8) as pool:
        entered = list(pool.map(read, range(24)))
    assert entered.count("") == 2  # the first of each context
    assert helper.ask("/health")["rewritten"] == 22


def test_its_health_says_what_it_has_done(helper: Helper):
    helper.read("app.py", lines(40))
    helper.read("app.py", lines(40))
    health = helper.ask("/health")
    assert (health["rows"], health["rewritten"]) == (2, 1)
    assert health["version"] == VERSION


def test_a_compaction_is_advised_once_by_the_helper_or_by_the_hook(helper: Helper):
    transcript = Transcript(helper.transcript, helper.project)
    transcript.called("t1", "Bash", {"command": "npm test"}, "Exit code 1\nit broke, and this is how: " + "x" * 600)
    transcript.called("t2", "Edit", {"file_path": "/a", "old_string": "a", "new_string": "b"}, "done")
    transcript.called("t3", "Bash", {"command": "npm test"}, "all passed " + "y" * 600)
    payload = {"session_id": SESSION, "transcript_path": str(helper.transcript), "cwd": str(helper.project), "trigger": "manual"}
    advice = helper.ask("/compacting")["text"]
    assert advice.startswith("PopKit tracked the tool results")
    assert session_events.before_compaction(payload, helper.env) is None
    assert session_events.before_compaction(payload, helper.env) == advice  # of another compaction, which no helper has told of
    assert helper.failures() == ""


def test_concurrent_questions_leave_the_state_as_transcript_and_journal_give_it(helper: Helper):
    transcript = Transcript(helper.transcript, helper.project)
    for number in range(12):
        transcript.called(f"toolu_{number + 1:02}", "Read", {"file_path": str(helper.project / "app.py")}, numbered(lines(40)[number:]))

    def ask(number: int) -> None:
        if number % 3 == 0:
            helper.ask("/view", {"columns": 70})
        elif number % 3 == 1:
            helper.ask("/command", {"words": f"pin T{number % 12 + 1}"})
        else:
            block = {"type": "tool_result", "tool_use_id": f"at_once_{number}", "content": numbered(lines(40))}
            call = {f"at_once_{number}": {"tool": "Read", "input": {"file_path": str(helper.project / "app.py")}}}
            helper.ask("/row", {"message": {"content": [block]}, "calls": call})

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(ask, range(30)))
    helper.ask("/view", {"columns": 70})
    site = Site(helper.env, SESSION, str(helper.project))
    rebuilt = reconciling.rebuilt(site, site.paths(), str(helper.transcript))
    assert shared_facts(store.load(site.paths()).state) == shared_facts(rebuilt.state)
    assert rebuilt.state.pins
    assert helper.failures() == ""


def test_what_a_killed_helper_left_out_comes_back(helper: Helper):
    helper.read("app.py", lines(40))
    helper.read("app.py", [*lines(40)[1:], "more"], 2)  # makes the archive
    helper.ask("/command", {"words": "stats"})
    busy = sqlite3.connect(helper.home / "archive.sqlite", isolation_level=None)
    busy.execute("BEGIN IMMEDIATE")
    assert "as in your " in helper.read("app.py", [*lines(40), "most"])[1]  # waits for nobody
    os.kill(helper.process.pid, signal.SIGKILL)
    helper.process.wait(HANG_S)
    busy.execute("ROLLBACK")
    busy.close()
    assert list(helper.home.glob("archive.sqlite.missed-*"))
    assert helper.run("restore", helper.journal()[-1]["handle"]).rstrip("\n") == numbered([*lines(40), "most"])
    assert not list(helper.home.glob("archive.sqlite.missed-*"))


def test_what_is_longer_than_the_client_hands_over_at_once_comes_and_goes_in_parts(helper: Helper):
    helper.read("app.py", lines(400))
    whole = json.dumps({"words": "show --all"}).encode()
    expected = helper.ask("/command", raw=whole)
    helper.ask("/part?7", raw=whole[:5])
    helper.ask("/part?8", raw=b'{"words": ')
    helper.ask("/part?7", raw=whole[5:9])
    first, goes_on = helper.part("/command?7", whole[9:], at_once=100)
    parts = [first]
    while goes_on:
        part, goes_on = helper.part("/rest?7", b"", at_once=100)
        parts.append(part)
    assert len(parts) > 1
    assert {len(part) for part in parts[:-1]} == {100}
    assert json.loads(b"".join(parts)) == expected
    assert helper.ask("/command?8", raw=b'"show --all"}') == expected


def test_an_answer_whose_rest_is_gone_is_no_answer(helper: Helper):
    assert helper.ask("/rest?7", raw=b"") == {}
    assert helper.ask("/command?7", raw=b'"show"}') == {}, "its first part never came"
