"""What an undo finds in a transcript and in the archive, asked for in this process."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention.core import archive
from popkit_retention.core.hosts.transcripts import transcript
from popkit_retention.core.reclaim import contents, restoring, undoing
from popkit_retention.core.reclaim.access import ClearRefused, OpenArchive
from popkit_retention.core.state.site import Site
from tests.archive.written import CHAIN, fill
from tests.reclaim.shops import EXPIRED, Shop, worked


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path)
    shop.write(worked(str(shop.project)))
    return shop


def test_the_placeholders_of_a_transcript_name_what_was_cleared(shop: Shop) -> None:
    assert contents.placeholders(str(shop.transcript), transcript.index(str(shop.transcript))) == []
    shop.clear()
    found = contents.placeholders(str(shop.transcript), transcript.index(str(shop.transcript)))
    assert sorted(found) == sorted(shop.cleared().values())
    assert len(found) == len(EXPIRED)


def test_an_undo_takes_back_the_newest_clear_alone(shop: Shop) -> None:
    shop.clear()
    first = {*shop.cleared().values()}
    assert {*undoing.taken_last(shop.site(), str(shop.transcript))[0]} == first
    shop.at += 60
    shop.clear(tier="medium")
    assert {*undoing.taken_last(shop.site(), str(shop.transcript))[0]} == {*shop.cleared().values()} - first != set()


def test_in_a_fork_an_undo_takes_back_what_the_other_session_had_compacted(shop: Shop) -> None:
    shop.clear()
    with closing(sqlite3.connect(shop.home / "archive.sqlite")) as db, db:
        db.execute("DELETE FROM cleared")  # a compaction notes none
    fork = Site(shop.environ(), "another", str(shop.project))
    assert {*undoing.taken_last(fork, str(shop.transcript))[0]} == {*shop.cleared().values()} != set()


def test_an_undo_is_refused_where_no_placeholder_stands(shop: Shop) -> None:
    with pytest.raises(ClearRefused, match="nothing to undo"):
        undoing.taken_last(shop.site(), str(shop.transcript))


@pytest.mark.parametrize(("count", "more"), [(8, ""), (9, "; and 1 more")])
def test_of_contents_that_are_gone_eight_are_named(tmp_path: Path, count: int, more: str) -> None:
    with closing(archive.open_archive(str(tmp_path / "archive.sqlite"))) as db:
        lost = [record for id in fill(db, count) if (record := archive.record(db, id))]
    named = "; ".join(f"Read src/{number}.py" for number in range(8))
    assert undoing._nothing(count, lost) == f"nothing can be undone: these contents are gone for good: {named}{more}"


@pytest.mark.parametrize(
    ("count", "said"), [(1, "1 result that this session had cleared was"), (2, "2 results that this session had cleared were")]
)
def test_what_a_prune_took_is_said_with_its_day(tmp_path: Path, count: int, said: str) -> None:
    with closing(archive.open_archive(str(tmp_path / "archive.sqlite"))) as db:
        fill(db, count)
        assert restoring.pruned(db, CHAIN.session_id) == ""
        archive.prune(db, 4e9, now=1_800_000_000.0)
        assert restoring.pruned(db, CHAIN.session_id) == f"{said} pruned on 2027-01-15, and cannot be restored"


def test_what_was_cleared_since_a_time_is_found_oldest_first(shop: Shop) -> None:
    shop.clear()
    first, began = {*shop.cleared().values()}, shop.at
    shop.at += 60
    shop.clear(tier="medium")
    everything = {*shop.cleared().values()}
    with OpenArchive(str(shop.home)) as db:
        since = {at: [record.id for record in restoring.cleared_since(db, shop.site(), at)] for at in (0.0, began, began + 1, shop.at + 1)}
        assert restoring.cleared_since(db, Site(shop.environ(), "another", str(shop.project)), 0.0) == []
    assert since[0.0] == since[began]
    assert {*since[0.0]} == everything
    assert {*since[0.0][: len(first)]} == first
    assert {*since[began + 1]} == everything - first
    assert since[shop.at + 1] == []
