"""Contents in the archive, as those who look for them find them: cold ones too, and nothing where the archive is not to be read."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection

import pytest

from popkit_retention.core import archive
from popkit_retention.core.io import files, repository
from popkit_retention.core.state import archived
from tests.patience import HANG_S

NOW = 1_800_000_000.0
FILE = "x = 1\ny = 2\n"
SHOWN = json.dumps("1\tx = 1\n2\ty = 2\n3\t")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    with closing(archive.open_archive(str(tmp_path / "archive.sqlite"))) as db:
        yield db


def add(db: Connection, *contents: str, project: str = "/shop", session: str = "s1", subjects: tuple[str, ...] = ()) -> list[str]:
    new = [
        archive.NewRecord(f"{session}-{number}", "read", f"Read {number}", text, subjects=subjects) for number, text in enumerate(contents)
    ]
    return archive.add_records(db, archive.Chain(session, session, project=project), new, now=NOW)


def cool(db: Connection, id: str) -> None:
    assert archive.archive_record(db, id, 1, 1, now=NOW + 1e9)["to_zone"] == "cold"


def test_a_content_is_found_while_it_is_kept_or_can_be_made_again(db: Connection, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(FILE)
    cold, gone, hot = add(db, SHOWN, '"gone"', '"hot"')
    source = archive.source_of(SHOWN, str(tmp_path / "a.py"))
    assert source is not None
    archive.set_source(db, cold, source)
    for id in (cold, gone):
        cool(db, id)
    assert [archived.content_of(db, id) for id in (hot, cold, gone, "aaaa2345", "none")] == ['"hot"', SHOWN, None, None, None]
    assert archived.restorable(str(tmp_path), [hot, cold, gone, "aaaa2345"]) == {hot, cold}
    originals = archived.Originals(str(tmp_path))
    assert [originals(id) for id in (hot, cold, gone, "aaaa2345", "none")] == ['"hot"', None, None, None, None]
    originals.close()


def test_an_archive_that_is_not_there_is_not_made_and_is_looked_for_once(tmp_path: Path) -> None:
    originals = archived.Originals(str(tmp_path))
    assert (originals("aaaa2345"), archived.restorable(str(tmp_path), ["aaaa2345"])) == (None, set())
    assert list(tmp_path.iterdir()) == []
    with closing(archive.open_archive(str(tmp_path / "archive.sqlite"))) as db:
        (id,) = add(db, '"text"')
    assert originals(id) is None
    originals.close()
    assert originals(id) == '"text"'
    originals.close()


def test_a_damaged_archive_is_one_that_cannot_be_read_now(tmp_path: Path) -> None:
    (tmp_path / "archive.sqlite").write_bytes(b"not an archive" * 99)
    assert archived.restorable(str(tmp_path), ["aaaa2345"]) is None
    assert archived.Originals(str(tmp_path))("aaaa2345") is None


def test_who_holds_the_archive_is_not_waited_for_again_and_again(db: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (id,) = add(db, '"text"')
    db.execute("PRAGMA journal_mode=DELETE")
    originals = archived.Originals(str(tmp_path))
    monkeypatch.setattr(files.patience, "left_s", 0.05)
    assert originals(id) == '"text"'
    files.patience.left_s = 0.05
    with closing(sqlite3.connect(tmp_path / "archive.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        assert archived.restorable(str(tmp_path), [id]) is None
        assert originals(id) is None
        assert files.patience.left_s < 0.05
        files.patience.left_s = 0.05
        assert (originals(id), files.patience.left_s) == (None, 0.05)
        assert time.monotonic() - began < HANG_S
        other.execute("ROLLBACK")
    assert originals(id) is None
    originals.close()
    assert originals(id) == '"text"'
    originals.close()


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("a.py", ["a"]), ("src/a.py", ["a"]), ("/shop/src/a.py", ["a"]), ("other/a.py", []), ("*.py", ["b", "a"]), ("src/*.py", ["a"]),
        ("src/", ["b", "a"]), ("src/**", ["b", "a"]), ("**", ["command", "b", "a"]), ("**/*.py", ["b", "a"]),
        ("src\\a.py", ["a"]), ("npm test ui/x", ["command"]), ("npm *", ["command"]), ("npm test */x", ["command"]), ("npm", []),
        ("*.ts", []), ("deep/b.py", ["b"]), ("", []),
    ],
)  # fmt: skip
def test_a_pattern_finds_paths_and_commands_the_newest_first(db: Connection, pattern: str, found: list[str]) -> None:
    for name, subject in (("a", "/shop/src/a.py"), ("b", "/shop/src/deep/b.py"), ("command", "npm test ui/x")):
        add(db, f'"{name}"', session=name, subjects=(subject,))
    assert [record.tool_use_id.partition("-")[0] for record in archived.matching(db, pattern)] == found


def test_the_folders_of_a_project_are_those_that_its_sessions_were_in(db: Connection, tmp_path: Path) -> None:
    for name in ("shop", "other"):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / "src").mkdir()
    shop, other = (repository.of(str(tmp_path / name)).key for name in ("shop", "other"))
    for number, folder in enumerate((tmp_path / "shop", tmp_path / "shop" / "src", tmp_path / "other", tmp_path / "shop")):
        add(db, '"x"', project=str(folder), session=f"s{number}")
    add(db, '"x"', project="", session="s9")
    add(db, '"x"', project=str(tmp_path / "shop"), session="s10")
    db.execute("UPDATE chains SET project = x'00' WHERE session_id = 's10'")
    assert archived.folders_of(db, shop) == {str(tmp_path / "shop"), str(tmp_path / "shop" / "src")}
    assert archived.folders_of(db, other) == {str(tmp_path / "other")}
    assert archived.folders_of(db, "none") == set()


def test_a_context_has_the_name_of_its_session_and_agent() -> None:
    assert (archived.task_id("s"), archived.task_id("s", "a"), archived.THINKING) == ("s", "s/a", "thinking")
