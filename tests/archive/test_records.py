"""Records: written once, found again, deleted for good."""

from __future__ import annotations

import base64
import hashlib
import sqlite3

import pytest

from popkit_retention.core import archive
from popkit_retention.core.archive import Chain, add_records, archive_chain, find_records, prune, retrieve_record, stats
from popkit_retention.core.archive.records import digest, handle
from popkit_retention.core.archive.verification import verify
from popkit_retention.core.policy import globs
from popkit_retention.core.reclaim.restoring import ContentNotFound, records_for
from popkit_retention.core.state.archived import matching
from tests.archive.written import CHAIN, add_cleared, content, fill, new, row, tamper


def _handle(tool_use_id: str, number: int, length: int) -> str:
    return handle(digest("session-1", tool_use_id, archive.hash_content(content(number))), length)


def test_a_handle_is_the_beginning_of_a_base32_digest(db: sqlite3.Connection) -> None:
    (id,) = fill(db, 1)
    named = "\0".join(("session-1", "toolu_0000", archive.hash_content(content(0))))
    whole = base64.b32encode(hashlib.sha256(named.encode()).digest()).decode().lower()
    assert id == whole[:8]
    assert whole.startswith(_handle("toolu_0000", 0, 51))


def test_a_record_keeps_what_it_was_given(db: sqlite3.Connection) -> None:
    source = {"path": "/a.py", "first": 1}
    chain = Chain("s/agent-1", "s", "agent-1", "/home/dev/shop", "/t.jsonl")
    (id,) = add_records(db, chain, [new(3, source=source)], now=1_790_000_000.0)
    record = archive.record(db, id)
    assert record.to_json() == {
        "id": id, "type": "read", "task_id": "s/agent-1", "agent_id": "agent-1", "timestamp": "2026-02-21T16:15:30.639Z",
        "created_at": "2026-09-21T14:13:20.000Z", "zone": "hot", "place": 1, "tool_use_id": "toolu_0003", "label": "Read src/3.py",
        "subjects": ["/home/dev/shop/src/3.py"], "tokens": 103, "size": len(content(3)), "content_hash": archive.hash_content(content(3)),
        "source": source,
    }  # fmt: skip
    kept = archive.chain(db, "s/agent-1")
    assert (kept.session_id, kept.agent_id, kept.project, kept.transcript) == ("s", "agent-1", "/home/dev/shop", "/t.jsonl")
    assert archive.record(db, "nobody") is archive.chain(db, "nobody") is None


def test_a_chain_knows_where_its_transcript_is_now(db: sqlite3.Connection) -> None:
    fill(db, 1)
    add_records(db, Chain("session-1", "session-1", transcript="/moved.jsonl"), [])
    assert archive.chain(db, "session-1").transcript == "/moved.jsonl"


def test_adding_the_same_again_gives_the_same_record(db: sqlite3.Connection) -> None:
    ids = fill(db, 4)
    archive.archive_record(db, ids[0], hot_max=1, warm_max=9)
    before = [row(db, id) for id in ids]
    assert fill(db, 4, at=1_800_000_000.0) == ids
    assert [row(db, id) for id in ids] == before
    twice = [new(9), new(9)]
    assert len(set(add_records(db, CHAIN, twice))) == 1


def test_another_chain_call_or_content_is_another_record(db: sqlite3.Connection) -> None:
    first = fill(db, 1)
    others = [add_records(db, Chain("session-2", "session-2"), [new(0)])[0]]
    others += add_records(db, CHAIN, [new(0, content='"other"'), new(0, tool_use_id="toolu_x")])
    assert len({*first, *others}) == 4
    assert verify(db).broken == []


def test_content_added_again_after_going_cold_is_a_new_record_with_a_longer_handle(db: sqlite3.Connection) -> None:
    ids = fill(db, 3)
    archive.archive_record(db, ids[0], hot_max=1, warm_max=1)
    (again,) = add_records(db, CHAIN, [new(0)])
    assert (again[:8], len(again)) == (ids[0], 9)
    assert retrieve_record(db, again)["content"] == content(0)
    assert retrieve_record(db, ids[0])["zone"] == "cold"
    assert add_records(db, CHAIN, [new(0)]) == [again]
    assert verify(db).broken == []


