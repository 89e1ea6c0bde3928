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

from hooks.utils.archive.chains import ITEM, PROJECT, SESSION, Hold
from popkit_retention.governance import BadRequest, Damaged, GovernanceError, NotThere, OnHold, archives, restores
from popkit_retention.governance.domains import Content
from popkit_retention.governance.manifests import CONTENTS, MANIFEST
from tests.governance.collectors import LONG, NOISE, Desk, path_of, sealed
from tests.governance.stored import NOW, KeptDomain, Thing


def test_an_archive_has_a_manifest_that_anybody_can_check(desk: Desk):
    made = desk.archive("aaaa", "bbbb", note="before the audit")
    assert re.fullmatch(r"rag-20261122T233000Z-[a-z0-9]{6}", made.archive_id)
    told = json.loads(path_of(desk, made.archive_id, MANIFEST).read_text())
    sha256 = told.pop("sha256")
    assert hashlib.sha256(json.dumps(told, sort_keys=True, separators=(",", ":")).encode()).hexdigest() == sha256 == made.sha256
    items = told.pop("items")
    contents = path_of(desk, made.archive_id, CONTENTS).read_bytes()
    assert told == {
        "version": 1, "archive_id": made.archive_id, "domain": "rag", "created_at": "2026-11-22T23:30:00.000Z", "by": "user",
        "note": "before the audit", "policy": desk.policy.to_json(), "resource_count": 2, "total_size_bytes": 1300,
        "stored_size_bytes": len(contents),
    }  # fmt: skip
    assert [(item["id"], item["size"], item["compressed"]) for item in items] == [("aaaa", 1000, True), ("bbbb", 300, False)]
    for item, data in zip(items, (LONG, NOISE)):
        stored = contents[item["offset"] : item["offset"] + item["stored_size"]]
        assert hashlib.sha256(stored).hexdigest() == item["stored_sha256"]
        assert (zlib.decompress(stored) if item["compressed"] else stored) == data
        assert hashlib.sha256(data).hexdigest() == item["sha256"]
    assert desk.domain.things.keys() == {"aaaa", "bbbb", "cccc", "dddd"}, "what is archived stays where it is"


def test_archives_are_private_and_no_leftover_stands_beside_them(desk: Desk):
    before = os.umask(0)
    try:
        made = desk.archive("aaaa")
    finally:
        os.umask(before)
    assert archives.names(desk.folder) == [made.archive_id]
    assert sorted(path.name for path in path_of(desk, made.archive_id).iterdir()) == [CONTENTS, MANIFEST]
    assert stat.S_IMODE(path_of(desk, made.archive_id).stat().st_mode) == 0o700
    assert [stat.S_IMODE(path_of(desk, made.archive_id, name).stat().st_mode) for name in (CONTENTS, MANIFEST)] == [0o600, 0o600]


@given(st.dictionaries(st.text("abc", min_size=1, max_size=6), st.binary(max_size=500), min_size=1, max_size=12))
def test_what_is_archived_and_deleted_comes_back_byte_for_byte(tmp_path_factory, contents: dict[str, bytes]):
    desk = Desk(tmp_path_factory.mktemp("home"), KeptDomain({id: Thing(data) for id, data in contents.items()}))
    with closing(desk.log):
        made = desk.archive(*contents)
        desk.domain.things.clear()
        done = desk.restore(made.archive_id)
    assert (done.restored, done.already, done.damaged) == (list(contents), [], [])
    assert {id: thing.data for id, thing in desk.domain.things.items()} == contents


def test_what_is_there_already_stays_as_it_is_and_is_told(desk: Desk):
    made = desk.archive("aaaa", "bbbb")
    desk.domain.things["aaaa"].data = b"newer"
    del desk.domain.things["bbbb"]
    done = desk.restore(made.archive_id)
    assert (done.restored, done.already) == (["bbbb"], ["aaaa"])
    assert desk.domain.things["aaaa"].data == b"newer"
    assert desk.domain.things["bbbb"].session == "session-2"
    assert desk.logged("restored") == [["bbbb"]]
    assert desk.restore(made.archive_id).restored == []
    assert desk.logged("restored") == [["bbbb"]]


def test_ids_that_are_unknown_or_given_twice_are_passed_over(desk: Desk):
    made = desk.archive("cccc", "unknown", "aaaa", "cccc")
    assert [item.id for item in made.items] == ["cccc", "aaaa"]
    with pytest.raises(NotThere, match="nothing to archive"):
        desk.archive("unknown")
    assert archives.names(desk.folder) == [made.archive_id]


