"""The log of retention: append-only, each entry chained to the one before, with the unfinished operations of killed processes beside it. A
change, cut or reordering of the chain is detected; somebody who can write the file can still write a whole new chain."""

from __future__ import annotations

import json
import math
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass

from popkit_retention.core.io import sqlite_file
from popkit_retention.core.io.row_chain import link_hash
from popkit_retention.core.io.sqlite_file import StoreDamaged, StoreTooNew
from popkit_retention.core.policy.masking import mask

from .data_folder import WAIT_S
from .errors import BadRequest, GovernanceBusy, GovernanceDamaged, GovernanceError, GovernanceTooNew
from .log_schema import HASHED, SCHEMA, hash_of_text
from .log_verification import problems
from .quoting import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


# Fields that a person has written, wherever they are in an entry.
PERSONAL = frozenset(("who", "why", "note"))
_REPLACE = f"Move it away, and {SCHEMA.remedy}; sqlite3's .recover may save more"
_COLUMNS = "e.number, e.at, e.by, e.action, e.domain, e.ids, e.details, e.hash, t.todo, e.todo_hash"
_SELECT = f"SELECT {_COLUMNS} FROM entries e LEFT JOIN todo t ON t.number = e.number "  # noqa: S608  names of our own columns
_ADD = f"INSERT INTO entries ({', '.join(HASHED)}, hash) VALUES ({', '.join('?' * (len(HASHED) + 1))})"  # noqa: S608


@dataclass(frozen=True)
class Entry:
    """An action `at` a time (seconds) `by` whom (`user`, `tool`, `job`), to which ids of which domain. `todo`: the part that is still to be
    done, None when it is done."""

    number: int
    at: float
    by: str
    action: str
    domain: str
    ids: list[str]
    details: dict[str, object]
    hash: str
    todo: dict | None = None

    def to_json(self) -> dict[str, object]:
        """Return it as a JSON object, without its todo."""
        return {name: getattr(self, name) for name in ("number", "at", "by", "action", "domain", "ids", "details", "hash")}


