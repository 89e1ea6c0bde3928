"""What is forgotten leaves no copy behind in a store's file, in backups that are damaged, in journals of sessions."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hooks.utils.state import journal
from popkit_retention.memory import exchange, holds
from popkit_retention.memory.exchange import Folder
from popkit_retention.memory.items import ARCHIVE
from popkit_retention.memory.memory import Memory
from popkit_retention.memory.stores.sqlite import SqliteStore

from .remembering import DAY, NOW, PROJECT, Remembering


@pytest.fixture
def kept(tmp_path: Path) -> Remembering:
    """A memory with a file, whose job keeps backups."""
    made = Remembering(SqliteStore(str(tmp_path / "memory.sqlite")))
    made.memory = Memory(made.store, PROJECT, lambda: made.now, Folder(str(tmp_path)))
    return made


def test_pages_keep_nothing_of_what_was_forgotten_among_many(kept: Remembering, tmp_path: Path):
    for number in range(600):
        kept.keep(
            f"m{number * 7919 % 600:04}",
            text=f"zyxomatic{number} " + f"filler{number} " * (number % 23),
            details={"file": "x" * (number % 90)},
        )
    kept.memory.forget([f"m{number:04}" for number in range(600) if number % 3])
    kept.after(DAY + 1)
    kept.memory.run()
    left = {f"zyxomatic{item.text.split()[0][9:]}" for item in kept.store.scan()}
    data = (tmp_path / "memory.sqlite").read_bytes()
    assert len(left) == 200
    assert [number for number in range(600) if f"zyxomatic{number}" not in left and f"zyxomatic{number} ".encode() in data] == []
    assert kept.store.verify() == []


def test_a_store_in_use_is_written_anew_by_the_next_run(kept: Remembering, tmp_path: Path):
    kept.keep("gone")
    kept.memory.forget(["gone"])
    kept.after(DAY + 1)
    other = SqliteStore(str(tmp_path / "memory.sqlite"))
    kept.store.compact = lambda: False
    kept.memory.run()
    assert other.value(holds.UNWIPED_KEY) is True
    del kept.store.compact
    kept.memory.run(force=True)
    assert other.value(holds.UNWIPED_KEY) is None
    other.close()


def test_a_damaged_backup_that_tells_of_it_goes(kept: Remembering, tmp_path: Path):
    kept.keep("gone", tier=ARCHIVE, text="the zyxomatic note")
    kept.memory.run()
    (made,) = (tmp_path / "memory" / "backups").iterdir()
    made.write_text(made.read_text() + "{torn")
    kept.memory.forget(["gone"])
    kept.after(DAY + 1)
    kept.memory.run()
    assert not made.exists() or b"zyxomatic" not in made.read_bytes()


@pytest.mark.parametrize(
    "name", ["archive-\u00b25.jsonl", "archive-" + "9" * 200 + ".jsonl", "archive-.jsonl", "archive--5.jsonl", "archive-1.jsonl\n"]
)
def test_a_file_that_only_looks_like_a_backup_is_passed_over(kept: Remembering, tmp_path: Path, name: str):
    folder = tmp_path / "memory" / "backups"
    folder.mkdir(parents=True)
    (folder / name).write_text("not ours")
    assert kept.memory.run() is not None
    assert (folder / name).read_text() == "not ours"
    assert (folder / f"archive-{NOW:.0f}.jsonl").exists()


def test_what_is_no_file_among_the_backups_is_passed_over_and_no_link_followed(kept: Remembering, tmp_path: Path):
    folder = tmp_path / "memory" / "backups"
    folder.mkdir(parents=True)
    outside = tmp_path / "outside.jsonl"
    outside.write_text("gone and mine")
    (folder / "archive-1.jsonl").symlink_to(outside)
    (folder / "archive-2.jsonl").mkdir()
    os.mkfifo(folder / "archive-3.jsonl")
    kept.keep("gone")
    kept.memory.forget(["gone"])
    kept.after(DAY + 1)
    assert kept.memory.run() is not None
    assert outside.read_text() == "gone and mine"


def test_a_backup_from_the_future_does_not_drive_out_those_of_today(kept: Remembering, tmp_path: Path):
    folder = str(tmp_path / "backups")
    made = [exchange.back_up(kept.store, folder, NOW + 7 * week * DAY) for week in range(3)]
    Path(folder, "archive-99999999999.jsonl").write_text("")
    assert exchange.back_up(kept.store, folder, NOW + 15 * DAY) is None
    assert all(path and Path(path).exists() for path in made)


# --- journals ------------------------------------------------------------------------------------------------------------------------


def _journal(tmp_path: Path, *entries: object, session: str = "s1") -> Path:
    path = tmp_path / "sessions" / session / "main.journal.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries))
    return path


def test_what_a_session_was_given_is_struck_and_all_else_in_its_journal_stays(tmp_path: Path):
    said = journal.remembered('- "quoted" \\ and\n- the Zyxomatic é thing', 30, 5.0)
    other = journal.remembered("something else", 4, 6.0)
    path = _journal(tmp_path, journal.advised(4, 1.0), said, other, journal.pinned("b", 9.0))
    size = path.stat().st_size
    assert holds.strike(str(tmp_path), ["call zyxomatic é"]) == 1
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    assert (path.stat().st_size, len(entries), entries[2:]) == (size, 4, [other, journal.pinned("b", 9.0)])
    assert (entries[1]["said"].strip(), entries[1]["tokens"], entries[1]["at"]) == ("", 30, 5.0)
    assert holds.strike(str(tmp_path), ["call zyxomatic é"]) == 0


def test_nothing_is_struck_outside_of_our_folder_nor_in_what_is_no_journal(tmp_path: Path):
    outside = _journal(tmp_path / "elsewhere", journal.remembered("zyxomatic", 3, 5.0))
    before = outside.read_bytes()
    ours = tmp_path / "home" / "sessions"
    (ours / "s1").mkdir(parents=True)
    (ours / "s1" / "main.journal.jsonl").symlink_to(outside)
    (ours / "s2").symlink_to(outside.parent)
    (ours / "s3").mkdir()
    os.mkfifo(ours / "s3" / "main.journal.jsonl")
    assert holds.strike(str(tmp_path / "home"), ["zyxomatic"]) == 0
    assert outside.read_bytes() == before


def test_an_entry_that_was_cut_short_is_struck_too(tmp_path: Path):
    path = _journal(tmp_path)
    path.write_bytes(b'{"event":"memory","at":5,"said":"the zyxomatic \xff th')
    assert holds.strike(str(tmp_path), ["zyxomatic"]) == 1
    assert b"zyxomatic" not in path.read_bytes()
