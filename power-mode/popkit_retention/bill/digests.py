"""Digests of transcripts, in a SQLite file in our folder, so that a transcript is read once, or again where it has changed.

The digest of a transcript that Claude Code has deleted stays for a year. A request counts once, however many files have its answer: forks
and copies begin with those of other files. It counts in the file that was begun first. The digest of another one is made again without it,
from the requests that only this file has, in their places.
"""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import stat
from array import array
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from popkit_retention.core.hosts.transcripts import entries, projects
from popkit_retention.core.io import home
from popkit_retention.core.io.sqlite_file import Schema, StoreError, Transaction, migrate, open_store
from popkit_retention.core.io.storage import Storage

from ..parallel.attempts import SessionSkipped
from ..parallel.results import ALL_CORES, results
from ..parallel.sources import Source, why_nothing
from .digest import _NO_USAGE, FORM, Reading, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from ..parallel.results import Workplace
    from ..parallel.sources import Skip
    from .records import Digest

    Progress = Callable[[int, int], object]

FILE = "bills.sqlite"
OLDEST = 13  # the oldest form that can still be read where the transcript is gone: that of 0.1.0
# Since these forms, it is known what the host adds, and what was lost but not written.
ADDED_SINCE, PLAIN_SINCE = 14, 16
KEPT_S = 365 * 86_400
# Fewer bytes are read by one process before others would have started.
_ALONE_BYTES = 64 * 1024 * 1024
_TABLE = (
    "CREATE TABLE digests (path TEXT NOT NULL PRIMARY KEY, size INTEGER NOT NULL, changed_ns INTEGER NOT NULL, form INTEGER NOT NULL,"
    " ended REAL NOT NULL, digest TEXT NOT NULL)"
)
# `requests`: the keys of all requests in the file, `copies`: the keys of those that count elsewhere; `begun`: when its first line was
# written.
_ONCE = tuple(
    f"ALTER TABLE digests ADD COLUMN {column} NOT NULL DEFAULT {default}"
    for column, default in (("begun REAL", "0"), ("requests BLOB", "x''"), ("copies BLOB", "x''"))
)
SCHEMA = Schema(
    "bills", 0x506B426C, (("digests", (_TABLE,)), ("a request counts once", _ONCE)), remedy="bills are read from your transcripts again",
)  # fmt: skip  # "PkBl"
STORAGE = (Storage("bills of sessions", {"": r"bills\.sqlite"}),)


def of_sources(sources: Sequence[Source], progress: Progress, skip: Skip, where: Workplace = ALL_CORES) -> Iterator[Digest]:
    """Yield the digests of transcripts, in their order. `progress(bytes done, bytes in all)`; `skip(path, reason)` is called for what
    cannot be read or counted."""
    found: list[tuple[Source, Reading]] = []
    for source, reading, reason in _results_of(sources, progress, where, _countable):
        if reading is None:
            skip(source.address, reason)
        else:
            found.append((source, reading))
    copies = copies_in({source.address: (reading.begun, reading.requests) for source, reading in found})
    for source, reading in found:
        if copies[source.address]:
            task = partial(read_file, copies=copies[source.address])
            [(_, again, reason)] = results(task, [source], where.worth([source], _ALONE_BYTES))
            if again is None:
                skip(source.address, reason)
            elif again.digest["used"]:
                yield again.digest
        else:
            yield reading.digest


def copies_in(files: Mapping[str, tuple[float, bytes]]) -> dict[str, frozenset[int]]:
    """Return, for each file, the requests that count in another file. A file is given by when it was begun and the keys of its requests."""
    owners: dict[int, str] = {}
    copies: dict[str, frozenset[int]] = {}
    for path in sorted(files, key=lambda path: (files[path][0], path)):
        keys = _keys(files[path][1])
        copies[path] = frozenset(key for key in keys if owners.setdefault(key, path) != path)
    return copies


def _keys(stored: bytes) -> array[int]:
    keys = array("q")
    keys.frombytes(stored)
    return keys


def _countable(path: str) -> Reading:
    """Return the content of a transcript; SessionSkipped where it has no request to count."""
    reading = read_file(path)
    if not reading.digest["used"]:
        raise SessionSkipped(_NO_USAGE if reading.digest["calls"] else why_nothing(path))
    return reading


def _results_of(
    sources: Sequence[Source], progress: Progress, where: Workplace, task: Callable[[str], Reading]
) -> Iterator[tuple[Source, Reading | None, str]]:
    whole, done = sum(source.size for source in sources), 0
    if whole:
        progress(0, whole)
    for result in results(task, sources, where.worth(sources, _ALONE_BYTES)):
        done += result[0].size
        progress(done, whole)
        yield result


def read_file(path: str, copies: Collection[int] = ()) -> Reading:
    """Return the content of a transcript at its current length, without the requests that have these keys; OSError where it cannot be
    read."""
    return read(path, entries.size_of(path), copies)


