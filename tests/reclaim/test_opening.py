"""The archive is opened for a clear, or that is refused and nothing is changed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from popkit_retention.core import archive
from popkit_retention.core.reclaim.access import ClearRefused, OpenArchive
from tests.reclaim.shops import Shop, worked


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path)
    shop.write(worked(str(shop.project)))
    return shop


def test_before_anything_is_archived_there_is_nothing_to_open(shop: Shop) -> None:
    with pytest.raises(ClearRefused, match="nothing has been archived yet"), OpenArchive(str(shop.home)):
        pass
    assert not (shop.home / "archive.sqlite").exists()


def test_an_archive_is_made_where_that_is_asked_for_in_folders_of_ours_alone(shop: Shop) -> None:
    home = shop.home / "of" / "another"
    for create in (True, False):
        with OpenArchive(str(home), create=create) as db:
            assert archive.handles_of(db, "a") == []
    assert [path.stat().st_mode & 0o777 for path in (home, home.parent)] == [0o700] * 2


def test_a_file_that_is_no_archive_is_refused_and_stays(shop: Shop) -> None:
    path = shop.home / "archive.sqlite"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"no database at all\n" * 99)
    with pytest.raises(ClearRefused, match=r"the archive cannot be used .*, so nothing was changed"), OpenArchive(str(shop.home)):
        pass
    assert path.read_bytes() == b"no database at all\n" * 99


def test_an_archive_that_fails_while_it_is_used_is_refused(shop: Shop) -> None:
    with pytest.raises(ClearRefused, match="no such table: nowhere"), OpenArchive(str(shop.home), create=True) as db:
        db.execute("SELECT * FROM nowhere")


@pytest.mark.parametrize("error", [KeyError("x"), OSError("disk")])
def test_other_errors_pass_and_the_archive_is_closed(shop: Shop, error: Exception) -> None:
    with pytest.raises(type(error)), OpenArchive(str(shop.home), create=True) as db:
        raise error
    with pytest.raises(sqlite3.ProgrammingError):
        db.execute("SELECT 1")
