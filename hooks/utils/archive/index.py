"""Index the terms of every record in the archive, in an FTS5 table that keeps neither texts nor positions.

A record has terms in its label and its content. Writing records indexes a little at once and queues the rest (`unindexed`); searching
works the queue off. A content that leaves the archive leaves the index in the same transaction. That takes the very terms that the index
was given, so a checksum of them is kept; where they cannot be had any more, the index is emptied and everything queued. Where SQLite has
no FTS5, all stays queued.
"""

from __future__ import annotations

import time
import zlib

from ..errors import PopkitError
from ..io.sqlite_file import Transaction
from .content import RetentionIntegrityError
from .reading import text_of
from .retrieval import retrieve_record
from .terms import terms_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from sqlite3 import Connection

# Characters that a hook indexes itself as it writes; they take some 10 ms.
AT_ONCE = 1 << 17
# Records and characters of words that are indexed in one transaction: others wait meanwhile.
_BATCH, _BATCH_CHARS = 100, 1 << 20
_MAKE = "CREATE VIRTUAL TABLE words USING fts5(terms, content='', detail=none, columnsize=0, tokenize='ascii')"
_IS_MADE = "SELECT 1 FROM sqlite_master WHERE name = 'words'"
_EMPTY = ("DELETE FROM words_data", "DELETE FROM words_idx", "INSERT INTO words_data VALUES (1, x''), (10, zeroblob(7))")
# Every record has this term, and no text does.
EVERY = "\x80"
_UNREADABLE = -1  # in place of a checksum: the content cannot be read, and the index knows nothing of it
_ENTER = """
INSERT INTO indexed (seq, context, told) VALUES (?1, coalesce((
  SELECT seq FROM thought_records WHERE place = 1 AND task_id = (SELECT task_id FROM thought_records WHERE seq = ?1)
), 0), ?2)
"""
_HAS_CONTENT = "(zone IS NULL OR zone <> 'cold')"


class IndexAstray(PopkitError):
    """The index holds other terms of a record than its content has."""


class Indexer:
    """Indexes what a write brings, within its transaction, up to `left` characters; the rest is queued."""

    __slots__ = ("db", "left")

    def __init__(self, db: Connection, left: int = AT_ONCE):
        self.db = db
        self.left = left  # characters

    def take(self, seq: int, label: str, content: str) -> None:
        """Index a new record, or queue it. It never fails for the index's sake."""
        if len(content) <= self.left and self._enter(seq, words_of(label, content)):
            self.left -= len(content)
        else:
            self.db.execute("INSERT OR IGNORE INTO unindexed VALUES (?)", (seq,))

    def _enter(self, seq: int, words: str) -> bool:
        import sqlite3

        self.db.execute("SAVEPOINT entering")
        try:
            if is_ready(self.db):
                _enter(self.db, seq, words)
                self.db.execute("RELEASE entering")
                return True
        except sqlite3.DatabaseError:
            self.left = 0  # what comes next would fail as well
        self.db.execute("ROLLBACK TO entering")
        self.db.execute("RELEASE entering")
        return False


def words_of(label: str, content: str) -> str:
    """Return what the index is given of a record: its terms, with a space between them."""

    try:
        text = text_of(content)
    except (RecursionError, TypeError, ValueError):
        text = content  # JSON that cannot be read counts as text
    return " ".join((EVERY, *terms_of(label + "\n" + text)))


def is_ready(db: Connection) -> bool:
    """Return whether terms can be entered; makes the index where it is missing. To be called within a transaction."""
    import sqlite3

    if db.execute("SELECT 1 FROM indexed LIMIT 1").fetchone() and db.execute(_IS_MADE).fetchone():
        return True
    try:
        db.execute("DROP TABLE IF EXISTS words")
        db.execute(_MAKE)
    except sqlite3.DatabaseError:
        return False
    return True


def is_without_fts5(error: Exception) -> bool:
    """Return whether it is an error of a SQLite that cannot read the index which another one has made."""
    return "no such module" in str(error)


