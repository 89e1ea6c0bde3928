"""Records of the archive: written once, found by handle, by tool call or by session, newest first."""

from __future__ import annotations

import time

from ..io.row_chain import COMPACT, link_hash
from ..io.sqlite_file import Transaction
from .chains import HASHED, Chain, ensure_chain
from .content import RetentionIntegrityError, as_count, hash_content, names_of, plain, read_json, stamp, subjects_of, to_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from sqlite3 import Connection

    from .index import Indexer

HANDLE_CHARS = 8
# The shortest beginning of a handle that is accepted in its place.
PREFIX_CHARS = 4
_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
LONGEST_HANDLE = 256 // 5
_MOST_NAMES = 500  # of the 999 values that every SQLite takes

_FIELDS = ("id", "type", "task_id", "agent_id", "timestamp", "created_at", "zone", "place", "tool_use_id", "label", "subjects", "tokens",
           "size", "content_hash", "source")  # fmt: skip
_SELECT = f"SELECT {', '.join('r.' + name for name in _FIELDS)} FROM thought_records AS r "  # noqa: S608  names of our own columns
_INSERT = f"""
INSERT INTO thought_records ({", ".join(HASHED)}, prev_hash, hash, source, content)
VALUES ({", ".join("?" * len(HASHED))}, ?, ?, ?, CAST(? AS TEXT))
"""  # noqa: S608


class NewRecord:
    """A content that leaves the context. `content` is its JSON text as the transcript has it, `timestamp` when it came to be, as
    the host writes it, `source` what `recovery.source_of` says of it."""

    __slots__ = ("content", "label", "source", "subjects", "timestamp", "tokens", "tool_use_id", "type")

    def __init__(self, tool_use_id: str, type: str, label: str, content: str, timestamp: str = "", subjects: Iterable[str] = (),
                 tokens: int = 0, source: dict[str, object] | None = None):  # fmt: skip
        self.tool_use_id = tool_use_id
        self.type = type
        self.label = label
        self.content = content
        self.timestamp = timestamp
        self.subjects = subjects
        self.tokens = tokens
        self.source = source


class Record:
    """The row of an archived content, without the content. `size` is the bytes of the content as it was."""

    __slots__ = (*[name for name in _FIELDS if name not in ("source", "subjects")], "_source", "_subjects")

    def __init__(self, id: str, type: str, task_id: str, agent_id: str, timestamp: str, created_at: str, zone: str | None,
                 place: int, tool_use_id: str, label: str, subjects: str, tokens: int, size: int, content_hash: str,
                 source: str | None) -> None:  # fmt: skip
        # Any column may hold anything: SQLite asks for no type, and the file may have been edited.
        self.id, self.type, self.task_id, self.agent_id = str(id), str(type), str(task_id), str(agent_id)
        self.timestamp, self.created_at, self.tool_use_id = str(timestamp), str(created_at), str(tool_use_id)
        self.label, self.content_hash = str(label), str(content_hash)
        self.place, self.tokens, self.size = as_count(place), as_count(tokens), as_count(size)
        self.zone = str(zone or "hot")
        # JSON is parsed when it is asked for: a restore by handle does not need it.
        self._subjects, self._source = subjects, source

    @property
    def subjects(self) -> list[str]:
        return subjects_of(self._subjects)

    @property
    def source(self) -> dict[str, object] | None:
        return read_json(self._source, dict)

    def to_json(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in _FIELDS}


# The later time is kept: a clock that is set back makes nothing old.
NOTE_BACK = """
INSERT INTO brought_back VALUES (?, ?) ON CONFLICT (record_id) DO UPDATE SET at = max(at, excluded.at)
"""


