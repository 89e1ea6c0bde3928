"""What is on hold stays as it is, whatever the job, forget and the backups want. What is forgotten leaves no copy behind in a store's
file, in backups that are damaged, in journals of sessions."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.core.state import journal
from popkit_retention.memory import erasure, exchange, holds, session_journals
from popkit_retention.memory.folder import Folder
from popkit_retention.memory.holds import ItemOnHold
from popkit_retention.memory.items import ARCHIVE, COLD, FULL
from popkit_retention.memory.memory import Memory
from popkit_retention.memory.stores.in_memory import InMemoryStore
from popkit_retention.memory.stores.protocol import Batch, Change
from popkit_retention.memory.stores.sqlite import SqliteStore

from .remembering import DAY, HOUR, NOW, PROJECT, Remembering, lesson, wrote
from .test_job import LONG, old

SCOPES = {"item": "dead", "session": "s1", "project": PROJECT}


def hold(scope: str = "item", target: str = "", **fields: Any) -> dict[str, object]:
    row = {"id": "h1", "scope": scope, "target": target or SCOPES[scope], "who": "alice", "why": "audit", "created_at": NOW, "until": None}
    return {**row, "released_at": None, **fields}


def worthless(remembering: Remembering, **fields: Any) -> None:
    """An item that the job marks, and a day later deletes."""
    remembering.keep("dead", **{"tier": COLD, "profile": "code", "text": "x" * 60, "episode": "s1", **old(31), **fields})


@pytest.mark.parametrize("scope", SCOPES)
def test_the_job_marks_nothing_that_is_on_hold(remembering: Remembering, scope: str):
    worthless(remembering)
    remembering.store.set_value(holds.KEY, [hold(scope)])
    assert remembering.memory.run().marked == 0
    assert remembering.item("dead").marked_at is None
    remembering.store.set_value(holds.KEY, [hold(scope, released_at=NOW)])
    assert remembering.memory.run(force=True).marked == 1


@pytest.mark.parametrize("scope", SCOPES)
def test_what_was_marked_before_is_deleted_when_the_hold_is_over(remembering: Remembering, scope: str):
    worthless(remembering, marked_at=NOW, marked_by="user")
    remembering.store.set_value(holds.KEY, [hold(scope, until=NOW + 3 * DAY)])
    assert remembering.after(2 * DAY).run().deleted == 0
    assert remembering.item("dead").marked_at == NOW
    assert remembering.after(DAY).run().deleted == 1


def test_what_is_on_hold_moves_but_is_not_compressed(remembering: Remembering):
    for number in range(10):
        remembering.keep(f"n{number}", profile="code", kind="path")
    remembering.keep("long", text=LONG, tier=COLD, uniqueness=0.2, **old(60))
    remembering.keep("other", text=LONG, tier=COLD, uniqueness=0.2, **old(60))
    remembering.keep("warm", text=LONG, uniqueness=0.6, **old(9))
    remembering.store.set_value(holds.KEY, [hold(target="long"), hold(target="warm")])
    remembering.memory.run()
    assert [remembering.item(id).level == FULL for id in ("long", "warm", "other")] == [True, True, False]
    assert remembering.item("warm").tier == COLD


def test_whatever_a_held_session_taught_is_held_whoever_taught_it_first(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote("src/cart.py")))
    remembering.memory.learn(lesson("s2", wrote("src/cart.py"), wrote("src/mail.py")))
    (cart,), (mail,) = ([item.id for item in remembering.store.scan() if item.text == text] for text in ("src/cart.py", "src/mail.py"))
    remembering.store.set_value(holds.KEY, [hold("session", "s2")])
    for id in (cart, mail):
        with pytest.raises(ItemOnHold):
            remembering.memory.forget([id])


def test_forgetting_says_which_hold_is_in_the_way_and_changes_nothing(remembering: Remembering):
    remembering.keep("m3fa")
    remembering.keep("m4fa")
    remembering.store.set_value(holds.KEY, [hold(target="m3fa", until=1_798_761_600.0 + 365 * DAY)])
    with pytest.raises(ItemOnHold) as refused:
        remembering.memory.forget(["m4fa", "m3fa"])
    message = "m3fa is on hold (alice: audit, until 2028-01-01). Release it first: popkit retention hold release h1"
    assert str(refused.value) == message
    assert [item.marked_at for item in remembering.store.scan()] == [None, None]
    assert remembering.store.values("forgotten:") == {}


def test_a_hold_that_is_made_while_the_job_is_at_work_counts(remembering: Remembering):
    worthless(remembering)
    worthless_too = {"tier": COLD, "profile": "code", "text": "y" * 60, **old(31)}
    remembering.keep("other", **worthless_too)
    _meanwhile(remembering, lambda: remembering.store.set_value(holds.KEY, [hold()]))
    report = remembering.memory.run()
    assert report is not None
    assert report.marked == 1
    assert [remembering.item(id).marked_by for id in ("dead", "other")] == ["", "job"]
    assert [entry["id"] for entry in remembering.store.logged() if entry["action"] == "marked"] == ["other"]


def test_backups_keep_their_copy_of_what_is_on_hold(tmp_path: Path):
    kept = Remembering(InMemoryStore())
    kept.memory.folder = Folder(str(tmp_path))
    for id in ("mine", "other"):
        kept.keep(id, tier=ARCHIVE, key=True)
    kept.memory.run()
    kept.memory.forget(["mine", "other"])
    kept.store.remove(["mine", "other"])
    kept.store.set_value(holds.KEY, [hold(target="mine")])
    kept.after(2 * HOUR).run()
    (path,) = Path(kept.memory.folder.backups).iterdir()
    assert ("mine" in path.read_text(), "other" in path.read_text()) == (True, False)


def test_the_job_leaves_what_a_policy_has_marked_to_governance(remembering: Remembering):
    worthless(remembering, marked_at=NOW - 9 * DAY, marked_by="policy")
    assert remembering.memory.run().deleted == 0
    remembering.memory.undo(["dead"])
    assert remembering.item("dead").marked_by == ""


def test_an_item_marked_by_a_policy_is_of_use_again_once_a_session_writes_it(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote("src/cart.py")))
    (item,) = remembering.store.scan()
    for by, kept in (("policy", True), ("job", True), ("tool", False), ("user", False)):
        remembering.store.write(Batch(change=[Change(item.id, {"marked_at": NOW, "marked_by": by})]))
        remembering.memory.learn(lesson("again-" + by, wrote("src/cart.py")))
        assert (remembering.item(item.id).marked_at is None) == kept


def test_a_tool_forgets_in_its_own_name(remembering: Remembering):
    for id in ("mine", "its"):
        remembering.keep(id)
    remembering.memory.forget(["its"], by="tool")
    remembering.after(1).forget(["mine"])
    remembering.after(1).forget(["its"], by="tool")
    assert [remembering.item(id).marked_by for id in ("mine", "its")] == ["user", "tool"]
    assert remembering.store.logged("its", 1)[0]["reasons"] == ["an agent's tool asked for it"]
    assert [item.id for item in remembering.memory.undo()] == ["mine"]
    assert [item.id for item in remembering.memory.undo(["its"])] == ["its"]
    assert set(remembering.store.value("forgotten:" + PROJECT)) == set()  # type: ignore[call-overload]


@pytest.mark.parametrize("word", ["undo", "pin"])
def test_what_is_brought_back_while_the_job_is_at_work_stays(remembering: Remembering, word: str):
    for id in ("mine", "other"):
        remembering.keep(id, marked_at=NOW - 2 * DAY, marked_by="user")
    _meanwhile(remembering, lambda: getattr(remembering.memory, word)(["mine"]))
    report = remembering.memory.run()
    assert report is not None
    assert report.deleted == 1
    assert [item.id for item in remembering.store.scan()] == ["mine"]
    assert remembering.item("mine").marked_at is None


def test_what_the_user_forgets_while_the_job_is_at_work_is_forgotten_in_his_name(remembering: Remembering):
    worthless(remembering)
    _meanwhile(remembering, lambda: remembering.memory.forget(["dead"]))
    report = remembering.memory.run()
    assert report is not None
    assert report.marked == 0
    assert remembering.item("dead").marked_by == "user"


def _meanwhile(remembering: Remembering, act: Callable[[], object]) -> None:
    """Something happens just before the next batch is written."""
    write = remembering.store.write

    def write_late(batch: Batch) -> None:
        remembering.store.write = write  # type: ignore[method-assign]
        act()
        write(batch)

    remembering.store.write = write_late  # type: ignore[method-assign]


# --- erasure ------------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path: Path) -> Remembering:
    """A memory with a file, whose job keeps backups."""
    opened = Remembering(SqliteStore(str(tmp_path / "memory.sqlite")))
    opened.memory = Memory(opened.store, PROJECT, lambda: opened.now, Folder(str(tmp_path)))
    return opened


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


def test_a_store_in_use_is_rewritten_by_the_next_run(kept: Remembering, tmp_path: Path):
    kept.keep("gone")
    kept.memory.forget(["gone"])
    kept.after(DAY + 1)
    other = SqliteStore(str(tmp_path / "memory.sqlite"))
    kept.store.compact = lambda: False
    kept.memory.run()
    assert other.value(erasure.UNWIPED_KEY) is True
    del kept.store.compact
    kept.memory.run(force=True)
    assert other.value(erasure.UNWIPED_KEY) is None
    other.close()


def test_a_damaged_backup_that_tells_of_it_goes(kept: Remembering, tmp_path: Path):
    kept.keep("gone", tier=ARCHIVE, text="the zyxomatic note")
    kept.memory.run()
    (backup,) = (tmp_path / "memory" / "backups").iterdir()
    backup.write_text(backup.read_text() + "{torn")
    kept.memory.forget(["gone"])
    kept.after(DAY + 1)
    kept.memory.run()
    assert not backup.exists() or b"zyxomatic" not in backup.read_bytes()


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
    elsewhere = tmp_path / "outside.jsonl"
    elsewhere.write_text("gone and mine")
    (folder / "archive-1.jsonl").symlink_to(elsewhere)
    (folder / "archive-2.jsonl").mkdir()
    os.mkfifo(folder / "archive-3.jsonl")
    kept.keep("gone")
    kept.memory.forget(["gone"])
    kept.after(DAY + 1)
    assert kept.memory.run() is not None
    assert elsewhere.read_text() == "gone and mine"


def test_a_backup_from_the_future_does_not_drive_out_those_of_today(kept: Remembering, tmp_path: Path):
    folder = str(tmp_path / "backups")
    backups = [exchange.back_up(kept.store, folder, NOW + 7 * week * DAY) for week in range(3)]
    Path(folder, "archive-99999999999.jsonl").write_text("")
    assert exchange.back_up(kept.store, folder, NOW + 15 * DAY) is None
    assert all(path and Path(path).exists() for path in backups)


# --- journals ------------------------------------------------------------------------------------------------------------------------


def _journal(tmp_path: Path, *entries: object, session: str = "s1") -> Path:
    path = tmp_path / "sessions" / session / "main.journal.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries))
    return path


def test_what_a_session_was_given_is_struck_and_all_else_in_its_journal_stays(tmp_path: Path):
    given = journal.remembered('- "quoted" \\ and\n- the Zyxomatic é thing', 30, 5.0)
    other = journal.remembered("something else", 4, 6.0)
    path = _journal(tmp_path, journal.advised(4, 1.0), given, other, journal.pinned("b", 9.0))
    size = path.stat().st_size
    assert session_journals.blank_out(str(tmp_path), ["call zyxomatic é"]) == 1
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    assert (path.stat().st_size, len(entries), entries[2:]) == (size, 4, [other, journal.pinned("b", 9.0)])
    assert (entries[1]["said"].strip(), entries[1]["tokens"], entries[1]["at"]) == ("", 30, 5.0)
    assert session_journals.blank_out(str(tmp_path), ["call zyxomatic é"]) == 0


def test_the_words_of_what_is_on_hold_stay_in_journals_until_it_is_over(kept: Remembering, tmp_path: Path):
    path = _journal(tmp_path, journal.remembered("- the zyxomatic thing", 30, 5.0))
    kept.keep("dead", text="the zyxomatic thing", marked_at=NOW, marked_by="user")
    kept.store.set_value(holds.KEY, [hold(until=NOW + 3 * DAY)])
    kept.after(2 * DAY).run()
    assert "zyxomatic" in path.read_text()
    kept.after(2 * DAY).run()
    assert "zyxomatic" not in path.read_text()


def test_the_words_of_what_the_job_lets_go_stay_in_journals(kept: Remembering, tmp_path: Path):
    path = _journal(tmp_path, journal.remembered("- the zyxomatic thing", 30, 5.0))
    kept.keep("dead", text="the zyxomatic thing", tier=COLD, profile="code", marked_at=NOW, marked_by="job", **old(31))
    assert kept.after(2 * DAY).run().deleted == 1
    assert "zyxomatic" in path.read_text()


def test_nothing_is_struck_outside_of_our_folder_nor_in_what_is_no_journal(tmp_path: Path):
    elsewhere = _journal(tmp_path / "elsewhere", journal.remembered("zyxomatic", 3, 5.0))
    before = elsewhere.read_bytes()
    ours = tmp_path / "home" / "sessions"
    (ours / "s1").mkdir(parents=True)
    (ours / "s1" / "main.journal.jsonl").symlink_to(elsewhere)
    (ours / "s2").symlink_to(elsewhere.parent)
    (ours / "s3").mkdir()
    os.mkfifo(ours / "s3" / "main.journal.jsonl")
    assert session_journals.blank_out(str(tmp_path / "home"), ["zyxomatic"]) == 0
    assert elsewhere.read_bytes() == before


def test_an_entry_that_was_cut_short_is_struck_too(tmp_path: Path):
    path = _journal(tmp_path)
    path.write_bytes(b'{"event":"memory","at":5,"said":"the zyxomatic \xff th')
    assert session_journals.blank_out(str(tmp_path), ["zyxomatic"]) == 1
    assert b"zyxomatic" not in path.read_bytes()
