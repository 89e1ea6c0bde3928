"""A hook that is killed at any moment leaves a state that loads, holds what was recorded before, and lets the next hook work."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hooks.utils.policy.context import shared_facts
from hooks.utils.state import session, store
from tests.hooks import payloads, processes, sessions
from tests.patience import HANG_S, Moments

SESSION = payloads.SESSION
KILL_AT = Path(__file__).with_name("kill_at.py")
HOLDS_A_LOCK = """
import sys, time
from hooks.utils.edges.files import Lock
with Lock(sys.argv[1]):
    print(flush=True)
    time.sleep(600)
"""
# More than any hook asks of the system.
MOMENTS = 400


@pytest.fixture
def home(tmp_path: Path) -> processes.Home:
    return processes.Home(tmp_path)


@pytest.fixture
def every(count) -> int:
    """Hooks are killed at every third thing that they ask of the system; at each with --slow."""
    return count(3, 1)


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> processes.Home:
    """A context with results that live, have expired, and wait to expire."""
    home = processes.Home(tmp_path_factory.mktemp("worked"))
    given = [payloads.read(f"/home/dev/shop/src/{n}.py", f"value = {n}\n" * 20) for n in range(40)]
    given += [payloads.bash(f"mkdir build{n}") for n in range(4)]
    ran = processes.all_at_once("post-tool-use", given, home.env())
    assert all(one.silent for one in ran)
    home.caught_up(SESSION)
    return home


@pytest.fixture
def worked_in(worked: processes.Home, home: processes.Home) -> processes.Home:
    """A copy of it."""
    shutil.copytree(worked.path, home.path)
    return home


def _life_s(home: processes.Home) -> float:
    """How long a hook takes here and now."""
    began = time.perf_counter()
    assert processes.run("post-tool-use", payloads.bash("mkdir life"), home.env()).silent
    return time.perf_counter() - began


def _records(home: processes.Home) -> set[str]:
    """The ids of all results that the context knows; each is live or expired."""
    state = home.state(SESSION)
    return set(state.live) | set(store.read_expired(home.paths(SESSION), state))


def _assert_whole(home: processes.Home, before: set[str], call: dict) -> None:
    """The state loads, nothing that was known is lost, and the killed call is in it or not."""
    known = _records(home)
    assert known in (before, before | {call["tool_use_id"]})
    state = home.state(SESSION)
    assert len(known) == state.index, "every call has left one record"
    assert not Path(home.paths(SESSION).state + ".corrupt").exists()


def test_a_hook_killed_at_a_random_moment_leaves_a_state_that_loads(worked_in: processes.Home, count):
    home = worked_in
    moments, finished = Moments(20_260_221, _life_s(home)), 0
    kills = count(30, 500)
    for number in range(kills):
        before = _records(home)
        call = payloads.bash(f"mkdir -p dist/{number}") if number % 2 else payloads.read(f"/home/dev/shop/{number}.md", "# text\n" * number)
        process = processes.start("post-tool-use", home.env())
        processes.feed(process, call)
        time.sleep(moments.draw())
        process.kill()
        processes.finish(process)
        _assert_whole(home, before, call)
        done = call["tool_use_id"] in _records(home)
        moments.tell(done)
        finished += done
    assert 0 < finished < kills, "some were killed before they were done"
    assert processes.run("post-tool-use", payloads.bash("mkdir last"), home.env()).silent
    assert home.failures() == []


def _killed_at(script: str, payload: dict, moment: int, env: dict[str, str]) -> bool:
    """Whether the hook was still at work at this moment, and so was killed."""
    argv = [sys.executable, "-S", "-E", str(KILL_AT), str(processes.HOOKS / f"{script}.py"), str(moment)]
    done = subprocess.run(argv, input=processes.data_of(payload), capture_output=True, env=env, timeout=HANG_S, check=False)
    assert done.returncode in (0, -9), done.stderr
    assert done.stdout == done.stderr == b""
    return done.returncode == -9


def test_a_tool_call_killed_between_any_two_things_it_asks_of_the_system_loses_nothing(home: processes.Home, tmp_path: Path, every):
    watched = tmp_path / "watched.py"
    watched.write_text("x = 1\n")
    assert processes.run("post-tool-use", payloads.read(str(watched), "x = 1\n"), home.env()).silent
    for moment in range(1, MOMENTS, every):
        # Something expires (the log), a file changes (the journal), and the state is replaced.
        watched.write_text(f"x = {'1' * moment}\n")
        assert processes.run("post-tool-use", payloads.read(str(watched), f"x = {moment}\n"), home.env()).silent
        before = _records(home)
        watched.write_text(f"y = {'1' * moment}\n")
        call = payloads.bash(f"mkdir -p dist/{moment}")
        was_killed = _killed_at("post-tool-use", call, moment, home.env())
        _assert_whole(home, before, call)
        if not was_killed:
            break
    else:
        pytest.fail("the hook never came to its end")
    assert moment > 20, "there were moments to be killed at"
    assert home.failures() == []


@pytest.mark.parametrize("event", ["prompt", "session_start", "session_end"])
def test_other_hooks_killed_between_any_two_things_lose_nothing(worked_in: processes.Home, event: str, every):
    home = worked_in
    known = _records(home)
    payload = getattr(payloads, event)(**({"words": "go on"} if event == "prompt" else {}))
    for moment in range(1, MOMENTS, every):
        was_killed = _killed_at(processes.SCRIPTS[payload["hook_event_name"]], payload, moment, home.env())
        assert _records(home) == known
        if not was_killed:
            break
    else:
        pytest.fail("the hook never came to its end")
    assert moment > 10
    assert home.failures() == []


def test_a_rebuild_that_is_killed_at_any_moment_loses_nothing(tmp_path: Path, every):
    day = sessions.Day(tmp_path, random.Random(3))
    day.begin()
    for _ in range(3):
        day.call(*day.reading())
        day.search()
        day.edit()
    home = processes.Home(tmp_path)
    env = home.env(CLAUDE_PROJECT_DIR=str(day.project))

    def run(payload: dict, at: float) -> None:
        assert processes.run_event(payload, {**env, "POPKIT_CLOCK": repr(at)}).silent

    sessions.play(day.steps, run)
    paths = home.paths(day.session_id)

    def known() -> set[str]:
        state = home.state(day.session_id)
        return set(state.live) | set(store.read_expired(paths, state))

    before = known()
    assert len(before) == day.calls
    resume = {**day.steps[0].payload, "source": "resume"}
    for moment in range(1, MOMENTS, every):
        was_killed = _killed_at("session-start", resume, moment, {**env, "POPKIT_CLOCK": repr(day.now + 60 + moment)})
        assert known() == before
        for path in home.leftovers():
            path.unlink()  # each would be a thing more to look at for the next
        if not was_killed:
            break
    else:
        pytest.fail("the hook never came to its end")
    assert home.failures() == []


def test_what_killed_hooks_leave_is_swept_when_the_session_is_resumed(home: processes.Home, tmp_path: Path):
    call = payloads.read("/home/dev/shop/README.md", "# shop\n")
    assert processes.run("post-tool-use", call, home.env()).silent
    folder = Path(home.paths(SESSION).folder)
    old, new = folder / "main.state.json.4711.tmp", folder / "main.state.json.4712.tmp"
    for path in (old, new):
        path.write_text('{"schema":1,"live":[[')
    os.utime(old, (time.time() - 3600,) * 2)
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text("")
    later = home.env(POPKIT_CLOCK=str(time.time() + 60))
    assert processes.run_event(payloads.session_start("resume", transcript_path=str(transcript)), later).silent
    assert home.failures() == []
    assert home.leftovers() == [new], "a file that a hook may still be writing stays"


def _holder(home: processes.Home, name: str) -> subprocess.Popen:
    """A process that holds a lock of the session until it is killed."""
    argv = [sys.executable, "-c", HOLDS_A_LOCK, str(Path(home.paths(SESSION).folder) / name)]
    holder = subprocess.Popen(argv, cwd=processes.ROOT, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    return holder


def _end(holder: subprocess.Popen) -> None:
    holder.kill()
    holder.communicate()


def test_a_hook_that_holds_the_lock_when_it_is_killed_keeps_nobody_waiting(home: processes.Home):
    assert processes.run("post-tool-use", payloads.bash("mkdir a"), home.env()).silent
    _end(_holder(home, "main.lock"))
    assert processes.run("post-tool-use", payloads.bash("mkdir b"), home.env()).silent
    assert home.failures() == []
    assert home.state(SESSION).index == 2


def test_what_hooks_see_while_somebody_holds_the_lock_is_taken_in_in_order_by_the_next(home: processes.Home, tmp_path: Path):
    read = tmp_path / "read.py"
    read.write_text("x = 1\n")
    given = [
        payloads.read(str(read), "x = 1\n"),
        payloads.bash("rg -n 'PASSWORD=hunter2hunter2' src", "src/a.py:1:PASSWORD=hunter2hunter2"),
        payloads.prompt("go on"),
        payloads.failed_bash("npm test", "1 failing", 1),
        payloads.edit(str(read), "1", "2", "x = 1\n"),
        payloads.bash("npm test", "1 passing"),
        payloads.mcp({"key": "colour"}, "blue"),
        payloads.write(str(tmp_path / "notes.md"), "not a word of this\n"),
    ]
    first, last = payloads.bash("mkdir a"), payloads.bash("mkdir b")
    assert processes.run_event(first, home.env()).silent
    holder = _holder(home, "main.lock")
    for payload in given:
        assert processes.run_event(payload, home.env()).silent
    noted = "".join(path.read_text() for path in Path(home.paths(SESSION).folder).glob("*.missed-*"))
    _end(holder)
    assert home.state(SESSION).index == 1
    assert not [word for word in ("hunter2", "not a word", "blue") if word in noted]
    assert processes.run_event(last, home.env()).silent
    other = processes.Home(tmp_path / "undisturbed")
    other.parent.mkdir()
    for payload in (first, *given, last):
        assert processes.run_event(payload, other.env()).silent
    assert _facts(home) == _facts(other)
    assert home.failures() == []
    assert list(Path(home.paths(SESSION).folder).glob("*.missed-*")) == []


def _facts(home: processes.Home) -> dict:
    """What is known of the session, but for times, and for the identity of an input of which nothing is kept."""
    state = home.state(SESSION)
    facts = shared_facts(state)
    expired = store.read_expired(home.paths(SESSION), state).values()
    ended = [(result.id, result.label, result.ended[0], result.ended[1], result.ended[4]) for result in expired]
    for row in facts["live"]:
        row["parts"] = [part for part in row["parts"] if not part[0].startswith("call:")]
    return {**facts, "expired": ended}


def test_an_end_that_comes_while_somebody_holds_the_lock_is_an_end(home: processes.Home):
    assert processes.run("post-tool-use", payloads.bash("npm test", "1 passing"), home.env()).silent
    holder = _holder(home, "main.lock")
    assert processes.run_event(payloads.session_end("logout"), home.env()).silent
    _end(holder)
    assert len(home.state(SESSION).live) == 1
    assert home.caught_up(SESSION).live == {}
    assert [entry["why"] for entry in store.read_lines(home.paths(SESSION).journal)] == ["logout"]


def test_facts_of_a_session_that_come_while_somebody_holds_its_lock_are_not_lost(home: processes.Home):
    assert processes.run_event(payloads.session_start(model="claude-sonnet-5"), home.env()).silent
    holder = _holder(home, "session.json.lock")
    assert processes.run_event(payloads.session_start(model="claude-opus-5"), home.env()).silent
    assert session.read(str(home.path), SESSION)["model"] == "claude-opus-5"
    _end(holder)
    session.update(str(home.path), SESSION, told="notice")
    stored = json.loads((Path(home.paths(SESSION).folder) / "session.json").read_text())
    assert (stored["model"], stored["told"]) == ("claude-opus-5", "notice")
    assert list(Path(home.paths(SESSION).folder).glob("*.missed-*")) == []
    assert home.failures() == []
