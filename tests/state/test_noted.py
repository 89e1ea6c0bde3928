"""What is noted for a session that does not run is kept whole, whoever writes at the same time, and nothing damaged fails anybody."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from popkit_retention.core.state.noted import BACK, ONLY, SessionNotes
from tests.patience import HANG_S

ROOT = Path(__file__).resolve().parents[2]
ID = "11111111-2222-3333-4444-555555555555"
ADDS = """
import sys
from popkit_retention.core.state.noted import SessionNotes
for number in range(20):
    SessionNotes(sys.argv[1], sys.argv[2]).add(only=[f"{sys.argv[3]}-{number}"])
"""


def test_what_is_noted_adds_up_each_once_and_each_kind_is_forgotten_by_itself(tmp_path: Path):
    noted = SessionNotes(str(tmp_path), ID)
    assert (noted.only, noted.back) == ([], [])
    noted.add(only=["a", "b"])
    noted.add(only=["b", "c"], back=["handle"])
    assert (SessionNotes(str(tmp_path), ID).only, noted.back) == (["a", "b", "c"], ["handle"])
    assert noted.forget(ONLY)
    assert not noted.forget(ONLY)
    assert (noted.only, noted.back) == ([], ["handle"])
    assert noted.forget(BACK)
    assert [path.name for path in (tmp_path / "sessions" / ID).iterdir() if not path.name.endswith(".lock")] == []


def test_what_was_noted_last_is_forgotten_first(tmp_path: Path):
    noted = SessionNotes(str(tmp_path), ID)
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
    assert sorted(SessionNotes(str(tmp_path), ID).only) == sorted(
        f"{name}-{number}" for name in ("one", "two", "three") for number in range(20)
    )


@pytest.mark.parametrize("text", ["", "{", "[]", '{"only": 7}', '{"only": [7, null], "back": {}}'])
def test_a_damaged_file_counts_as_empty_and_is_written_again(tmp_path: Path, text: str):
    folder = tmp_path / "sessions" / ID
    folder.mkdir(parents=True)
    (folder / "noted.json").write_text(text)
    noted = SessionNotes(str(tmp_path), ID)
    assert (noted.only, noted.back) == ([], [])
    noted.add(back=["handle"])
    assert (noted.only, noted.back) == ([], ["handle"])


def test_what_cannot_be_written_is_said(tmp_path: Path):
    (tmp_path / "sessions").write_text("in the folder's place")
    with pytest.raises(OSError, match="sessions"):
        SessionNotes(str(tmp_path), ID).add(only=["a"])


def test_a_share_is_noted_with_what_it_takes_until_the_removals_are_forgotten(tmp_path: Path):
    noted = SessionNotes(str(tmp_path), ID)
    assert (noted.share, noted.further, noted.has_clear) == (None, 0, False)
    noted.add(share=0.5, further=900)
    assert (noted.share, noted.further, noted.has_clear, noted.only, noted.newest) == (0.5, 900, True, [], ONLY)
    noted.add(back=["h"])
    assert (noted.share, noted.further, noted.newest) == (0.5, 900, BACK)
    noted.add(only=["a"])
    assert (noted.share, noted.further, noted.newest) == (0.5, 900, ONLY)
    noted.add(share=0.25)
    assert (noted.share, noted.further) == (0.25, 0)
    assert noted.forget(BACK)
    assert (noted.share, noted.only, noted.back) == (0.25, ["a"], [])
    noted.add(back=["h"])
    assert noted.forget(ONLY)
    assert (noted.share, noted.further, noted.has_clear, noted.only, noted.back) == (None, 0, False, [], ["h"])


@pytest.mark.parametrize(
    ("share", "read"), [(1.0, 1.0), (0.01, 0.01), (0.0, None), (1.01, None), (-0.5, None), (1, None), ("0.5", None), (None, None)]
)
def test_a_share_is_a_part_of_the_whole(tmp_path: Path, share: object, read: float | None):
    path = tmp_path / "sessions" / ID / "noted.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"share": share, "further": 7}))
    noted = SessionNotes(str(tmp_path), ID)
    assert (noted.share, noted.further, noted.has_clear) == (read, 7 if read is not None else 0, read is not None)
    path.write_text(json.dumps({"share": 0.5, "further": "7"}))
    assert noted.further == 0


def test_the_file_names_what_was_asked_for_in_order_and_nothing_more(tmp_path: Path):
    noted = SessionNotes(str(tmp_path), ID)
    path = tmp_path / "sessions" / ID / "noted.json"
    noted.add(only=["a"], back=["h"])
    assert json.loads(path.read_text()) == {"only": ["a"], "back": ["h"]}
    noted.add(only=["b"])
    assert path.read_text() == '{"back":["h"],"only":["a","b"]}'
    noted.add(share=0.5, further=3)
    assert json.loads(path.read_text()) == {"back": ["h"], "only": ["a", "b"], "share": 0.5, "further": 3}
    path.write_text(json.dumps({"other": 1, "back": ["h"]}))
    noted.add()
    assert json.loads(path.read_text()) == {"back": ["h"], "only": []}
    assert (noted.newest, noted.forget(ONLY), noted.forget_newest(), path.exists()) == (BACK, False, BACK, False)


def test_nothing_is_noted_through_a_link_in_the_place_of_the_folder(tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / ID).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="link"):
        SessionNotes(str(tmp_path), ID).add(only=["a"])
    assert list((tmp_path / "elsewhere").iterdir()) == []