def _enter(db: Connection, seq: int, words: str) -> None:
    db.execute(_ENTER, (seq, _checksum(words)))
    db.execute("INSERT INTO words (rowid, terms) VALUES (?, ?)", (seq, words))


def _checksum(words: str) -> int:
    return zlib.crc32(words.encode("utf-8"))


def queue_length(db: Connection) -> int:
    """Return how many records no search finds yet."""
    return db.execute("SELECT count(*) FROM unindexed").fetchone()[0]


def index_queued(
    db: Connection, progress: Callable[[int, int], object] = lambda done, total: None, for_s: float = float("inf")
) -> int:  # fmt: skip
    """Index what is queued, the newest first, for so many seconds at most; `progress` is called with how many records of how many are done.
    Return how many are left: all of them where SQLite has no FTS5. Several processes may do so at once."""
    import sqlite3

    until, total, done, mended = time.monotonic() + for_s, queue_length(db), 0, False
    while done < total and time.monotonic() < until:
        batch = _next(db)
        try:
            with Transaction(db):
                if not batch or not is_ready(db):
                    break
                for seq, has_content, words in batch:
                    _settle(db, seq, has_content, words)
        except sqlite3.DatabaseError as error:
            if is_without_fts5(error):
                break
            if mended or isinstance(error, sqlite3.OperationalError):
                raise
            mended = True
            with Transaction(db):
                requeue_all(db)
            total, done = queue_length(db), 0
            continue
        done += len(batch)
        progress(min(done, total), total)
    return queue_length(db)


def _next(db: Connection) -> list[tuple[int, bool, str | None]]:
    """Return the next of the queue: (seq, whether it has a content, what the index is given of it)."""
    batch: list[tuple[int, bool, str | None]] = []
    chars = 0
    for (seq,) in db.execute("SELECT seq FROM unindexed ORDER BY seq DESC LIMIT ?", (_BATCH,)).fetchall():
        has_content, words = _read(db, seq)
        batch.append((seq, has_content, words))
        chars += len(words or "")
        if chars >= _BATCH_CHARS:
            break
    return batch


def _settle(db: Connection, seq: int, has_content: bool, words: str | None) -> None:
    """Take a record from the queue into the index, unless another process has, or its content has gone since it was read."""
    if db.execute("DELETE FROM unindexed WHERE seq = ?", (seq,)).rowcount == 0 or not has_content:
        return
    if db.execute(f"SELECT 1 FROM thought_records WHERE seq = ? AND {_HAS_CONTENT}", (seq,)).fetchone() is None:  # noqa: S608
        return  # it was deleted, and its stub queued again with all others
    if words is None:
        db.execute(_ENTER, (seq, _UNREADABLE))
    else:
        _enter(db, seq, words)


def _read(db: Connection, seq: int) -> tuple[bool, str | None]:
    """Return (whether a record has a content, the text of it that is indexed; None where that cannot be read)."""
    row = db.execute(f"SELECT id, label FROM thought_records WHERE seq = ? AND {_HAS_CONTENT}", (seq,)).fetchone()  # noqa: S608
    if row is None:
        return False, None
    try:
        stored = retrieve_record(db, row[0])
    except (RetentionIntegrityError, ValueError):
        return True, None
    return (True, words_of(row[1], stored["content"])) if stored and stored["content_available"] else (False, None)


def remove_records(db: Connection, seqs: Sequence[int]) -> None:
    """Take records out of the index. To be called within the transaction in which their contents go, while these are there still. Where
    more goes than stays, the rest is queued: that is less work."""
    import sqlite3

    db.executemany("DELETE FROM unindexed WHERE seq = ?", [(seq,) for seq in seqs])
    rows = [row for seq in seqs for row in db.execute("SELECT seq, told FROM indexed WHERE seq = ?", (seq,)).fetchall()]
    if not rows:
        return
    if 2 * len(rows) > db.execute("SELECT count(*) FROM indexed").fetchone()[0]:
        requeue_all(db, seqs)
        return
    db.execute("SAVEPOINT leaving")
    try:
        for seq, checksum in rows:
            _untell(db, seq, checksum)
    except (sqlite3.DatabaseError, IndexAstray):
        db.execute("ROLLBACK TO leaving")
        requeue_all(db, seqs)
    db.execute("RELEASE leaving")


