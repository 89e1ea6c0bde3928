"""Threads and tasks share a memory; what is wrong with its store is said as it is."""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from popkit_retention.core.io import sqlite_file
from popkit_retention.memory import AsyncMemory, InMemoryStore, Memory, SqliteStore, StoreUnavailable

THREADS, EACH = 8, 12
STORES: dict[str, Callable[[Path], object]] = {
    "a file": lambda folder: SqliteStore(folder / "agent.sqlite"),
    "SQLite's memory": lambda _: SqliteStore(":memory:"),
    "this process": lambda _: InMemoryStore(),
}


@pytest.fixture(params=STORES)
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Memory:
    with Memory(STORES[request.param](tmp_path), "shop") as memory:
        yield memory


def test_any_thread_may_use_a_memory_and_nothing_is_lost(memory: Memory) -> None:
    failures: list[Exception] = []

    def work(number: int) -> None:
        try:
            for turn in range(EACH):
                item = memory.add(f"Customer {number} asked about order {turn}.")
                assert memory.search(f"customer {number} order {turn}")
                memory.forget([item.id]) if turn % 3 == 0 else memory.reinforce([item.id])
        except Exception as error:  # noqa: BLE001  told by the thread that asserts
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(memory.list(marked=None, most=None)) == THREADS * EACH
    assert len(memory.list(marked=True, most=None)) == THREADS * EACH // 3
    assert memory.store.verify() == []


def test_tasks_share_an_awaited_memory(tmp_path: Path) -> None:
    async def worked() -> tuple[int, list[str]]:
        async with AsyncMemory(SqliteStore(tmp_path / "agent.sqlite"), "shop") as memory:
            await asyncio.gather(*(memory.add(f"Customer {number} prefers e-mail.") for number in range(20)))
            found = await memory.search("customer 7")
            return len(await memory.list(most=None)), [item.text for item, _ in found][:1]

    assert asyncio.run(worked()) == (20, ["Customer 7 prefers e-mail."])


def test_an_awaited_memory_has_every_word_of_memory() -> None:
    """`scoped` waits for nothing."""
    words = {name for name, value in vars(Memory).items() if inspect.isfunction(value) and not name.startswith("_")} - {"scoped"}
    assert words == {name for name, value in vars(AsyncMemory).items() if inspect.iscoroutinefunction(value) and not name.startswith("_")}


def test_a_closed_store_says_that_it_was_closed(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "agent.sqlite")
    memory = Memory(store)
    memory.close()
    for use in (lambda: memory.add("x"), memory.status, lambda: memory.search("x"), memory.run, store.compact, store.verify):
        with pytest.raises(StoreUnavailable, match=r"agent\.sqlite: this store was closed\. Open another SqliteStore"):
            use()
    memory.close()  # once more does nothing


def test_a_path_may_begin_with_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    SqliteStore("~/agent.sqlite").close()
    assert (tmp_path / "agent.sqlite").exists()


def test_a_missing_file_is_not_made_unless_it_may_be(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"none\.sqlite does not exist\. Check the path, or let it be made"):
        SqliteStore(tmp_path / "none.sqlite", create=False)


def _corrupted(path: Path) -> None:
    with Memory(SqliteStore(path)) as memory:
        for number in range(200):
            memory.add(f"note {number} " + "word " * 50)
    with path.open("r+b") as file:
        file.seek(8 * 4096)
        file.write(b"\xff" * 40 * 4096)


def test_only_a_corrupt_file_is_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "agent.sqlite"
    _corrupted(path)
    with (
        pytest.raises(StoreUnavailable, match=r"damaged|malformed"),
        Memory(SqliteStore(path)) as memory,
    ):
        memory.list(most=None)


@pytest.mark.parametrize("said", ["database is locked", "disk I/O error", "too many SQL variables", "no such table: items"])
def test_no_other_error_of_sqlite_is_called_damage(said: str) -> None:
    assert not sqlite_file.is_damage(sqlite3.OperationalError(said))


@pytest.mark.parametrize("said", ["database disk image is malformed", "file is not a database", "Could not decode to UTF-8 column 'text'"])
def test_where_sqlite_gives_no_code_its_words_say_that_a_file_is_damaged(said: str) -> None:
    assert sqlite_file.is_damage(sqlite3.DatabaseError(said))
