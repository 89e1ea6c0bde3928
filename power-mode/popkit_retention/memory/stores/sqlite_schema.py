"""The tables of memory's SQLite file, version by version.

The index is an FTS5 table over the numbers of terms; `words` counts how many items of a project have each. Items that are marked for
deletion are not in it. Every change of it is a part of the caller's transaction.
"""

from __future__ import annotations

import json
import sqlite3
import struct
from collections import Counter
from itertools import islice
from typing import Any

from popkit_retention.core import units
from popkit_retention.core.io.sqlite_file import Schema
from popkit_retention.core.policy.estimate import estimate_tokens

from ..filters import EQUAL, IN, SCOPES, matches
from ..items import ACCESSES_KEPT, AGENT, DIMENSIONS, EMBEDDING, Item
from ..terms import rarity, terms_of
from .protocol import Candidates
from .shared import FIELDS, in_batches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from sqlite3 import Connection

    from ..filters import Condition

APPLICATION_ID = 0x506F704D  # "PopM"

# In the order of ids, in which items are scanned and changed; `seq` is the item's number in the index of words.
_ITEMS = """
CREATE TABLE items (
  id TEXT PRIMARY KEY,
  text TEXT NOT NULL,
  project TEXT NOT NULL,
  kind TEXT NOT NULL,
  profile TEXT NOT NULL,
  source TEXT NOT NULL,
  confidence REAL NOT NULL,
  episode TEXT NOT NULL,
  place INTEGER NOT NULL,
  speaker TEXT NOT NULL,
  created_at REAL NOT NULL,
  writes INTEGER NOT NULL,
  sessions INTEGER NOT NULL,
  access_count INTEGER NOT NULL,
  last_accessed REAL NOT NULL,
  accesses TEXT NOT NULL,
  reinforcements INTEGER NOT NULL,
  session INTEGER NOT NULL,
  tier TEXT NOT NULL,
  previous_tier TEXT NOT NULL,
  tier_since REAL NOT NULL,
  tier_score REAL NOT NULL,
  level TEXT NOT NULL,
  original INTEGER NOT NULL DEFAULT 0,
  uniqueness REAL NOT NULL,
  score REAL NOT NULL,
  retention REAL NOT NULL,
  held INTEGER NOT NULL,
  was_held INTEGER NOT NULL,
  key INTEGER NOT NULL,
  marked_at REAL,
  marked_by TEXT NOT NULL,
  details TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  seq INTEGER NOT NULL UNIQUE
) WITHOUT ROWID
"""
# In a table of their own, so that a scan of items does not read them.
_EMBEDDINGS = "CREATE TABLE embeddings (id TEXT PRIMARY KEY REFERENCES items ON DELETE CASCADE, numbers BLOB NOT NULL)"
_ORIGINALS = """
CREATE TABLE originals (
  id TEXT PRIMARY KEY REFERENCES items ON DELETE CASCADE,
  hash TEXT NOT NULL,
  content BLOB NOT NULL
)
"""
# A term of a project has a number, which replaces it in the index, so SQLite's tokenizer does not matter.
_WORDS = """
CREATE TABLE words (
  number INTEGER PRIMARY KEY,
  term TEXT NOT NULL,
  project TEXT NOT NULL,
  items INTEGER NOT NULL,
  UNIQUE (term, project)
)
"""
_EXTENTS = "CREATE TABLE extents (project TEXT PRIMARY KEY, items INTEGER NOT NULL, length INTEGER NOT NULL) WITHOUT ROWID"
_INDEX = "CREATE VIRTUAL TABLE found USING fts5 (words, length UNINDEXED, detail = none, columnsize = 0, tokenize = ascii)"

# What a document may list; when an item expires is not known in advance.
LISTABLE = f"marked_at IS NULL AND source <> '{AGENT}' AND level <> '{EMBEDDING}'"