def test_an_archive_is_in_the_log_and_in_the_list(desk: Desk):
    first = desk.archive("aaaa", "dddd", note="key sk-ant-api03-" + "x" * 90)
    second = desk.archive("bbbb", now=NOW + 1)
    assert [each["archive_id"] for each in archives.summaries(desk.folder)] == [second.archive_id, first.archive_id]
    assert archives.summaries(desk.folder)[1] == first.summary()
    [_, entry] = desk.log.entries(action="archived")
    assert entry.ids == ["aaaa", "dddd"]
    assert entry.details["sha256"] == first.sha256
    assert "xxxx" not in json.dumps([first.note, entry.details]), "secrets are masked"
    assert desk.log.unfinished() == []


@pytest.mark.parametrize("note", ["two\nlines", "\x1b[31m", "x" * 1001])
def test_a_note_is_one_line(desk: Desk, note: str):
    with pytest.raises(BadRequest, match="one line"):
        desk.archive("aaaa", note=note)
    assert desk.log.count() == 0


# --- what goes wrong --------------------------------------------------------------------------------------------------------------


class Failing(KeptDomain):
    """A domain that breaks on the way."""

    def contents(self, ids):
        yield Content("aaaa", b"x")
        raise OSError(28, "No space left on device")


def test_an_archive_that_cannot_be_written_leaves_nothing(tmp_path: Path):
    desk = Desk(tmp_path / "home", Failing())
    with closing(desk.log):
        with pytest.raises(GovernanceError, match=r"cannot be written: No space left on device\. Nothing was changed"):
            desk.archive("aaaa")
        assert (archives.names(desk.folder), desk.log.count()) == ([], 0)


def test_an_archive_that_was_never_logged_is_swept_by_the_next_one(desk: Desk):
    unfinished = Path(desk.folder.archives, ".new-rag-20261122T233000Z-aaaaaa")
    unfinished.mkdir(parents=True)
    (unfinished / CONTENTS).write_bytes(b"x")
    Path(desk.folder.archives, ".new-link").symlink_to(desk.folder.state)
    assert desk.verify() == []
    made = desk.archive("aaaa")
    assert archives.names(desk.folder) == [made.archive_id]
    assert Path(desk.folder.state).is_dir()


def test_what_cannot_be_logged_leaves_no_archive(desk: Desk):
    with pytest.raises(BadRequest, match="the log takes texts"):
        archives.archive(desk.folder, desk.changing, desk.domain, ["aaaa"], desk.policy, NOW, by="\ud800")
    assert archives.names(desk.folder) == []


def test_an_archive_that_was_logged_is_not_swept(desk: Desk):
    logged = Path(desk.folder.archives, ".new-rag-20261122T233000Z-aaaaaa")
    logged.mkdir(parents=True)
    desk.log.append("archived", "rag", [], {}, "user", NOW, {"do": "archive", "archive_id": "rag-20261122T233000Z-aaaaaa"})
    assert archives.sweep(desk.folder, desk.log) == 0
    assert logged.is_dir()


def test_a_file_where_the_folder_of_archives_should_be_is_told(desk: Desk):
    made = desk.archive("aaaa")
    shutil.rmtree(desk.folder.archives)
    Path(desk.folder.archives).write_text("")
    works = [
        lambda: archives.summaries(desk.folder),
        lambda: archives.sweep(desk.folder, desk.log),
        desk.verify,
        lambda: desk.archive("aaaa"),
    ]
    for work in works:
        with pytest.raises(GovernanceError, match="must be a readable folder"):
            work()
    with pytest.raises(NotThere, match="there is no archive"):
        desk.restore(made.archive_id)
    assert desk.log.unfinished() == []


def test_an_operation_whose_archive_is_gone_is_given_up_and_logged(desk: Desk):
    made = desk.archive("aaaa")
    todo = {"do": "restore", "archive_id": made.archive_id, "ids": ["aaaa"]}
    entry = desk.log.append("restored", "rag", ["aaaa"], {"archive_id": made.archive_id}, "user", NOW, todo)
    path_of(desk, made.archive_id, MANIFEST).unlink()
    restores.finish_restore(desk.folder, desk.domain, desk.log, entry, NOW)
    lost = desk.log.append(
        "archived", "rag", [], {"archive_id": "x"}, "user", NOW, {"do": "archive", "archive_id": "rag-20261122T233000Z-aaaaaa"}
    )
    archives.finish_archive(desk.folder, desk.domain, desk.log, lost, NOW)
    assert desk.log.unfinished() == []
    assert [each.details["of"] for each in desk.log.entries(action="abandoned")] == [lost.number, entry.number]


