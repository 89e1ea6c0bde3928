"""The store for teams: a Neo4j, through the official driver (`popkit setup neo4j`). Its statements are those of `neo4j_schema`."""

from __future__ import annotations

import json
import logging
import os
from contextlib import contextmanager
from datetime import datetime, timezone
from itertools import islice
from typing import Any

from ....extras import reach
from ...filters import matches
from ...items import ACCESSES_KEPT, BadItem
from ..protocol import OF_EACH_KIND, WHOLE, Candidates, DuplicateId, Shortlist, StoreUnavailable, Total, check_expected
from ..shared import (
    FIELDS,
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
from . import neo4j_schema as cypher
from .neo4j_schema import complaint_about, explained, index_properties, item_of, parts_of, properties_of, query_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import ModuleType

    from ...filters import Condition
    from ...items import Item
    from ..protocol import Batch, Change

    # The work of a transaction, done as often as the driver tries.
    Work = Callable[[Any], Any]

CONNECT_S = 5.0
TRY_S = 15.0  # how long requests that a busy server refuses are tried again
STATEMENT_S = 60.0  # how long the server may take for one transaction
_ROWS = 1_000
_SCANNED = 500
_READ = cypher.reading(FIELDS)
_READ_BARE = cypher.reading(FIELDS, without=("embedding",))
_FOUND_BY = frozenset(("text", "marked_at"))


class Neo4jStore:
    """Threads may share it. `environ` has NEO4J_USER and NEO4J_PASSWORD (neither: a server without a login), and NEO4J_DATABASE where it is
    not the server's default. Give up on a server that stops answering when its own hint says so (after two minutes by default). Requests
    that a busy server refuses are tried again, so a method reads all its arguments before it begins."""

    def __init__(self, url: str, environ: Mapping[str, str] | None = None, connect_s: float = CONNECT_S, try_s: float = TRY_S) -> None:
        environ = os.environ if environ is None else environ
        if "@" in url:
            raise StoreUnavailable("memory.store contains a password. Put it into NEO4J_PASSWORD instead, and the name into NEO4J_USER")
        self.url = url
        self._neo4j = _driver(environ)
        self._database = environ.get("NEO4J_DATABASE") or None
        user, password = environ.get("NEO4J_USER", ""), environ.get("NEO4J_PASSWORD", "")
        with self._usable():
            self._driver = self._neo4j.GraphDatabase.driver(
                url,
                auth=(user, password) if user or password else None,
                connection_timeout=connect_s,
                connection_acquisition_timeout=connect_s + 5.0,
                max_transaction_retry_time=try_s,
                notifications_min_severity="OFF",
            )
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        """Check that the server's version is a known one, and create missing indexes."""
        for name, versions, _ in self.components():
            if name.startswith("Neo4j") and (complaint := complaint_about(name, versions)):
                raise StoreUnavailable(f"{self.url}: {complaint}")
        version = self._read(cypher.GET_VERSION)[0][0] or 0
        if version > cypher.VERSION:
            raise StoreUnavailable(
                f"{self.url}: was written by a later PopKit (version {version}; this one knows {cypher.VERSION}). Update PopKit"
            )
        if version == cypher.VERSION:
            return
        with self._usable(), self._session() as session:
            for statement in (*cypher.SCHEMA, cypher.AWAIT_INDEXES):
                session.run(statement).consume()
        self._write(lambda tx: tx.run(cypher.SET_VERSION, version=cypher.VERSION).consume())

    def components(self) -> list[list[Any]]:
        """Return the server's description of itself: name, versions, edition."""
        return self._read(cypher.COMPONENTS)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Turn errors of the driver into StoreUnavailable."""
        errors = self._neo4j.exceptions
        try:
            yield
        except errors.ConstraintError:
            raise
        except (errors.Neo4jError, errors.DriverError, OSError, ValueError) as error:
            if isinstance(error, (BadItem, DuplicateId)):
                raise
            if isinstance(error, UnicodeEncodeError):
                raise BadItem("a name or an id is not valid Unicode (it has lone surrogates)") from None
            code = getattr(error, "code", "") or ""
            raise StoreUnavailable(f"{self.url}: {explained(type(error).__name__, code, str(error))}") from None

    def _session(self) -> Any:
        return self._driver.session(database=self._database, bookmark_manager=self._driver.execute_query_bookmark_manager)

    def _write(self, work: Work) -> Any:
        timed = self._neo4j.unit_of_work(timeout=STATEMENT_S)(work)
        with self._usable(), self._session() as session:
            return session.execute_write(timed)

    def _read(self, statement: str, **bound: object) -> list[list[Any]]:
        @self._neo4j.unit_of_work(timeout=STATEMENT_S)  # type: ignore[untyped-decorator, unused-ignore]
        def work(tx: Any) -> list[list[Any]]:
            return [record.values() for record in tx.run(statement, bound)]

        with self._usable(), self._session() as session:
            return session.execute_read(work)

    def ask(self, statement: str, writes: bool = False, **bound: object) -> list[list[Any]]:
        """Return the rows of any statement."""
        if not writes:
            return self._read(statement, **bound)
        rows: list[list[Any]] = self._write(lambda tx: [record.values() for record in tx.run(statement, bound)])
        return rows

    def _items(self, statement: str, reading: str = _READ, **bound: object) -> list[Item]:
        return [item_of(values) for values in self._read(statement + reading, **bound)]

    def write(self, batch: Batch) -> None:
        steps = [
            *(_expecting(key, value) for key, value in batch.expected.items()),
            self._adding(batch.add),
            self._changing(batch.change),
            *(_keeping(id, text) for id, text in batch.originals.items()),
            *(self._accessing(ids, at, session) for ids, at, session in batch.access),
            _removing(batch.remove),
            *(_setting(key, value) for key, value in batch.values.items()),
            _logging(batch.log),
        ]
        self._all(steps, batch.add)

    def _all(self, steps: Sequence[Work], added: Sequence[Item] = ()) -> Any:
        """Run some steps in one transaction; return the result of the last one."""

        def work(tx: Any) -> Any:
            return [step(tx) for step in steps][-1]

        try:
            return self._write(work)
        except self._neo4j.exceptions.ConstraintError:
            raise duplicate(self, added) from None

    def add(self, items: Sequence[Item]) -> None:
        self._all([self._adding(items)], items)

    def get(self, ids: Sequence[str]) -> list[Item]:
        known = storable_ids(ids)
        by_id = {item.id: item for batch in in_batches(known, _ROWS) for item in self._items(cypher.GET, ids=list(batch))}
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
        statement = cypher.SCAN if project is None else cypher.SCAN_PROJECT
        chosen: dict[str, object] = {"project": project, "kinds": list(kinds), "tiers": list(tiers), "marked": marked, "most": _SCANNED}
        chosen["scopes"] = cypher.scopes_of(where)
        reading = _READ_BARE if bare else _READ
        items = self._items(statement, reading, last="", **chosen)
        while items:
            yield from (item for item in items if matches(item, where))
            items = self._items(statement, reading, last=items[-1].id, **chosen) if len(items) == _SCANNED else []

    def shortlist(
        self, project: str, at: float, where: Sequence[Condition] = (), whole: int = WHOLE, of_each_kind: int = OF_EACH_KIND
    ) -> Shortlist:
        everything = list(islice(self.scan(project, bare=True, where=where), whole + 1))
        if len(everything) <= whole:
            return Shortlist(everything)
        chosen: dict[str, Any] = {"project": project, "scopes": cypher.scopes_of(where), "at": self._time(at)}
        items = {item.id: item for item in self._first(cypher.PINNED, where, None, **chosen)}
        for (kind,) in self._read(cypher.LISTABLE_KINDS, **chosen):
            for statement in cypher.BY_USE:
                items.update((item.id, item) for item in self._first(statement, where, of_each_kind, kind=kind, **chosen))
        return Shortlist([items[id] for id in sorted(items)], True)

    def _first(
        self, statement: str, where: Sequence[Condition], most: int | None, reading: str = _READ_BARE, **bound: object
    ) -> list[Item]:
        """Return the first items (None: all) that a statement finds and that meet the conditions."""
        found: list[Item] = []
        skipped = 0
        while most is None or len(found) < most:
            items = self._items(statement, reading, skipped=skipped, most=_SCANNED, **bound)
            found += [item for item in items if matches(item, where)]
            skipped += len(items)
            if len(items) < _SCANNED:
                break
        return found[:most]

    def change(self, changes: Iterable[Change]) -> int:
        return self._all([self._changing(list(changes))])

    def access(self, ids: Sequence[str], at: float, session: int = 0) -> int:
        return self._all([self._accessing(ids, at, session)])

    def remove(self, ids: Sequence[str]) -> int:
        return self._all([_removing(ids)])

    def keep_original(self, id: str, text: str) -> None:
        self._all([_keeping(id, text)])

    def original(self, id: str) -> str | None:
        rows = self._read(cypher.ORIGINAL, id=(storable_ids([id]) or [""])[0])
        return opened(id, rows[0][0], rows[0][1], self.url) if rows else None

    def candidates(self, terms: Sequence[str], project: str | None = None, most: int = 200, where: Sequence[Condition] = ()) -> Candidates:
        total, length = self._read(cypher.EXTENT if project is None else cypher.EXTENT_PROJECT, project=project)[0]
        holding = dict.fromkeys(terms, 0)
        queries = {term: query for term in holding if (query := query_of([term], project))}
        rows = self._read(cypher.HOLDING, queries=list(queries.values()))
        holding.update((term, row[0]) for term, row in zip(queries, rows))
        query = query_of([term for term in holding if holding[term]], project)
        if not query:
            items = []
        elif not where:
            items = self._items(cypher.FIND, query=query, most=most)
        else:
            items = self._first(cypher.FIND_IN_SCOPES, where, most, _READ, query=query, scopes=cypher.scopes_of(where))
        return Candidates(items, total, length / total if total else 0.0, holding)

    def around(self, places: Sequence[tuple[str, int]]) -> list[Item]:
        return self._items(cypher.AROUND, places=[list(place) for place in dict.fromkeys(places) if place[0]])

    def totals(self, project: str | None = None) -> list[Total]:
        return [Total(*row) for row in self._read(cypher.TOTALS, project=project)]

    def value(self, key: str) -> object:
        rows = self._read(cypher.VALUE, key=key)
        return json.loads(rows[0][0]) if rows else None

    def set_value(self, key: str, value: object) -> None:
        self._all([_setting(key, value)])

    def values(self, prefix: str) -> dict[str, object]:
        return {key: json.loads(value) for key, value in self._read(cypher.VALUES, prefix=prefix)}

    def log(self, entries: Sequence[Mapping[str, object]]) -> None:
        self._all([_logging(entries)])

    def logged(self, id: str | None = None, most: int = 100) -> list[dict[str, object]]:
        rows = self._read(cypher.LOGGED if id is None else cypher.LOGGED_ITEM, id=id, most=most)
        return [json.loads(entry) for (entry,) in rows]

    def shorten_log(self, most: int) -> int:
        deleted = 0
        while True:
            (some,) = self.ask(cypher.SHORTEN_LOG, writes=True, most=most, rows=_ROWS)[0]
            deleted += some
            if some < _ROWS:
                return deleted

    def compact(self) -> bool:
        """Return False: the server does this itself."""
        return False

    def verify(self) -> list[str]:
        problems = [f"{id}: its labels or its terms are not those of its level" for (id,) in self._read(cypher.PROBLEMS)]
        return [*problems, *item_problems(self)]

    def close(self) -> None:
        self._driver.close()

    def _adding(self, items: Sequence[Item]) -> Work:
        check_new(items)
        fields = [{**item.to_json(), "original": False} for item in items]
        rows = [
            properties_of(each, self._time) | index_properties(item.id, item.text, item.marked_at is not None)
            for each, item in zip(fields, items)
        ]

        def work(tx: Any) -> None:
            for batch in in_batches(rows, _ROWS):
                tx.run(cypher.ADD, rows=batch).consume()
                tx.run(cypher.SETTLE, ids=[row["id"] for row in batch]).consume()

        return work

    def _changing(self, changes: Sequence[Change]) -> Work:
        for change in changes:
            check_change(change)
        known = set(storable_ids(change.id for change in changes))
        rows = [
            {"id": change.id, "to": properties_of(change.to, self._time), **_NO_COUNTS, **change.by}
            for change in changes
            if change.id in known
        ]
        spoken = [change.id for change in changes if not _FOUND_BY.isdisjoint(change.to) and change.id in known]

        def work(tx: Any) -> int:
            there = 0
            for batch in _one_of_each(rows):
                there += tx.run(cypher.CHANGE, rows=batch).single().value()
                tx.run(cypher.SETTLE, ids=[row["id"] for row in batch]).consume()
            for ids in in_batches(list(dict.fromkeys(spoken)), _ROWS):
                texts = [record.values() for record in tx.run(cypher.TEXTS, ids=ids)]
                tx.run(cypher.SET_TERMS, rows=[index_properties(id, text, marked) for id, text, _, marked in texts]).consume()
            return there

        return work

    def _accessing(self, ids: Sequence[str], at: float, session: int) -> Work:
        check_time(at)
        bound = {"at": self._time(at), "seconds": float(at), "session": session, "kept": ACCESSES_KEPT}

        def work(tx: Any) -> int:
            there = 0
            for batch in in_batches(storable_ids(ids), _ROWS):
                there += tx.run(cypher.ACCESS, ids=batch, **bound).single().value()
                tx.run(cypher.SETTLE, ids=batch).consume()
            return there

        return work

    def _time(self, seconds: float) -> object:
        """Return the driver's DateTime, in UTC."""
        whole, nanoseconds = parts_of(seconds)
        day = datetime.fromtimestamp(whole, timezone.utc)
        return self._neo4j.time.DateTime(day.year, day.month, day.day, day.hour, day.minute, day.second, nanoseconds, timezone.utc)


def _one_of_each(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, object]]]:
    """Yield rows in parts that have no item twice: within a statement the order of changes is the server's."""
    batch: dict[str, dict[str, object]] = {}
    for row in rows:
        if row["id"] in batch or len(batch) == _ROWS:
            yield list(batch.values())
            batch = {}
        batch[row["id"]] = row
    if batch:
        yield list(batch.values())


