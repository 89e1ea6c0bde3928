"""What a hook sees while another process holds the lock: cut down to what is needed, and taken in once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.codex import TOOLS as CODEX
from popkit_retention.core.io import files
from popkit_retention.core.policy import engine
from popkit_retention.core.policy.calls import TEXT_CHARS
from popkit_retention.core.policy.classify import COMMAND_CHARS, MOST_FILES
from popkit_retention.core.policy.context import ContextState
from popkit_retention.core.policy.events import Call, Outcome
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.state import journal, pending, store, watched_files

NOW = 1_800_000_000.0
RULES = Ruleset.from_config({}, TOOLS)


@pytest.fixture
def paths(tmp_path: Path) -> store.ContextFiles:
    return store.ContextFiles(str(tmp_path), "s1")


def call(tool: str, tool_input: dict, tools=TOOLS, **outcome) -> Call:
    return Call(
        "t1",
        tools.of(tool),
        tool_input,
        Outcome(**{"chars": 9, "content_hash": "ab", "tail": "x\n1 passed", **outcome}),
        NOW,
        "/p",
        "turn 1",
    )


def noted(paths: store.ContextFiles, made: Call) -> list:
    """The row that a call is kept as."""
    pending.note(paths, made)
    (path,) = files.spilled(paths.state)
    row = json.loads(Path(path).read_text())["call"]
    files.remove(path)
    return row


@pytest.mark.parametrize(
    ("made", "kept"),
    [
        (call("Read", {"file_path": "x" * 5_000, "limit": 3, "more": 1}), {"file_path": "x" * TEXT_CHARS, "limit": 3}),
        (call("Bash", {"command": "x" * 20_000, "run_in_background": True}), {"command": "x" * COMMAND_CHARS}),
        (call("Bash", {"command": "curl --token abcdefgh12345678"}), {"command": "curl --token ****"}),
        (call("Grep", {"pattern": "password=hunter22", "path": "/password=h"}), {"path": "/password=h", "pattern": "password=****"}),
        (call("Edit", {"file_path": "/a", "old_string": "secret", "new_string": "b", "replace_all": True}), {"file_path": "/a"}),
        (
            call("apply_patch", {"file_path": "/a", "others": ["/b", 7, "y" * 5_000], "patch": "+secret"}, CODEX),
            {"file_path": "/a", "others": ["/b", "y" * TEXT_CHARS]},
        ),
        (call("apply_patch", {"file_path": ["/a"], "others": "/b"}, CODEX), {"others": "/b"}),
    ],
)  # fmt: skip
def test_of_an_input_is_kept_what_identifies_the_call(paths: store.ContextFiles, made: Call, kept: dict) -> None:
    id, tool, tool_input, *_ = noted(paths, made)
    assert (id, tool) == ("t1", made.tool)
    assert {name: value for name, value in tool_input.items() if name not in ("run_in_background", "replace_all")} == kept


def test_of_many_files_of_an_edit_some_are_kept(paths: store.ContextFiles) -> None:
    row = noted(paths, call("apply_patch", {"file_path": "/a", "others": [f"/{n}" for n in range(MOST_FILES + 1)]}, CODEX))
    assert len(row[2]["others"]) == MOST_FILES


@pytest.mark.parametrize(
    ("made", "tail"),
    [
        (call("Bash", {"command": "npm test"}), "1 passed"), (call("Bash", {"command": "npm test"}, error=True), "1 passed"),
        (call("Grep", {"pattern": "x"}, error=True), "1 passed"), (call("Grep", {"pattern": "x"}), None),
        (call("Read", {"file_path": "/a"}), None), (call("Bash", {"command": "cat a"}), None),
        (call("Bash", {"command": "npm test"}, tail="token=abcdefgh12345678 failed"), "token=**** failed"),
    ],
)  # fmt: skip
def test_of_the_output_of_a_run_or_an_error_a_line_is_kept(paths: store.ContextFiles, made: Call, tail: str | None) -> None:
    outcome, at, cwd, turn, committed = noted(paths, made)[3:]
    assert outcome.get("tail") == tail
    assert (outcome["chars"], outcome["content_hash"], outcome["error"], at, cwd, turn, committed) == (
        9, "ab", made.outcome.error, NOW, "/p", "turn 1", None,
    )  # fmt: skip


@pytest.mark.parametrize(("tool", "is_seen"), [("Read", True), ("Edit", True), ("Bash", False), ("Grep", False)])
def test_a_file_that_was_read_or_edited_is_kept_as_it_was(paths: store.ContextFiles, tmp_path: Path, tool: str, is_seen: bool) -> None:
    (tmp_path / "a.py").write_text("x")
    for name in ("a.py", "none.py"):
        path = str(tmp_path / name)
        pending.note(paths, call(tool, {"file_path": path, "path": path, "command": "ls", "pattern": "x"}))
    first, second = pending.observations(paths)
    stamp = watched_files.file_stamp(str(tmp_path / "a.py"))
    assert (first.seen, second.seen) == ({str(tmp_path / "a.py"): stamp} if is_seen else {}, {})


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"entries": {}}'])
def test_a_note_that_cannot_be_read_is_removed(paths: store.ContextFiles, text: str) -> None:
    pending.note(paths, None, NOW)
    files.spill(paths.state, text)
    (found,) = pending.observations(paths)
    assert (found.prompted, found.call, found.entries, found.seen) == (NOW, None, [], {})
    assert files.spilled(paths.state) == [found.file]
    pending.remove([found.file, found.file])
    assert pending.observations(paths) == []


@pytest.mark.parametrize(("prompted", "read"), [(5, 5.0), (1e11, 0.0), (-1, 0.0), (None, 0.0), ("5", 0.0), (True, 0.0)])
def test_when_the_user_spoke_is_a_time(paths: store.ContextFiles, prompted: object, read: float) -> None:
    Path(paths.folder).mkdir(parents=True)
    files.spill(paths.state, json.dumps({"entries": [], "prompted": prompted, "seen": 7}))
    (found,) = pending.observations(paths)
    assert (found.prompted, found.seen) == (read, {})


def test_a_note_that_the_disk_does_not_give_stays(paths: store.ContextFiles) -> None:
    pending.note(paths)
    (note,) = files.spilled(paths.state)
    Path(note).unlink()
    Path(note).symlink_to(note)  # it cannot be opened
    with pytest.raises(OSError):  # noqa: PT011  which one is the system's
        pending.observations(paths)
    assert files.spilled(paths.state) == [note]


def test_what_was_seen_is_taken_in_once_in_its_order(paths: store.ContextFiles, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x")
    made = call("Read", {"file_path": str(tmp_path / "a.py")})
    pending.note(paths, made, 0.0, [journal.pinned("t1", NOW)])
    pending.note(paths, made, 0.0, [journal.resumed(NOW + 1)])
    pending.note(paths, None, NOW + 2, [{"event": "odd"}])
    Path(paths.folder, "other").touch()
    files.spill(paths.state, json.dumps({"entries": [], "call": [1, 2]}))
    stored = store.StoredState(ContextState("s1"))
    engine.reindex(stored.state, RULES)
    taken: list[Call] = []

    def observe(one: Call) -> None:
        taken.append(one)
        engine.observe(stored.state, one, RULES)

    with paths.locked():
        done = pending.take_in(paths, stored, RULES, observe)
    assert done == files.spilled(paths.state)
    assert ([one.id for one in taken], stored.state.pins, list(stored.watched.first())) == (["t1"], ["t1"], [str(tmp_path / "a.py")])
    assert (stored.state.prompted, len(done)) == (True, 4)
    assert [entry["event"] for entry in journal.read(paths)] == ["pin", "resumed", "odd"]
    files.remove(done[2])
    silent = store.StoredState(ContextState("s1"))
    pending.take_in(paths, silent, RULES, lambda one: None)
    assert not silent.state.prompted, "the user spoke in the third note alone"


def test_nothing_is_noted_through_a_link_in_the_place_of_the_folder(paths: store.ContextFiles, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    Path(paths.folder).parent.mkdir()
    Path(paths.folder).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="link"):
        pending.note(paths)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_what_a_rebuild_knows_is_settled_and_the_rest_waits(paths: store.ContextFiles, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x")
    pending.note(paths, call("Read", {"file_path": str(tmp_path / "a.py")}), 0.0, [journal.pinned("t1", NOW)])
    pending.note(paths, None, 0.0, [journal.resumed(NOW)])
    waiting = pending.observations(paths)
    for known, events, watched in ((set(), ["resumed"], []), ({"t1"}, ["resumed", "pin", "resumed"], [str(tmp_path / "a.py")])):
        stored = store.StoredState(ContextState("s1"))
        done = pending.settle(paths, stored, waiting, known, TOOLS)
        assert done == [one.file for one in waiting if known or one.call is None]
        assert [entry["event"] for entry in journal.read(paths)] == events
        assert list(stored.watched.first()) == watched