MIGRATIONS = (
    (
        "items, and what is kept with them",
        (
            _ITEMS,
            "CREATE INDEX items_of_project ON items (project, id)",
            "CREATE INDEX items_at_place ON items (episode, place, id) WHERE episode <> ''",
            _EMBEDDINGS,
            _ORIGINALS,
            "CREATE TABLE kept (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
            "CREATE TABLE log (seq INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT NOT NULL, entry TEXT NOT NULL)",
            "CREATE INDEX log_of_item ON log (item, seq)",
        ),
    ),
    ("what they are found by", (_WORDS, _EXTENTS, _INDEX)),
    ("when they were of use", ("ALTER TABLE items ADD COLUMN reinforced TEXT NOT NULL DEFAULT '[]'",)),
    (
        "whose they are, until when, who moved them, and what their author knows of them",
        (
            *(f"ALTER TABLE items ADD COLUMN {name} TEXT NOT NULL DEFAULT ''" for name in SCOPES),
            "ALTER TABLE items ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}'",
            "ALTER TABLE items ADD COLUMN expires_at REAL",
            "ALTER TABLE items ADD COLUMN by_hand INTEGER NOT NULL DEFAULT 0",
            *(f"CREATE INDEX items_of_{name} ON items ({name}, id) WHERE {name} <> ''" for name in SCOPES),
        ),
    ),
    (
        "the orders in which a document takes them",
        (
            f"CREATE INDEX items_by_sessions ON items (project, kind, sessions DESC, created_at DESC, id) WHERE {LISTABLE}",
            f"CREATE INDEX items_by_last_session ON items (project, kind, session DESC, created_at DESC, id) WHERE {LISTABLE}",
            f"CREATE INDEX items_pinned ON items (project, id) WHERE held AND {LISTABLE}",
        ),
    ),
)
SCHEMA = Schema("memory", APPLICATION_ID, MIGRATIONS, remedy="import your newest backup into a new one")

COLUMNS = tuple(name for name in FIELDS if name != "embedding")
_READ = ", ".join("e.numbers" if name == "embedding" else "i." + name for name in FIELDS)
ITEMS = f"SELECT {_READ} FROM items i LEFT JOIN embeddings e ON e.id = i.id "  # noqa: S608  names of our own columns
BARE_ITEMS = f"SELECT {', '.join('NULL' if name == 'embedding' else 'i.' + name for name in FIELDS)} FROM items i "  # noqa: S608
ADD = f"INSERT INTO items ({', '.join(COLUMNS)}, tokens, seq) VALUES ({', '.join('?' * (len(COLUMNS) + 2))})"  # noqa: S608
_AT = {name: at for at, name in enumerate(FIELDS)}
_TIMES, _OBJECTS, _EMBEDDING = (_AT["accesses"], _AT["reinforced"]), (_AT["details"], _AT["metadata"]), _AT["embedding"]
_ORIGINAL = _AT["original"]
_BOOLS = [_AT[name] for name in ("original", "held", "was_held", "key", "by_hand")]
_SINGLE, _DOUBLE = f"<{DIMENSIONS}f", f"<{DIMENSIONS}d"


def item_of(row: Sequence[object]) -> Item:
    """Return an item from a row of `ITEMS`. Raise sqlite3.DatabaseError for a corrupt one."""
    values: list = list(row)
    try:
        for at in _TIMES:
            values[at] = json.loads(values[at]) if values[at] != "[]" else []
        for at in _OBJECTS:
            values[at] = json.loads(values[at]) if values[at] != "{}" else {}
        if values[_EMBEDDING] is not None:
            values[_EMBEDDING] = numbers_of(values[_EMBEDDING])
    except (TypeError, ValueError, struct.error) as error:
        raise sqlite3.DatabaseError(f"the item {values[0]!r:.40} is malformed: {error}") from None
    for at in _BOOLS:
        values[at] = bool(values[at])
    return Item(*values)


def json_of(written: str, name: str) -> Any:
    """Return a stored JSON value. Raise sqlite3.DatabaseError for a corrupt one."""
    try:
        return json.loads(written)
    except (TypeError, ValueError, RecursionError) as error:
        raise sqlite3.DatabaseError(f"the value {name!r:.40} is malformed: {error}") from None


def row_of(item: Item, seq: int) -> list[object]:
    """Return the values that `ADD` binds. A new item has no original yet."""
    values = [getattr(item, name) for name in COLUMNS]
    for at in _TIMES:
        values[at] = times_of(values[at])
    for at in _OBJECTS:  # behind the embedding, which is no column
        values[at - 1] = json.dumps(values[at - 1]) if values[at - 1] else "{}"
    values[_ORIGINAL] = False
    return [*values, estimate_tokens(item.text), seq]


