"""Archives: what is written comes back byte for byte, is listed and logged, and goes as a whole, whatever goes wrong on the way. Where
somebody has changed one, that is found, and what is sound comes back where that is asked for."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.retention_kit.holds import ITEM, PROJECT, SESSION, Hold
from popkit_retention.governance import BadRequest, GovernanceDamaged, GovernanceError, ResourceNotFound, ResourceOnHold, archives, restores
from popkit_retention.governance.domains import Content
from popkit_retention.governance.manifests import CONTENTS, MANIFEST
from tests.governance.collectors import LONG, NOISE, Workspace, path_of, sealed
from tests.governance.stored import NOW, KeptDomain, Thing


def test_an_archive_has_a_manifest_that_anybody_can_check(workspace: Workspace):
    manifest = workspace.archive("aaaa", "bbbb", note="before the audit")
    assert re.fullmatch(r"rag-20261122T233000Z-[a-z0-9]{6}", manifest.archive_id)
    from_disk = json.loads(path_of(workspace, manifest.archive_id, MANIFEST).read_text())
    sha256 = from_disk.pop("sha256")
    assert hashlib.sha256(json.dumps(from_disk, sort_keys=True, separators=(",", ":")).encode()).hexdigest() == sha256 == manifest.sha256
    items = from_disk.pop("items")
    contents = path_of(workspace, manifest.archive_id, CONTENTS).read_bytes()
    assert from_disk == {
        "version": 1, "archive_id": manifest.archive_id, "domain": "rag", "created_at": "2026-11-22T23:30:00.000Z", "by": "user",
        "note": "before the audit", "policy": workspace.policy.to_json(), "resource_count": 2, "total_size_bytes": 1300,
        "stored_size_bytes": len(contents),
    }  # fmt: skip
    assert [(item["id"], item["size"], item["compressed"]) for item in items] == [("aaaa", 1000, True), ("bbbb", 300, False)]
    for item, data in zip(items, (LONG, NOISE)):
        stored = contents[item["offset"] : item["offset"] + item["stored_size"]]
        assert hashlib.sha256(stored).hexdigest() == item["stored_sha256"]
        assert (zlib.decompress(stored) if item["compressed"] else stored) == data
        assert hashlib.sha256(data).hexdigest() == item["sha256"]
    assert workspace.domain.things.keys() == {"aaaa", "bbbb", "cccc", "dddd"}, "what is archived stays where it is"


def test_archives_are_private_and_have_no_leftovers_beside_them(workspace: Workspace):
    before = os.umask(0)
    try:
        manifest = workspace.archive("aaaa")
    finally:
        os.umask(before)
    assert archives.names(workspace.folder) == [manifest.archive_id]
    assert sorted(path.name for path in path_of(workspace, manifest.archive_id).iterdir()) == [CONTENTS, MANIFEST]
    assert stat.S_IMODE(path_of(workspace, manifest.archive_id).stat().st_mode) == 0o700
    assert [stat.S_IMODE(path_of(workspace, manifest.archive_id, name).stat().st_mode) for name in (CONTENTS, MANIFEST)] == [0o600, 0o600]


@given(st.dictionaries(st.text("abc", min_size=1, max_size=6), st.binary(max_size=500), min_size=1, max_size=12))
def test_what_is_archived_and_deleted_comes_back_byte_for_byte(tmp_path_factory, contents: dict[str, bytes]):
    workspace = Workspace(tmp_path_factory.mktemp("home"), KeptDomain({id: Thing(data) for id, data in contents.items()}))
    with closing(workspace.log):
        manifest = workspace.archive(*contents)
        workspace.domain.things.clear()
        done = workspace.restore(manifest.archive_id)
    assert (done.restored, done.already, done.damaged) == (list(contents), [], [])
    assert {id: thing.data for id, thing in workspace.domain.things.items()} == contents


def test_what_is_there_already_stays_as_it_is_and_is_reported(workspace: Workspace):
    manifest = workspace.archive("aaaa", "bbbb")
    workspace.domain.things["aaaa"].data = b"newer"
    del workspace.domain.things["bbbb"]
    done = workspace.restore(manifest.archive_id)
    assert (done.restored, done.already) == (["bbbb"], ["aaaa"])
    assert workspace.domain.things["aaaa"].data == b"newer"
    assert workspace.domain.things["bbbb"].session == "session-2"
    assert workspace.logged("restored") == [["bbbb"]]
    assert workspace.restore(manifest.archive_id).restored == []
    assert workspace.logged("restored") == [["bbbb"]]


def test_ids_that_are_unknown_or_given_twice_are_passed_over(workspace: Workspace):
    manifest = workspace.archive("cccc", "unknown", "aaaa", "cccc")
    assert [item.id for item in manifest.items] == ["cccc", "aaaa"]
    with pytest.raises(ResourceNotFound, match="nothing to archive"):
        workspace.archive("unknown")
    assert archives.names(workspace.folder) == [manifest.archive_id]


def test_an_archive_is_in_the_log_and_in_the_list(workspace: Workspace):
    first = workspace.archive("aaaa", "dddd", note="key sk-ant-api03-" + "x" * 90)
    second = workspace.archive("bbbb", now=NOW + 1)
    assert [summary["archive_id"] for summary in archives.summaries(workspace.folder)] == [second.archive_id, first.archive_id]
    assert archives.summaries(workspace.folder)[1] == first.summary()
    [_, entry] = workspace.log.entries(action="archived")
    assert entry.ids == ["aaaa", "dddd"]
    assert entry.details["sha256"] == first.sha256
    assert "xxxx" not in json.dumps([first.note, entry.details]), "secrets are masked"
    assert workspace.log.unfinished() == []


@pytest.mark.parametrize("note", ["two\nlines", "\x1b[31m", "x" * 1001])
def test_a_note_is_one_line(workspace: Workspace, note: str):
    with pytest.raises(BadRequest, match="one line"):
        workspace.archive("aaaa", note=note)
    assert workspace.log.count() == 0


# --- what goes wrong --------------------------------------------------------------------------------------------------------------


class Failing(KeptDomain):
    """A domain that breaks on the way."""

    def contents(self, ids):
        yield Content("aaaa", b"x")
        raise OSError(28, "No space left on device")


def test_an_archive_that_cannot_be_written_leaves_nothing(tmp_path: Path):
    workspace = Workspace(tmp_path / "home", Failing())
    with closing(workspace.log):
        with pytest.raises(GovernanceError, match=r"cannot be written: No space left on device\. Nothing was changed"):
            workspace.archive("aaaa")
        assert (archives.names(workspace.folder), workspace.log.count()) == ([], 0)


def test_an_archive_that_was_never_logged_is_swept_by_the_next_one(workspace: Workspace):
    unfinished = Path(workspace.folder.archives, ".new-rag-20261122T233000Z-aaaaaa")
    unfinished.mkdir(parents=True)
    (unfinished / CONTENTS).write_bytes(b"x")
    Path(workspace.folder.archives, ".new-link").symlink_to(workspace.folder.state)
    assert workspace.verify() == []
    manifest = workspace.archive("aaaa")
    assert archives.names(workspace.folder) == [manifest.archive_id]
    assert Path(workspace.folder.state).is_dir()


def test_what_cannot_be_logged_leaves_no_archive(workspace: Workspace):
    with pytest.raises(BadRequest, match="the log takes texts"):
        archives.archive(workspace.folder, workspace.changing, workspace.domain, ["aaaa"], workspace.policy, NOW, by="\ud800")
    assert archives.names(workspace.folder) == []


def test_an_archive_that_was_logged_is_not_swept(workspace: Workspace):
    logged = Path(workspace.folder.archives, ".new-rag-20261122T233000Z-aaaaaa")
    logged.mkdir(parents=True)
    workspace.log.append("archived", "rag", [], {}, "user", NOW, {"do": "archive", "archive_id": "rag-20261122T233000Z-aaaaaa"})
    assert archives.sweep(workspace.folder, workspace.log) == 0
    assert logged.is_dir()


def test_a_file_where_the_folder_of_archives_should_be_is_reported(workspace: Workspace):
    manifest = workspace.archive("aaaa")
    shutil.rmtree(workspace.folder.archives)
    Path(workspace.folder.archives).write_text("")
    works = [
        lambda: archives.summaries(workspace.folder),
        lambda: archives.sweep(workspace.folder, workspace.log),
        workspace.verify,
        lambda: workspace.archive("aaaa"),
    ]
    for work in works:
        with pytest.raises(GovernanceError, match="must be a readable folder"):
            work()
    with pytest.raises(ResourceNotFound, match="there is no archive"):
        workspace.restore(manifest.archive_id)
    assert workspace.log.unfinished() == []


def test_an_operation_whose_archive_is_gone_is_given_up_and_logged(workspace: Workspace):
    manifest = workspace.archive("aaaa")
    todo = {"do": "restore", "archive_id": manifest.archive_id, "ids": ["aaaa"]}
    entry = workspace.log.append("restored", "rag", ["aaaa"], {"archive_id": manifest.archive_id}, "user", NOW, todo)
    path_of(workspace, manifest.archive_id, MANIFEST).unlink()
    restores.finish_restore(workspace.folder, workspace.domain, workspace.log, entry, NOW)
    lost = workspace.log.append(
        "archived", "rag", [], {"archive_id": "x"}, "user", NOW, {"do": "archive", "archive_id": "rag-20261122T233000Z-aaaaaa"}
    )
    archives.finish_archive(workspace.folder, workspace.domain, workspace.log, lost, NOW)
    assert workspace.log.unfinished() == []
    assert [each.details["of"] for each in workspace.log.entries(action="abandoned")] == [lost.number, entry.number]


def test_an_archive_that_is_not_finished_or_was_given_up_is_no_problem(workspace: Workspace):
    todo = {"do": "archive", "archive_id": "rag-20261122T233000Z-aaaaaa"}
    workspace.log.append("archived", "rag", [], {"archive_id": todo["archive_id"]}, "user", NOW, todo)
    assert workspace.verify() == []
    with workspace.changing():
        assert workspace.log.entries(action="abandoned")
    assert workspace.verify() == []


def test_a_restore_that_is_finished_brings_back_what_was_logged_and_nothing_else(workspace: Workspace):
    manifest = workspace.archive("aaaa", "bbbb", "dddd")
    workspace.domain.things.clear()
    todo = {"do": "restore", "archive_id": manifest.archive_id, "ids": ["bbbb"]}
    workspace.log.append("restored", "rag", ["bbbb"], {"archive_id": manifest.archive_id}, "user", NOW - 5, todo)
    with workspace.changing():
        assert {id: thing.at for id, thing in workspace.domain.things.items()} == {"bbbb": NOW - 5}


def test_an_archive_is_of_one_domain(workspace: Workspace):
    manifest = workspace.archive("aaaa")
    workspace.domain.name = "memory"
    with pytest.raises(BadRequest, match="is of the domain rag, not memory"):
        workspace.restore(manifest.archive_id)


def test_many_small_resources_are_two_files(workspace: Workspace):
    workspace.domain.things = {f"thing{number:04}": Thing(b"%d" % number) for number in range(1000)}
    progress: list[tuple[str, int, int]] = []
    everything = list(workspace.domain.things)
    manifest = archives.archive(
        workspace.folder, workspace.changing, workspace.domain, everything, workspace.policy, NOW, "user",
        progress=lambda *what: progress.append(what),
    )  # fmt: skip
    assert len(list(path_of(workspace, manifest.archive_id).iterdir())) == 2
    assert progress[-1] == ("archived", 1000, 1000)
    workspace.domain.things.clear()
    assert workspace.restore(manifest.archive_id, most=300).restored == everything
    assert [len(ids) for ids in workspace.logged("restored")] == [300, 300, 300, 100]


def test_a_removed_archive_is_gone_and_nothing_misses_it(workspace: Workspace):
    kept, manifest = workspace.archive("aaaa"), workspace.archive("bbbb")
    assert workspace.remove(manifest.archive_id)["resource_count"] == 1
    assert [path.name for path in Path(workspace.folder.archives).iterdir()] == [kept.archive_id]
    assert workspace.logged("removed") == [["bbbb"]]
    assert workspace.verify() == []
    with pytest.raises(ResourceNotFound):
        workspace.remove(manifest.archive_id)


def test_a_damaged_archive_can_be_removed_and_so_can_one_whose_folder_is_gone(workspace: Workspace):
    damaged, gone = workspace.archive("aaaa"), workspace.archive("bbbb")
    path_of(workspace, damaged.archive_id, MANIFEST).write_bytes(b"{}")
    shutil.rmtree(path_of(workspace, gone.archive_id))
    assert len(workspace.verify()) == 2
    workspace.remove(damaged.archive_id)
    workspace.remove(gone.archive_id)
    assert workspace.verify() == []


@pytest.mark.parametrize(("scope", "target"), [(ITEM, "aaaa"), (SESSION, "session-1"), (PROJECT, "any")])
def test_an_archive_stays_while_a_hold_could_be_about_what_it_has(workspace: Workspace, scope: str, target: str):
    manifest = workspace.archive("aaaa")
    workspace.domain.add_hold(Hold("h1", scope, target, "Ada", "the audit", NOW, NOW + 10))
    with pytest.raises(ResourceOnHold, match="Ada: the audit"):
        workspace.remove(manifest.archive_id)
    assert workspace.verify() == []
    assert workspace.remove(manifest.archive_id, NOW + 10)


def test_a_removal_that_was_cut_short_is_finished(workspace: Workspace):
    manifest = workspace.archive("aaaa")
    workspace.log.append(
        "removed", "rag", ["aaaa"], {"archive_id": manifest.archive_id}, "user", NOW, {"do": "remove", "archive_id": manifest.archive_id}
    )
    assert workspace.gc().params
    with workspace.changing():
        assert list(Path(workspace.folder.archives).iterdir()) == []
    assert workspace.log.unfinished() == []
    assert workspace.verify() == []


# --- archives that somebody has changed ---------------------------------------------------------------------------------------------------


def test_a_flipped_byte_anywhere_is_found(workspace: Workspace, count: Callable[[int, int], int]):
    manifest = workspace.archive("aaaa", "dddd", "cccc")
    assert workspace.verify() == []
    flips = 0
    for name in (CONTENTS, MANIFEST):
        path = path_of(workspace, manifest.archive_id, name)
        data = path.read_bytes()
        for at in range(len(data)):
            for bit in range(8) if count(0, 1) else (at % 8,):
                path.write_bytes(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :])
                assert workspace.verify(), f"byte {at} of {name}"
                flips += 1
        path.write_bytes(data)
    assert workspace.verify() == []
    assert flips > 1000


def test_a_flipped_bit_in_a_name_is_found(workspace: Workspace):
    manifest = workspace.archive("aaaa")
    for path in (path_of(workspace, manifest.archive_id), *path_of(workspace, manifest.archive_id).iterdir()):
        for at in range(len(path.name)):
            for bit in range(8):
                name = bytearray(path.name.encode())
                name[at] ^= 1 << bit
                if name[at] in b"\0/":
                    continue
                other = Path(os.fsdecode(os.fsencode(path.parent) + b"/" + bytes(name)))
                path.rename(other)
                assert workspace.verify(read_data=False), other
                other.rename(path)
    assert workspace.verify() == []


@pytest.mark.parametrize("cut", [slice(0, -1), slice(0, 0), slice(1, None)])
@pytest.mark.parametrize("name", [CONTENTS, MANIFEST])
def test_a_file_of_another_length_is_found_without_reading_the_data(workspace: Workspace, name: str, cut: slice):
    path = path_of(workspace, workspace.archive("aaaa").archive_id, name)
    data = path.read_bytes()
    path.write_bytes(data[cut])
    assert workspace.verify(read_data=False)
    path.write_bytes(data + b"\n")
    assert workspace.verify(read_data=False)


@pytest.mark.parametrize("name", [CONTENTS, MANIFEST])
def test_what_is_missing_is_named(workspace: Workspace, name: str):
    manifest = workspace.archive("aaaa")
    path_of(workspace, manifest.archive_id, name).unlink()
    [problem] = workspace.verify(read_data=False)
    assert (problem.where, name in problem.what, "is missing" in problem.what) == (manifest.archive_id, True, True)


def test_the_log_tells_of_an_archive_that_was_removed_or_exchanged(workspace: Workspace):
    first, second = workspace.archive("aaaa"), workspace.archive("aaaa", "bbbb")
    path_of(workspace, first.archive_id).rename(workspace.folder.archives + "/gone")
    problems = dict(workspace.verify())
    assert problems.keys() == {first.archive_id, "gone"}
    assert "there is no archive" in problems[first.archive_id]
    value = json.loads(path_of(workspace, second.archive_id, MANIFEST).read_text())
    path_of(workspace, second.archive_id, MANIFEST).write_bytes(sealed({**value, "note": "another"}))
    assert dict(workspace.verify())[second.archive_id] == "the manifest is not the one that was logged"


def test_an_archive_that_was_never_logged_is_reported(workspace: Workspace):
    manifest = workspace.archive("aaaa")
    value = json.loads(path_of(workspace, manifest.archive_id, MANIFEST).read_text())
    other = manifest.archive_id[:-6] + "zzzzzz"
    shutil.copytree(path_of(workspace, manifest.archive_id), path_of(workspace, other))
    path_of(workspace, other, MANIFEST).write_bytes(sealed({**value, "archive_id": other}))
    assert workspace.verify() == [restores.Problem(other, "the log does not know it")]


def test_a_damaged_archive_restores_nothing_unless_what_is_sound_is_asked_for(workspace: Workspace):
    manifest = workspace.archive("aaaa", "bbbb", "dddd")
    workspace.domain.things.clear()
    path = path_of(workspace, manifest.archive_id, CONTENTS)
    data = bytearray(path.read_bytes())
    data[manifest.items[1].offset] ^= 1
    path.write_bytes(data)
    with pytest.raises(GovernanceDamaged, match=r"1 of 3 contents .* \(bbbb\)\. Nothing was restored\. To bring back the rest: .* --sound"):
        workspace.restore(manifest.archive_id)
    assert (workspace.domain.things, workspace.logged("restored")) == ({}, [])
    done = workspace.restore(manifest.archive_id, sound_only=True)
    assert (done.restored, done.damaged) == (["aaaa", "dddd"], ["bbbb"])
