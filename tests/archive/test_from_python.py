"""The archive as a program uses it: `popkit_retention.archive`."""

from __future__ import annotations

import asyncio
import inspect
import json
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from popkit_retention import archive as package
from popkit_retention.archive import Archive, AsyncArchive, ContentGone, RecordNotFound, RetentionIntegrityError, StoreError
from popkit_retention.core.archive.deletion import delete_records

LOG = "INFO started\nERROR payment timeout after 30 s\nINFO stopped"


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "archive.sqlite") as archive:
        yield archive


def test_what_is_added_is_found_by_its_words_and_read_as_it_was(archive: Archive) -> None:
    record = archive.add(LOG, "cat pay.log", session_id="s1", tool_use_id="call-1")
    archive.add("nothing of the kind", "ls", session_id="s1")
    (found,) = archive.search("payment timeout")
    assert (found.record.id, found.lines) == (record.id, ["ERROR payment timeout after 30 s"])
    assert archive.read(record.id) == LOG
    assert archive.read(record.id[:5]) == LOG
    assert archive.find(record.id).label == "cat pay.log"


def test_the_same_content_of_a_call_is_one_record_and_of_another_call_two(archive: Archive) -> None:
    ids = [archive.add(LOG, "cat", session_id="s1", tool_use_id=call).id for call in ("a", "a", "b")]
    assert ids[0] == ids[1] != ids[2]
    assert archive.stats()["records"] == 2


def test_blocks_come_back_as_the_provider_had_them(archive: Archive) -> None:
    blocks = [{"type": "text", "text": "see"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}]
    id = archive.add(blocks, "screenshot", session_id="s1").id
    assert archive.blocks(id) == blocks
    assert archive.read(id).startswith("see\n[image: image/png")
    with pytest.raises(ValueError, match="JSON"):
        archive.add(float("nan"), "no JSON", session_id="s1")


def test_secrets_are_masked_in_what_a_search_shows_and_kept_in_the_content(archive: Archive) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    id = archive.add(f"export TOKEN={token}", f"echo {token}", session_id="s1").id
    (found,) = archive.search("export")
    assert token not in "".join(found.lines) + found.record.label
    assert token in archive.read(id)


def test_records_are_listed_newest_first_by_session_and_project_and_time(archive: Archive) -> None:
    for session, project in (("s1", "/shop"), ("s2", "/shop"), ("s2", "/shop")):
        archive.add(f"content {archive.stats()['records']}", "cat", session_id=session, project=project)
    archive.add("elsewhere", "cat", session_id="t1", project="/other", agent_id="helper")
    assert [record.task_id for record in archive.list()] == ["t1/helper", "s2", "s2", "s1"]
    assert [record.task_id for record in archive.list(session_id="s", most=2)] == ["s2", "s2"]
    assert len(archive.list(project="/shop")) == 3
    assert archive.list(since=time.time() + 60) == []
    assert [found.record.task_id for found in archive.search("content", session_id="s1")] == ["s1"]
    assert archive.search("content", project="/other") == []


def test_an_unknown_handle_and_one_that_several_begin_with_are_not_found(archive: Archive) -> None:
    archive.add(LOG, "cat", session_id="s1")
    for id in ("", "zzzzzzzz", "no handle"):
        with pytest.raises(RecordNotFound, match=f"not found: {id}"):
            archive.read(id)


def test_what_was_deleted_is_gone_and_what_was_changed_is_not_read(archive: Archive, tmp_path: Path) -> None:
    gone, kept, changed = (archive.add(text, "cat", session_id="s1").id for text in ("one", "two", "three"))
    delete_records(archive._db, [gone])
    with pytest.raises(ContentGone, match=gone):
        archive.read(gone)
    assert archive.read(kept) == "two"
    assert archive.verify().broken == []
    with sqlite3.connect(tmp_path / "archive.sqlite") as other:
        other.execute("UPDATE thought_records SET content = CAST('\"four\"' AS TEXT) WHERE id = ?", (changed,))
    other.close()
    with pytest.raises(RetentionIntegrityError, match=changed):
        archive.read(changed)
    (broken,) = archive.verify().broken
    assert broken.id == changed


