"""Transcripts of checkpoints: the last of each session, wherever it lies, byte by byte."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from popkit_retention.lab import survey
from tests.hosts.rollouts import worked

from .checkpoints import BRANCH, SESSION, Repository, files

CORPUS = Path(__file__).resolve().parents[2] / "benchmarks" / "corpus.py"
DATA = worked().data()
HALF = DATA[: len(DATA) // 2]
LATER = "2026-09-22T09:00:00+09:00"  # a day later, elsewhere


def convert(*words: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, CORPUS, "convert", *words], capture_output=True, text=True, check=False)


def transcripts(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def shop(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "shop")


def test_the_last_checkpoint_of_each_session_becomes_a_transcript(shop: Repository, tmp_path: Path) -> None:
    shop.commit(BRANCH, {**files(HALF, "ab/12/0/"), **files(DATA, "cd/34/0/", created_at=LATER), **files(DATA, "cd/34/1/", session="s2")})
    done = convert(shop.folder, tmp_path / "out")
    assert (done.returncode, done.stdout) == (0, f"2 transcripts in {tmp_path / 'out'}\n")
    assert transcripts(tmp_path / "out") == {f"{SESSION}.jsonl": DATA, "s2.jsonl": DATA}
    assert survey.survey([str(tmp_path / "out")], ["spec"], [300], 1)["sessions"] == 2


def test_folders_and_refs_are_read_as_well_as_branches(shop: Repository, tmp_path: Path) -> None:
    shop.checkpoint(HALF)
    for name, data in files(DATA, created_at=LATER).items():
        path = tmp_path / "published" / "0" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    convert(shop.folder, tmp_path / "one")
    assert transcripts(tmp_path / "one") == {f"{SESSION}.jsonl": HALF}
    convert(shop.folder, tmp_path / "published", tmp_path / "both")
    assert transcripts(tmp_path / "both") == {f"{SESSION}.jsonl": DATA}


def test_a_recording_that_was_cut_is_put_together(shop: Repository, tmp_path: Path) -> None:
    *first, last = DATA.rstrip(b"\n").split(b"\n")
    held = files(b"\n".join(first), "ab/12/0/")
    shop.commit(BRANCH, {**held, "ab/12/0/full.jsonl.001": last + b"\n"})
    convert(shop.folder, tmp_path / "out")
    assert transcripts(tmp_path / "out") == {f"{SESSION}.jsonl": DATA}


def test_sessions_of_other_agents_are_counted_and_nothing_is_an_error(shop: Repository, tmp_path: Path) -> None:
    shop.checkpoint(b"{}\n", agent="Another Agent")
    done = convert(shop.folder, tmp_path / "out")
    assert done.stdout.splitlines()[1] == "left out: 1 of Another Agent"
    assert done.returncode == 1
