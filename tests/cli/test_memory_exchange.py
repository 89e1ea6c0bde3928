"""`popkit memory export` and `import`: whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.remembered import Remembered

HOSTILE = "run \x1b[31mmake\x1b]0;owned\x07 \u202etset\u202c\u200b\r\nthen\tstop \U000e0041 é"


def test_what_is_exported_can_be_taken_in_elsewhere(filled: Remembered, tmp_path: Path) -> None:
    filled.memory("export", str(tmp_path / "out.jsonl"))
    assert filled.memory("export") == (tmp_path / "out.jsonl").read_text()
    before = filled.exported()
    (tmp_path / "elsewhere").mkdir()
    other = Remembered(tmp_path / "elsewhere")
    other.now = filled.now
    assert other.json("import", str(tmp_path / "out.jsonl"))["items"] == len(before)
    assert other.exported() == before
    assert other.json("import", "-", "--missing", stdin=filled.memory("export"))["items"] == 0


def _cut(lines: list[str]) -> bytes:
    return "\n".join(lines[:-2]).encode()


def _twice(lines: list[str]) -> bytes:
    return "\n".join([*lines[:-1], lines[1], lines[-1]]).encode()


def _changed(lines: list[str]) -> bytes:
    return "\n".join(lines).replace("make check", "rm -rf /").encode()


def _foreign(lines: list[str]) -> bytes:
    return b'{"some": "thing"}\n' * 3


def _not_text(lines: list[str]) -> bytes:
    return bytes(range(128, 256)) * 10


@pytest.mark.parametrize("spoil", [_cut, _twice, _changed, _foreign, _not_text, lambda lines: b""])
def test_an_import_that_fails_leaves_all_as_it_was(filled: Remembered, tmp_path: Path, spoil) -> None:
    path = tmp_path / "spoilt.jsonl"
    path.write_bytes(spoil(filled.memory("export").splitlines()))
    (tmp_path / "elsewhere").mkdir()
    other = Remembered(tmp_path / "elsewhere")
    other.now = filled.now
    other.add("what was there")
    before = other.exported()
    other.mistake("import", str(path))
    other.mistake("import", "-", stdin=path.read_bytes())
    assert other.exported() == before


def test_what_is_there_already_is_not_taken_in_twice(filled: Remembered) -> None:
    before = filled.exported()
    said = filled.mistake("import", "-", stdin=filled.memory("export"))
    assert "--missing skips what is there" in " ".join(said.split())
    assert filled.exported() == before


def test_an_export_that_cannot_be_written_says_so(filled: Remembered) -> None:
    assert "No such file" in filled.mistake("export", "no/such/file")
    assert "not a regular file" in filled.mistake("export", str(filled.project))
    assert not list(filled.project.glob("*.tmp"))


def test_an_export_replaces_files_alone(filled: Remembered, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "not a regular file" in filled.mistake("export", str(pipe))
    assert pipe.is_fifo(), "so would a device have been"
