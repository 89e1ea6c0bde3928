"""The life of an archive, told step by step: `goldens/story.txt` has the answer to each step, and the rows that it changed.

`--update-goldens` shows what a change does to the rows; a person reads it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from popkit_retention.core import archive
from popkit_retention.core.archive import deletion, holds, index, marks, returning, searching, sizes, verification
from popkit_retention.core.archive.terms import terms_of
from popkit_retention.core.retention_kit.holds import Hold
from tests.archive.written import add_cleared

GOLDEN = Path(__file__).with_name("goldens") / "story.txt"
TABLES = ("chains", "thought_records", "clears", "cleared", "named", "pruned", "holds", "folders", "marks", "brought_back", "indexed",
          "unindexed")  # fmt: skip
DAY = 86_400.0
START = 1_790_000_000.0
SHOP = archive.Chain("session-1", "session-1", project="/home/dev/shop", transcript="/home/dev/session-1.jsonl")
AGENT = archive.Chain("session-1/agent", "session-1", agent_id="a1", project="/home/dev/shop")
OTHER = archive.Chain("session-2", "session-2", project="/home/dev/other")
TEXTS = (
    "def total(order): return sum(order.prices)",
    "the basket of the shop, and what createOrder does with it",
    "error: price_of(3) is 33, expected 30",
    "価格 と 合計 を 計算する",
    "\ud800 alone, and a zero: \0",
    " ".join(f"word{number}" for number in range(40)),
    "naïve café Straße ÅNGSTRÖM",
    '[{"id": 17, "name": "basket"}]',
)


def new(number: int, **fields) -> archive.NewRecord:
    text = f"{TEXTS[number % len(TEXTS)]} ({number})"
    given = {
        "tool_use_id": f"toolu_{number}", "type": "read" if number % 2 else "search", "label": f"Read src/part_{number}.py",
        "content": json.dumps(text if number % 3 else [{"type": "text", "text": text}]), "timestamp": "2026-02-21T16:15:30.639Z",
        "subjects": [f"/home/dev/shop/src/part_{number}.py", "grep total"], "tokens": 100 + number,
    }  # fmt: skip
    return archive.NewRecord(**{**given, **fields})


def rows_of(db: sqlite3.Connection) -> dict[tuple[str, object], dict[str, object]]:
    """{(table, key): the row}; of contents whether they are there."""
    found = {}
    for table in TABLES:
        cursor = db.execute(f"SELECT * FROM {table}")  # noqa: S608  names of our own
        names = [column[0] for column in cursor.description]
        keys = [name for name in names if name not in ("content", "content_compressed")]
        kept = ", ".join([*keys, *(f"{name} IS NOT NULL" for name in names if name not in keys)])
        for row in db.execute(f"SELECT {kept} FROM {table}"):  # noqa: S608
            key = row[:2] if table in ("cleared", "named", "folders") else row[0]
            found[table, key] = dict(zip([*keys, "hot", "warm"], row))
    return found


def plain(value: object) -> object:
    """A value that a golden can hold."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    slots = [name for one in type(value).__mro__ for name in getattr(one, "__slots__", ())]
    return {name: plain(getattr(value, name, None)) for name in slots} if slots and not isinstance(value, str) else value


Steps = Iterator[tuple[str, Callable[[], object]]]


def story(db: sqlite3.Connection) -> Steps:
    """(what is done, doing it)."""
    ids: list[str] = []
    yield from entering(db, ids)
    yield from found(db, ids)
    yield from searched(db)
    yield from held(db, ids)
    yield from leaving(db, ids)