class Log:
    """The log in a file. The first entry creates the file; a missing file is an empty log. Damaged, TooNew, Busy, or a plain
    GovernanceError wherever it cannot be used."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._db: sqlite3.Connection | None = None

    def append(
        self,
        action: str,
        domain: str,
        ids: Sequence[str],
        details: Mapping[str, object],
        by: str,
        at: float,
        todo: Mapping[str, object] | None = None,
    ) -> Entry:
        """Add an entry, with its `todo`, in one transaction. Mask secrets in what a person wrote (who, why, note) in both: carry out what
        the returned entry says. BadRequest for values that JSON cannot represent."""
        at = float(at)
        if not math.isfinite(at):
            raise BadRequest(f"{at} is not a time (seconds since 1970)")
        if not all(isinstance(word, str) and _is_text(word) for word in (action, domain, by, *ids)):
            raise BadRequest("the log takes texts as action, domain, actor and ids")
        id_text, detail_text = _json(list(ids)), _json(_masked(dict(details)))
        todo_text = "" if todo is None else _json(_masked(dict(todo)))
        with self._used(create=True) as db, sqlite_file.Transaction(db):
            before, prev_hash = db.execute("SELECT number, hash FROM head").fetchone()
            number = before + 1
            row = (prev_hash, number, at, by, action, domain, id_text, detail_text, hash_of_text(todo_text))
            hash = link_hash(row)
            db.execute(_ADD, (*row, hash))
            db.executemany("INSERT INTO named VALUES (?, ?)", ((id, number) for id in dict.fromkeys(ids)))
            db.execute("UPDATE head SET number = ?, hash = ?", (number, hash))
            if todo_text:
                db.execute("INSERT INTO todo VALUES (?, ?)", (number, todo_text))
        kept_todo = json.loads(todo_text) if todo_text else None
        return Entry(number, at, by, action, domain, list(ids), json.loads(detail_text), hash, kept_todo)

    def done(self, number: int) -> None:
        """Remove the todo of an entry."""
        with self._used() as db:
            db.execute("DELETE FROM todo WHERE number = ?", (number,))

    def unfinished(self) -> list[Entry]:
        """Return the entries with a todo, oldest first."""
        return self._read("WHERE t.number IS NOT NULL ORDER BY e.number", ())

    def entries(self, most: int | None = None, domain: str | None = None, action: str | None = None, id: str | None = None) -> list[Entry]:
        """Return at most `most` entries, newest first: of this domain, this action, about this id."""
        if not all(_is_text(word) for word in (domain, action, id) if word is not None):
            return []
        filters = [("e.domain = ?", domain), ("e.action = ?", action), ("e.number IN (SELECT number FROM named WHERE id = ?)", id)]
        where = [(condition, value) for condition, value in filters if value is not None]
        chosen = "WHERE " + " AND ".join(condition for condition, _ in where) if where else ""
        return self._read(f"{chosen} ORDER BY e.number DESC LIMIT ?", (*(value for _, value in where), -1 if most is None else most))

    def count(self) -> int:
        """Return how many entries there are."""
        with self._used() as db:
            count: int = db.execute("SELECT count(*) FROM entries").fetchone()[0]
            return count

    def verify(self) -> list[str]:
        """Return the log's problems, the first broken entry first; none where it is as it was written."""
        try:
            with self._used() as db:
                return problems(db)
        except GovernanceDamaged as error:
            return [str(error)]

    def close(self) -> None:
        """Close the file."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _read(self, rest: str, values: tuple[object, ...]) -> list[Entry]:
        with self._used() as db:
            return [_entry(row) for row in db.execute(_SELECT + rest, values)]

    @contextmanager
    def _used(self, create: bool = False) -> Iterator[sqlite3.Connection]:
        """Open the connection; one to an empty log where there is no file and none is to be created."""
        try:
            with self._opened(create) as db:
                yield db
        except StoreTooNew as error:
            raise GovernanceTooNew(one_line(error)) from None
        except StoreDamaged as error:
            raise GovernanceDamaged(one_line(error)) from None
        except (OSError, sqlite3.OperationalError) as error:
            if "locked" in str(error):
                raise GovernanceBusy(f"{self.path} is in use by another process. Try again when it is done; nothing was changed") from None
            why = one_line(getattr(error, "strerror", None) or error)
            raise GovernanceError(f"{self.path} cannot be used: {why}. Nothing was changed; try again when that is fixed") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise GovernanceDamaged(f"{self.path}: {one_line(error)}. {_REPLACE}") from None

    @contextmanager
    def _opened(self, create: bool) -> Iterator[sqlite3.Connection]:
        if self._db is None:
            try:
                self._db = sqlite_file.open_store(self.path, SCHEMA, create, WAIT_S)
            except FileNotFoundError:
                if create:
                    raise
                with closing(sqlite3.connect(":memory:", isolation_level=None)) as empty:
                    sqlite_file.migrate(empty, SCHEMA)
                    yield empty
                return
            # A logged operation may be done in another file at once: a power cut must not undo the end of the transaction then.
            self._db.execute("PRAGMA synchronous = EXTRA")
        yield self._db


def _entry(row: tuple) -> Entry:
    """Return the entry of a row; sqlite3.DatabaseError for a corrupt one."""
    number, at, by, action, domain, ids, details, hash, todo, todo_hash = row
    if todo is not None and hash_of_text(str(todo)) != todo_hash:
        raise sqlite3.DatabaseError(f"what is to be done for entry {number} was changed")
    try:
        return Entry(number, at, by, action, domain, json.loads(ids), json.loads(details), hash, None if todo is None else json.loads(todo))
    except (TypeError, ValueError, RecursionError):
        raise sqlite3.DatabaseError(f"entry {number} was changed and cannot be read") from None


def _json(value: object) -> str:
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadRequest(f"the log cannot hold this: {error}") from None


def _is_text(word: str) -> bool:
    """Return whether a word can be stored: half of a surrogate pair cannot."""
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _masked(value: object, key: str = "") -> object:
    if isinstance(value, str):
        return mask(value) if key in PERSONAL else value
    if isinstance(value, dict):
        return {name: _masked(field, name) for name, field in value.items()}
    if isinstance(value, (list, tuple)):
        return [_masked(field, key) for field in value]
    return value
