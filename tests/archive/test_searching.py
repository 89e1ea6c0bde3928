"""Contents are found by their words; the index holds what the archive holds, and nothing else."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core import archive
from popkit_retention.core.archive import SCHEMA, Chain, add_records, archive_record, index
from popkit_retention.core.archive.deletion import compact, delete_records
from popkit_retention.core.archive.searching import SearchUnavailable, matching_lines, search
from popkit_retention.core.archive.terms import terms_of
from popkit_retention.core.archive.verification import verify
from popkit_retention.core.policy.masking import mask
from tests.archive.searched import NOW, found, retrieve, text_record, with_all_queued
from tests.archive.written import CHAIN, fill, new, tamper


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("getUserName", ["get", "getusername", "name", "user"]),
        ("get_user_name", ["get", "getusername", "name", "user"]),
        ("HTTPServerError2", ["error", "http", "httpservererror2", "server"]),
        ("src/auth.ts", ["auth", "src", "ts"]),
        ("a-b x 12 404 v2", ["404", "v2"]),
        ("größe 数据库 한국", ["größe", "据库", "数据", "한국"]),
        ("cafe\u0301", ["café"]),
        ("x" * 41 + " " + "aB" * 15, ["ab" * 15]),
        ("test_" + "long_" * 20 + "name", ["long", "name", "test"]),
        ("AaBb" * 4, ["aa", "aabbaabbaabbaabb", "bb"]),
        ("AaBb" * 4 + "Cc", ["aabbaabbaabbaabbcc"]),
        ("a1 1a 99 100 x" + "y" * 38 + " x" + "y" * 39 + " x" + "y" * 40, ["100", "1a", "a1", "x" + "y" * 38, "x" + "y" * 39]),
        ("数 数据 数ab据库", ["ab", "据库", "数", "数据"]),
        ("\"' OR NEAR(a b) * ^ : \0 \ud800", ["near", "or"]),
    ],
)
def test_a_text_gives_its_words_and_what_they_are_made_of(text: str, terms: list[str]) -> None:
    assert terms_of(text) == sorted(terms)


TEXTS = [
    "export function getUserName(id) {\n  return users[id].name\n}",
    "def get_user_name(id):\n    return USERS[id]",
    "import { login } from './src/auth.ts'",
    "the user has no name",
    "ERROR 2026-02-21 request 4711 timed out",
]


@pytest.mark.parametrize(
    ("question", "numbers"),
    [
        ("getUserName", [1, 0]),
        ("user name", [3, 1, 0]),
        ("src/auth.ts", [2]),
        ("AUTH", [2]),
        ("4711", [4]),
        ("time out", [4]),
        ("user login", [2, 3, 1, 0]),
        ("call", [4, 3, 2, 1, 0]),
        ("call no name", [3]),
        ("nothing of that", []),
        ("zebra login", [2]),
        ("logi", [2]),
    ],
)
def test_a_question_finds_what_people_expect(db: sqlite3.Connection, question: str, numbers: list[int]) -> None:
    ids = add_records(db, CHAIN, [text_record(number, text) for number, text in enumerate(TEXTS)])
    assert [ids.index(id) for id in found(db, question)][: len(numbers)] == numbers
    assert bool(found(db, question)) == bool(numbers)


def test_what_holds_more_of_the_rarer_words_comes_first_then_the_newest(db: sqlite3.Connection) -> None:
    texts = ["rare common", "common", "rare common odd", "common", "rare"]
    ids = add_records(db, CHAIN, [text_record(number, text) for number, text in enumerate(texts)])
    assert [ids.index(id) for id in found(db, "common rare")] == [2, 0]
    assert [ids.index(id) for id in found(db, "common rare", most=1)] == [2]
    assert [ids.index(id) for id in found(db, "odd common rare")] == [2, 0]


def test_a_search_can_be_narrowed_to_folders_and_to_a_session(db: sqlite3.Connection) -> None:
    chains = [Chain(f"s{n}", f"s{n}", project=f"/{n % 2}") for n in range(4)] + [Chain("s1/a", "s1", "a", "/1")]
    ids = [add_records(db, chain, [text_record(0, "needle")])[0] for chain in chains]
    assert found(db, "needle", projects={"/1"}) == [ids[4], ids[3], ids[1]]
    assert found(db, "needle", projects={"/1"}, session="s1") == [ids[4], ids[1]]
    assert found(db, "needle", session="s") == ids[::-1]
    assert found(db, "needle", projects=set()) == found(db, "needle", projects={"/2"}) == found(db, "needle", session="t") == []


def test_lines_are_few_masked_and_cut_around_what_was_found(db: sqlite3.Connection) -> None:
    key = "ghp_" + "a1B2c3D4e5F6" * 3
    text = "\n".join(["alpha first", "nothing", f"alpha beta token={key}", "alpha", "alpha beta", "x" * 9_000 + " beta " + key * 90])
    add_records(db, CHAIN, [text_record(0, text)])
    (one,) = search(db, "alpha beta", mask)
    assert one.lines == ["alpha first", "alpha beta token=****", "alpha beta"]
    add_records(db, CHAIN, [text_record(1, ("word " * 900) + "gamma password=" + "hunter2secret " + ("word " * 900))])
    (one,) = search(db, "gamma", mask)
    assert len(one.lines) == 1
    assert len(one.lines[0]) <= 162
    assert "gamma" in one.lines[0]
    assert "hunter2secret" not in one.lines[0]


LONG = "x" * 200


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("needle " + LONG[:153], "needle " + LONG[:153]),
        ("needle " + LONG[:154], "needle " + LONG[:153] + "…"),
        (LONG[:153] + " needle", LONG[:153] + " needle"),
        (LONG[:154] + " needle", "…" + LONG[:153] + " needle"),
        (LONG[:39] + " needle " + LONG, LONG[:39] + " needle " + LONG[:113] + "…"),
        (LONG[:40] + " needle " + LONG, "…" + LONG[:39] + " needle " + LONG[:113] + "…"),
        (LONG + " a needle " + LONG, "…" + LONG[:37] + " a needle " + LONG[:113] + "…"),
        ("a " + LONG + " needle " + LONG, "…" + LONG[:39] + " needle " + LONG[:113] + "…"),
    ],
)
def test_a_line_is_cut_around_the_longest_word_that_was_asked_for(line: str, shown: str) -> None:
    assert matching_lines(line, ["a", "needle"], str) == [shown]


def test_lines_with_most_of_the_words_are_shown_then_the_first_of_all() -> None:
    text = "a\nnothing\na 2\n b\na b c\n\nb c"
    assert matching_lines(text, ["a", "b", "c"], str) == ["a", "a b c", "b c"]
    assert matching_lines(text, ["a"], str) == ["a", "a 2", "a b c"]
    assert matching_lines(text, ["z"], str) == matching_lines("", ["a"], str) == []


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("needle".ljust(2_000, "x"), "needle".ljust(2_000, "x")),
        ("needle".rjust(2_000, "x"), "needle".rjust(2_000, "x")),
        ("needle".ljust(2_001, "x"), "…"),
        ("needle " + "w " * 1_000, "needle" + " w" * 996),
        ("w " * 1_000 + "needle", "w " * 499 + "needle"),
        ("w " * 1_000 + "needle" + " w" * 1_000, "w " * 499 + "needle" + " w" * 496),
    ],
)
def test_a_masker_sees_much_of_a_long_line_but_no_part_of_a_word(line: str, seen: str) -> None:
    given: list[str] = []
    matching_lines(line, ["needle"], lambda text: given.append(text) or text)
    assert given == [seen]


HOSTILE = [
    '"', "'; DROP TABLE chains; --", "a AND", "NEAR(a b, 2)", "terms : x", "^x*", "\0", "\ud800", "-" * 5, "x" * 1_000_000, "a " * 500_000,
    "OR OR OR", "(((", '" OR "1"="1', "{terms}: y", "\x80", "\x80*", "🙂 ⁂", "%s %d {}", "",
]  # fmt: skip


@pytest.mark.parametrize("question", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_question_is_only_words(db: sqlite3.Connection, question: str) -> None:
    fill(db, 3)
    assert found(db, question, projects={CHAIN.project}, session=question[:50]) == []
    assert len(found(db, question)) == 0
    assert len(found(db, "value " + question[:100])) == 3


@settings(max_examples=60)
@given(st.text(st.characters(exclude_categories=()), max_size=200))
def test_no_question_fails_and_what_is_asked_word_for_word_is_found(question: str) -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        archive.migrate(db)
        ids = add_records(db, CHAIN, [text_record(0, "other"), text_record(1, question)])
        assert found(db, question) == (ids[1:] if terms_of(question) else [])


def test_a_write_indexes_little_and_queues_the_rest(db: sqlite3.Connection) -> None:
    large = "word " * (index.AT_ONCE // 5)
    add_records(db, CHAIN, [text_record(0, "small one"), text_record(1, large + " large"), text_record(2, "small two")])
    assert index.queue_length(db) == 1
    assert found(db, "large") == []
    seen: list[tuple[int, int]] = []
    assert index.index_queued(db, lambda done, total: seen.append((done, total))) == 0
    assert seen == [(1, 1)]
    assert len(found(db, "large")) == 1
    assert verify(db).problems == []


def test_migration_queues_an_older_archive_which_the_first_search_then_indexes(tmp_path: Path) -> None:
    path = str(tmp_path / "archive.sqlite")
    with closing(archive.open_archive(path)) as db:
        ids = fill(db, 250)
        archive_record(db, ids[0], hot_max=1, warm_max=1)
        for table in ("holds", "folders", "marks", "brought_back", "indexed", "unindexed", "words"):
            db.execute("DROP TABLE " + table)
        db.execute("PRAGMA user_version = 3")
    with closing(archive.open_archive(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] == len(SCHEMA.migrations)
        assert index.queue_length(db) == 250
        assert found(db, "src") == []
        assert index.index_queued(db, for_s=0.0) == 250
        assert index.index_queued(db) == 0
        assert found(db, "read 249") == [ids[249]]
        assert len(found(db, "read", most=999)) == 249, "a cold one has no words"
        assert len(found(db, "read")) == 20
        assert verify(db).problems == []


class NoVirtualTables:
    """An authorizer like a SQLite that was built without FTS5."""

    def __call__(self, action: int, *_what: object) -> int:
        return sqlite3.SQLITE_DENY if action == 29 else sqlite3.SQLITE_OK  # SQLITE_CREATE_VTABLE


@pytest.mark.parametrize(("count", "gone", "queued"), [(4, 1, 0), (4, 2, 0), (5, 3, 2), (4, 4, 0)])
def test_where_more_goes_than_stays_the_rest_is_indexed_again(db: sqlite3.Connection, count: int, gone: int, queued: int) -> None:
    ids = fill(db, count)
    assert index.index_queued(db) == 0
    assert delete_records(db, ids[:gone], NOW) == ids[:gone]
    assert index.queue_length(db) == queued
    assert index.index_queued(db) == 0
    assert found(db, "src") == ids[gone:][::-1]


def test_without_fts5_everything_is_kept_and_queued(db: sqlite3.Connection) -> None:
    db.set_authorizer(NoVirtualTables())
    ids = fill(db, 3)
    assert index.queue_length(db) == index.index_queued(db) == 3
    assert found(db, "read") == []
    assert delete_records(db, ids[:1], NOW) == ids[:1]
    assert index.queue_length(db) == 2
    report = verify(db)
    assert report.broken == report.problems == []
    db.set_authorizer(None)
    index.index_queued(db)
    assert len(found(db, "read")) == 2


def test_a_sqlite_without_fts5_keeps_an_archive_that_another_one_has_indexed(tmp_path: Path) -> None:
    path = str(tmp_path / "archive.sqlite")

    def rename_module(old: str, new: str) -> None:
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("PRAGMA writable_schema = ON")
            db.execute("UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = 'words'", (old, new))

    with closing(archive.open_archive(path)) as db:
        ids = fill(db, 5)
    rename_module("fts5", "fts6")
    with closing(archive.open_archive(path)) as db:
        with pytest.raises(SearchUnavailable, match="no FTS5"):
            search(db, "src", mask)
        ids += add_records(db, CHAIN, [new(7)])
        assert index.index_queued(db) == index.queue_length(db) == 1
        assert verify(db).problems == []
        assert delete_records(db, ids[:1], NOW) == ids[:1]
        assert archive.archive_record(db, ids[1], hot_max=1, warm_max=1)["to_zone"] == "cold"
        report = verify(db)
        assert report.broken == report.problems == []
        assert compact(db)
    rename_module("fts6", "fts5")
    with closing(archive.open_archive(path)) as db:
        assert index.index_queued(db) == 0
        assert found(db, "src") == [ids[5], *ids[4:1:-1]]
        assert verify(db).problems == []


def test_what_was_deleted_or_went_cold_has_no_words_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "archive.sqlite"
    with closing(archive.open_archive(str(path))) as db:
        add_records(db, CHAIN, [text_record(n, f"{chr(97 + n % 26)}common words of number{n}") for n in range(60)])
        secret, cold, kept = add_records(
            db, CHAIN, [text_record(90, "qzxjkvsecret"), text_record(91, "jwvqcoldone"), text_record(92, "zwkqkept")]
        )
        assert all(word in path.read_bytes() for word in (b"qzxjkvsecret", b"jwvqcoldone", b"zwkqkept"))
        delete_records(db, [secret], NOW)
        assert b"qzxjkvsecret" not in path.read_bytes()
        archive_record(db, cold, hot_max=1, warm_max=1)
        assert found(db, "jwvqcoldone") == found(db, "qzxjkvsecret") == []
        compact(db)
        assert b"jwvqcoldone" not in path.read_bytes()
        assert found(db, "zwkqkept") == [kept]
        assert verify(db).problems == []


def test_an_index_that_lost_or_gained_records_is_found(db: sqlite3.Connection) -> None:
    ids = fill(db, 4)
    db.execute("DELETE FROM indexed WHERE seq = 1")
    assert verify(db).problems == [
        "1 record is missing from the search index",
        "1 record is in the search index by mistake",
    ]
    db.execute("INSERT INTO indexed VALUES (1, 1, 0)")
    assert verify(db).problems == []
    db.execute("INSERT INTO words (words, rowid, terms) VALUES ('delete', 2, ?)", (index.EVERY,))
    assert verify(db).problems == ["1 record is no longer in the search index"]
    db.execute("INSERT INTO indexed VALUES (99, 1, 0)")
    assert verify(db).problems[0] == "1 record is in the search index but not in the archive"
    assert retrieve(db, ids[0])


def test_an_index_of_other_words_is_rebuilt(db: sqlite3.Connection) -> None:
    ids = fill(db, 6)
    tamper(db, ids[2], "label", "something else")
    delete_records(db, ids[2:3], NOW)
    assert index.queue_length(db) == 5
    index.index_queued(db)
    assert len(found(db, "value")) == 5


def test_a_damaged_index_costs_no_write_and_no_search(tmp_path: Path) -> None:
    path = str(tmp_path / "archive.sqlite")
    with closing(archive.open_archive(path)) as db:
        ids = fill(db, 5)
        db.execute("UPDATE words_data SET block = x'ffffffffffff'")
    with closing(archive.open_archive(path)) as db:
        assert verify(db).problems != []
        more = add_records(db, CHAIN, [new(8)])
        assert found(db, "src")[:1] == more
        assert len(found(db, "src")) == 6
        assert delete_records(db, ids[:1], NOW) == ids[:1]
        index.index_queued(db)
        assert len(found(db, "src")) == 5
        assert verify(db).problems == []


def test_a_content_that_cannot_be_read_stops_no_other(db: sqlite3.Connection) -> None:
    ids = fill(db, 3)
    with_all_queued(db)
    tamper(db, ids[1], "content", '"something else"')
    deep = add_records(db, CHAIN, [new(9, content="[" * 100_000 + "deepest")])
    assert index.index_queued(db) == 0
    assert found(db, "src") == [deep[0], ids[2], ids[0]]
    assert found(db, "deepest") == deep
    assert verify(db).problems == []