def entering(db: sqlite3.Connection, ids: list[str]) -> Steps:
    def add(chain: archive.Chain, numbers, at: float, is_clear: bool = False, **fields) -> object:
        records = [new(number, **fields) for number in numbers]
        number, added = add_cleared(db, chain, records, at) if is_clear else (None, archive.add_records(db, chain, records, at))
        ids.extend(id for id in added if id not in ids)
        return {"clear_id": number, "ids": added}

    yield "eight records leave in a clear", lambda: add(SHOP, range(8), START, True)
    yield "two of them and a new one leave in another", lambda: add(SHOP, (2, 3, 8), START + DAY, True)
    yield "an agent's records", lambda: add(AGENT, (10, 11), START + DAY)
    yield "another session's, one without subjects", lambda: add(OTHER, (20,), START + 2 * DAY, subjects=[])
    yield "nothing", lambda: add(OTHER, (), START + 2 * DAY)
    yield "the clears of the session", lambda: archive.clears_of(db, "session-1")
    yield "the clears of some records", lambda: archive.clears_of_records(db, [ids[2], ids[8], "unknown"])
    yield "the records of the second clear", lambda: [one.to_json() for one in archive.records_of_clear(db, 2)]


def found(db: sqlite3.Connection, ids: list[str]) -> Steps:
    yield "a record", lambda: archive.record(db, ids[0]).to_json()
    yield "an unknown one", lambda: archive.record(db, "unknown")
    yield (
        "beginnings of handles",
        lambda: [archive.handles_of(db, word) for word in (ids[0], ids[0][:4], ids[0][:3], "", "A!", ids[0] + "a")],
    )
    yield "records of a call", lambda: [one.id for one in archive.records_of_tool_use(db, "toolu_2")]
    for title, wanted in (
        ("all records", {}), ("those of a chain", {"task_id": "session-1"}), ("of a session", {"session_id": "session-"}),
        ("of a project", {"project": "/home/dev/other"}), ("the newest two", {"limit": 2}), ("none", {"limit": 0}),
        ("since the second day", {"since": START + DAY}), ("of a name", {"named": ["part_3.py", "grep"]}),
        ("of names", {"named": lambda name: name.endswith("_4.py")}), ("searches", {"matches": lambda one: one.type == "search"}),
    ):  # fmt: skip
        yield title, lambda wanted=wanted: [one.label for one in archive.find_records(db, **wanted)]
    yield "a source", lambda: [archive.set_source(db, ids[0], {"path": "/a"}), archive.set_source(db, "unknown", None)]


def searched(db: sqlite3.Connection) -> Steps:
    yield "what waits for the index", lambda: [index.queue_length(db), index.is_ready(db), index.index_queued(db), index.problems(db)]
    for question in (
        "total",
        "createOrder basket",
        "create order",
        "word7",
        "価格",
        "合計",
        "straße",
        "cafe",
        "33",
        "nothing",
        "",
        "bask",
        "17",
    ):
        yield (
            f"a search for {question!r}",
            lambda question=question: [
                (one.record.label, one.lines) for one in searching.search(db, question, lambda text: text.replace("33", "**"))
            ],
        )
    yield "a search in a project", lambda: [one.record.label for one in searching.search(db, "total", str, projects=["/home/dev/other"])]
    yield "terms", lambda: [sorted(terms_of(text)) for text in TEXTS if text.isprintable()]


def held(db: sqlite3.Connection, ids: list[str]) -> Steps:
    yield "a hold of a session", lambda: holds.add_hold(db, Hold("h1", "session", "session-2", "bob", "a case", START, START + 30 * DAY))
    yield "a hold of a record", lambda: holds.add_hold(db, Hold("h2", "item", ids[1], "bob", "", START, None))
    yield "a hold of a project", lambda: holds.add_hold(db, Hold("h3", "project", "shop", "amy", "audit", START, START + DAY))
    yield "folders of projects", lambda: holds.place_folders(db, lambda folder: folder.rpartition("/")[2])
    yield "all holds", lambda: [holds.all_holds(db), holds.problems(db)]
    yield "what is held, then and later", lambda: [holds.held(db, START + at * DAY) for at in (0.5, 2, 40)]
    yield "a hold is released", lambda: [holds.release_hold(db, id, START + 4 * DAY) for id in ("h3", "h3", "h2", "unknown", "h1")]
    yield "what is held then", lambda: holds.held(db, START + 5 * DAY)
    yield "a new hold of a record", lambda: holds.add_hold(db, Hold("h4", "item", ids[1], "bob", "", START, None))
    yield "marks", lambda: marks.mark(db, [ids[0], ids[1], ids[4], "unknown"], START + 5 * DAY, "rule", START + 5 * DAY)
    yield "what is marked", lambda: [marks.marked(db), marks.unused(db), marks.problems(db)]
    yield "one is unmarked", lambda: [marks.unmark(db, [ids[4], ids[5]]), marks.marked(db)]


