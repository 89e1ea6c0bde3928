"""Entire's checkpoints: the last of each session counts, is found in commits and read by its address, and nothing is written or trusted."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hooks.utils import hosts
from hooks.utils.hosts import entire, recordings
from hooks.utils.hosts.claude_code import entries, transcript
from popkit_retention.lab import survey
from popkit_retention.operations.session_lookup import NoSession, check
from popkit_retention.parallel import find
from tests.hosts import checkpoints
from tests.hosts.checkpoints import BRANCH, SESSION, Repository, files
from tests.hosts.rollouts import worked
from tests.hosts.test_opencode import worked as opencode
from tests.views.written import Written


def checkpoint(folder: Path, data: bytes, session: str = "s1", created_at: str = "2026-09-21T10:00:00Z") -> Path:
    """A checkpoint as Entire lays it down."""
    folder.mkdir(parents=True)
    (folder / "full.jsonl").write_bytes(data)
    (folder / "transcript.jsonl").write_text('{"v":1,"agent":"codex","type":"user","content":[{"text":"go"}]}\n')
    (folder / "metadata.json").write_text(json.dumps({"session_id": session, "created_at": created_at, "agent": "Codex"}))
    return folder / "full.jsonl"


def found_in(folder: Path) -> tuple[list[str], list[str]]:
    skipped: list[str] = []
    found = [source.address for source in find([str(folder)], lambda _, reason: skipped.append(reason))]
    return found, sorted(set(skipped))


def test_of_the_checkpoints_of_a_session_the_last_counts(tmp_path) -> None:
    data = worked().data()
    checkpoint(tmp_path / "ab" / "1" / "0", data[: len(data) // 2])
    last = checkpoint(tmp_path / "cd" / "2" / "0", data, created_at="2026-09-21T11:00:00Z")
    other = checkpoint(tmp_path / "cd" / "2" / "1", data, session="s2")
    found, skipped = found_in(tmp_path)
    assert sorted(found) == sorted([str(last), str(other)])
    assert skipped == ["an earlier checkpoint of a session with a later one", "the condensed copy of a checkpoint, without results"]
    assert survey.survey([str(tmp_path)], ["spec"], [300], 1)["sessions"] == 2


def test_a_session_has_the_name_that_its_metadata_say(tmp_path) -> None:
    path = checkpoint(tmp_path / "0", worked().data(), session="01a0")
    assert recordings.session_id_of(str(path)) == "01a0"
    (path.parent / "metadata.json").write_text("[]")
    assert recordings.session_id_of(str(path)) == "full"
    assert recordings.session_id_of("/a/b/x.jsonl") == "x"


@pytest.mark.parametrize("metadata", [b"", b"{", b"\xff", b'{"session_id":7}', b'{"session_id":""}', b"[" * 100_000])
def test_metadata_that_say_nothing_are_none(tmp_path, metadata: bytes) -> None:
    path = checkpoint(tmp_path / "0", worked().data())
    (path.parent / "metadata.json").write_bytes(metadata)
    assert entire.checkpoint_of(str(path)) is None
    assert str(path) in found_in(tmp_path)[0]


def test_the_condensed_copy_is_refused_with_what_to_take_instead(tmp_path) -> None:
    path = checkpoint(tmp_path / "0", worked().data())
    with pytest.raises(NoSession, match=r"the condensed copy of a checkpoint, without results\. Name the full\.jsonl beside it"):
        check(str(path.parent / entire.CONDENSED))


CODEX = worked().data()


@pytest.fixture
def shop(tmp_path: Path) -> Repository:
    """A repository without a checkpoint."""
    return Repository(tmp_path / "shop")


def found(repository: Repository, *folders: str) -> dict[str, str]:
    """Session -> the address of its last checkpoint."""
    return {each.session: address for address, each in entire.sessions_in(folders or [str(repository.folder)])}


def everything(folder: Path) -> dict[str, bytes | None]:
    """All that lies below a folder."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize("ref", [BRANCH, "refs/remotes/origin/entire/checkpoints/v1", "refs/heads/entire/sessions"])
