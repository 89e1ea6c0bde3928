"""The store in a file: private, unharmed by whatever happens to it, shared by processes; it says what to do where it cannot be used."""

from __future__ import annotations

import os
import random
import sqlite3
import struct
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.conformance.checking import NOW, example, full
from popkit_retention.core.io.sqlite_file import Schema, open_store
from popkit_retention.memory.items import DIMENSIONS
from popkit_retention.memory.stores import sqlite_schema
from popkit_retention.memory.stores.in_memory import InMemoryStore
from popkit_retention.memory.stores.protocol import Change, StoreUnavailable
from popkit_retention.memory.stores.sqlite import SqliteStore
from popkit_retention.memory.terms import terms_of
from tests.kit.crowds import all_do
from tests.kit.forks import Done, Forks, Function
from tests.kit.kills import kill_at_random_moments
from tests.memory.stores.refusing import refused


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A store with some items in it, closed."""
    path = str(tmp_path / "popkit" / "memory.sqlite")
    with closing(SqliteStore(path)) as store:
        store.add([example(number) for number in range(40)])
        store.add([full()])
        store.keep_original("m00001", "the whole text " * 50)
    return path


def test_the_file_is_private_and_known_by_its_head(path: str) -> None:
    assert Path(path).stat().st_mode & 0o777 == 0o600
    assert Path(path).parent.stat().st_mode & 0o777 == 0o700
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA application_id").fetchone() == (sqlite_schema.APPLICATION_ID,)
        assert db.execute("PRAGMA user_version").fetchone() == (len(sqlite_schema.MIGRATIONS),)
    assert list(Path(path).parent.iterdir()) == [Path(path)]


def test_a_file_that_is_missing_is_made_only_when_asked(tmp_path: Path) -> None:
    missing = tmp_path / "memory.sqlite"
    refused(lambda: SqliteStore(str(missing), create=False), "does not exist", "let it be made")
    assert not missing.exists()


def test_a_store_of_a_later_popkit_is_left_alone(path: str) -> None:
    later = Schema("memory", sqlite_schema.APPLICATION_ID, (*sqlite_schema.MIGRATIONS, ("later", ("CREATE TABLE later (a)",))))
    open_store(path, later).close()
    before = Path(path).read_bytes()
    refused(lambda: SqliteStore(path), "later PopKit", "Update PopKit")
    assert Path(path).read_bytes() == before


@pytest.mark.parametrize("harm", ["cut", "overwritten", "another program's", "a folder", "a link"])
def test_a_file_that_is_no_store_is_left_alone_with_what_to_do(path: str, harm: str) -> None:
    file = Path(path)
    if harm == "cut":
        os.truncate(path, 9_000)
    elif harm == "overwritten":
        file.write_bytes(b"no database " * 1000)
    else:
        file.unlink()
    if harm == "another program's":
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE theirs (a)")
    elif harm == "a folder":
        file.mkdir()
    elif harm == "a link":
        file.symlink_to("/etc/passwd")
    before = file.read_bytes() if file.is_file() else None

    def use() -> None:
        with closing(SqliteStore(path)) as store:
            list(store.scan())
            store.candidates(["zebra"])

    refused(use, path, "Make it writable" if harm.startswith("a ") else "ove it away")
    assert before == (file.read_bytes() if file.is_file() else None)


def test_a_flipped_bit_in_an_original_is_found_and_reported(path: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        content = bytearray(db.execute("SELECT content FROM originals").fetchone()[0])
        content[-5] ^= 1
        db.execute("UPDATE originals SET content = ?", (bytes(content),))
    with closing(SqliteStore(path)) as store:
        refused(lambda: store.original("m00001"), "damaged", "backup")
        (problem,) = store.verify()
        assert "m00001" in problem
        assert store.get(["m00001"])[0].text == example(1).text


def test_any_flipped_bit_of_an_original_is_found_or_harmless(path: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        (content,) = db.execute("SELECT content FROM originals").fetchone()
    detected = 0
    with closing(SqliteStore(path)) as store:
        for at in range(len(content)):
            flipped = bytearray(content)
            flipped[at] ^= 1 << at % 8
            with closing(sqlite3.connect(path)) as db, db:
                db.execute("UPDATE originals SET content = ?", (bytes(flipped),))
            try:
                # gzip has bits that mean nothing, of the time in its head for one
                assert store.original("m00001") == "the whole text " * 50
            except StoreUnavailable:
                detected += 1
    assert detected > len(content) - 12


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        ("UPDATE words SET items = items + 1", "counts of words are wrong"),
        ("UPDATE extents SET length = 0", "counts of items in the index are wrong"),
        ("DELETE FROM found WHERE rowid = 3", "not in the index of words: 1 item"),
        ("INSERT INTO found (rowid, words, length) VALUES (999, '1', 1)", "in the index of words, where it should not be: 1 item"),
        ("UPDATE items SET marked_at = 5.0 WHERE id = 'm00005'", "in the index of words, where it should not be: 1 item"),
        ("UPDATE items SET score = 7.0 WHERE id = 'm00005'", "score is 7.0"),
        ("UPDATE items SET tier = 'LUKEWARM' WHERE id = 'm00005'", "LUKEWARM"),
        ("DELETE FROM originals", "m00001: its original is missing"),
        ("UPDATE found_data SET block = zeroblob(9) WHERE id > 100", "index of words is damaged"),
    ],
)
def test_verify_tells_what_was_tampered_with(path: str, harm: str, problem: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(harm)
    with closing(SqliteStore(path)) as store:
        assert problem in " ".join(store.verify())


def test_a_malformed_row_names_its_item(path: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE items SET details = '{' WHERE id = 'm00005'")
    with closing(SqliteStore(path)) as store:
        refused(lambda: list(store.scan()), "m00005", "import your newest backup")


@given(st.lists(st.floats(-1, 1, width=32), min_size=DIMENSIONS, max_size=DIMENSIONS))
def test_an_embedding_comes_back_as_it_was_kept_in_four_bytes_a_number(embedding: list[float]) -> None:
    assert len(sqlite_schema.blob_of(embedding)) == 1536
    assert sqlite_schema.numbers_of(sqlite_schema.blob_of(embedding)) == embedding


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=DIMENSIONS, max_size=DIMENSIONS))
def test_an_embedding_of_numbers_that_need_eight_bytes_comes_back_too(embedding: list[float]) -> None:
    assert sqlite_schema.numbers_of(sqlite_schema.blob_of(embedding)) == embedding


@pytest.mark.parametrize("length", [0, 1532, 1535, 1540])
def test_bytes_that_are_no_embedding_are_refused(length: int) -> None:
    with pytest.raises(struct.error):
        sqlite_schema.numbers_of(b"\0" * length)


def test_a_full_or_read_only_file_says_so_and_nothing_is_lost(path: str) -> None:
    with closing(SqliteStore(path)) as store:
        before = [item.to_json() for item in store.scan()]
        store._db.execute(f"PRAGMA max_page_count = {store._db.execute('PRAGMA page_count').fetchone()[0]}")
        more = [example(number, text="new words " + "x" * 500) for number in range(100, 400)]
        refused(lambda: store.add(more), "disk is full", "Free some space")
        refused(lambda: store.change([Change(f"m{n:05d}", {"text": "long " * 999}) for n in range(40)]), "disk is full")
        store._db.execute("PRAGMA query_only = ON")
        refused(lambda: store.access(["m00001"], NOW), "read-only")
        store._db.execute("PRAGMA query_only = OFF")
        assert [item.to_json() for item in store.scan()] == before
        assert store.verify() == []


def test_a_file_that_another_process_keeps_busy_says_so(path: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other, closing(SqliteStore(path, busy_s=0.05)) as store:
        other.execute("BEGIN EXCLUSIVE")
        refused(lambda: store.access(["m00001"], NOW), "another process", "Try again")
        refused(lambda: store.get(["m00001"]), "another process")
        other.execute("ROLLBACK")
        assert store.access(["m00001"], NOW) == 1


def test_a_python_without_fts5_is_told_to(tmp_path: Path) -> None:
    lacking = Schema("memory", 1, (("first", ("CREATE VIRTUAL TABLE found USING fts_of_nobody (words)",)),))
    with closing(SqliteStore(str(tmp_path / "memory.sqlite"))) as store:

        def opening() -> None:
            with store._usable():
                open_store(str(tmp_path / "other.sqlite"), lacking)

        refused(opening, "has no FTS5", "Neo4j")


def test_several_processes_lose_nothing(forks: Forks, path: str) -> None:
    all_do(forks, [Function("tests.memory.stores.working:work", [path, n, 20]) for n in range(4)], {})
    with closing(SqliteStore(path)) as store:
        assert [item.access_count for item in store.get(["m00001", "m00002"])] == [80, 80]
        assert store.get(["m00003"])[0].writes == 81
        assert len(list(store.scan())) == 41 + 80
        assert len(store.logged(most=500)) == 80
        assert store.verify() == []


def test_what_was_acknowledged_outlives_a_kill(forks: Forks, path: str) -> None:
    whole = Path(path).read_bytes()

    def world() -> dict[str, str]:
        for left in Path(path).parent.glob("memory.sqlite*"):
            left.unlink()
        Path(path).write_bytes(whole)
        return {}

    def check(done: Done) -> None:
        acknowledged = len(done.out.splitlines())
        with closing(SqliteStore(path)) as store:
            assert store.get(["m00001"])[0].access_count >= acknowledged
            assert len(store.logged(most=20_000)) >= acknowledged
            assert store.verify() == []

    kill_at_random_moments(forks, Function("tests.memory.stores.working:work", [path, 0, 20]), world, check, 3)


def test_what_is_removed_is_overwritten_in_the_file(path: str) -> None:
    with closing(SqliteStore(path)) as store:
        store.add([example(500, text="unforgettable xylophone " * 40)])
        store.keep_original("m00500", "0xDEADBEEF")
        assert b"xylophon" in Path(path).read_bytes()
        store.remove(["m00500"])
    for word in (b"xylophon", b"0xDEADBEEF", b"m00500"):
        assert word not in Path(path).read_bytes()


words = st.lists(st.sampled_from("ant bee cat dog eel".split()), min_size=1, max_size=4).map(" ".join)
steps = st.one_of(
    st.tuples(st.just("add"), words, st.sampled_from("pq")),
    st.tuples(st.just("text"), words, st.integers(0, 9)),
    st.tuples(st.just("mark"), st.sampled_from([None, NOW]), st.integers(0, 9)),
    st.tuples(st.just("move"), st.sampled_from("pq"), st.integers(0, 9)),
    st.tuples(st.just("remove"), st.none(), st.integers(0, 9)),
)


@settings(max_examples=30)
@given(st.lists(steps, max_size=25), words)
def test_it_finds_and_counts_what_the_store_in_memory_does(tmp_path_factory: pytest.TempPathFactory, done: list, asked: str) -> None:
    path = str(tmp_path_factory.mktemp("store") / "memory.sqlite")
    with closing(SqliteStore(path)) as ours, closing(InMemoryStore()) as model:
        added = 0
        for what, value, which in done:
            for store in (ours, model):
                if what == "add":
                    store.add([example(added, text=value, project=which)])
                elif what == "remove":
                    store.remove([f"m{which:05d}"])
                else:
                    field = {"text": "text", "mark": "marked_at", "move": "project"}[what]
                    store.change([Change(f"m{which:05d}", {field: value})])
            added += what == "add"
        for project in (None, "p", "q"):
            found, wanted = (store.candidates(terms_of(asked), project) for store in (ours, model))
            assert sorted(item.id for item in found.items) == sorted(item.id for item in wanted.items)
            assert (found.total, found.mean_length, found.holding) == (wanted.total, wanted.mean_length, wanted.holding)
        assert ours.totals() == model.totals()
        assert ours.verify() == []


def test_where_all_terms_are_common_the_best_are_found_too(tmp_path: Path) -> None:
    many = sqlite_schema.LOOKED_AT + 500
    with closing(SqliteStore(str(tmp_path / "memory.sqlite"))) as store:
        store.add([example(number, text="cat dog eel bee") for number in range(3)])
        store.add([example(number, text=("cat", "dog", "eel")[number % 3] + " ant") for number in range(10, 10 + 3 * many)])
        for asked in (["cat", "dog", "eel"], ["cat", "dog", "eel", "bee"], ["ant", "cat"]):
            found = store.candidates(asked, most=3)
            assert len(found.items) == 3
            best = max(len(set(asked) & set(terms_of(item.text))) for item in store.scan())
            assert {len(set(asked) & set(terms_of(item.text))) for item in found.items} == {best}


@pytest.mark.bench
def test_of_100_000_items_a_search_finds_its_candidates_in_milliseconds(tmp_path: Path) -> None:
    draw = random.Random(1)
    vocabulary = [f"w{number:x}" for number in range(30_000)]
    weights = [1 / (number + 5) for number in range(30_000)]
    drawn = iter(draw.choices(vocabulary, weights, k=100_000 * 15))
    with closing(SqliteStore(str(tmp_path / "memory.sqlite"))) as store:
        for start in range(0, 100_000, 5_000):
            store.add([example(number, text=" ".join(next(drawn) for _ in range(15))) for number in range(start, start + 5_000)])
        taken = []
        for _ in range(100):
            asked = draw.choices(vocabulary, weights, k=6)
            began = time.perf_counter()
            store.candidates(asked)
            taken.append(time.perf_counter() - began)
        print(f"candidates: {sorted(taken)[50] * 1000:.1f} ms at the median, {max(taken) * 1000:.1f} ms at most")
        began = time.perf_counter()
        changed = store.change(Change(item.id, {"score": 0.5, "retention": 0.25, "tier": "COLD"}) for item in store.scan())
        print(f"scan and change of {changed}: {time.perf_counter() - began:.1f} s")
        assert sorted(taken)[50] < 0.010
