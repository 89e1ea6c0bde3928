"""Archives that somebody has changed: whatever it is is found, and what is sound comes back where that is asked for."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from popkit_retention.governance import Damaged, restores
from popkit_retention.governance.manifests import CONTENTS, MANIFEST
from tests.governance.collectors import Desk, path_of, sealed


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