def test_of_each_session_on_a_branch_the_last_checkpoint_is_found(shop: Repository, ref: str) -> None:
    held = {
        **files(CODEX[:500], "ab/12cd34ef56/0/", created_at="2026-09-21T10:00:00Z"),
        **files(CODEX, "01/23456789ab/0/", created_at="2026-09-21T12:30:00+02:00"),
        **files(CODEX, "01/23456789ab/1/", session="other", created_at="2026-09-21T09:00:00Z"),
    }
    commit = shop.commit(ref, held)
    place = f"{shop.folder}/.git:{commit}:01/23456789ab"
    assert found(shop) == {SESSION: f"{place}/0/full.jsonl", "other": f"{place}/1/full.jsonl"}
    assert list(found(shop)) == [SESSION, "other"], "the newest comes first"


def test_a_ref_for_each_checkpoint_is_read_as_well_as_the_branch(shop: Repository) -> None:
    shop.commit(BRANCH, {**files(CODEX[:900], "ab/12cd34ef56/0/"), **files(CODEX, "ab/12cd34ef57/0/", session="older")})
    commit = shop.checkpoint(CODEX, "01KVBJCWYA4YW6J5M9GP655HZN", at="2026-09-21T11:00:00Z")
    assert found(shop)[SESSION] == f"{shop.folder}/.git:{commit}:0/full.jsonl"
    assert set(found(shop)) == {SESSION, "older"}


def test_the_oldest_form_has_a_session_at_the_top_of_its_checkpoint(shop: Repository) -> None:
    commit = shop.commit("refs/entire/checkpoints/56/ab12cd34ef56", files(CODEX))
    assert found(shop) == {SESSION: f"{shop.folder}/.git:{commit}:full.jsonl"}
    assert b"".join(entire.opened(found(shop)[SESSION])) == CODEX


def test_packed_refs_worktrees_and_folders_below_lead_to_the_same_checkpoints(shop: Repository, tmp_path: Path) -> None:
    shop.checkpoint(CODEX)
    shop.git("pack-refs", "--all", "--prune")
    shop.git("commit", "-q", "--allow-empty", "-m", "first")
    shop.git("worktree", "add", "-q", str(tmp_path / "beside"))
    (shop.folder / "src").mkdir()
    for folder in (shop.folder, shop.folder / "src", tmp_path / "beside"):
        assert set(found(shop, str(folder))) == {SESSION}
    assert len(entire.sessions_in([str(shop.folder), str(tmp_path / "beside")])) == 1, "one session, wherever it is seen"


def test_a_new_checkpoint_is_seen_though_refs_are_read_only_when_they_move(shop: Repository) -> None:
    first = shop.checkpoint(CODEX[:900])
    assert first in found(shop)[SESSION]
    second = shop.checkpoint(CODEX, at="2026-09-21T11:00:00Z")
    assert second in found(shop)[SESSION]


def test_a_checkpoint_keeps_its_address_while_its_branch_moves_on(shop: Repository) -> None:
    held = files(CODEX, "ab/12cd34ef56/0/")
    shop.commit(BRANCH, held)
    before = found(shop)[SESSION]
    shop.commit(BRANCH, {**held, **files(CODEX, "ab/12cd34ef57/0/", session="other")})
    assert found(shop)[SESSION] == before
    assert set(found(shop)) == {SESSION, "other"}


# --- reading ---------------------------------------------------------------------------------------------------------------------------


def _claude_code(tmp_path: Path) -> bytes:
    written = Written(tmp_path / "written", session="shop", project="/home/dana/shop")
    written.say("Fix the prices.")
    written.read("src/prices.js")
    written.ends()
    return written.path.read_bytes()


