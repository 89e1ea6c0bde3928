"""Entire's checkpoints: the last of a session counts, whoever's session it is; what is beside them is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hooks.utils.hosts import entire, recordings
from popkit_retention.lab import survey
from popkit_retention.operations.sessions import NoSession, check
from popkit_retention.parallel.sources import find
from tests.hosts.rollouts import worked


def checkpoint(folder: Path, data: bytes, session: str = "s1", made: str = "2026-09-21T10:00:00Z") -> Path:
    """A checkpoint as Entire lays it down."""
    folder.mkdir(parents=True)
    (folder / "full.jsonl").write_bytes(data)
    (folder / "transcript.jsonl").write_text('{"v":1,"agent":"codex","type":"user","content":[{"text":"go"}]}\n')
    (folder / "metadata.json").write_text(json.dumps({"session_id": session, "created_at": made, "agent": "Codex"}))
    return folder / "full.jsonl"


def found_in(folder: Path) -> tuple[list[str], list[str]]:
    skipped: list[str] = []
    found = [source.address for source in find([str(folder)], lambda _, reason: skipped.append(reason))]
    return found, sorted(set(skipped))


def test_of_the_checkpoints_of_a_session_the_last_counts(tmp_path) -> None:
    data = worked().data()
    checkpoint(tmp_path / "ab" / "1" / "0", data[: len(data) // 2])
    last = checkpoint(tmp_path / "cd" / "2" / "0", data, made="2026-09-21T11:00:00Z")
    other = checkpoint(tmp_path / "cd" / "2" / "1", data, session="s2")
    found, skipped = found_in(tmp_path)
    assert sorted(found) == sorted([str(last), str(other)])
    assert skipped == ["an earlier checkpoint of a session that is there", "the condensed copy of a checkpoint, without results"]
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