def add_records(
    db: Connection, chain: Chain, records: Iterable[NewRecord], now: float | None = None, indexer: Indexer | None = None
) -> list[str]:
    """Append records to a chain in one transaction; return the handle of each, in the order given.

    What the archive has already (the same chain, tool call and content) keeps its record, which is young again, unless that is cold: its
    content is there again, so it becomes a new record, whose handle is longer. `now` in seconds is the time to write down; by default the
    clock's. `indexer` indexes what is new; several calls may share one."""
    from .index import Indexer

    indexer = indexer or Indexer(db)
    now = time.time() if now is None else now
    created_at = stamp(now)
    with Transaction(db):
        length, head = ensure_chain(db, chain)
        ids = []
        for record in records:
            id, content_hash, known = _handle_for(db, chain.task_id, record)
            ids.append(id)
            if known:
                db.execute(NOTE_BACK, (id, now))
            else:
                length += 1
                head, seq = insert(db, chain, record, (id, length, content_hash, created_at), head)
                indexer.take(seq, plain(record.label), record.content)
        db.execute("UPDATE chains SET length = ?, head = ? WHERE task_id = ?", (length, head, chain.task_id))
    return ids


def digest(task_id: str, tool_use_id: str, content_hash: str) -> int:
    """Return the number that the handle of a record is written from."""
    return int(hash_content(f"{task_id}\0{tool_use_id}\0{content_hash}"), 16)


def handle(number: int, length: int) -> str:
    """Return the beginning of a digest in base32, in so many letters."""
    number >>= 256 - 5 * length
    return "".join([_LETTERS[number >> shift & 31] for shift in range(5 * (length - 1), -1, -5)])


def handle_of(chain: Chain, tool_use_id: str, content: str) -> str:
    """Return the handle that a content gets, unless another record has taken it: then it is longer."""
    return handle(digest(chain.task_id, plain(tool_use_id), hash_content(content)), HANDLE_CHARS)


def _handle_for(db: Connection, task_id: str, record: NewRecord) -> tuple[str, str, bool]:
    """Return (handle, hash of the content, whether the archive has that record and its content)."""
    tool_use_id, content_hash = plain(record.tool_use_id), hash_content(record.content)
    number = digest(task_id, tool_use_id, content_hash)
    for length in range(HANDLE_CHARS, LONGEST_HANDLE + 1):
        id = handle(number, length)
        row = db.execute("SELECT task_id, tool_use_id, content_hash, zone FROM thought_records WHERE id = ?", (id,)).fetchone()
        if row is None:
            return id, content_hash, False
        if tuple(row[:3]) == (task_id, tool_use_id, content_hash) and row[3] != "cold":
            return id, content_hash, True
    raise RetentionIntegrityError(f"{id}: other contents have this handle at every length")


def insert(db: Connection, chain: Chain, record: NewRecord, born: tuple[str, int, str, str], prev_hash: str) -> tuple[str, int]:
    """Write one record at the end of its chain; `born` is its handle, place, hash of the content, and when it is written down. Returns its
    hash and its seq."""
    import json

    id, place, content_hash, created_at = born
    data = to_bytes(record.content)
    names = [plain(subject) for subject in record.subjects]
    subjects = json.dumps(names, ensure_ascii=False)
    values = (id, plain(record.type), chain.task_id, chain.agent_id, plain(record.timestamp), created_at, place, plain(record.tool_use_id),
              plain(record.label), subjects, record.tokens, len(data), content_hash)  # fmt: skip
    hash = link_hash((prev_hash, *values), COMPACT)
    source = None if record.source is None else json.dumps(record.source)
    seq = db.execute(_INSERT, (*values, prev_hash, hash, source, data)).lastrowid
    db.executemany("INSERT INTO named VALUES (?, ?)", [(name, seq) for name in names_of(names)])
    return hash, seq or 0  # an INSERT has one


def record(db: Connection, id: str) -> Record | None:
    """Return a record by its handle."""
    row = db.execute(_SELECT + "WHERE r.id = ?", (plain(id),)).fetchone()
    return Record(*row) if row else None


