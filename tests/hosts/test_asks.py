"""What a call asks for is read by the host's own names, in whichever host."""

from __future__ import annotations

from pathlib import Path

import pytest

from popkit_retention.core.hosts import claude_code, codex, opencode
from popkit_retention.core.hosts.recordings import tools as all_tools
from popkit_retention.core.io import files
from popkit_retention.core.policy import engine, tools
from popkit_retention.core.policy.calls import Call, Outcome
from popkit_retention.core.policy.context import ContextState
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.state import pending, store

HOSTS = {"Claude Code": claude_code.TOOLS, "Codex": codex.TOOLS, "OpenCode": opencode.TOOLS}
# A search of each host, its field that narrows it to some files.
SEARCHES = [("Claude Code", "Grep", "glob"), ("Codex", "grep_files", "include"), ("OpenCode", "grep", "include")]
READS = [("Claude Code", "Read", "file_path"), ("Codex", "read_file", "file_path"), ("OpenCode", "read", "filePath")]


def made(host: str, id: str, tool: str, tool_input: dict[str, object]) -> Call:
    return Call(id, HOSTS[host].of(tool), tool_input, Outcome(400, content_hash=id), float(len(id)), "/p")


@pytest.mark.parametrize(("host", "tool", "field"), SEARCHES)
def test_a_search_in_some_files_leaves_that_in_all_of_them(host: str, tool: str, field: str) -> None:
    state, rules = ContextState(), Ruleset.from_config({}, HOSTS[host])
    for id, narrowed in (("whole", {}), ("part", {field: "*.ts"}), ("again", {field: "*.ts"})):
        engine.observe(state, made(host, id, tool, {"pattern": "total", "path": "/p", **narrowed}), rules)
    assert {id: id in state.expired for id in ("whole", "part", "again")} == {"whole": False, "part": True, "again": False}


@pytest.mark.parametrize(("host", "tool", "field"), READS)
def test_a_call_that_waits_for_the_lock_keeps_what_it_asks_for(tmp_path: Path, host: str, tool: str, field: str) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    paths = store.ContextFiles(str(tmp_path / "state"), "s")
    pending.note(paths, made(host, "t1", tool, {field: str(path), "offset": 3, "limit": 4}))
    (observation,) = pending.observations(paths)
    assert observation.call[2] == {field: str(path), "offset": 3, "limit": 4}
    assert list(observation.seen) == [str(path)]


def test_a_waiting_patch_of_several_files_names_them_all(tmp_path: Path) -> None:
    paths = store.ContextFiles(str(tmp_path), "s")
    pending.note(paths, made("OpenCode", "t1", "patch", {"filePath": "/p/a", "others": ["/p/b", "/p/c"]}))
    (observation,) = pending.observations(paths)
    assert observation.call[2] == {"filePath": "/p/a", "others": ["/p/b", "/p/c"]}


@pytest.mark.parametrize("note", ["", "[]", "{}", '{"entries": 7}', '{"entries": [], '])
def test_a_waiting_note_that_cannot_be_read_is_removed(tmp_path: Path, note: str) -> None:
    paths = store.ContextFiles(str(tmp_path), "s")
    pending.note(paths)
    (file,) = files.spilled(paths.state)
    files.replace_text(file, note)
    assert pending.observations(paths) == []
    assert files.spilled(paths.state) == []


def test_the_tools_of_all_hosts_together_are_asked_by_all_names() -> None:
    assert {"glob", "include"} <= set(all_tools().asks[tools.GLOB])