_NO_COUNTS = {"writes": 0, "sessions": 0, "reinforcements": 0}


def _removing(ids: Sequence[str]) -> Work:
    known = storable_ids(ids)
    return lambda tx: sum(tx.run(cypher.REMOVE, ids=list(batch)).single().value() for batch in in_batches(known, _ROWS))


def _keeping(id: str, text: str) -> Work:
    hash, content = packed(text)
    known = (storable_ids([id]) or [""])[0]
    return lambda tx: tx.run(cypher.KEEP_ORIGINAL, id=known, hash=hash, content=content).consume()


def _expecting(key: str, value: object) -> Work:
    def work(tx: Any) -> None:
        written = tx.run(cypher.HOLD_VALUE, key=key).single().value()
        if written is None:
            tx.run(cypher.FORGET_VALUE, key=key).consume()  # locking it has created it
        check_expected(key, value, None if written is None else json.loads(written))

    return work


def _setting(key: str, value: object) -> Work:
    written = as_json(value, key)
    if value is None:
        return lambda tx: tx.run(cypher.FORGET_VALUE, key=key).consume()
    return lambda tx: tx.run(cypher.SET_VALUE, key=key, value=written).consume()


def _logging(entries: Sequence[Mapping[str, object]]) -> Work:
    rows = [list(row) for row in entry_rows(entries)]
    return lambda tx: tx.run(cypher.LOG, rows=rows).consume() if rows else None


def _driver(environ: Mapping[str, str]) -> ModuleType:
    """Return the official driver: from where Python finds it, else from where `popkit setup neo4j` has put it. Raise StoreUnavailable
    without one."""
    try:
        return _imported()
    except ImportError:
        pass
    reach(environ)
    try:
        return _imported()
    except ImportError:
        raise StoreUnavailable("memory.store names a Neo4j, but its driver is not installed. Run popkit setup neo4j") from None


def _imported() -> ModuleType:
    import neo4j
    import neo4j.exceptions
    import neo4j.time

    logging.getLogger("neo4j").addHandler(logging.NullHandler())  # else Python prints a line for each retry
    return neo4j


SERVES = dict.fromkeys(("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc"), Neo4jStore)