def _untell(db: Connection, seq: int, checksum: int) -> None:
    if checksum != _UNREADABLE:
        words = _read(db, seq)[1]
        if words is None or _checksum(words) != checksum:
            raise IndexAstray
        db.execute("INSERT INTO words (words, rowid, terms) VALUES ('delete', ?, ?)", (seq, words))
    db.execute("DELETE FROM indexed WHERE seq = ?", (seq,))


def requeue_all(db: Connection, without: Sequence[int] = ()) -> None:
    """Empty the index, and queue all records but some. To be called within a transaction."""
    import sqlite3

    db.execute("SAVEPOINT rebuilding")
    try:
        db.execute("DROP TABLE IF EXISTS words")
    except sqlite3.DatabaseError:
        db.execute("ROLLBACK TO rebuilding")
        # Damaged, or there is no FTS5: its tables are then like any others, and get the rows that FTS5 gives an empty index.
        for statement in _EMPTY:
            db.execute(statement)
    db.execute("RELEASE rebuilding")
    db.execute("DELETE FROM indexed")
    db.execute("INSERT OR IGNORE INTO unindexed SELECT seq FROM thought_records")
    db.executemany("DELETE FROM unindexed WHERE seq = ?", [(seq,) for seq in without])


def optimise(db: Connection) -> None:
    """Write the index in one piece, so that the terms of removed records are in the file no more. To be called within a transaction."""
    import sqlite3

    if not db.execute(_IS_MADE).fetchone() or not db.execute("SELECT 1 FROM indexed LIMIT 1").fetchone():
        return
    db.execute("SAVEPOINT tidying")
    try:
        db.execute("INSERT INTO words (words) VALUES ('optimize')")
    except sqlite3.DatabaseError:
        db.execute("ROLLBACK TO tidying")
        requeue_all(db)
    db.execute("RELEASE tidying")


def problems(db: Connection) -> list[str]:
    """Return what is wrong with the index, in sentences. What only waits to be indexed is no problem."""
    import sqlite3

    held = f"SELECT seq FROM thought_records WHERE {_HAS_CONTENT}"  # noqa: S608  a piece of our own
    known = "SELECT seq FROM indexed UNION ALL SELECT seq FROM unindexed"
    missing = db.execute(f"SELECT count(*) FROM ({held} EXCEPT SELECT * FROM ({known}))").fetchone()[0]  # noqa: S608
    surplus = db.execute(f"SELECT count(*) FROM (SELECT seq FROM indexed EXCEPT {held})").fetchone()[0]  # noqa: S608
    sentences = _sentence(missing, "missing from the search index")
    sentences += _sentence(surplus, "in the search index but not in the archive")
    untracked = {seq for (seq,) in db.execute("SELECT seq FROM indexed WHERE told <> ?", (_UNREADABLE,))}
    try:
        entered = {seq for (seq,) in db.execute("SELECT rowid FROM words WHERE words MATCH ?", (f'"{EVERY}"',))} if untracked else set()
    except sqlite3.DatabaseError as error:
        if is_without_fts5(error):
            return sentences
        return [*sentences, f"the search index cannot be read ({error}). The next search makes a new one"]
    sentences += _sentence(len(untracked - entered), "no longer in the search index")
    return sentences + _sentence(len(entered - untracked), "in the search index by mistake")


def _sentence(count: int, where: str) -> list[str]:
    if not count:
        return []
    return [f"1 record is {where}" if count == 1 else f"{count:,} records are {where}"]
