"""Archives that somebody hostile has written: nothing gets further than an error."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.governance import BadRequest, GovernanceDamaged, GovernanceTooNew, ResourceNotFound, archives, manifests
from popkit_retention.governance.manifests import CONTENTS, MANIFEST
from tests.governance.collectors import Workspace, path_of, sealed


@pytest.mark.parametrize(
    "archive_id",
    ["", "..", "../../etc", "/etc/passwd", "rag", "rag-20261122T233000Z-k3f9a2/..", "rag-20261122T233000Z-k3f9a2\n",
     "rag-20261122T233000Z-K3F9A2",
     "rag-２0261122T233000Z-k3f9a2", "audit-20261122T233000Z-k3f9a2", "rag-20261122T233000Z-k3f9a2\0", 7, None,
     ["rag"]],
)  # fmt: skip
def test_what_is_not_an_archives_id_is_refused(workspace: Workspace, archive_id: object):
    with pytest.raises(BadRequest, match="is not the id of an archive"):
        manifests.read(workspace.folder, archive_id)


def test_an_unknown_archive_is_not_there(workspace: Workspace):
    with pytest.raises(ResourceNotFound, match="there is no archive rag-20261122T233000Z-aaaaaa"):
        workspace.restore("rag-20261122T233000Z-aaaaaa")


@pytest.mark.parametrize("name", ["", CONTENTS, MANIFEST])
def test_no_link_is_followed(workspace: Workspace, tmp_path: Path, name: str):
    manifest = workspace.archive("aaaa")
    path = path_of(workspace, manifest.archive_id, *filter(None, [name]))
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(GovernanceDamaged):
        workspace.restore(manifest.archive_id)
    assert workspace.verify()


@pytest.mark.parametrize("name", [CONTENTS, MANIFEST])
def test_what_is_no_file_is_not_waited_for(workspace: Workspace, name: str):
    manifest = workspace.archive("aaaa")
    path_of(workspace, manifest.archive_id, name).unlink()
    os.mkfifo(path_of(workspace, manifest.archive_id, name))
    with pytest.raises(GovernanceDamaged):
        workspace.restore(manifest.archive_id)


def test_a_later_version_is_not_guessed_at(workspace: Workspace):
    manifest = workspace.archive("aaaa")
    path = path_of(workspace, manifest.archive_id, MANIFEST)
    path.write_bytes(sealed({**json.loads(path.read_text()), "version": 2, "more": 1}))
    with pytest.raises(GovernanceTooNew, match="Update PopKit"):
        workspace.restore(manifest.archive_id)
    assert "problem" in archives.summaries(workspace.folder)[0]


def _in_manifest(**keys: object) -> Callable[[dict], dict]:
    return lambda value: {**value, **keys}


def _in_item(**keys: object) -> Callable[[dict], dict]:
    return lambda value: {**value, "items": [{**value["items"][0], **keys}, *value["items"][1:]]}


def _in_last_item(by: dict[str, int], **keys: object) -> Callable[[dict], dict]:
    """Changes the last item, and the totals so that they fit."""
    return lambda value: {
        **value,
        **{key: value[key] + more for key, more in by.items()},
        "items": [*value["items"][:-1], {**value["items"][-1], **keys}],
    }


HOSTILE: dict[str, Callable[[dict], object]] = {
    "another id": _in_manifest(archive_id="rag-20261122T233000Z-aaaaaa"),
    "another domain": _in_manifest(domain="memory"),
    "an older version": _in_manifest(version=0),
    "a version that is a flag": _in_manifest(version=True),
    "a key too many": _in_manifest(extra=1),
    "a key too few": lambda value: {key: each for key, each in value.items() if key != "note"},
    "items that are no list": _in_manifest(items={}),
    "an item that is no object": lambda value: {**value, "items": [1]},
    "counts that lie": _in_manifest(resource_count=1),
    "a total that lies": _in_manifest(total_size_bytes=1),
    "a policy of another type": _in_manifest(policy=[]),
    "a size that is negative": _in_item(size=-1),
    "a size that is huge": _in_item(size=2**40),
    "a size that is a fraction": _in_item(size=1.5),
    "a size of too many digits": _in_item(size=10**4000),
    "an offset elsewhere": _in_item(offset=5),
    "an id that is a path": _in_item(id="../\n"),
    "an id of another type": _in_item(id=7),
    "an empty id": _in_item(id=""),
    "the same id twice": _in_item(id="bbbb"),
    "a hash of another form": _in_item(sha256="A" * 64),
    "about of another type": _in_item(about=None),
    "stored larger than it is": _in_item(stored_size=2000),
    "kept as it is, and of another size": _in_last_item({"total_size_bytes": -1}, size=299),
    "compressed to more than it was": _in_last_item({"stored_size_bytes": 1}, stored_size=301, compressed=True),
    "a list": lambda value: [value],
    "nothing": lambda value: {},
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_manifest_with_the_right_hash_is_refused(workspace: Workspace, change: Callable[[dict], object]):
    manifest = workspace.archive("aaaa", "bbbb")
    path = path_of(workspace, manifest.archive_id, MANIFEST)
    hostile = change(json.loads(path.read_text()))
    path.write_bytes(
        sealed(hostile) if isinstance(hostile, dict) else b'{"sha256":"' + b"0" * 64 + b'",' + json.dumps(hostile).encode() + b"\n"
    )
    before = workspace.log.count()
    workspace.domain.things.clear()
    with pytest.raises(GovernanceDamaged):
        workspace.restore(manifest.archive_id, sound_only=True)
    assert (workspace.domain.things, workspace.log.count()) == ({}, before)
    assert workspace.verify()


@pytest.mark.parametrize(
    "body", ['{"a":' * 100_000, '{"a":[' + "[" * 100_000, '{"a":NaN}', '{"a":1e999}', '{"a":1,"a":2}', "{" + "\0" * 99, "{}"]
)
def test_json_that_no_archive_writes_is_refused(workspace: Workspace, body: str):
    manifest = workspace.archive("aaaa")
    data = body.encode()
    data = b'{"sha256":"' + hashlib.sha256(data).hexdigest().encode() + b'",' + data[1:] + b"\n"
    path_of(workspace, manifest.archive_id, MANIFEST).write_bytes(data)
    with pytest.raises(GovernanceDamaged, match=re.escape(manifest.archive_id)):
        manifests.read(workspace.folder, manifest.archive_id)


def test_a_manifest_of_a_gigabyte_is_not_read(workspace: Workspace):
    manifest = workspace.archive("aaaa")
    with path_of(workspace, manifest.archive_id, MANIFEST).open("r+b") as file:
        file.truncate(1 << 30)
    with pytest.raises(GovernanceDamaged, match="is larger than"):
        manifests.read(workspace.folder, manifest.archive_id)


@pytest.mark.parametrize("id", ["aaaa", "bbbb"])
def test_a_content_that_is_not_what_the_manifest_says_is_not_restored(workspace: Workspace, id: str):
    manifest = workspace.archive(id)
    path = path_of(workspace, manifest.archive_id, MANIFEST)
    path.write_bytes(sealed(_in_item(sha256="0" * 64)(json.loads(path.read_text()))))
    with pytest.raises(GovernanceDamaged, match="1 of 1 content in"):
        workspace.restore(manifest.archive_id)


def test_what_is_stored_in_no_form_that_can_be_read_is_not_restored(workspace: Workspace):
    manifest = workspace.archive("aaaa")
    size = manifest.stored_size_bytes
    path_of(workspace, manifest.archive_id, CONTENTS).write_bytes(b"x" * size)
    path = path_of(workspace, manifest.archive_id, MANIFEST)
    path.write_bytes(sealed(_in_item(stored_sha256=hashlib.sha256(b"x" * size).hexdigest())(json.loads(path.read_text()))))
    with pytest.raises(GovernanceDamaged, match="1 of 1 content in"):
        workspace.restore(manifest.archive_id)


def test_what_inflates_without_end_is_not_inflated(workspace: Workspace):
    manifest = workspace.archive("aaaa")
    bomb = zlib.compress(bytes(50_000_000))
    value = json.loads(path_of(workspace, manifest.archive_id, MANIFEST).read_text())
    item = {**value["items"][0], "size": len(bomb), "stored_size": len(bomb), "stored_sha256": hashlib.sha256(bomb).hexdigest()}
    sizes = {"total_size_bytes": len(bomb), "stored_size_bytes": len(bomb)}
    path_of(workspace, manifest.archive_id, MANIFEST).write_bytes(sealed({**value, "items": [item], **sizes}))
    path_of(workspace, manifest.archive_id, CONTENTS).write_bytes(bomb)
    tracemalloc.start()
    try:
        with pytest.raises(GovernanceDamaged, match="1 of 1 content in"):
            workspace.restore(manifest.archive_id)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@given(st.binary(max_size=300), st.booleans())
def test_no_bytes_make_the_reader_fail_in_another_way(data: bytes, with_hash: bool):
    if with_hash:
        data = b'{"sha256":"' + hashlib.sha256(b"{" + data).hexdigest().encode() + b'",' + data + b"\n"
    with pytest.raises((ValueError, GovernanceTooNew)):
        manifests.manifest_of(data, "rag-20261122T233000Z-aaaaaa")
