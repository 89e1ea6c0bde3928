"""What is noted for a session that does not run is kept whole, whoever writes at the same time, and nothing damaged fails anybody."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from popkit_retention.core.state.noted import BACK, ONLY, Noted
from tests.patience import HANG_S

ROOT = Path(__file__).resolve().parents[2]
ID = "11111111-2222-3333-4444-555555555555"
ADDS = """
import sys
from popkit_retention.core.state.noted import Noted
for number in range(20):
    Noted(sys.argv[1], sys.argv[2]).add(only=[f"{sys.argv[3]}-{number}"])
"""


def test_what_is_noted_adds_up_each_once_and_each_kind_is_forgotten_by_itself(tmp_path: Path):
    noted = Noted(str(tmp_path), ID)
    assert (noted.only, noted.back) == ([], [])
    noted.add(only=["a", "b"])
    noted.add(only=["b", "c"], back=["handle"])
    assert (Noted(str(tmp_path), ID).only, noted.back) == (["a", "b", "c"], ["handle"])
    assert noted.forget_clear()
    assert not noted.forget_clear()
    assert (noted.only, noted.back) == ([], ["handle"])
    assert noted.forget_back()
    assert [path.name for path in (tmp_path / "sessions" / ID).iterdir() if not path.name.endswith(".lock")] == []


def test_what_was_noted_last_is_forgotten_first(tmp_path: Path):
    noted = Noted(str(tmp_path), ID)
    assert (noted.newest, noted.forget_newest()) == ("", "")
    noted.add(only=["a"])
    noted.add(back=["handle"])
    assert noted.newest == BACK
    noted.add(only=["b"])
    assert (noted.newest, noted.forget_newest()) == (ONLY, ONLY)
    assert (noted.only, noted.back) == ([], ["handle"])
    assert [noted.forget_newest(), noted.forget_newest()] == [BACK, ""]
    assert noted.back == []


def test_several_who_note_at_once_lose_nothing(tmp_path: Path):
    runs = [
        subprocess.Popen([sys.executable, "-c", ADDS, str(tmp_path), ID, name], cwd=ROOT)  # an interpreter each: threads share a lock
        for name in ("one", "two", "three")
    ]
    assert [run.wait(HANG_S) for run in runs] == [0, 0, 0]
    assert sorted(Noted(str(tmp_path), ID).only) == sorted(f"{name}-{number}" for name in ("one", "two", "three") for number in range(20))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"only": 7}', '{"only": [7, null], "back": {}}'])
def test_a_damaged_file_counts_as_empty_and_is_written_again(tmp_path: Path, text: str):
    folder = tmp_path / "sessions" / ID
    folder.mkdir(parents=True)
    (folder / "noted.json").write_text(text)
    noted = Noted(str(tmp_path), ID)
    assert (noted.only, noted.back) == ([], [])
    noted.add(back=["handle"])
    assert (noted.only, noted.back) == ([], ["handle"])


def test_what_cannot_be_written_is_said(tmp_path: Path):
    (tmp_path / "sessions").write_text("in the folder's place")
    with pytest.raises(OSError, match="sessions"):
        Noted(str(tmp_path), ID).add(only=["a"])