def test_an_archive_that_is_not_finished_or_was_given_up_is_no_problem(desk: Desk):
    todo = {"do": "archive", "archive_id": "rag-20261122T233000Z-aaaaaa"}
    desk.log.append("archived", "rag", [], {"archive_id": todo["archive_id"]}, "user", NOW, todo)
    assert desk.verify() == []
    with desk.changing():
        assert desk.log.entries(action="abandoned")
    assert desk.verify() == []


def test_a_restore_that_is_finished_brings_back_what_was_logged_and_nothing_else(desk: Desk):
    made = desk.archive("aaaa", "bbbb", "dddd")
    desk.domain.things.clear()
    todo = {"do": "restore", "archive_id": made.archive_id, "ids": ["bbbb"]}
    desk.log.append("restored", "rag", ["bbbb"], {"archive_id": made.archive_id}, "user", NOW - 5, todo)
    with desk.changing():
        assert {id: thing.at for id, thing in desk.domain.things.items()} == {"bbbb": NOW - 5}


def test_an_archive_is_of_one_domain(desk: Desk):
    made = desk.archive("aaaa")
    desk.domain.name = "memory"
    with pytest.raises(BadRequest, match="is of the domain rag, not memory"):
        desk.restore(made.archive_id)


def test_many_small_resources_are_two_files(desk: Desk):
    desk.domain.things = {f"thing{number:04}": Thing(b"%d" % number) for number in range(1000)}
    told: list[tuple[str, int, int]] = []
    everything = list(desk.domain.things)
    made = archives.archive(
        desk.folder, desk.changing, desk.domain, everything, desk.policy, NOW, "user", progress=lambda *what: told.append(what)
    )  # fmt: skip
    assert len(list(path_of(desk, made.archive_id).iterdir())) == 2
    assert told[-1] == ("archived", 1000, 1000)
    desk.domain.things.clear()
    assert desk.restore(made.archive_id, most=300).restored == everything
    assert [len(ids) for ids in desk.logged("restored")] == [300, 300, 300, 100]


def test_a_removed_archive_is_gone_and_nothing_misses_it(desk: Desk):
    kept, made = desk.archive("aaaa"), desk.archive("bbbb")
    assert desk.remove(made.archive_id)["resource_count"] == 1
    assert [each.name for each in Path(desk.folder.archives).iterdir()] == [kept.archive_id]
    assert desk.logged("removed") == [["bbbb"]]
    assert desk.verify() == []
    with pytest.raises(NotThere):
        desk.remove(made.archive_id)


def test_a_damaged_archive_can_be_removed_and_so_can_one_whose_folder_is_gone(desk: Desk):
    damaged, gone = desk.archive("aaaa"), desk.archive("bbbb")
    path_of(desk, damaged.archive_id, MANIFEST).write_bytes(b"{}")
    shutil.rmtree(path_of(desk, gone.archive_id))
    assert len(desk.verify()) == 2
    desk.remove(damaged.archive_id)
    desk.remove(gone.archive_id)
    assert desk.verify() == []


@pytest.mark.parametrize(("scope", "target"), [(ITEM, "aaaa"), (SESSION, "session-1"), (PROJECT, "any")])
def test_an_archive_stays_while_a_hold_could_be_about_what_it_has(desk: Desk, scope: str, target: str):
    made = desk.archive("aaaa")
    desk.domain.add_hold(Hold("h1", scope, target, "Ada", "the audit", NOW, NOW + 10))
    with pytest.raises(OnHold, match="Ada: the audit"):
        desk.remove(made.archive_id)
    assert desk.verify() == []
    assert desk.remove(made.archive_id, NOW + 10)


def test_a_removal_that_was_cut_short_is_finished(desk: Desk):
    made = desk.archive("aaaa")
    desk.log.append(
        "removed", "rag", ["aaaa"], {"archive_id": made.archive_id}, "user", NOW, {"do": "remove", "archive_id": made.archive_id}
    )
    assert desk.gc().params
    with desk.changing():
        assert list(Path(desk.folder.archives).iterdir()) == []
    assert desk.log.unfinished() == []
    assert desk.verify() == []