def test_a_hold_keeps_a_record_a_session_or_a_project_until_it_is_released(archive: Archive) -> None:
    first = archive.add("one", "cat", session_id="s1", project="/shop")
    second = archive.add("two", "cat", session_id="s2", project="/other")
    hold = archive.hold(first.id[:5], why="an audit", until=time.time() + 3_600)
    whole = archive.hold("s2", "session")
    archive.hold("/shop", "project")
    assert [(held.scope, held.why) for held in archive.holds()] == [("item", "an audit"), ("session", ""), ("project", "")]
    assert archive.holds()[0].target == first.id
    assert delete_records(archive._db, [first.id, second.id]) == []
    assert archive.release(whole.id)
    assert not archive.release(whole.id)
    assert delete_records(archive._db, [first.id, second.id]) == [second.id]
    assert archive.release(hold.id)
    assert delete_records(archive._db, [first.id]) == [], "its project is held"
    for scope, target in (("everything", "x"), ("session", "")):
        with pytest.raises(ValueError, match="a hold names one of these: item, session, project"):
            archive.hold(target, scope)
    with pytest.raises(RecordNotFound):
        archive.hold("zzzzzzzz")


def test_an_export_has_every_record_with_its_content_oldest_first(archive: Archive) -> None:
    archive.add("one", "cat", session_id="s1", project="/shop", tool_use_id="call-1")
    gone = archive.add([{"type": "text", "text": "two"}], "cat", session_id="s2")
    rows = [json.loads(line) for line in archive.export()]
    assert [(row["session_id"], row["project"], row["content"]) for row in rows] == [
        ("s1", "/shop", "one"),
        ("s2", "", [{"type": "text", "text": "two"}]),
    ]
    assert rows[0]["tool_use_id"] == "call-1"
    delete_records(archive._db, [gone.id])
    assert [json.loads(line)["content"] for line in archive.export(session_id="s1")] == ["one"]


def test_threads_share_it(archive: Archive) -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda number: archive.add(f"content {number}", "cat", session_id="s1").id, range(30)))
        texts = list(pool.map(archive.read, ids))
    assert texts == [f"content {number}" for number in range(30)]
    assert archive.verify().broken == []


def test_without_a_path_it_is_that_of_the_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPKIT_HOME", str(tmp_path / "popkit"))
    with Archive() as archive:
        assert archive.path == str(tmp_path / "popkit" / "archive.sqlite")
        assert archive.search("anything") == []


def test_an_error_names_the_file_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"none\.sqlite does not exist"):
        Archive(tmp_path / "none.sqlite", create=False)
    (tmp_path / "other.sqlite").write_text("no database " * 100)
    with pytest.raises(StoreError, match=r"other\.sqlite"):
        Archive(tmp_path / "other.sqlite")
    with pytest.raises(StoreError, match="choose another path"):
        Archive(tmp_path)
    closed = Archive(tmp_path / "archive.sqlite")
    closed.close()
    with pytest.raises(StoreError, match=r"archive\.sqlite: .*closed"):
        closed.list()


def test_tasks_share_it(tmp_path: Path) -> None:
    async def worked() -> tuple[list[str], list[str]]:
        async with AsyncArchive(tmp_path / "archive.sqlite") as archive:
            records = await asyncio.gather(
                *(archive.add(f"content {number}", "cat", session_id="s1", project="/shop") for number in range(30))
            )
            texts = await asyncio.gather(*(archive.read(record.id) for record in records))
            await archive.add("of another session", "cat", session_id="s2", project="/shop")
            await archive.add("of another project", "cat", session_id="s1-2", project="/mill")
            return list(texts), [json.loads(line)["content"] async for line in archive.export(session_id="s1", project="/shop")]

    texts, exported = asyncio.run(worked())
    assert texts == [f"content {number}" for number in range(30)]
    assert sorted(exported) == sorted(texts)


def test_the_awaited_archive_has_every_word_and_error(tmp_path: Path) -> None:
    async def closed() -> None:
        archive = AsyncArchive(tmp_path / "archive.sqlite")
        await archive.close()
        with pytest.raises(StoreError, match="closed"):
            await archive.list()

    words = {name for name, value in vars(Archive).items() if inspect.isfunction(value) and not name.startswith("_")}
    waits = (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    awaited = {name for name, value in vars(AsyncArchive).items() if any(is_so(value) for is_so in waits)}
    assert words == {name for name in awaited if not name.startswith("_")}
    asyncio.run(closed())


@pytest.mark.parametrize("name", package.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(package, name).__name__ == name


def test_what_is_deleted_is_overwritten_in_the_file(archive: Archive) -> None:
    record = archive.add("secret", "cat", session_id="s1")
    archive._db.execute("PRAGMA secure_delete = OFF")
    delete_records(archive._db, [record.id])
    assert archive._db.execute("PRAGMA secure_delete").fetchone() == (1,)