def times_of(times: Sequence[float]) -> str:
    """Return the newest of some times as they are stored."""
    return json.dumps(sorted(times)[-ACCESSES_KEPT:]) if times else "[]"


def blob_of(numbers: Sequence[float]) -> bytes:
    """Return an embedding as bytes: in single precision where that loses nothing."""
    try:
        single = struct.pack(_SINGLE, *numbers)
    except OverflowError:  # larger than single precision can represent
        return struct.pack(_DOUBLE, *numbers)
    return single if struct.unpack(_SINGLE, single) == tuple(numbers) else struct.pack(_DOUBLE, *numbers)


def numbers_of(blob: bytes) -> list[float]:
    """Return the embedding of these bytes."""
    return list(struct.unpack(_SINGLE if len(blob) == struct.calcsize(_SINGLE) else _DOUBLE, blob))


_SQL = {EQUAL: "IS", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
# About how many rows of the index one search reads.
LOOKED_AT = 3_000

_MORE = "INSERT INTO words (term, project, items) VALUES (?, ?, ?) ON CONFLICT (term, project) DO UPDATE SET items = items + excluded.items"
_EXTEND = """INSERT INTO extents VALUES (?, ?, ?)
ON CONFLICT (project) DO UPDATE SET items = items + excluded.items, length = length + excluded.length"""
_ASTRAY = """
SELECT (SELECT count(*) FROM items WHERE marked_at IS NULL AND seq NOT IN (SELECT rowid FROM found)),
       (SELECT count(*) FROM found WHERE rowid NOT IN (SELECT seq FROM items WHERE marked_at IS NULL))
"""


def index(db: Connection, ids: Sequence[str]) -> None:
    """Index items that are not indexed, except marked ones."""
    for batch in in_batches(ids):
        columns = f"seq, project, text, {', '.join(SCOPES)}"
        rows = db.execute(f"SELECT {columns} FROM items WHERE marked_at IS NULL AND id IN ({marks(batch)})", batch).fetchall()  # noqa: S608
        spoken = [(seq, project, terms_of(text), _scope_terms(scopes)) for seq, project, text, *scopes in rows]
        held = Counter((term, project) for _, project, terms, scopes in spoken for term in {*terms, *scopes})
        db.executemany(_MORE, ((*word, items) for word, items in held.items()))
        numbers = _numbers(db, held)
        db.executemany(
            "INSERT INTO found (rowid, words, length) VALUES (?, ?, ?)",
            (
                (seq, " ".join(str(numbers[term, project]) for term in dict.fromkeys([*terms, *scopes])), len(terms))
                for seq, project, terms, scopes in spoken
            ),
        )
        _extend(db, ((project, 1, len(terms)) for _, project, terms, _ in spoken))


def unindex(db: Connection, ids: Sequence[str]) -> None:
    """Remove items from the index, by the words that they were indexed with."""
    for batch in in_batches(ids):
        query = f"SELECT f.rowid, f.words, f.length, i.project FROM items i JOIN found f ON f.rowid = i.seq WHERE i.id IN ({marks(batch)})"  # noqa: S608
        rows = db.execute(query, batch).fetchall()
        held = Counter(int(number) for _, words, _, _ in rows for number in words.split())
        db.executemany("UPDATE words SET items = items - ? WHERE number = ?", ((items, number) for number, items in held.items()))
        db.executemany("DELETE FROM words WHERE number = ? AND items <= 0", ((number,) for number in held))
        db.executemany("DELETE FROM found WHERE rowid = ?", ((seq,) for seq, _, _, _ in rows))
        _extend(db, ((project, -1, -length) for _, _, length, project in rows))


def _scope_terms(values: Sequence[str]) -> list[str]:
    """Return the terms by which an item is found within a scope: no text has a term with a NUL."""
    return [_scope_term(name, value) for name, value in zip(SCOPES, values) if value]


def _scope_term(name: str, value: str) -> str:
    return f"\0{name}\0{value}"


def clause_of(where: Sequence[Condition]) -> tuple[str, list[object]]:
    """Return (SQL that follows a WHERE over `items i`, its parameters): what meets the conditions, and perhaps more."""
    clauses, bound = [], []
    for condition in where:
        column = "json_extract(i.metadata, ?)" if condition.key else "i." + condition.field
        own = [f'$."{condition.key}"'] if condition.key else []
        if condition.operator == IN:
            values: Sequence[Any] = condition.value  # type: ignore[assignment]
            clauses.append(" OR ".join([f"{column} IS ?"] * len(values)) or "0")
            bound += [each for value in values for each in (*own, _bindable(value))]
        else:
            clauses.append(f"{column} {_SQL[condition.operator]} ?")
            bound += [*own, _bindable(condition.value)]
        if is_narrow(condition):
            clauses.append(f"{column} <> ''")  # what SQLite has to read before it uses an index of scopes
    return "".join(f" AND ({clause})" for clause in clauses), bound


def is_narrow(condition: Condition) -> bool:
    """Return whether a condition names scopes, each of which has few of a store's items."""
    values = condition.value if condition.operator == IN else (condition.value,) if condition.operator == EQUAL else ()
    return condition.field in SCOPES and bool(values) and all(values)  # type: ignore[arg-type]


def _bindable(value: object) -> object:
    """Return a value as SQLite takes it: whole numbers that it has no room for are compared as floats."""
    return float(value) if isinstance(value, int) and abs(value) >= 2**63 else value


def find_candidates(db: Connection, terms: Sequence[str], project: str | None, most: int, where: Sequence[Condition] = ()) -> Candidates:
    """Return candidates: see `Store.candidates`."""
    chosen, bound = ("", ()) if project is None else (" WHERE project = ?", (project,))
    total, length = db.execute("SELECT total(items), total(length) FROM extents" + chosen, bound).fetchone()  # noqa: S608
    holding = dict.fromkeys(terms, 0)
    shelves: dict[str, list[tuple[int, int, str]]] = {}  # project -> how many hold a word, its number, its term
    for batch in in_batches(list(holding)):
        query = f"SELECT project, items, number, term FROM words WHERE term IN ({marks(batch)})"  # noqa: S608  question marks
        for shelf, *word in db.execute(query + ("" if project is None else " AND project = ?"), (*batch, *bound)):
            shelves.setdefault(shelf, []).append((word[0], word[1], word[2]))
            holding[word[2]] += word[0]
    worth = {term: rarity(total, items) for term, items in holding.items()}
    ranked: list[tuple[float, list[int]]] = []
    for words in shelves.values():
        words.sort()
        for mask, seqs in _held(words, _NarrowedSearch(db, shelf, where)).items():
            ranked.append((sum(worth[term] for at, (_, _, term) in enumerate(words) if mask >> at & 1), seqs))
    ranked.sort(reverse=True)
    best = list(islice((seq for _, seqs in ranked for seq in seqs), most))
    items = {seq: item for batch in in_batches(best) for seq, item in _items(db, batch)}
    return Candidates([items[seq] for seq in best if matches(items[seq], where)], int(total), length / total if total else 0.0, holding)


class _NarrowedSearch:
    """A search in the index that is narrowed to the items which meet conditions: by the terms of their scopes where these are conditions,
    by their columns otherwise. `size`: of the smallest of these scopes, infinite without one."""

    def __init__(self, db: Connection, project: str, where: Sequence[Condition]) -> None:
        self._db = db
        self.scopes: list[str] = []
        self.size = float("inf")
        others = []
        for condition in where:
            if is_narrow(condition):
                values = condition.value if condition.operator == IN else (condition.value,)
                self._narrow(project, [_scope_term(condition.field, value) for value in values])  # type: ignore[attr-defined]
            else:
                others.append(condition)
        self._clause, self._bound = clause_of(others)
        self.is_narrow = bool(where) and (bool(others) or self.size <= LOOKED_AT)

    def _narrow(self, project: str, terms: Sequence[str]) -> None:
        query = f"SELECT items, number FROM words WHERE project = ? AND term IN ({marks(terms)})"  # noqa: S608  question marks
        rows = self._db.execute(query, (project, *terms)).fetchall()
        self.size = min(self.size, sum(items for items, _ in rows))
        self.scopes.append(" OR ".join(str(number) for _, number in rows))

    def rows(self, query: str) -> Iterator[tuple[int]]:
        """Yield the rows of the index that a query finds among these items, at most LOOKED_AT."""
        if not all(self.scopes):
            return iter(())
        match = " AND ".join([f"({query})", *(f"({scope})" for scope in self.scopes)])
        if not self._clause:
            return self._db.execute("SELECT rowid FROM found WHERE found MATCH ? ORDER BY rowid DESC LIMIT ?", (match, LOOKED_AT))
        joined = "SELECT found.rowid FROM found JOIN items i ON i.seq = found.rowid WHERE found MATCH ?"
        return self._db.execute(f"{joined}{self._clause} ORDER BY found.rowid DESC LIMIT ?", (match, *self._bound, LOOKED_AT))


def _held(words: Sequence[tuple[int, int, str]], among: _NarrowedSearch) -> dict[int, list[int]]:
    """Return the items of a project by the words that they have: a bit for each word, the rarest first. Look for frequent terms only among
    items with a rare one; where all are frequent, find items that have all or the rarest. Among few items look for each word: what is
    frequent in the project may be all that they have."""
    left, rare, queries = LOOKED_AT, "", []
    for at, (items, number, _) in enumerate(words):
        if among.is_narrow:
            queries.append((str(number), 1 << at))
            rare = "each"
            continue
        if items <= left:
            queries.append((str(number), 1 << at))
            left -= items
            rare += f" OR {number}" if rare else str(number)
        elif rare:
            queries.append((f"{number} AND ({rare})", 1 << at))
    if not rare:
        first = words[0][1]
        queries = [(f"{first} AND {number}", 1 | 1 << at) for at, (_, number, _) in enumerate(words) if at]
        queries += [(" AND ".join(str(number) for _, number, _ in words), (1 << len(words)) - 1), (str(first), 1)]
    held: dict[int, int] = {}
    for query, bits in queries:
        for (seq,) in among.rows(query):
            held[seq] = held.get(seq, 0) | bits
    alike: dict[int, list[int]] = {}
    for seq, mask in held.items():
        alike.setdefault(mask, []).append(seq)
    return alike


def _items(db: Connection, seqs: Sequence[int]) -> Iterator[tuple[int, Item]]:
    query = ITEMS.replace("SELECT ", "SELECT i.seq, ", 1) + f"WHERE i.seq IN ({marks(seqs)})"
    return ((row[0], item_of(row[1:])) for row in db.execute(query, seqs))


def problems(db: Connection) -> list[str]:
    """Return the problems of the index."""
    wrong = []
    try:
        db.execute("INSERT INTO found (found) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        wrong.append(f"the index of words is damaged: {error}")
    missing, left = db.execute(_ASTRAY).fetchone()
    if missing:
        wrong.append(f"not in the index of words: {units.counted(missing, 'item')}")
    if left:
        wrong.append(f"in the index of words, where it should not be: {units.counted(left, 'item')}")
    held: Counter[int] = Counter()
    for (words,) in db.execute("SELECT words FROM found"):
        held.update(map(int, words.split()))
    if held != dict(db.execute("SELECT number, items FROM words")):
        wrong.append("the counts of words are wrong")
    counted = "SELECT i.project, count(*), sum(f.length) FROM found f JOIN items i ON i.seq = f.rowid GROUP BY i.project"
    if sorted(db.execute(counted)) != sorted(db.execute("SELECT * FROM extents WHERE items > 0")):
        wrong.append("the counts of items in the index are wrong")
    return wrong


def _extend(db: Connection, grown: Iterable[tuple[str, int, int]]) -> None:
    """Add to the counts of projects' items and terms, or subtract from them."""
    extents: dict[str, list[int]] = {}
    for project, items, length in grown:
        extent = extents.setdefault(project, [0, 0])
        extent[0] += items
        extent[1] += length
    db.executemany(_EXTEND, ((project, *extent) for project, extent in extents.items()))


def _numbers(db: Connection, words: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return the numbers of words: (term, project) -> number."""
    by_project: dict[str, list[str]] = {}
    for term, project in words:
        by_project.setdefault(project, []).append(term)
    numbers: dict[tuple[str, str], int] = {}
    for project, terms in by_project.items():
        for batch in in_batches(terms):
            query = f"SELECT term, number FROM words WHERE project = ? AND term IN ({marks(batch)})"  # noqa: S608  question marks
            numbers.update(((term, project), number) for term, number in db.execute(query, (project, *batch)))
    return numbers


def marks(values: Sequence[object]) -> str:
    """Return a question mark for each value."""
    return ", ".join("?" * len(values))