# --- archives that somebody has changed ---------------------------------------------------------------------------------------------------


def test_a_flipped_byte_anywhere_is_found(desk: Desk, count: Callable[[int, int], int]):
    made = desk.archive("aaaa", "dddd", "cccc")
    assert desk.verify() == []
    flips = 0
    for name in (CONTENTS, MANIFEST):
        path = path_of(desk, made.archive_id, name)
        data = path.read_bytes()
        for at in range(len(data)):
            for bit in range(8) if count(0, 1) else (at % 8,):
                path.write_bytes(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :])
                assert desk.verify(), f"byte {at} of {name}"
                flips += 1
        path.write_bytes(data)
    assert desk.verify() == []
    assert flips > 1000


def test_a_flipped_bit_in_a_name_is_found(desk: Desk):
    made = desk.archive("aaaa")
    for path in (path_of(desk, made.archive_id), *path_of(desk, made.archive_id).iterdir()):
        for at in range(len(path.name)):
            for bit in range(8):
                name = bytearray(path.name.encode())
                name[at] ^= 1 << bit
                if name[at] in b"\0/":
                    continue
                other = Path(os.fsdecode(os.fsencode(path.parent) + b"/" + bytes(name)))
                path.rename(other)
                assert desk.verify(read_data=False), other
                other.rename(path)
    assert desk.verify() == []


@pytest.mark.parametrize("cut", [slice(0, -1), slice(0, 0), slice(1, None)])
@pytest.mark.parametrize("name", [CONTENTS, MANIFEST])
def test_a_file_of_another_length_is_found_without_reading_the_data(desk: Desk, name: str, cut: slice):
    path = path_of(desk, desk.archive("aaaa").archive_id, name)
    data = path.read_bytes()
    path.write_bytes(data[cut])
    assert desk.verify(read_data=False)
    path.write_bytes(data + b"\n")
    assert desk.verify(read_data=False)


@pytest.mark.parametrize("name", [CONTENTS, MANIFEST])
def test_what_is_missing_is_named(desk: Desk, name: str):
    made = desk.archive("aaaa")
    path_of(desk, made.archive_id, name).unlink()
    [problem] = desk.verify(read_data=False)
    assert (problem.where, name in problem.what, "is missing" in problem.what) == (made.archive_id, True, True)


def test_an_archive_that_was_removed_or_exchanged_is_told_by_the_log(desk: Desk):
    first, second = desk.archive("aaaa"), desk.archive("aaaa", "bbbb")
    path_of(desk, first.archive_id).rename(desk.folder.archives + "/gone")
    told = dict(desk.verify())
    assert told.keys() == {first.archive_id, "gone"}
    assert "there is no archive" in told[first.archive_id]
    value = json.loads(path_of(desk, second.archive_id, MANIFEST).read_text())
    path_of(desk, second.archive_id, MANIFEST).write_bytes(sealed({**value, "note": "another"}))
    assert dict(desk.verify())[second.archive_id] == "the manifest is not the one that was logged"


def test_an_archive_that_was_never_logged_is_told(desk: Desk):
    made = desk.archive("aaaa")
    value = json.loads(path_of(desk, made.archive_id, MANIFEST).read_text())
    other = made.archive_id[:-6] + "zzzzzz"
    shutil.copytree(path_of(desk, made.archive_id), path_of(desk, other))
    path_of(desk, other, MANIFEST).write_bytes(sealed({**value, "archive_id": other}))
    assert desk.verify() == [restores.Problem(other, "the log does not know it")]


def test_a_damaged_archive_restores_nothing_unless_what_is_sound_is_asked_for(desk: Desk):
    made = desk.archive("aaaa", "bbbb", "dddd")
    desk.domain.things.clear()
    path = path_of(desk, made.archive_id, CONTENTS)
    data = bytearray(path.read_bytes())
    data[made.items[1].offset] ^= 1
    path.write_bytes(data)
    with pytest.raises(Damaged, match=r"1 of the 3 contents .* \(bbbb\)\. Nothing was restored\. To bring back the rest: .* --sound"):
        desk.restore(made.archive_id)
    assert (desk.domain.things, desk.logged("restored")) == ({}, [])
    done = desk.restore(made.archive_id, sound_only=True)
    assert (done.restored, done.damaged) == (["aaaa", "dddd"], ["bbbb"])
