"""What is watched is what a table of paths would hold, and a call looks at a bounded number of files, in turn."""

from __future__ import annotations

import json
import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core import retention_tracker
from popkit_retention.core.handlers import context_monitor, tool_calls
from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy.calls import Call, Outcome
from popkit_retention.core.policy.context import ContextState
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.state import store, watched_files
from tests.hooks import payloads, processes

PATHS = st.sampled_from(["/a", "/a/b", '/with "quotes"', "/with\nbreaks", "/ü", "/a\\", ',"/a":['])
STEPS = st.lists(st.tuples(st.sampled_from(["see", "drop", "first"]), PATHS, st.integers(0, 5)))


@given(STEPS)
def test_it_holds_what_a_table_would(steps: list):
    watched, table = watched_files.WatchedFiles(), {}
    for step, path, number in steps:
        if step == "see":
            watched.see(path, [number, 1])
            table.pop(path, None)
            table[path] = [number, 1]
        elif step == "drop":
            watched.drop(path)
            table.pop(path, None)
        else:
            looked_at = watched.first(number)
            assert list(looked_at.items()) == list(table.items())[: number or None]
            for path in looked_at:
                table[path] = table.pop(path)
        assert list(json.loads(b"{" + watched.data + b"}").items()) == list(table.items())
        assert bool(watched.data) == bool(table)
        assert all((path in watched) == (path in table) for path in ("/a", "/a/b", "/ü"))


def _with_reads(folder: Path, count: int) -> tuple:
    """A context in which so many files were read, each by a call of its own."""
    paths = store.ContextFiles(str(folder / "popkit"), "session")
    stored, rules = store.StoredState(ContextState("session")), Ruleset.from_config({}, TOOLS)
    files = [folder / f"{n}.py" for n in range(count)]
    with paths.locked():
        for n, file in enumerate(files):
            file.write_text("x = 1\n")
            retention_tracker.observe_call(paths, stored, _call(n, "Read", {"file_path": str(file)}), rules, False)
    return paths, stored, rules, files


def _call(n: int, tool: str, tool_input: dict) -> Call:
    return Call(f"toolu_{n}", TOOLS.of(tool), tool_input, Outcome(10, content_hash=f"{n:x}"), float(n), "/p")


def _expired(stored: store.StoredState) -> int:
    return len([result for result in stored.state.expired.values() if result.ended[0] == "changed_on_disk"])


def test_of_many_changed_files_each_call_notices_some_until_all_are(tmp_path: Path):
    assert store.LOOKED_AT == 32
    paths, stored, rules, files = _with_reads(tmp_path, 3 * store.LOOKED_AT)
    for file in files:
        file.unlink()
    for n in (1, 2, 3):
        retention_tracker.observe_call(paths, stored, _call(1_000 + n, "Bash", {"command": f"node {n}.js"}), rules, False)
        assert _expired(stored) == n * store.LOOKED_AT


def test_a_change_is_noticed_within_one_round_whatever_else_is_read(tmp_path: Path):
    paths, stored, rules, files = _with_reads(tmp_path, 2 * store.LOOKED_AT)
    files[-1].write_text("y = 22\n")
    for n in range(3):
        (tmp_path / f"new{n}.py").write_text("z\n")
        retention_tracker.observe_call(paths, stored, _call(2_000 + n, "Read", {"file_path": str(tmp_path / f"new{n}.py")}), rules, False)
    assert _expired(stored) == 1


def test_the_prompt_notices_all_at_once(tmp_path: Path):
    paths, stored, rules, files = _with_reads(tmp_path, 3 * store.LOOKED_AT)
    for file in files:
        file.unlink()
    retention_tracker.notice_changes(paths, stored, rules, 1.0)
    assert _expired(stored) == len(files)
    assert stored.watched.data == b""


def test_before_a_command_is_answered_all_are_looked_at(tmp_path: Path):
    home = processes.Home(tmp_path)
    files = [tmp_path / f"{n}.py" for n in range(store.LOOKED_AT + 5)]
    for file in files:
        file.write_text(f"# {file}\n")
        tool_calls.track(payloads.read(str(file), f"# {file}\n"), home.env())
    for file in files:
        file.unlink()
    context_monitor.handle(payloads.prompt("/popkit:context"), home.env())
    journal = store.read_lines(store.ContextFiles(str(home.path), payloads.SESSION).journal)
    assert sum(len(entry.get("changes", ())) for entry in journal) == len(files)


def test_a_file_has_changed_with_its_time_or_size_and_is_deleted_once_gone(tmp_path: Path):
    for name in "abcd":
        (tmp_path / name).write_text(name)
    stamps = {str(tmp_path / name): watched_files.file_stamp(str(tmp_path / name)) for name in "abcd"}
    seen = (tmp_path / "a").stat()
    assert stamps[str(tmp_path / "a")] == [seen.st_mtime_ns, seen.st_size]
    os.utime(tmp_path / "b", ns=(seen.st_mtime_ns, stamps[str(tmp_path / "b")][0] + 1))
    (tmp_path / "c").write_text("longer")
    os.utime(tmp_path / "c", ns=(seen.st_mtime_ns, stamps[str(tmp_path / "c")][0]))
    (tmp_path / "d").unlink()
    stamps["nul\0"] = [1, 2]
    changes = {str(tmp_path / "b"): "modified", str(tmp_path / "c"): "modified", str(tmp_path / "d"): "deleted", "nul\0": "deleted"}
    assert watched_files.changed_files(watched_files.watched_of(stamps), 0) == changes
    watched = watched_files.watched_of(stamps)
    assert [watched_files.changed_files(watched, 2) for _ in range(3)] == [
        {str(tmp_path / "b"): "modified"}, {str(tmp_path / "c"): "modified", str(tmp_path / "d"): "deleted"}, {"nul\0": "deleted"},
    ]  # fmt: skip
    assert watched_files.changed_files(watched_files.watched_of(None), 0) == {}
