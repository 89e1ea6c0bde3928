"""State that is corrupt is set aside and rebuilt; a link or a pipe in place of a file of ours leads nowhere and keeps nobody waiting."""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
from pathlib import Path

import pytest

from popkit_retention.core.policy.context import shared_facts
from popkit_retention.core.state import reconciling, store
from popkit_retention.core.state.rebuild import rebuild
from popkit_retention.core.state.site import Site
from tests.hooks import payloads, processes, sessions
from tests.kit.forks import Command, Forks, Hook

SESSION = payloads.SESSION


class Session:
    """A session played through real hooks up to its last call, which a test makes after it has broken something."""

    def __init__(self, folder: Path):
        self.home = processes.Home(folder)
        self.day = sessions.Day(folder, random.Random(9))
        self.day.begin()
        for _ in range(4):
            self.day.call(*self.day.reading())
        self.day.search()
        self.day.run_tests()
        self.day.edit()
        self.day.call(*self.day.reading())
        sessions.play(self.day.steps[:-1], self._run)
        self.paths = self.home.paths(self.day.session_id)
        self.state = Path(self.paths.state)

    def _run(self, payload: dict, at: float) -> None:
        ran = processes.run_event(payload, self.home.env(POPKIT_CLOCK=repr(at), CLAUDE_PROJECT_DIR=str(self.day.project)))
        assert ran.silent, ran

    def last_call(self) -> None:
        sessions.play(self.day.steps[-1:], self._run)

    def stored(self) -> dict:
        return shared_facts(self.home.state(self.day.session_id))

    def rebuilt(self) -> dict:
        site = Site(self.home.env(), self.day.session_id, str(self.day.project))
        return shared_facts(
            rebuild(str(self.day.transcript), reconciling.journal_of(site, self.paths), site.rules_for, self.day.session_id).state
        )


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Played once; its folder is copied beside it."""
    folder = tmp_path_factory.mktemp("session") / "now"
    folder.mkdir()
    played = Session(folder)
    shutil.copytree(folder, folder.with_name("then"))
    return played


@pytest.fixture
def session(played: Session) -> Session:
    """With its files as they were before the last call."""
    now = played.day.project.parent
    shutil.rmtree(now)
    shutil.copytree(now.with_name("then"), now)
    return copy.deepcopy(played)


def _with(text: bytes, **fields) -> bytes:
    return json.dumps({**json.loads(text), **fields}).encode()


CORRUPT = {
    "empty": lambda text: b"",
    "cut off": lambda text: text[: len(text) // 2],
    "without its last byte": lambda text: text[:-1],
    "zeros": lambda text: b"\0" * len(text),
    "binary": lambda text: bytes(range(256)) * 40,
    "a picture's beginning": lambda text: b"\x89PNG\r\n\x1a\n" + text,
    "a list": lambda text: b"[]",
    "null": lambda text: b"null",
    "another schema": lambda text: _with(text, schema=99),
    "two states": lambda text: text + text,
    "nested without end": lambda text: b"[" * 200_000,
    "one field too few in each row": lambda text: _with(text, live=[row[:-1] for row in json.loads(text)["live"]]),
    "an index that is a text": lambda text: _with(text, index="7"),
    "live as an object": lambda text: _with(text, live={"a": 1}),
}


@pytest.mark.parametrize("corrupt", CORRUPT.values(), ids=CORRUPT)
def test_a_corrupt_state_is_set_aside_and_rebuilt_from_the_transcript(session: Session, corrupt):
    bad = corrupt(session.state.read_bytes())
    session.state.write_bytes(bad)
    session.last_call()
    assert session.home.failures() == []
    assert session.stored() == session.rebuilt()
    assert session.stored()["index"] == session.day.calls
    assert Path(str(session.state) + ".corrupt").read_bytes() == bad, "what was there can be looked at"


def _set(value: dict, row: int, field: int, to: object) -> dict:
    value["live"][row][field] = to
    return value


# Wrong deep inside, so that a load accepts them and the work on them fails.
DEEP = {
    "a part that is a number": lambda value: _set(value, 0, 9, [7]),
    "a part that is empty": lambda value: _set(value, 0, 9, [[]]),
    "a key that is a list": lambda value: _set(value, 0, 9, [[["read:/x"], [1, 0]]]),
    "an interval of texts": lambda value: _set(value, -1, 9, [[value["live"][-1][9][0][0], ["a", "b"]]]),
    "an interval of one": lambda value: _set(value, -1, 9, [[value["live"][-1][9][0][0], [1]]]),
    "a time without end": lambda value: _set(value, 0, 2, 1e999),
    "counts of texts": lambda value: {**value, "counts": {**value["counts"], "results": dict.fromkeys(value["counts"]["results"], "many")}},
    "a hash that is a list": lambda value: _set(value, 0, 12, ["x"]),
    "a calibration without end": lambda value: {**value, "calibration": float("inf")},
}


@pytest.mark.parametrize("wrong", DEEP.values(), ids=DEEP)
def test_a_state_that_is_wrong_deep_inside_stops_at_most_one_hook(session: Session, wrong):
    text = json.dumps(wrong(json.loads(session.state.read_bytes()))).replace("Infinity", "1e999")
    session.state.write_text(text)
    session.last_call()
    assert len(session.home.failures()) <= 1
    again = {**session.day.steps[-1].payload, "tool_use_id": "toolu_after"}
    ran = processes.run_event(again, session.home.env(POPKIT_CLOCK=repr(session.day.now + 1)))
    assert ran.silent
    assert len(session.home.failures()) <= 1, "the next hook works"
    assert session.stored()["index"] == session.day.calls + 1


LAYOUTS = {
    "pretty": lambda text: json.dumps(json.loads(text), indent=1),
    "one line": lambda text: json.dumps(json.loads(text)),
    "blank lines": lambda text: text.replace(",\n[", ",[", 1).replace("\n]}", "\n\n]}"),
    "rows in another order": lambda text: json.dumps({**json.loads(text), "live": json.loads(text)["live"][::-1]}),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_state_that_somebody_has_reformatted_is_read_as_it_is(session: Session, layout):
    assert len(json.loads(session.state.read_text())["live"]) > 2
    session.state.write_text(layout(session.state.read_text()))
    session.last_call()
    assert session.home.failures() == []
    stored, rebuilt = session.stored(), session.rebuilt()
    assert sorted(row["id"] for row in stored["live"]) == sorted(row["id"] for row in rebuilt["live"])
    assert {**stored, "live": []} == {**rebuilt, "live": []}


@pytest.mark.parametrize("garbage", [b"\0\0\0", b"[[[[", b'{"event":"end","at":"now"}\n{"event"', b"[]\n7\nnull\n", b"\xff\xfe\n"])
def test_garbage_in_the_logs_spoils_no_other_line(session: Session, garbage: bytes):
    before = session.rebuilt()
    for path in (session.paths.journal, session.paths.expired):
        with Path(path).open("ab") as file:
            file.write(garbage)
    session.last_call()
    assert session.home.failures() == []
    assert before["index"] + 1 == session.stored()["index"]
    expired = store.read_expired(session.paths, store.load(session.paths).state)
    assert len(expired) + len(session.stored()["live"]) == session.stored()["index"]


@pytest.mark.parametrize("line", ['{"event":"changed","call":["x"],"changes":{},"at":1}', '{"event":"end","at":1e999}'])
def test_a_journal_that_is_wrong_deep_inside_does_not_stop_the_rebuild(session: Session, line: str):
    with Path(session.paths.journal).open("a") as file:
        file.write(line + "\n")
    session.state.unlink()
    session.last_call()
    assert session.home.failures() == []


@pytest.mark.parametrize("facts", [{"largest_tokens": "many"}, {"model": 5}])
def test_session_facts_of_wrong_types_do_not_stop_the_monitor(session: Session, facts: dict):
    (Path(session.paths.folder) / "session.json").write_text(json.dumps(facts))
    for _ in range(2):
        stop = payloads.stop(session_id=session.day.session_id, transcript_path=str(session.day.transcript))
        assert processes.run_event(stop, session.home.env()).silent
    assert session.home.failures() == []


def test_a_state_that_a_hook_cannot_rebuild_from_a_transcript_starts_empty(home: processes.Home):
    for number in range(3):
        assert processes.run("post-tool-use", payloads.bash(f"mkdir {number}"), home.env()).silent
    Path(home.paths(SESSION).state).write_bytes(b"x")
    assert processes.run("post-tool-use", payloads.bash("mkdir last"), home.env()).silent
    assert home.failures() == []
    assert home.state(SESSION).index == 1


# --- links ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["state", "lock", "journal", "expired"])
def test_a_link_planted_in_place_of_a_file_leads_nowhere(forks: Forks, home: processes.Home, tmp_path: Path, name: str):
    target = tmp_path / "precious.txt"
    target.write_text("precious\n")
    paths = home.paths(SESSION)
    Path(paths.folder).mkdir(parents=True)
    Path(getattr(paths, name)).symlink_to(target)
    for number in range(3):
        for payload in (payloads.bash(f"mkdir {number}"), payloads.bash("git commit -m x"), payloads.session_end()):
            assert forks.run(Hook(processes.SCRIPTS[payload["hook_event_name"]], payload), home.env()).silent
    assert target.read_text() == "precious\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["popkit", "precious.txt"]


def test_a_link_to_nothing_in_place_of_the_state_makes_nothing_there(home: processes.Home, tmp_path: Path):
    paths = home.paths(SESSION)
    Path(paths.folder).mkdir(parents=True)
    Path(paths.state).symlink_to(tmp_path / "made-by-a-hook")
    assert processes.run("post-tool-use", payloads.bash("mkdir a"), home.env()).silent
    assert not (tmp_path / "made-by-a-hook").exists()
    assert home.state(SESSION).index == 1


def test_a_link_in_place_of_a_session_folder_is_not_followed(home: processes.Home, tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (home.path / "sessions").mkdir(parents=True)
    (home.path / "sessions" / SESSION).symlink_to(elsewhere)
    given = (payloads.bash("mkdir a"), payloads.prompt("go"), payloads.read("/a.py", "x\n"), payloads.session_start())
    for payload in (*given, payloads.session_end()):
        assert processes.run_event(payload, home.env()).silent
    assert list(elsewhere.iterdir()) == []
    assert len(home.failures()) == len(given), "where nothing is known there is nothing to end"


def test_our_folder_itself_may_be_a_link(home: processes.Home, tmp_path: Path):
    (tmp_path / "disk").mkdir()
    home.path.symlink_to(tmp_path / "disk")
    assert processes.run("post-tool-use", payloads.bash("mkdir a"), home.env()).silent
    assert processes.run("post-tool-use", b"broken", home.env()).silent
    assert home.state(SESSION).index == 1
    assert len(home.failures()) == 1


# --- pipes ---------------------------------------------------------------------------------------------------------------------

PIPES = ["main.state.json", "main.journal.jsonl", "main.expired.jsonl", "main.lock", "session.json", "session.json.lock"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
@pytest.mark.parametrize("name", PIPES)
def test_a_pipe_in_place_of_a_file_of_the_session_holds_up_no_hook_and_no_command(forks: Forks, session: Session, name: str):
    home, session_id = session.home, session.day.session_id
    path = Path(session.paths.folder) / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    common = {"session_id": session_id, "transcript_path": str(session.day.transcript)}
    events = (payloads.prompt("go", **common), payloads.stop(**common), payloads.session_start(**common), payloads.session_end(**common))
    for payload in (session.day.steps[-1].payload, *events):
        assert forks.run(Hook(processes.SCRIPTS[payload["hook_event_name"]], payload), home.env()).silent
    asked = ["context", "--session", session_id, "--transcript", str(session.day.transcript)]
    for command in (asked, ["doctor"]):
        done = forks.run(Command(command), home.env())
        assert "Traceback" not in done.err
        assert done.out or done.err