def handles_of(db: Connection, word: str, most: int = 5) -> list[str]:
    """Return the handles that a word can mean, at most so many: the one that it is, else those that begin with it if it is long enough."""
    if not word or not set(_LETTERS).issuperset(word):
        return []
    if record(db, word):
        return [word]
    if len(word) < PREFIX_CHARS:
        return []
    # "~" sorts behind every letter of a handle.
    rows = db.execute("SELECT id FROM thought_records WHERE id > ? AND id < ? ORDER BY id LIMIT ?", (word, word + "~", most))
    return [row[0] for row in rows.fetchall()]


def find_records(
    db: Connection, task_id: str | None = None, session_id: str | None = None, matches: Callable[[Record], bool] | None = None,
    since: float | None = None, limit: int | None = None, project: str | None = None,
    named: Iterable[str] | Callable[[str], bool] | None = None,
) -> list[Record]:  # fmt: skip
    """Return records, newest first: of one chain, of all chains of a session (its id, or the beginning of it), or of a project; written
    down at `since` (seconds) or later; only those for which `matches(record)` holds; at most `limit`. `named` narrows the search before
    `matches` looks: names (see `names_of`), or a function that says which names will do."""
    wanted: list[str] = []
    values: list[str | int] = []
    for column, value in (("task_id = ?", task_id), ("task_id IN (SELECT task_id FROM chains WHERE project = ?)", project)):
        if value is not None:
            wanted.append("r." + column)
            values.append(plain(value))
    if session_id is not None:
        wanted.append("r.task_id IN (SELECT task_id FROM chains WHERE substr(session_id, 1, ?) = ?)")
        values += [len(plain(session_id)), plain(session_id)]
    if since is not None:
        wanted.append("r.created_at >= ?")
        values.append(stamp(since))
    names = _names_meant(db, named)
    if names is not None:
        # The plus keeps SQLite from walking through a context, or through all, instead of through the few with that name.
        wanted = ["+" + term for term in wanted]
        wanted.append(f"r.seq IN (SELECT seq FROM named WHERE name IN ({', '.join('?' * len(names))}))")  # noqa: S608
        values += names
    where = "WHERE " + " AND ".join(wanted) + " " if wanted else ""
    order = "ORDER BY r.place DESC" if task_id is not None else "ORDER BY r.seq DESC"
    chosen: list[Record] = []
    if limit is not None and limit < 1:
        return chosen
    for row in db.execute(_SELECT + where + order, values):
        each = Record(*row)
        if matches is None or matches(each):
            chosen.append(each)
            if limit is not None and len(chosen) >= limit:
                break
    return chosen


def _names_meant(db: Connection, named: Iterable[str] | Callable[[str], bool] | None) -> list[str] | None:
    """Return the names to look up; None where they are so many that a walk over all records is shorter."""
    if named is None:
        return None
    if not callable(named):
        return [plain(name) for name in named]
    names = [name for (name,) in db.execute("SELECT DISTINCT name FROM named") if named(name)]
    return names if len(names) <= _MOST_NAMES else None


def records_of_tool_use(db: Connection, tool_use_id: str) -> list[Record]:
    """Return the records of one tool call in all chains, newest first."""
    rows = db.execute(_SELECT + "WHERE r.tool_use_id = ? ORDER BY r.seq DESC", (plain(tool_use_id),)).fetchall()
    return [Record(*row) for row in rows]


def records_of_clear(db: Connection, clear_id: int) -> list[Record]:
    """Return what a clear took, oldest first."""
    rows = db.execute(_SELECT + "JOIN cleared AS c ON c.record_id = r.id WHERE c.clear_id = ? ORDER BY r.seq", (clear_id,)).fetchall()
    return [Record(*row) for row in rows]


def set_source(db: Connection, id: str, source: dict[str, object] | None) -> bool:
    """Note from where a content can be made again; False for an id that is unknown. It is not part of a record's hash: what comes from a
    source is held against `content_hash`."""
    import json

    text = None if source is None else json.dumps(source)
    with Transaction(db):
        return db.execute("UPDATE thought_records SET source = ? WHERE id = ?", (text, plain(id))).rowcount == 1