@pytest.mark.parametrize("agent", ["Claude Code", "Codex", "OpenCode"])
def test_each_agents_recording_reads_as_the_same_file_does(shop: Repository, tmp_path: Path, agent: str) -> None:
    data = {"Claude Code": _claude_code(tmp_path), "Codex": CODEX, "OpenCode": json.dumps(opencode().data()).encode()}[agent]
    shop.checkpoint(data, agent=agent)
    (address,) = found(shop).values()
    file = tmp_path / "full.jsonl"
    file.write_bytes(data)
    assert list(entries.lines(address)) == list(entries.lines(str(file)))
    assert recordings.host_of(address) == agent
    assert recordings.session_id_of(address) == SESSION
    assert recordings.size_of(address) == len(data)
    assert recordings.changed(address) == 1_789_984_800.5
    assert transcript.index(address).doubts[0] == hosts.IN_COMMITS, "nobody is offered a clear"


def test_a_recording_that_was_cut_for_its_size_is_put_together(shop: Repository) -> None:
    lines = CODEX.splitlines(keepends=True)
    parts = [b"".join(lines[:5]).rstrip(b"\n"), b"".join(lines[5:9]).rstrip(b"\n"), b"".join(lines[9:])]
    held = {**files(parts[0], "0/"), "0/full.jsonl.001": parts[1], "0/full.jsonl.002": parts[2], "0/full.jsonl.orig": b"?"}
    shop.commit("refs/entire/checkpoints/56/ab12cd34ef56", {**held, "metadata.json": b'{"sessions":[{}]}'})
    assert entire.opened(found(shop)[SESSION]).read() == CODEX


def test_what_is_gone_is_an_error_that_says_so(shop: Repository) -> None:
    commit = shop.checkpoint(CODEX)
    for address in (
        f"{shop.folder}/.git:{'0' * 40}:0/full.jsonl",
        f"{shop.folder}/.git:{commit}:9/full.jsonl",
        f"/none/.git:{commit}:full.jsonl",
    ):
        assert not entries.is_there(address)
        with pytest.raises(OSError, match="git finds no checkpoint there"):
            entire.opened(address)


def test_sessions_of_agents_whose_recordings_are_not_read_are_not_offered(shop: Repository) -> None:
    for number, agent in enumerate(("Claude Code", "Codex", "Gemini CLI", "")):
        shop.checkpoint(CODEX, f"ab12cd34ef5{number}", session=f"s{number}", agent=agent)
    listed = recordings.of_entire({}, [str(shop.folder)])
    assert {each.id: each.host for each in listed} == {"s0": "Entire", "s1": "Entire"}
    assert {each.project for each in listed} == {str(shop.folder)}


def test_a_session_has_the_id_that_its_agent_gave_it(shop: Repository) -> None:
    shop.checkpoint(CODEX, session=f"2026-09-21-{SESSION}")
    assert [each.id for each in recordings.of_entire({}, [str(shop.folder)])] == [SESSION]


# --- hostile repositories --------------------------------------------------------------------------------------------------------------


def test_looking_and_reading_change_nothing_and_run_nothing(shop: Repository, tmp_path: Path) -> None:
    shop.checkpoint(CODEX)
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.editor",
        "diff.external",
        "alias.ls-tree",
        "uploadpack.packObjectsHook",
    ):
        shop.git("config", key, str(program))
    shop.git("config", "remote.origin.url", f"ext::{program}")
    shop.git("config", "remote.origin.promisor", "true")
    shop.git("config", "extensions.partialClone", "origin")
    before = everything(shop.folder)
    (address,) = found(shop).values()
    assert entire.opened(address).read() == CODEX
    blob = shop.folder / ".git" / "objects"
    assert not ran.exists()
    assert everything(shop.folder) == before
    for path in [path for path in blob.rglob("*") if path.is_file()]:
        path.unlink()  # a partial clone fetches what is missing
    with pytest.raises(OSError, match="git finds no checkpoint there"):
        entire.opened(address)
    assert not ran.exists()