def test_a_handle_that_is_taken_by_another_record_is_lengthened(db: sqlite3.Connection) -> None:
    whole = _handle("toolu_0005", 5, 9)
    (taken,) = fill(db, 1)
    tamper(db, taken, "id", whole[:8])
    assert add_records(db, CHAIN, [new(5)]) == [whole]


def test_nothing_is_added_when_one_record_cannot_be(opened: sqlite3.Connection) -> None:
    def given():
        yield new(1)
        raise OSError("the transcript has gone")

    with pytest.raises(OSError, match="has gone"):
        add_records(opened, CHAIN, given(), now=5.0)
    assert not opened.in_transaction
    found = archive.stats(opened)
    assert (found["records"], found["chains"]) == (0, 0)


def test_hostile_names_are_kept_as_text(db: sqlite3.Connection) -> None:
    evil = "'; DROP TABLE thought_records; --\0\ud800\u202e"
    chain = Chain(evil, evil, evil, evil, evil)
    (id,) = add_records(db, chain, [new(1, tool_use_id=evil, label=evil, subjects=[evil], content=evil, type=evil, timestamp=evil)])
    record = archive.record(db, id)
    assert record.label == evil.replace("\ud800", "\\ud800").replace("\0", "\\x00") == record.subjects[0]
    assert retrieve_record(db, id)["content"] == evil
    assert [record.id for record in find_records(db, task_id=evil)] == [record.id for record in find_records(db, session_id=evil)] == [id]
    assert [record.id for record in archive.records_of_tool_use(db, evil)] == [id]
    assert verify(db).broken == []


def test_records_are_found_newest_first_by_chain_session_time_and_whatever_else(db: sqlite3.Connection) -> None:
    main, agent, other = CHAIN, Chain("session-1/a", "session-1", "a"), Chain("session-2", "session-2")
    old, sub, new_ = (fill(db, 2, chain, at) for chain, at in ((main, 100.0), (agent, 200.0), (other, 300.0)))

    def ids(**wanted) -> list[str]:
        return [record.id for record in find_records(db, **wanted)]

    assert ids() == [*reversed(new_), *reversed(sub), *reversed(old)]
    assert ids(task_id="session-1") == [*reversed(old)]
    assert ids(session_id="session-1") == [*reversed(sub), *reversed(old)]
    assert ids(session_id="session-") == ids()
    assert ids(session_id="%") == ids(task_id="session") == []
    assert ids(since=200.0) == [*reversed(new_), *reversed(sub)]
    for limit in range(8):
        assert ids(limit=limit) == ids()[:limit]
    assert ids(limit=-1) == []
    assert ids(matches=lambda each: each.label == "Read src/1.py", limit=2) == [new_[1], sub[1]]
    assert [record.id for record in archive.records_of_tool_use(db, "toolu_0001")] == [new_[1], sub[1], old[1]]


def test_the_beginning_of_a_handle_is_enough(db: sqlite3.Connection) -> None:
    ids = fill(db, 3)
    for number, id in enumerate(("abcdefgh", "abcdefghi", "abcdxxxx")):
        tamper(db, ids[number], "id", id)
    assert archive.handles_of(db, "abcdefgh") == ["abcdefgh"], "what is a handle means itself"
    assert archive.handles_of(db, "abcde") == ["abcdefgh", "abcdefghi"]
    assert archive.handles_of(db, "abcdx") == ["abcdxxxx"]
    assert archive.handles_of(db, "abcd", most=2) == ["abcdefgh", "abcdefghi"]
    for word in ("", "abc", "ABCDX", "abcd%", "zzzzzzzz", "' OR 1=1"):
        assert archive.handles_of(db, word) == []


