"""The store of one machine: a private SQLite file. Its tables are those of `sqlite_schema`."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from contextlib import contextmanager
from itertools import count, groupby, islice, takewhile
from typing import cast

from popkit_retention.core.io import sqlite_file
from popkit_retention.core.io.sqlite_file import StoreError, Transaction
from popkit_retention.core.policy.estimate import estimate_tokens

from ..filters import SCOPES, matches
from ..items import ACCESSES_KEPT, BadItem
from . import sqlite_schema
from .protocol import OF_EACH_KIND, WHOLE, StoreUnavailable, Total, write_all
from .shared import (
    as_json,
    check_change,
    check_new,
    check_time,
    duplicate,
    entry_rows,
    in_batches,
    item_problems,
    opened,
    packed,
    storable_ids,
)
from .sqlite_schema import ADD, BARE_ITEMS, ITEMS, SCHEMA, blob_of, item_of, json_of, marks, row_of
from .sqlite_shortlist import find_shortlist

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from sqlite3 import Connection

    from ..filters import Condition
    from ..items import Item
    from .protocol import Batch, Candidates, Change, Shortlist

_SCANNED = 500  # items that a scan holds at a time
_CHANGED = 1_000  # changes that are made at once
# The fields by which an item is found.
_INDEXED = frozenset(("text", "project", "marked_at", *SCOPES))
_ACCESS = """
UPDATE items SET access_count = access_count + 1, last_accessed = max(last_accessed, ?), session = max(session, ?), accesses = ?
WHERE id = ?
"""
_KEEP = "INSERT OR REPLACE INTO originals (hash, content, id) SELECT ?, ?, id FROM items WHERE id = ?"
_ADVICE = (
    ("no such module", "Python's SQLite has no FTS5. Use a Python whose SQLite has it, or a Neo4j (memory.store)"),
    ("locked", "another process keeps it busy. Try again when that is done"),
    ("full", "the disk is full. Free some space, then try again"),
    ("readonly", "it is read-only. Make it writable"),
    ("unable to open", "it cannot be opened. Make it and its folder yours"),
    ("disk I/O", "the disk reports an error. Check it, then try again"),
)
_DAMAGED = "the file is damaged. Move it away, and import your newest backup into a new one; sqlite3's .recover may save more"


class SqliteStore:
    """Threads and processes may share it. `path`: of its file (`~` is your home), or ":memory:" for a store that ends with this object.
    `change` holds the write lock until its changes are used up, so pass changes that are already decided. `busy_s`: how long to wait for
    other processes."""

    def __init__(self, path: str | os.PathLike[str], create: bool = True, busy_s: float = sqlite_file.BUSY_S) -> None:
        self.path = path = os.path.expanduser(os.fspath(path))
        self._lock = threading.RLock()  # of the one connection
        self._is_closed = False
        try:
            with self._usable():
                is_file = path != sqlite_file.MEMORY
                self._db = sqlite_file.open_store(path, SCHEMA, create, busy_s, True) if is_file else sqlite_file.open_in_memory(SCHEMA)
        except StoreError as error:
            raise StoreUnavailable(str(error)) from None
        except FileNotFoundError:
            raise StoreUnavailable(f"{path} does not exist. Check the path, or let it be made (create=True)") from None
        except OSError as error:
            raise StoreUnavailable(f"{path}: {error.strerror or error}. Make it writable, or choose another path") from None
        self._db.execute("PRAGMA cache_size = -16000")  # KB
        self._db.execute("PRAGMA secure_delete = ON")  # deleted rows are overwritten

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Keep other threads out, and turn errors of SQLite into StoreUnavailable."""
        with self._lock:
            if self._is_closed:
                raise StoreUnavailable(f"{self.path}: this store was closed. Open another SqliteStore")
            try:
                yield
            except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
                raise
            except sqlite3.DatabaseError as error:
                raise self._unavailable(error) from None
            except UnicodeEncodeError:
                raise BadItem("a name or an id is not valid Unicode (it has lone surrogates)") from None

    def _unavailable(self, error: sqlite3.DatabaseError) -> StoreUnavailable:
        if sqlite_file.is_damage(error):
            return StoreUnavailable(f"{self.path}: {_DAMAGED} (SQLite says: {error})")
        advice = next((advice for sign, advice in _ADVICE if sign in str(error)), "")
        return StoreUnavailable(f"{self.path}: {advice} (SQLite says: {error})" if advice else f"{self.path}: SQLite says: {error}")

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._usable(), Transaction(self._db):
            yield self._db

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Read one state of the file with several statements."""
        with self._usable():
            joined = self._db.in_transaction
            if not joined:
                self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                if not joined and self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def write(self, batch: Batch) -> None:
        with self._writing():
            write_all(self, batch)

    def add(self, items: Sequence[Item]) -> None:
        check_new(items)
        try:
            with self._writing() as db:
                ((last,),) = db.execute("SELECT coalesce(max(seq), 0) FROM items")
                db.executemany(ADD, map(row_of, items, count(last + 1)))
                _set_embeddings(db, ((item.id, item.embedding) for item in items if item.embedding is not None))
                sqlite_schema.index(db, [item.id for item in items])
        except sqlite3.IntegrityError:
            raise duplicate(self, items) from None

    def get(self, ids: Sequence[str]) -> list[Item]:
        by_id: dict[str, Item] = {}
        with self._reading() as db:
            for batch in in_batches(storable_ids(ids)):
                by_id.update((row[0], item_of(row)) for row in db.execute(f"{ITEMS} WHERE i.id IN ({marks(batch)})", batch))
        return [by_id[id] for id in ids if id in by_id]

    def scan(
        self,
        project: str | None = None,
        kinds: Sequence[str] = (),
        tiers: Sequence[str] = (),
        marked: bool | None = None,
        bare: bool = False,
        where: Sequence[Condition] = (),
    ) -> Iterator[Item]:
        chosen = "" if marked is None else f" AND i.marked_at IS {'NOT ' if marked else ''}NULL"
        chosen += "" if project is None else " AND i.project = ?"
        for column, wanted in (("kind", kinds), ("tier", tiers)):
            chosen += f" AND i.{column} IN ({marks(wanted)})" if wanted else ""
        clause, values = sqlite_schema.clause_of(where)
        query = f"{BARE_ITEMS if bare else ITEMS} WHERE i.id > ?{chosen}{clause} ORDER BY i.id LIMIT {_SCANNED}"
        last = ""
        while True:
            with self._usable():
                rows = self._db.execute(query, (last, *([] if project is None else [project]), *kinds, *tiers, *values)).fetchall()
                items = list(map(item_of, rows))
            yield from (item for item in items if matches(item, where))
            if len(items) < _SCANNED:
                return
            last = items[-1].id

    def shortlist(
        self, project: str, at: float, where: Sequence[Condition] = (), whole: int = WHOLE, of_each_kind: int = OF_EACH_KIND
    ) -> Shortlist:
        with self._reading() as db:
            return find_shortlist(db, project, at, where, whole, of_each_kind)

    def change(self, changes: Iterable[Change]) -> int:
        with self._writing() as db:
            there = 0
            for _, alike in groupby(changes, key=lambda change: (tuple(change.to), tuple(change.by))):
                while batch := list(islice(alike, _CHANGED)):
                    there += _change(db, batch)
            return there

    def access(self, ids: Sequence[str], at: float, session: int = 0) -> int:
        check_time(at)
        there = 0
        with self._writing() as db:
            for batch in in_batches(storable_ids(ids)):
                rows = db.execute(f"SELECT id, accesses FROM items WHERE id IN ({marks(batch)})", batch).fetchall()  # noqa: S608
                booked = ((at, session, json.dumps(sorted([*json.loads(before), at])[-ACCESSES_KEPT:]), id) for id, before in rows)
                db.executemany(_ACCESS, booked)
                there += len(rows)
        return there

    def remove(self, ids: Sequence[str]) -> int:
        there = 0
        with self._writing() as db:
            for batch in in_batches(storable_ids(ids)):
                sqlite_schema.unindex(db, batch)
                there += db.execute(f"DELETE FROM items WHERE id IN ({marks(batch)})", batch).rowcount  # noqa: S608
        return there

    def keep_original(self, id: str, text: str) -> None:
        with self._writing() as db:
            db.execute(_KEEP, (*packed(text), id))
            db.execute("UPDATE items SET original = 1 WHERE id = ?", (id,))

    def original(self, id: str) -> str | None:
        query = "SELECT o.hash, o.content FROM originals o WHERE o.id = ?"
        with self._usable():
            row = self._db.execute(query, storable_ids([id]) or [""]).fetchone()
        return None if row is None else opened(id, row[0], row[1], self.path)

    def candidates(self, terms: Sequence[str], project: str | None = None, most: int = 200, where: Sequence[Condition] = ()) -> Candidates:
        with self._reading() as db:
            return sqlite_schema.find_candidates(db, terms, project, most, where)

    def around(self, places: Sequence[tuple[str, int]]) -> list[Item]:
        items: list[Item] = []
        wanted = [(episode, place) for episode, place in dict.fromkeys(places) if episode]
        with self._reading() as db:
            for batch in in_batches(wanted, 200):
                query = f"WITH wanted (number, episode, place) AS (VALUES {', '.join('(?, ?, ?)' for _ in batch)}) "
                query += ITEMS.replace("FROM items i", "FROM wanted w CROSS JOIN items i ON i.episode = w.episode AND i.place = w.place")
                query += " WHERE i.episode <> '' ORDER BY w.number, i.id"
                bound = [value for number, (episode, place) in enumerate(batch) for value in (number, episode, place)]
                items += map(item_of, db.execute(query, bound))
        return items

    def totals(self, project: str | None = None) -> list[Total]:
        chosen, bound = ("", ()) if project is None else (" WHERE project = ?", (project,))
        query = f"SELECT project, tier, level, count(*), sum(tokens) FROM items{chosen} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"  # noqa: S608
        with self._usable():
            return [Total(*row) for row in self._db.execute(query, bound)]

    def value(self, key: str) -> object:
        with self._usable():
            row = self._db.execute("SELECT value FROM kept WHERE key = ?", (key,)).fetchone()
            return None if row is None else json_of(row[0], key)

    def set_value(self, key: str, value: object) -> None:
        written = as_json(value, key)
        with self._writing() as db:
            if value is None:
                db.execute("DELETE FROM kept WHERE key = ?", (key,))
            else:
                db.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (key, written))

    def values(self, prefix: str) -> dict[str, object]:
        with self._usable():
            rows = self._db.execute("SELECT key, value FROM kept WHERE key >= ? ORDER BY key", (prefix,))
            return {key: json_of(value, key) for key, value in takewhile(lambda row: row[0].startswith(prefix), rows)}

    def log(self, entries: Sequence[Mapping[str, object]]) -> None:
        rows = entry_rows(entries)
        with self._writing() as db:
            db.executemany("INSERT INTO log (item, entry) VALUES (?, ?)", rows)

    def logged(self, id: str | None = None, most: int = 100) -> list[dict[str, object]]:
        chosen, bound = ("", ()) if id is None else ("WHERE item = ? ", (id,))
        with self._usable():
            rows = self._db.execute(f"SELECT entry FROM log {chosen}ORDER BY seq DESC LIMIT ?", (*bound, most)).fetchall()  # noqa: S608
            return [json_of(entry, "log") for (entry,) in rows]

    def shorten_log(self, most: int) -> int:
        with self._writing() as db:
            return db.execute("DELETE FROM log WHERE seq <= (SELECT seq FROM log ORDER BY seq DESC LIMIT 1 OFFSET ?)", (most,)).rowcount

    def compact(self) -> bool:
        with self._usable():
            try:
                self._db.execute("VACUUM")
            except sqlite3.OperationalError:  # it is in use, or the disk has no room for a second file: leave it unchanged
                return False
        return True

    def verify(self) -> list[str]:
        with self._usable():
            problems = [f"{self.path}: {line}" for (line,) in self._db.execute("PRAGMA integrity_check") if line != "ok"]
        if problems:
            return problems
        with self._writing() as db:  # the check of the index is a statement that writes
            problems = sqlite_schema.problems(db)
        return [*problems, *item_problems(self)]

    def close(self) -> None:
        """Close the store; a thread that is at work with it finishes first."""
        with self._lock:
            self._is_closed = True
            self._db.close()


def _change(db: Connection, changes: Sequence[Change]) -> int:
    """Make changes of the same fields; return how many items were in the store."""
    for change in changes:
        check_change(change)
    to, by = changes[0].to, changes[0].by
    ids = storable_ids(change.id for change in changes)
    indexed = not _INDEXED.isdisjoint(to)
    if indexed:
        sqlite_schema.unindex(db, ids)
    columns = [name for name in to if name != "embedding"]
    setting = [f"{name} = ?" for name in columns] + (["tokens = ?"] if "text" in to else []) or ["seq = seq"]
    there = db.executemany(
        f"UPDATE items SET {', '.join(setting)} WHERE id = ?",  # noqa: S608  names of fields, which were checked
        ((*_values(change, columns), change.id) for change in changes),
    ).rowcount
    for name in by:
        db.executemany(f"UPDATE items SET {name} = max(0, {name} + ?) WHERE id = ?", ((change.by[name], change.id) for change in changes))  # noqa: S608
    if "embedding" in to:
        _set_embeddings(db, ((change.id, cast("list[float] | None", change.to["embedding"])) for change in changes))
    if indexed:
        sqlite_schema.index(db, ids)
    return there


def _values(change: Change, columns: Sequence[str]) -> list[object]:
    """Return the values of these columns, and then the tokens of a text."""
    values = [change.to[name] for name in columns]
    for name in {"details", "metadata"} & change.to.keys():
        values[columns.index(name)] = json.dumps(change.to[name])
    if "reinforced" in change.to:
        values[columns.index("reinforced")] = sqlite_schema.times_of(change.to["reinforced"])  # type: ignore[arg-type]
    return [*values, estimate_tokens(str(change.to["text"]))] if "text" in change.to else values


def _set_embeddings(db: Connection, embeddings: Iterable[tuple[str, list[float] | None]]) -> None:
    """Set embeddings, or delete them where there is None."""
    for id, numbers in embeddings:
        if numbers is None:
            db.execute("DELETE FROM embeddings WHERE id = ?", (id,))
        else:
            db.execute("INSERT OR REPLACE INTO embeddings SELECT id, ? FROM items WHERE id = ?", (blob_of(numbers), id))