@pytest.mark.parametrize(
    "held",
    [
        {"metadata.json": b"["},
        {"metadata.json": b'{"sessions":7}'},
        {"metadata.json": b'{"sessions":[{},{},{}]}'},
        {"metadata.json": b'{"sessions":[{}]}', "0/metadata.json": b"[" * 100_000, "0/full.jsonl": b"x"},
        {"metadata.json": b'{"sessions":[{}]}', "0/metadata.json": b'{"session_id":7}', "0/full.jsonl": b"x"},
        {"metadata.json": b'{"sessions":[{}]}', "0/metadata.json": b" " * (1 << 20) + checkpoints.metadata(), "0/full.jsonl": b"x"},
    ],
)
def test_metadata_that_say_nothing_take_no_other_checkpoint(shop: Repository, held: dict) -> None:
    shop.commit("refs/entire/checkpoints/57/ab12cd34ef57", held)
    shop.checkpoint(CODEX)
    assert set(found(shop)) == {SESSION}


def test_refs_that_lead_to_no_commit_take_no_other_checkpoint(shop: Repository) -> None:
    shop.checkpoint(CODEX)
    blob = shop.git("hash-object", "-w", "--stdin", data=b"no commit")
    shop.git("update-ref", "refs/entire/checkpoints/57/ab12cd34ef57", blob)
    shop.git("update-ref", BRANCH.replace("heads", "remotes/evil"), blob)
    corrupt_ref = os.fsdecode(b"refs/remotes/\xff\xfe/entire/checkpoints/v1")
    shop.git("update-ref", corrupt_ref, shop.git("rev-parse", "refs/entire/checkpoints/56/ab12cd34ef56"))
    assert set(found(shop)) == {SESSION}


def test_a_tree_that_holds_itself_many_times_over_ends_no_look(shop: Repository) -> None:
    shop.checkpoint(CODEX)
    tree = shop.git("mktree", data=b"100644 blob %s\tfull.jsonl\n" % shop.git("hash-object", "-w", "--stdin", data=b"x").encode())
    for _ in range(8):
        tree = shop.git("mktree", data=b"".join(b"040000 tree %s\td%d\n" % (tree.encode(), number) for number in range(10)))
    shop.git("update-ref", BRANCH, shop.git("commit-tree", tree, "-m", "bomb"))
    assert set(found(shop)) == {SESSION}


def test_names_with_line_ends_are_no_paths(shop: Repository) -> None:
    shop.commit(BRANCH, {**files(CODEX, "a\nb/0/", session="evil"), **files(CODEX, "ab/12/0/")})
    assert set(found(shop)) == {SESSION}


def test_a_recording_that_is_too_large_is_refused_before_it_is_read(shop: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.checkpoint(CODEX)
    monkeypatch.setattr(entire, "LARGEST", len(CODEX) - 1)
    with pytest.raises(OSError, match="the checkpoint has more than"):
        entire.opened(found(shop)[SESSION])


@pytest.mark.parametrize("make", ["nothing", "no repository", "broken", "pipe"])
def test_where_git_can_tell_nothing_there_is_nothing(shop: Repository, make: str, tmp_path: Path) -> None:
    folder = tmp_path / "none"
    if make != "nothing":
        folder.mkdir()
    if make == "broken":
        (folder / ".git" / "refs" / "entire").mkdir(parents=True)
    if make == "pipe":
        os.mkfifo(folder / ".git")
    assert found(shop, str(folder), "", "relative", "/") == {}


def test_without_git_there_is_nothing(shop: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.checkpoint(CODEX)
    (address,) = found(shop).values()
    entire._known.clear()
    monkeypatch.setenv("PATH", "/nowhere")
    assert found(shop) == {}
    with pytest.raises(OSError, match="git finds no checkpoint there"):
        entire.opened(address)


def test_git_is_started_only_where_there_may_be_checkpoints(shop: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.git("commit", "-q", "--allow-empty", "-m", "first")
    git = tmp_path / "programs" / "git"
    git.parent.mkdir()
    git.write_text(f"#!/bin/sh\n: > {tmp_path}/started\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", str(git.parent))
    assert found(shop) == {}
    assert not (tmp_path / "started").exists()
    (shop.folder / ".git" / "refs" / "entire").mkdir()
    assert found(shop) == {}
    assert (tmp_path / "started").exists()