def test_a_clear_remembers_what_it_took_until_it_is_undone(db: sqlite3.Connection) -> None:
    ids = fill(db, 2)
    first, taken = add_cleared(db, CHAIN, [new(0), new(5)], 1_000.0)
    second, _ = add_cleared(db, CHAIN, [new(6)], 2_000.5)
    add_cleared(db, Chain("session-2", "session-2"), [new(6)], 3_000.0)
    assert taken[0] == ids[0]
    assert archive.record(db, taken[1]).created_at == "1970-01-01T00:16:40.000Z"
    assert [record.id for record in archive.records_of_clear(db, first)] == taken
    assert archive.clears_of(db, "session-1") == [(second, 2_000.5), (first, 1_000.0)]
    assert archive.clears_of(db, "nobody") == []


def test_a_source_can_be_noted_later(db: sqlite3.Connection) -> None:
    (id,) = fill(db, 1)
    assert archive.set_source(db, id, {"path": "/a"})
    assert archive.record(db, id).source == {"path": "/a"}
    assert archive.set_source(db, id, None)
    assert archive.record(db, id).source is None
    assert not archive.set_source(db, "nobody", None)
    assert verify(db).broken == []


def test_a_list_goes_on_where_somebody_has_changed_a_record(db: sqlite3.Connection) -> None:
    ids = fill(db, 3)
    for id, value in zip(ids, ("7", "{nonsense", None)):
        tamper(db, id, "source", value)
        tamper(db, id, "subjects", value or '"text"')
    assert [(record.id, record.subjects, record.source) for record in find_records(db)] == [(id, [], None) for id in reversed(ids)]


def _steps(db: sqlite3.Connection, work) -> int:
    """How many hundreds of steps of its machine SQLite takes for some work."""
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += 1
        return 0

    db.set_progress_handler(count, 100)
    work()
    db.set_progress_handler(None, 0)
    return taken


def test_an_unknown_name_costs_the_same_in_a_large_archive(db: sqlite3.Connection) -> None:
    for number in range(40):
        fill(db, 100, Chain(f"session-{number}", f"session-{number}", project="/home/dev/shop"))

    def ask(word: str) -> None:
        with pytest.raises(ContentNotFound):
            records_for(db, word, "session-1", "/home/dev/shop")

    for word in ("credentials", "src/nowhere.py", "../b.c", "npm run nothing", "toolu_none", "abcd2345"):
        assert _steps(db, lambda: ask(word)) < 20, f"{word}: of 4,000 records none is walked through"  # noqa: B023  it is called here


@pytest.mark.parametrize(
    ("pattern", "labels"),
    [
        ("a.py", ["Read a"]),
        ("src/a.py", ["Read a"]),
        ("/p/src/a.py", ["Read a"]),
        ("*.py", ["Read b", "Read a"]),
        ("src/*.p?", ["Read a"]),
        ("src/**", ["Read c", "Read a"]),
        ("src/", ["Read c", "Read a"]),
        ("src\\a.py", ["Read a"]),
        ("npm test", ["Bash"]),
        ("npm *", ["Bash"]),
        ("npm test src/a.py", []),
        ("*my file.txt", ["Read c"]),
        ("z.py", []),
    ],
)
def test_a_pattern_finds_by_the_index_what_a_walk_would_find(db: sqlite3.Connection, pattern: str, labels: list[str]) -> None:
    subjects = {"Read a": ["/p/src/a.py"], "Read b": ["/p/b.py"], "Bash": ["npm test"], "Read c": ["/p/src/my file.txt"]}
    add_records(db, CHAIN, [new(n, label=label, subjects=given) for n, (label, given) in enumerate(subjects.items())])
    walked = find_records(db, matches=lambda record: any(globs.matches(pattern, subject) for subject in record.subjects))
    assert [record.label for record in matching(db, pattern)] == [record.label for record in walked] == labels


# --- deletion ----------------------------------------------------------------------------------------------------------------------------