def of_user(
    environ: Mapping[str, str], since: float, now: float, progress: Progress, where: Workplace = ALL_CORES,
) -> list[Digest]:  # fmt: skip
    """Return the digests of all sessions and subagents of the user that had a request since a time, including those of deleted transcripts.
    Changed transcripts are read first, and their digests are stored."""
    path = os.path.join(home.popkit_home(environ), FILE)
    transcripts = projects.every(environ)
    transcripts += [agent for transcript in transcripts for agent in projects.transcripts_of_agents(transcript)]
    with _open(path) as db:
        known = {row[0]: row[1:] for row in db.execute("SELECT path, size, changed_ns FROM digests WHERE form = ?", (FORM,))}
        stamps = {path: stamp for path in transcripts for stamp in [_stamp(path)] if stamp is not None}
        changed = [path for path, stamp in stamps.items() if known.get(path) != stamp]
        _read(db, [Source(path, stamps[path][0]) for path in changed], stamps, progress, where)
        _count_once(db, stamps)
        with Transaction(db):
            db.execute("DELETE FROM digests WHERE form NOT BETWEEN ? AND ?", (OLDEST, FORM))
            old = db.execute("SELECT path FROM digests WHERE ended < ?", (now - KEPT_S,)).fetchall()
            # The digest of an existing transcript would be made again the next time.
            db.executemany("DELETE FROM digests WHERE path = ?", [row for row in old if row[0] not in stamps])
        rows = db.execute("SELECT digest, form FROM digests WHERE ended >= ? ORDER BY ended", (since,)).fetchall()
    return [_upgraded(json.loads(text), form) for text, form in rows]


def _upgraded(digest: Digest, form: int) -> Digest:
    """Return a digest of an older form in the current one: from before PLAIN_SINCE all that was lost counts as written, from before
    ADDED_SINCE it lacks what the host has added."""
    if form < PLAIN_SINCE:
        for used in digest["used"]:
            used["pauses"], used["lost"] = [0, *used["pauses"]], [0, *used["lost"]]
        for loss in digest["losses"]:
            loss["written"] = loss["tokens"]
    if form < ADDED_SINCE:
        digest["added"], digest["holds"] = {}, {}
    return digest


def _open(path: str) -> closing[sqlite3.Connection]:
    """Open the store of digests, or a copy of it in memory if ours cannot be written."""
    try:
        # SQLite would notice only at the first write, and it also writes beside the file.
        places = () if os.path.islink(path) else (os.path.dirname(path), path)
        if any(os.path.exists(place) and not os.access(place, os.W_OK) for place in places):
            return closing(_in_memory(path))
        return closing(open_store(path, SCHEMA))
    except (StoreError, sqlite3.DatabaseError):
        # Everything in it is read from the transcripts again.
        for name in (path, path + "-journal", path + "-wal", path + "-shm"):
            with suppress(OSError):
                os.unlink(name)
        return closing(open_store(path, SCHEMA))
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        return closing(_in_memory(path))


def _in_memory(path: str) -> sqlite3.Connection:
    """Return a copy of a store, empty if it cannot be read."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        if stat.S_ISREG(os.lstat(path).st_mode):
            with closing(sqlite3.connect(Path(os.path.abspath(path)).as_uri() + "?mode=ro&immutable=1", uri=True)) as stored:
                stored.backup(db)
        migrate(db, SCHEMA)
    except (OSError, StoreError, sqlite3.DatabaseError):
        db.close()
        db = sqlite3.connect(":memory:", isolation_level=None)
        migrate(db, SCHEMA)
    return db


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _read(
    db: sqlite3.Connection, changed: list[Source], stamps: Mapping[str, tuple[int, int]], progress: Progress, where: Workplace
) -> None:
    rows = [
        _row(path, reading, stamps[path])
        for (path, *_), reading, _ in _results_of(changed, progress, where, read_file)
        if reading is not None
    ]
    _store(db, rows)


def _row(path: str, reading: Reading, stamp: tuple[int, int], copies: Iterable[int] = ()) -> tuple[object, ...]:
    text = json.dumps(reading.digest, ensure_ascii=True)
    return (path, *stamp, FORM, reading.digest["ended"], text, reading.begun, reading.requests, array("q", sorted(copies)).tobytes())


def _store(db: sqlite3.Connection, rows: list[tuple[object, ...]]) -> None:
    with Transaction(db):
        db.executemany("INSERT OR REPLACE INTO digests VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def _count_once(db: sqlite3.Connection, stamps: Mapping[str, tuple[int, int]]) -> None:
    """Make the digests of files again that still count requests of other files."""
    stored = {path: row for path, *row in db.execute("SELECT path, begun, requests, copies FROM digests")}
    rows: list[tuple[object, ...]] = []
    for path, copies in copies_in({path: (begun, requests) for path, (begun, requests, _) in stored.items()}).items():
        if path in stamps and copies != frozenset(_keys(stored[path][2])):
            with suppress(OSError, ValueError):
                rows.append(_row(path, read(path, stamps[path][0], copies), stamps[path], copies))
    _store(db, rows)
