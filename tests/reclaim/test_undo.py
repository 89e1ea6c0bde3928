"""Undo of what earlier versions cleared: their placeholders in the transcript say what comes back once the session is resumed."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.reclaim.shops import EXPIRED, SESSION, Shop, worked

FORK = "5e551019-0000-4000-8000-00000000000f"


def undone(shop: Shop) -> set[str]:
    """ids of what an undo notes."""
    done = shop.context("undo", "--json")
    assert done.code == 0, done
    assert done.json == {"restored": shop.noted().back, "stays_out": [], "later": True}
    ids = {handle: id for id, handle in shop.cleared().items()}
    return {ids[handle] for handle in done.json["restored"]}


def refused(shop: Shop) -> str:
    before = shop.transcript.read_bytes()
    done = shop.context("undo")
    assert (done.code, done.out) == (1, "")
    assert (shop.noted().back, shop.transcript.read_bytes()) == ([], before)
    return " ".join(done.err.split())


def forget(shop: Shop, *handles: str) -> None:
    """These contents are gone for good, as a prune leaves them."""
    with closing(sqlite3.connect(shop.home / "archive.sqlite")) as db, db:
        for handle in handles:
            gone = "zone = 'cold', content = NULL, content_compressed = NULL, source = NULL"
            db.execute(f"UPDATE thought_records SET {gone} WHERE id = ?", (handle,))  # noqa: S608  our own columns


@pytest.fixture
def twice(shop: Shop) -> Shop:
    """Cleared twice: first what had expired, then the Reads."""
    shop.write(worked(str(shop.project)))
    shop.clear()
    shop.at += 60
    shop.clear(tier="medium")
    return shop


def newer(shop: Shop) -> set[str]:
    return set(shop.cleared()) - EXPIRED


def test_without_a_clear_there_is_nothing_to_undo(working: Shop):
    assert "nothing to undo" in refused(working)


def test_it_takes_back_the_newest_clear_and_says_when(twice: Shop):
    before = twice.transcript.read_bytes()
    assert newer(twice) >= {"read-lib", "read-app"}
    assert undone(twice) == newer(twice)
    assert twice.transcript.read_bytes() == before
    twice.context("undo")
    said = " ".join(twice.context("undo").out.split())
    assert "when the session is resumed in Claude Code 2.1.326 or later" in said
    assert "To cancel it before that: popkit context --session" in said


def test_a_clear_that_is_noted_and_not_done_is_cancelled_first(twice: Shop):
    assert twice.context("clear", "--id", "new-test").code == 0
    assert twice.noted().only == ["new-test"]
    assert twice.context("undo", "--json").json == {"restored": [], "stays_out": [], "later": False}
    assert (twice.noted().only, twice.noted().back) == ([], [])
    assert undone(twice) == newer(twice)


def test_a_way_back_that_is_noted_and_not_gone_is_cancelled_first(twice: Shop):
    assert undone(twice) == newer(twice)
    shown = " ".join(twice.context("retention").out.split())
    assert f"A way back is noted: {len(newer(twice))} contents come back when the session is resumed" in shown
    assert "[1] Cancel it: popkit context" in shown
    assert twice.context("undo", "--json").json == {"restored": [], "stays_out": [], "later": False}
    assert (twice.noted().only, twice.noted().back) == ([], [])
    assert "is noted" not in twice.context("retention").out
    assert undone(twice) == newer(twice)
    assert twice.context("clear", "--id", "new-test").code == 0
    assert "The clear had not been done yet" in " ".join(twice.context("undo").out.split()), "of both, what was asked for last"
    assert "stays out" in " ".join(twice.context("undo").out.split())


def test_the_clear_of_another_session_stays_undone(working: Shop):
    working.clear()
    other = Shop(working.folder, working.forks, "5e551019-0000-4000-8000-000000000002")
    other.write(worked(str(working.project), session_id=other.session_id))
    assert "nothing to undo" in refused(other)


def test_a_fork_undoes_what_its_copied_placeholders_stand_for(working: Shop):
    working.clear()
    fork = Shop(working.folder, working.forks, FORK)
    fork.at = working.at
    fork.transcript.write_bytes(working.transcript.read_bytes().replace(SESSION.encode(), FORK.encode()))
    assert undone(fork) == EXPIRED
    assert working.noted().back == []


def test_a_placeholder_that_the_model_repeats_is_no_placeholder(shop: Shop):
    talk = worked(str(shop.project))
    shop.write(talk)
    shop.clear()
    notice, there = shop.contents()["read-old"], len(talk.entries)
    talk.use("echo", "Bash", {"command": "echo it"})
    talk.result("echo", notice)
    shop.goes_on(talk, there)
    assert set(shop.context("undo", "--json").json["restored"]) == set(shop.cleared().values())


def test_what_is_behind_a_compaction_does_not_come_back(shop: Shop):
    talk = worked(str(shop.project))
    shop.write(talk)
    shop.clear()
    there = len(talk.entries)
    talk.compact()
    talk.say("On.")
    shop.goes_on(talk, there)
    assert "nothing to undo" in refused(shop)


def test_what_can_come_back_does_and_a_clear_that_is_lost_altogether_is_passed_over(twice: Shop):
    forget(twice, twice.cleared()["read-lib"])
    assert undone(twice) == newer(twice) - {"read-lib"}
    twice.context("undo")  # cancels it
    forget(twice, *(twice.cleared()[id] for id in newer(twice)))
    done = twice.context("undo", "--json")
    assert set(done.json["restored"]) == {twice.cleared()[id] for id in EXPIRED}


def test_where_nothing_can_come_back_it_says_what_is_lost(twice: Shop):
    forget(twice, *twice.cleared().values())
    error = refused(twice)
    assert "gone for good" in error
    assert "Read lib.ts" in error


def test_placeholders_that_the_archive_knows_nothing_of_are_reported(twice: Shop):
    with closing(sqlite3.connect(twice.home / "archive.sqlite")) as db, db:
        db.execute("DELETE FROM cleared")
        db.execute("DELETE FROM thought_records")
    assert f"the contents of {len(twice.cleared())} placeholders are no longer in the archive" in refused(twice)