def test_prune_takes_old_chains_wholly_and_leaves_stubs_in_younger_ones(opened: sqlite3.Connection) -> None:
    gone = Chain("session-0", "session-0")
    _, old = add_cleared(opened, gone, [new(1), new(2)], 100.0)
    mixed = [*fill(opened, 3, at=100.0), *add_records(opened, CHAIN, [new(8), new(9)], now=200.0)]
    archive_chain(opened, "session-1", hot_max=3, warm_max=9)
    size = sum(len(content(number)) for number in (1, 2, 2)) + sum(len(row(opened, id)["content_compressed"]) for id in mixed[:2])
    assert sorted(archive.prunable(opened, 200.0)) == sorted([*old, *mixed[:3]])
    would = prune(opened, 200.0, dry_run=True)
    assert would.to_json() == {"records": 5, "chains": 1, "bytes": size, "on_hold": 0, "shrunk": False}
    assert archive.pruned_of(opened, "session-0") is None
    assert stats(opened)["records"] == 7
    did = prune(opened, 200.0, now=1_000.0)
    assert did.to_json() == {"records": 5, "chains": 1, "bytes": size, "on_hold": 0, "shrunk": True}
    assert archive.pruned_of(opened, "session-0") == (1_000.0, 2)
    assert archive.pruned_of(opened, "session-1") == (1_000.0, 3)
    assert [retrieve_record(opened, id) for id in old] == [None, None]
    assert archive.chain(opened, "session-0") is None
    assert archive.clears_of(opened, "session-0") == []
    assert [retrieve_record(opened, id)["content_available"] for id in mixed] == [False] * 3 + [True] * 2
    assert verify(opened).broken == []
    assert opened.execute("PRAGMA foreign_key_check").fetchall() == []
    assert prune(opened, 200.0).records == 0, "what is gone is not pruned again"
    assert prune(opened, 400.0, now=2_000.0).chains == 1
    assert archive.pruned_of(opened, "session-1") == (2_000.0, 8)
    assert stats(opened)["records"] == 0
    assert opened.execute("SELECT count(*) FROM named").fetchone()[0] == 0


def test_what_was_pruned_is_not_in_the_file_any_more(tmp_path) -> None:
    path = tmp_path / "archive.sqlite"
    db = archive.open_archive(str(path))
    add_records(db, CHAIN, [new(1, content='"precious secret"', tool_use_id="a")], now=100.0)
    add_records(db, CHAIN, [new(2)], now=300.0)
    assert b"precious secret" in path.read_bytes()
    size = path.stat().st_size
    fill(db, 500, Chain("session-2", "session-2"), at=100.0)
    prune(db, 200.0)
    db.close()
    assert b"precious secret" not in path.read_bytes()
    assert path.stat().st_size <= size
    assert [path.name for path in tmp_path.iterdir()] == ["archive.sqlite"]


def test_a_file_that_cannot_be_rewritten_has_lost_the_contents_all_the_same(tmp_path) -> None:
    path = str(tmp_path / "archive.sqlite")
    db, reader = archive.open_archive(path), archive.open_archive(path)
    fill(db, 300, at=100.0)
    db.execute("PRAGMA busy_timeout = 0")
    reader.execute("PRAGMA busy_timeout = 0")

    class Reads:
        """Keeps a reader at work from the moment on at which the prune is done."""

        def __call__(self, statement: str) -> None:
            if statement == "VACUUM":
                reader.execute("BEGIN")
                reader.execute("SELECT count(*) FROM thought_records").fetchone()

    db.set_trace_callback(Reads())
    did = prune(db, 200.0)
    db.set_trace_callback(None)
    assert (did.records, did.shrunk) == (300, False)
    assert stats(db)["records"] == 0
    db.close()
    reader.close()


def test_nothing_old_is_nothing_to_prune(db: sqlite3.Connection) -> None:
    fill(db, 3, at=300.0)
    assert prune(db, 300.0).to_json() == {"records": 0, "chains": 0, "bytes": 0, "on_hold": 0, "shrunk": False}
    assert prune(db, 0.0).records == 0
