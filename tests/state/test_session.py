"""The facts that all contexts of a session share: each of its type, none lost, and written only where they change."""

from __future__ import annotations

import json
import stat
import threading
from pathlib import Path

import pytest

from popkit_retention.core.io import files
from popkit_retention.core.state import session
from tests.patience import HANG_S

ID = "s1"
# A value of each type.
VALUES = {float: 1.5, bool: True, int: 7, dict: {"a": 1}, str: "x"}
FACTS = {
    "advised": float, "compacted": bool, "compacted_tokens": int, "compaction": dict, "compacts_at": dict, "echo_tokens": int,
    "hinted": float, "in_place": float, "index": str, "kept_out_told": float, "largest_tokens": int, "memory": float, "model": str,
    "planned": dict, "profile": str, "project": str, "stands": dict, "told": str, "transcript": str, "window_tokens": int,
}  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = Path(session.path_of(str(tmp_path), ID))
    assert path == tmp_path / "sessions" / ID / "session.json"
    return path


@pytest.mark.parametrize("name", FACTS)
def test_a_fact_is_read_where_it_is_of_its_type(tmp_path: Path, path: Path, name: str) -> None:
    path.parent.mkdir(parents=True)
    for kind, value in VALUES.items():
        path.write_text(json.dumps({name: value, "unknown": value, "self": None}))
        assert vars(session.read(str(tmp_path), ID)) == ({name: value} if kind is FACTS[name] else {})
    path.write_text(json.dumps({name: None}))
    assert vars(session.read(str(tmp_path), ID)) == {}


def test_a_fact_is_set_changed_and_removed_in_a_private_file(tmp_path: Path, path: Path) -> None:
    home = str(tmp_path)
    assert vars(session.read(home, ID)) == {}
    assert vars(session.update(home, ID, model="m", advised=1.5)) == {"model": "m", "advised": 1.5}
    assert vars(session.update(home, ID, model="n", memory=None)) == {"model": "n", "advised": 1.5}
    assert vars(session.update(home, ID, advised=None)) == vars(session.read(home, ID)) == {"model": "n"}
    assert json.loads(path.read_text()) == {"model": "n"}
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    before = path.stat().st_ino
    assert vars(session.update(home, ID, model="n")) == {"model": "n"}
    assert path.stat().st_ino == before, "nothing has changed"


def test_one_process_claims_what_is_not_set_yet(tmp_path: Path, path: Path) -> None:
    home = str(tmp_path)
    assert session.claim(home, ID, "memory", 1.5)
    assert not session.claim(home, ID, "memory", 2.5)
    assert session.claim(home, ID, "model", "m")
    assert json.loads(path.read_text()) == {"memory": 1.5, "model": "m"}


def test_what_could_not_be_written_in_time_counts_and_is_written_by_the_next(tmp_path: Path, path: Path) -> None:
    home = str(tmp_path)
    session.update(home, ID, model="m", profile="spec", advised=1.5)
    files.spill(str(path), json.dumps({"model": "n", "profile": None, "index": 7}))
    assert vars(session.read(home, ID)) == {"model": "n", "advised": 1.5}
    assert not session.claim(home, ID, "model", "o")
    assert vars(session.update(home, ID)) == {"model": "n", "advised": 1.5}
    assert (files.spilled(str(path)), json.loads(path.read_text())) == ([], {"model": "n", "advised": 1.5})


def test_where_the_lock_is_held_a_fact_is_kept_beside_and_nothing_is_claimed(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = str(tmp_path)
    session.update(home, ID, model="m")
    monkeypatch.setattr(files.patience, "left_s", 0.0)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with files.Lock(str(path) + ".lock"):
            held.set()
            done.wait(HANG_S)

    holding = threading.Thread(target=hold)
    holding.start()
    held.wait(HANG_S)
    told = vars(session.update(home, ID, advised=1.5)), session.claim(home, ID, "memory", 1.5)
    done.set()
    holding.join()
    assert told == ({"model": "m", "advised": 1.5}, False)
    assert (len(files.spilled(str(path))), json.loads(path.read_text())) == (1, {"model": "m"})
    assert vars(session.read(home, ID)) == {"model": "m", "advised": 1.5}


@pytest.mark.parametrize("writes", [lambda home: session.update(home, ID, model="m"), lambda home: session.claim(home, ID, "model", "m")])
def test_no_fact_is_written_through_a_link(tmp_path: Path, path: Path, writes) -> None:
    (tmp_path / "elsewhere").mkdir()
    path.parent.parent.mkdir()
    path.parent.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="link"):
        writes(str(tmp_path))
    assert list((tmp_path / "elsewhere").iterdir()) == []