def leaving(db: sqlite3.Connection, ids: list[str]) -> Steps:
    yield "zones", lambda: archive.archive_chain(db, "session-1", lambda one: one.label != "Read src/part_1.py", 3, 6, START + 6 * DAY)
    yield "zones again", lambda: archive.archive_chain(db, "session-1", hot_max=2, warm_max=4, now=START + 6 * DAY)
    yield "one record's zone", lambda: [archive.archive_record(db, id, 1, 3, START + 6 * DAY) for id in (ids[8], ids[7], ids[1], ids[0])]
    yield "positions", lambda: [archive.get_record_position(db, id) for id in (*ids, "unknown")]
    yield "what is kept", lambda: [archive.retrieve_record(db, id) for id in (*ids[:3], ids[8], "unknown")]
    yield "sizes", lambda: {name: value for name, value in sizes.stats(db).items() if "bytes" not in name and "size" not in name}
    yield "records of each zone", lambda: {zone: row[0] for zone, row in archive.zone_sizes(db).items()}
    yield "what is due to go cold", lambda: archive.due_cold(db, "session-1", 5, START)
    yield "a walk over the chains", lambda: verification.verify(db)
    yield "what a prune would take", lambda: archive.prunable(db, START + DAY / 2, START + 7 * DAY)
    yield "a dry run", lambda: {**archive.prune(db, START + DAY / 2, True, START + 7 * DAY).to_json(), "bytes": 0}
    yield "marked records are deleted", lambda: deletion.delete_records(db, ids, START + 7 * DAY, only_marked=True)
    yield "some are deleted", lambda: deletion.delete_records(db, [ids[7], ids[1], "unknown"], START + 7 * DAY)
    yield "what was pruned", lambda: [archive.pruned_of(db, chain) for chain in ("session-1", "session-2", "unknown")]
    yield (
        "two come back",
        lambda: returning.bring_back(
            db,
            [returning.ReturningContent(ids[at], SHOP, new(at)) for at in (7, 6)] + [returning.ReturningContent(ids[9], AGENT, new(10))],
            START + 8 * DAY,
        ),
    )
    yield "a prune", lambda: {**archive.prune(db, START + 1.5 * DAY, False, START + 9 * DAY).to_json(), "bytes": 0}
    yield "a prune once nothing is held", lambda: {**archive.prune(db, START + 90 * DAY, False, START + 99 * DAY).to_json(), "bytes": 0}
    yield "what was pruned in the end", lambda: [archive.pruned_of(db, chain) for chain in ("session-1", "session-2")]
    yield "a walk in the end", lambda: [verification.verify(db), index.problems(db), holds.problems(db), marks.problems(db)]


def told(db: sqlite3.Connection) -> Iterator[str]:
    before = rows_of(db)
    for title, doing in story(db):
        yield f"# {title}"
        try:
            yield f"  {plain(doing())}"
        except (ValueError, LookupError, archive.ArchiveError) as error:
            yield f"  {type(error).__name__}: {error}"
        after = rows_of(db)
        yield from changed(before, after)
        before = after


def changed(before: dict, after: dict) -> Iterator[str]:
    """The rows that are new or gone, and of others the columns that are not as they were."""
    for key in sorted({*before, *after}, key=repr):
        table, name = key
        row, old = after.get(key), before.get(key, {})
        if row is None:
            yield f"  {table}: without {name!r}"
        elif row != old:
            which = f"{name!r} " if old else ""
            yield f"  {table}: {which}{' '.join(f'{column}={value!r}' for column, value in row.items() if not old or old[column] != value)}"


def test_an_archive_lives_as_the_golden_tells(db, golden) -> None:
    rows = [row.encode("utf-8", "backslashreplace").decode() for row in told(db)]
    golden(GOLDEN, "".join(f"{row}\n" for row in rows))
