"""A hook that is killed at any moment leaves a state that loads, holds what was recorded before, and lets the next hook work."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest

from popkit_retention.core.policy.context import shared_facts
from popkit_retention.core.state import session, store
from tests.hooks import payloads, processes, sessions
from tests.kit.crowds import all_do, held
from tests.kit.forks import Done, Forks, Hook
from tests.kit.kills import kill_at_each_call, kill_at_random_moments, lay_down

SESSION = payloads.SESSION
OTHERS = [payloads.prompt("go on"), payloads.session_start(), payloads.session_end()]


def _path(home: processes.Home, name: str) -> Path:
    """Of a file of the session."""
    return Path(home.paths(SESSION).folder) / name


class Case:
    """A hook in a home as it was before every kill."""

    def __init__(self, folder: Path, template: processes.Home, payload: dict, session_id: str = SESSION, **env: str):
        self.home, self.template, self.payload, self.session_id, self.extra = processes.Home(folder), template, payload, session_id, env
        self.work = Hook(processes.SCRIPTS[payload["hook_event_name"]], payload)
        self.before = self.known(template)
        self.added: list[bool] = []

    def known(self, home: processes.Home) -> set[str]:
        """The ids of all results that the context knows; each is live or expired."""
        state = home.state(self.session_id)
        return set(state.live) | set(store.read_expired(home.paths(self.session_id), state))

    def world(self) -> dict[str, str]:
        lay_down(self.template.path, self.home.path)
        return self.home.env(**self.extra)

    def check(self, done: Done) -> None:
        """The state loads, nothing that was known is lost, and the call is in it or not; and the next hook works."""
        assert (done.stdout, done.stderr) == (b"", b"")
        known, call = self.known(self.home), self.payload.get("tool_use_id")
        assert known == self.before or known == self.before | {call}
        assert len(known) == self.home.state(self.session_id).index, "every call has left one record"
        assert not Path(self.home.paths(self.session_id).state + ".corrupt").exists()
        self.added.append(known != self.before)
        after = payloads.bash("mkdir last", session_id=self.session_id)
        assert processes.run("post-tool-use", after, self.home.env(**self.extra)).silent
        assert self.known(self.home) == known | {after["tool_use_id"]}
        assert self.home.failures() == []


@pytest.fixture(scope="module")
def worked(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> processes.Home:
    """A context with results that live, have expired, and wait to expire."""
    home = processes.Home(tmp_path_factory.mktemp("worked"))
    given = [payloads.read(f"/home/dev/shop/src/{n}.py", f"value = {n}\n" * 20) for n in range(40)]
    given += [payloads.bash(f"mkdir build{n}") for n in range(4)]
    all_do(forks, [Hook("post-tool-use", payload) for payload in given], home.env())
    home.caught_up(SESSION)
    return home


def test_a_tool_call_that_is_killed_at_any_call_loses_nothing(forks: Forks, worked: processes.Home, tmp_path: Path):
    """Something expires (the log), a file changes (the journal), and the state is replaced."""
    template = processes.Home(tmp_path / "template")
    lay_down(worked.path, template.path)
    watched = tmp_path / "watched.py"
    watched.write_text("x = 1\n")
    assert processes.run("post-tool-use", payloads.read(str(watched), "x = 1\n"), template.env()).silent
    watched.write_text("y = 22\n")
    case = Case(tmp_path / "now", template, payloads.bash("mkdir -p dist"))
    kills = kill_at_each_call(forks, case.work, case.world, case.check)
    print(f"a tool call: {kills} kills")
    assert kills > 10, "there were moments to be killed at"
    assert case.added == sorted(case.added), "before the state is replaced it is not in it, and from then on it is"
    assert len(set(case.added)) == 2


def test_a_tool_call_that_is_killed_at_a_random_moment_loses_nothing(forks: Forks, worked: processes.Home, tmp_path: Path, count):
    case = Case(tmp_path, worked, payloads.read("/home/dev/shop/notes.md", "# text\n" * 20))
    kill_at_random_moments(forks, case.work, case.world, case.check, count(20, 500))
    assert len(set(case.added)) == 2, "some were killed before they were done"


@pytest.mark.parametrize(
    "payload", [payloads.prompt("go on"), payloads.session_start(), payloads.session_end()], ids=lambda p: p["hook_event_name"]
)
def test_other_hooks_that_are_killed_at_any_call_lose_nothing(forks: Forks, worked: processes.Home, tmp_path: Path, payload: dict):
    case = Case(tmp_path, worked, payload)
    kills = kill_at_each_call(forks, case.work, case.world, case.check)
    print(f"{payload['hook_event_name']}: {kills} kills")
    assert kills > 2


def test_a_rebuild_that_is_killed_at_any_moment_loses_nothing(forks: Forks, tmp_path: Path, count):
    day = sessions.Day(tmp_path, random.Random(3))
    day.begin()
    for _ in range(3):
        day.call(*day.reading())
        day.search()
        day.edit()
    home = processes.Home(tmp_path / "template")
    env = {"CLAUDE_PROJECT_DIR": str(day.project)}

    def run(payload: dict, at: float) -> None:
        assert processes.run_event(payload, home.env(**env, POPKIT_CLOCK=repr(at))).silent

    sessions.play(day.steps, run)
    resume = {**day.steps[0].payload, "source": "resume"}
    case = Case(tmp_path / "now", home, resume, day.session_id, **env, POPKIT_CLOCK=repr(day.now + 60))
    assert len(case.before) == day.calls
    kills = kill_at_each_call(forks, case.work, case.world, case.check, count(2, 1))
    print(f"a rebuild: {kills} kills")
    assert kills > 2


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


def test_a_hook_that_holds_the_lock_when_it_is_killed_keeps_nobody_waiting(home: processes.Home):
    assert processes.run("post-tool-use", payloads.bash("mkdir a"), home.env()).silent
    with held(_path(home, "main.lock")) as holder:
        holder.kill()
        holder.wait()
    assert processes.run("post-tool-use", payloads.bash("mkdir b"), home.env()).silent
    assert home.failures() == []
    assert home.state(SESSION).index == 2


def test_events_hooks_see_under_a_held_lock_are_taken_in_in_order_by_the_next_hook(home: processes.Home, tmp_path: Path):
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
    with held(_path(home, "main.lock")):
        for payload in given:
            assert processes.run_event(payload, home.env()).silent
        noted = "".join(path.read_text() for path in Path(home.paths(SESSION).folder).glob("*.missed-*"))
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
    with held(_path(home, "main.lock")):
        assert processes.run_event(payloads.session_end("logout"), home.env()).silent
    assert len(home.state(SESSION).live) == 1
    assert home.caught_up(SESSION).closed
    assert [entry["why"] for entry in store.read_lines(home.paths(SESSION).journal)] == ["logout"]


def test_facts_of_a_session_that_come_while_somebody_holds_its_lock_are_not_lost(home: processes.Home):
    assert processes.run_event(payloads.session_start(model="claude-sonnet-5"), home.env()).silent
    with held(_path(home, "session.json.lock")):
        assert processes.run_event(payloads.session_start(model="claude-opus-5"), home.env()).silent
        assert session.read(str(home.path), SESSION).model == "claude-opus-5"
    session.update(str(home.path), SESSION, told="notice")
    stored = json.loads((Path(home.paths(SESSION).folder) / "session.json").read_text())
    assert (stored["model"], stored["told"]) == ("claude-opus-5", "notice")
    assert list(Path(home.paths(SESSION).folder).glob("*.missed-*")) == []
    assert home.failures() == []
