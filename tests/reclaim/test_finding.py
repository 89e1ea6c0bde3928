"""What a word of the user's means among what is archived: a handle, a call, or a path in the session or its project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from sqlite3 import Connection

import pytest

from popkit_retention.core.reclaim.access import OpenArchive
from popkit_retention.core.reclaim.restoring import ContentNotFound, matching, records_for
from tests.reclaim.shops import Shop, worked


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A session after a clear of all Reads."""
    shop = Shop(tmp_path)
    shop.write(worked(str(shop.project)))
    shop.clear(tier="medium")
    return shop


@pytest.fixture
def db(shop: Shop) -> Iterator[Connection]:
    with OpenArchive(str(shop.home)) as opened:
        yield opened


def found(db: Connection, word: str, session_id: str, project: object) -> list[str]:
    return [record.tool_use_id for record in records_for(db, word, session_id, str(project))]


def test_a_handle_its_beginning_and_a_call_mean_one_result_wherever_one_asks(shop: Shop, db: Connection) -> None:
    for id, handle in shop.cleared().items():
        for word in (handle, handle[:7], id):
            assert found(db, word, "another", "/nowhere") == [id]


def test_a_path_means_results_of_the_session_wherever_one_asks(shop: Shop, db: Connection) -> None:
    assert found(db, "lib.ts", shop.session_id, "/nowhere") == ["read-lib"]
    assert {*found(db, "*.ts", shop.session_id, "/nowhere")} >= {"read-lib", "read-app"}


@pytest.mark.parametrize("within", ["", "src", "src/deep/er"])
def test_a_path_means_results_of_the_project_in_all_its_folders(shop: Shop, db: Connection, within: str) -> None:
    assert found(db, "lib.ts", "another", shop.project / within) == ["read-lib"]


@pytest.mark.parametrize("elsewhere", ["", "/", "/nowhere", "."])
def test_a_path_means_nothing_of_another_project(shop: Shop, db: Connection, elsewhere: str) -> None:
    assert matching(db, "lib.ts", "another", elsewhere) == []
    assert matching(db, "lib.ts", "", str(shop.project.parent)) == []
    assert matching(db, "lib.ts", "", f"{shop.project}-old") == []
    with pytest.raises(ContentNotFound, match=r'nothing cleared is called "lib.ts"'):
        records_for(db, "lib.ts", "another", elsewhere)


def test_a_word_that_means_nothing_is_repeated_as_one_short_line(db: Connection) -> None:
    with pytest.raises(ContentNotFound, match=r'called "a\?b\?c' + "c" * 35 + r'"\.'):
        records_for(db, "a\x1bb\n" + "c" * 99, "another", "/nowhere")
