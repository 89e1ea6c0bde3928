"""A held record stays, whatever is done; a mark is a plan; what was deleted comes back under its handle."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention.core import archive
from popkit_retention.core.archive import Chain, RetentionIntegrityError, add_records, archive_chain, archive_record, prune, retrieve_record
from popkit_retention.core.archive.deletion import delete_records
from popkit_retention.core.archive.holds import add_hold, all_holds, held, place_folders, release_hold
from popkit_retention.core.archive.marks import mark, marked, unmark
from popkit_retention.core.archive.returning import ReturningContent, bring_back
from popkit_retention.core.archive.verification import verify
from popkit_retention.core.retention_kit.holds import ITEM, PROJECT, SESSION, Hold
from tests.archive.written import CHAIN, add_cleared, content, fill, new, row, tamper
from tests.kit.forks import Done, Forks, Function
from tests.kit.kills import kill_at_each_call

ROOT = Path(__file__).resolve().parents[2]
NOW = 1_800_000_000.0
SMALL = {"hot_max": 1, "warm_max": 2}
OTHER = Chain("session-2", "session-2", project="/home/dev/other")


def hold(scope: str = ITEM, target: str = "", until: float | None = None, id: str = "h1") -> Hold:
    return Hold(id, scope, target, "user", "needed for the audit", NOW - 10, until)


def zones(db: sqlite3.Connection, ids: list[str]) -> list[str]:
    return [row(db, id)["zone"] or "hot" for id in ids]


def is_there(db: sqlite3.Connection, id: str) -> bool:
    record = retrieve_record(db, id)
    return record is not None and record["content_available"]


@pytest.mark.parametrize(("scope", "target"), [(ITEM, None), (SESSION, "session-1"), (PROJECT, "shop-1")])
def test_what_is_held_is_neither_cooled_nor_pruned_nor_deleted_nor_marked(db: sqlite3.Connection, scope: str, target: str | None) -> None:
    ids = fill(db, 4)
    add_hold(db, hold(scope, target or ids[0]))
    place_folders(db, lambda folder: "shop-1")
    assert archive_record(db, ids[0], **SMALL, now=NOW)["to_zone"] == "warm"
    archive_chain(db, "session-1", **SMALL, now=NOW)
    assert zones(db, ids)[0] == "warm"
    held = 1 if scope == ITEM else 4
    assert mark(db, ids[:1], NOW, "user", NOW) == []
    before = [each for each in ids if is_there(db, each)]
    report = prune(db, NOW, now=NOW)
    assert (report.on_hold, report.chains) == (min(held, len(before)), 0)
    assert ids[0] not in delete_records(db, ids, NOW)
    assert is_there(db, ids[0])
    assert verify(db).problems == verify(db).broken == []


def test_a_held_record_keeps_its_chain_and_the_others_become_stubs(db: sqlite3.Connection) -> None:
    ids = fill(db, 3)
    add_hold(db, hold(ITEM, ids[1]))
    assert delete_records(db, ids, NOW) == [ids[0], ids[2]]
    assert [is_there(db, id) for id in ids] == [False, True, False]
    assert release_hold(db, "h1", NOW)
    assert delete_records(db, ids[1:2], NOW) == ids[1:2]
    assert archive.chain(db, "session-1") is None, "nothing is left of it"
    assert delete_records(db, ids, NOW) == []


def test_a_hold_ends_at_its_own_date_or_when_it_is_released_and_only_once(db: sqlite3.Connection) -> None:
    ids = fill(db, 2)
    add_hold(db, hold(ITEM, ids[0], until=NOW + 5))
    add_hold(db, hold(SESSION, "nobody", id="h1"))
    assert [(hold.scope, hold.target) for hold in all_holds(db)] == [(ITEM, ids[0])], "one of the same id is left as it is"
    assert delete_records(db, ids[:1], NOW + 4.9) == []
    assert delete_records(db, ids[:1], NOW + 5) == ids[:1]
    assert not release_hold(db, "h1", NOW + 6), "it has ended by itself"
    add_hold(db, hold(ITEM, ids[1], id="h2"))
    assert release_hold(db, "h2", NOW)
    assert not release_hold(db, "h2", NOW)
    assert [hold.released_at for hold in all_holds(db)] == [None, NOW]
    assert not release_hold(db, "h3", NOW)


@pytest.mark.parametrize(("scope", "target"), [("everything", "x"), (ITEM, ""), ("", "x")])
def test_a_hold_about_nothing_is_refused(db: sqlite3.Connection, scope: str, target: str) -> None:
    with pytest.raises(ValueError, match="a hold names one of these"):
        add_hold(db, hold(scope, target))
    assert all_holds(db) == []


def test_what_comes_to_a_held_session_or_project_later_is_held_too(db: sqlite3.Connection) -> None:
    add_hold(db, hold(SESSION, "session-1"))
    ids = fill(db, 2)
    child = add_records(db, Chain("session-1/agent-7", "session-1", "agent-7"), [new(9)])
    assert delete_records(db, [*ids, *child], NOW) == []


def test_a_folder_that_nobody_has_placed_counts_as_held_while_a_project_is(db: sqlite3.Connection) -> None:
    ids, others = fill(db, 1), add_records(db, OTHER, [new(1)])
    add_hold(db, hold(PROJECT, "shop-1"))
    assert delete_records(db, [*ids, *others], NOW) == []
    place_folders(db, {CHAIN.project: "shop-1", OTHER.project: "other-2"}.__getitem__)
    assert delete_records(db, [*ids, *others], NOW) == others


def test_a_folder_that_moves_to_another_project_ends_no_hold(db: sqlite3.Connection) -> None:
    ids = fill(db, 1)
    add_hold(db, hold(PROJECT, "shop-1"))
    place_folders(db, lambda folder: "shop-1")
    place_folders(db, lambda folder: "renamed-3")
    assert delete_records(db, ids, NOW) == []


def test_what_names_no_folder_is_of_no_project_and_counts_as_held_while_one_is(db: sqlite3.Connection) -> None:
    ids = add_records(db, Chain("session-3", "session-3"), [new(1)])
    add_hold(db, hold(PROJECT, "shop-1"))
    place_folders(db, lambda folder: "other-2")
    assert delete_records(db, ids, NOW) == []


@pytest.mark.parametrize("placed", [True, False])
def test_a_session_that_moves_to_another_folder_stays_with_a_project_that_is_held(db: sqlite3.Connection, placed: bool) -> None:
    ids = fill(db, 1)
    add_hold(db, hold(PROJECT, "shop-1"))
    keys = {CHAIN.project: "shop-1", "/home/dev/moved": "moved-4"}.__getitem__
    if placed:
        place_folders(db, keys)
    add_records(db, Chain("session-1", "session-1", project="/home/dev/moved"), [new(7)])
    place_folders(db, keys)
    assert delete_records(db, ids, NOW) == []


def test_a_session_that_moves_is_where_it_is_now_and_stays_where_nobody_can_tell(db: sqlite3.Connection) -> None:
    fill(db, 1)
    for folder, found in (("/home/dev/moved", "/home/dev/moved"), ("", "/home/dev/moved")):
        add_records(db, Chain("session-1", "session-1", project=folder), [])
        assert archive.chain(db, "session-1").project == found


def test_no_folder_is_asked_about_while_no_project_is_held(db: sqlite3.Connection) -> None:
    fill(db, 1)
    asked: list[str] = []
    place_folders(db, lambda folder: asked.append(folder) or "key")
    assert asked == []


def test_marks_are_kept_with_who_and_since_when(db: sqlite3.Connection) -> None:
    ids = fill(db, 3)
    assert mark(db, [*ids[:2], "nothing", "a\0b\ud800"], 5.0, "job") == ids[:2]
    assert mark(db, ids, 6.0, "user") == ids[2:]
    assert [(mark.id, mark.at, mark.by) for mark in marked(db).values()] == [
        *sorted((id, 5.0, "job") for id in ids[:2]),
        (ids[2], 6.0, "user"),
    ]
    assert unmark(db, [ids[1], "nothing"]) == [ids[1]]
    assert set(marked(db)) == {ids[0], ids[2]}


def test_a_mark_goes_with_the_content_that_it_is_of(db: sqlite3.Connection) -> None:
    ids = fill(db, 4)
    mark(db, ids, NOW, "user")
    archive_record(db, ids[0], **SMALL)
    assert set(marked(db)) == set(ids[1:])
    delete_records(db, ids[1:2], NOW)
    assert set(marked(db)) == set(ids[2:])
    assert mark(db, ids[:2], NOW, "user") == [], "there is nothing left to delete"


def test_marks_and_holds_without_sense_are_found(db: sqlite3.Connection) -> None:
    ids = fill(db, 2)
    mark(db, ids, NOW, "user")
    add_hold(db, hold(ITEM, ids[1], until=NOW - 20))
    tamper(db, ids[0], "zone", "cold")
    problems = verify(db).problems[:2]
    assert problems == ["hold h1 ends before it begins", f"{ids[0]} is marked for deletion but has no content, or an invalid time"]
    db.execute("UPDATE holds SET scope = 'world'")
    assert verify(db).problems[0] == f"hold h1 names nothing: 'world' '{ids[1]}'"
    assert held(db, NOW) is not None


def returning(db: sqlite3.Connection, id: str, number: int) -> ReturningContent:
    return ReturningContent(id, CHAIN, new(number))


def test_a_stub_is_filled_again_under_its_handle(db: sqlite3.Connection) -> None:
    ids = fill(db, 3)
    delete_records(db, ids[:2], NOW)
    assert bring_back(db, [returning(db, ids[0], 0), returning(db, ids[2], 2)], NOW + 1) == ids[:1]
    assert [is_there(db, id) for id in ids] == [True, False, True]
    assert retrieve_record(db, ids[0])["content"] == content(0)
    assert bring_back(db, [returning(db, ids[0], 0)], NOW + 2) == [], "done again it changes nothing"
    assert verify(db).broken == []
    assert archive.pruned_of(db, "session-1") == (NOW, 1)


def test_a_chain_that_has_vanished_starts_over_with_what_comes_back(db: sqlite3.Connection) -> None:
    ids = fill(db, 3)
    delete_records(db, ids, NOW)
    back = [returning(db, id, number) for number, id in enumerate(ids)]
    assert bring_back(db, back, NOW + 1) == ids
    assert bring_back(db, back, NOW + 2) == []
    assert [retrieve_record(db, id)["content"] for id in ids] == [content(number) for number in range(3)]
    assert verify(db).broken == []
    assert archive.find_records(db, named=["1.py"])[0].id == ids[1]
    assert archive.pruned_of(db, "session-1") is None


def test_a_longer_handle_comes_back_as_long_as_it_was(db: sqlite3.Connection) -> None:
    first = add_records(db, CHAIN, [new(1)])
    fill(db, 2, CHAIN)
    archive_record(db, first[0], hot_max=1, warm_max=1)
    again = add_records(db, CHAIN, [new(1)])
    assert len(again[0]) == 9
    everything = [record.id for record in archive.find_records(db)]
    delete_records(db, everything, NOW)
    assert bring_back(db, [ReturningContent(again[0], CHAIN, new(1))], NOW) == again
    assert archive.record(db, again[0]).id == again[0]


@pytest.mark.parametrize("handle", ["aaaaaaaa", "short", "", "x" * 60, "a\0b\ud800"])
def test_a_content_comes_back_under_no_other_handle(db: sqlite3.Connection, handle: str) -> None:
    with pytest.raises(RetentionIntegrityError, match="is not the handle"):
        bring_back(db, [ReturningContent(handle, CHAIN, new(0))], NOW)
    (id,) = fill(db, 1)
    fill(db, 2)
    delete_records(db, [id], NOW)
    with pytest.raises(RetentionIntegrityError, match="does not match its content_hash"):
        bring_back(db, [ReturningContent(id, CHAIN, new(0, content='"other"'))], NOW)
    assert not is_there(db, id)


def test_what_came_back_is_young_for_prune(db: sqlite3.Connection) -> None:
    ids = fill(db, 2, at=100.0)
    delete_records(db, ids[:1], 150.0)
    bring_back(db, [returning(db, ids[0], 0)], 200.0)
    assert archive.prunable(db, 200.0) == ids[1:]
    assert archive.prunable(db, 200.5) == ids


def test_what_is_cleared_again_is_young_again(db: sqlite3.Connection) -> None:
    """Its placeholder may just be on its way into a transcript."""
    ids = fill(db, 2, at=100.0)
    mark(db, ids, 150.0, "user")
    assert add_records(db, CHAIN, [new(0)], now=200.0) == ids[:1]
    assert add_records(db, CHAIN, [new(0)], now=120.0) == ids[:1], "a clock that leaps back makes nothing old"
    assert archive.prunable(db, 180.0) == ids[1:]
    assert delete_records(db, ids, 300.0, only_marked=True) == ids[1:]
    assert set(marked(db)) == set(ids[:1]), "to take its mark back, and to log that, is a collection's"


def test_what_was_left_to_git_and_comes_back_hides_no_prune(db: sqlite3.Connection) -> None:
    ids = fill(db, 3)
    archive.set_source(db, ids[1], {"commit": "c0ffee"})
    archive_record(db, ids[1], hot_max=1, warm_max=1)
    delete_records(db, ids[:1], NOW)
    assert bring_back(db, [returning(db, ids[1], 1)], NOW) == ids[1:2]
    assert archive.pruned_of(db, "session-1") == (NOW, 1)


def test_a_kill_in_the_middle_of_a_deletion_leaves_all_or_nothing(forks: Forks, tmp_path: Path, count) -> None:
    path = tmp_path / "archive.sqlite"
    with closing(archive.open_archive(str(path))) as db:
        ids = [*fill(db, 4), *add_cleared(db, OTHER, [new(7), new(8)], 9.0)[1]]
        mark(db, ids, 1.0, "user")
    whole = path.read_bytes()
    doomed = [*ids[:3], *ids[4:]]
    left = []

    def world() -> dict[str, str]:
        for path_ in path.parent.glob("archive.sqlite*"):
            path_.unlink()
        path.write_bytes(whole)
        return {}

    def check(done: Done) -> None:
        with closing(archive.open_archive(str(path))) as db:
            there = [is_there(db, id) for id in doomed]
            assert len(set(there)) == 1, "all or nothing"
            assert set(marked(db)) == (set(ids) if there[0] else {ids[3]})
            report = verify(db)
            assert report.broken == report.problems == []
        left.append(there[0])

    kill_at_each_call(forks, Function("tests.archive.working:delete", [str(path), doomed]), world, check, count(3, 1))
    assert left == sorted(left, reverse=True)
    assert set(left) == {True, False}


def test_a_hold_of_another_scope_and_any_text_is_only_text(db: sqlite3.Connection) -> None:
    ids = fill(db, 1)
    for number, target in enumerate(["' OR 1=1 --", "a\0b", "\ud800", "x" * 5_000, json.dumps({"a": 1})]):
        add_hold(db, Hold(f"h{number}", SESSION, target, target, target, NOW))
    assert len(all_holds(db)) == 5
    assert delete_records(db, ids, NOW) == ids
