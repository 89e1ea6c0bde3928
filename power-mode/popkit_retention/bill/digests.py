"""A digest of each transcript: what its requests used, by model, what its cache lost, and what it called. Digests are in a SQLite file in
our folder, so that a transcript is read once, and again only when it has changed. The digest of one that Claude Code has deleted stays for
a year."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import stat
import time
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path

from hooks.utils.hosts.claude_code import entries, projects, sent
from hooks.utils.hosts.recordings import CLAUDE_CODE, session_id_of
from hooks.utils.io import home
from hooks.utils.io.sqlite_file import Schema, StoreError, Transaction, migrate, open_store
from hooks.utils.io.storage import Storage
from hooks.utils.policy import lost_cache
from hooks.utils.state import shipped

from ..parallel import ANYWHERE, Skipped, Source, results, why_nothing
from . import sums
from .sums import SLOT_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypedDict

    from ..parallel import Skip, Where

    Progress = Callable[[int, int], object]
    # (id of the model, hundreds of thousands of tokens that the prompt has, at most 2: a price may hold up to a size of prompt)
    Priced = tuple[str, int]

    class Loss(TypedDict):
        """`at`: seconds · `tokens` that were written again, for `ttl_s` seconds · `prompt`: tokens of the request's prompt."""

        at: float
        cause: str
        detail: str
        tokens: int
        pause_s: float
        model: str
        prompt: int
        ttl_s: int

    class Used(TypedDict):
        """Sums over the requests of one model with prompts of one size: tokens by price."""

        model: str
        prompt: int
        requests: int
        plain: int
        read: int
        write_5m: int
        write_1h: int
        output: int
        # Requests that found nothing in the cache: [written for five minutes, for an hour, not written]; all others read what is before the
        # first word.
        cold: list[int]
        # Tokens before the first word: [plain, read, written for five minutes, for an hour]. Lost ones count as read.
        stands: list[int]
        # Tokens that were written again, [for five minutes, for an hour]: after a pause, and for any other cause.
        pauses: list[int]
        lost: list[int]
        # What the conversations were made of: kind (policy/composition.py) -> tokens by the columns of `sums.columns_of`, to which they add
        # up.
        kinds: dict[str, list[int]]

    class Digest(TypedDict):
        """`session`: its id, with `/agent` for a subagent · `host`: its name · `began`, `ended`: seconds · `standing`: tokens before the
        first word, `hooks`: those of them that hooks added · `calls`: name -> [times, when last]."""

        session: str
        cwd: str
        host: str
        began: float
        ended: float
        standing: int
        hooks: int
        calls: dict[str, list[float]]
        used: list[Used]
        losses: list[Loss]
        # [[when its slot begins (seconds), tokens that are plain, read, written, output, and those of them that were before the first word
        # and not lost]] of each slot that had a request.
        by_time: list[list[int]]
        # For each of these slots, the remaining tokens without lost ones, by kind; output has no kind.
        kinds_by_time: list[dict[str, int]]
        # [[when its slot begins (seconds), the id of a model, the size of the prompts as `Used` has it, tokens that are plain, read,
        # written for five minutes, for an hour, output]].
        by_price: list[list[Any]]


_NO_USAGE = "says nothing about the usage of its requests"
FILE = "bills.sqlite"
FORM = 12  # of a digest
_OLDEST = 9  # that can still be read, where the transcript is gone
KINDS_SINCE = 11  # this form, kinds are known
KEPT_S = 365 * 86_400
_models = lru_cache(maxsize=1)(shipped.models)
# One process reads fewer bytes before others would have started.
_ALONE_BYTES = 64 * 1024 * 1024
_TABLE = (
    "CREATE TABLE digests (path TEXT NOT NULL PRIMARY KEY, size INTEGER NOT NULL, changed_ns INTEGER NOT NULL, form INTEGER NOT NULL,"
    " ended REAL NOT NULL, digest TEXT NOT NULL)"
)
SCHEMA = Schema("bills", 0x506B426C, (("digests", (_TABLE,)),), remedy="bills are read from your transcripts again")  # "PkBl"
STORAGE = (Storage("bills of sessions", {"": r"bills\.sqlite"}),)


def digest_of(path: str, size: int) -> Digest:
    """Return the digest of the first `size` bytes of a transcript; OSError where it cannot be read."""
    session = sent.read(path, size)
    requests = session.requests
    losses = lost_cache.losses(requests, lambda at: time.localtime(at)[:3], _models())
    of_request = {id(loss.usage): loss for loss in losses}
    by_time, kinds_by_time = sums.by_time(requests, session.standing, of_request)
    return {
        "session": _session_of(path),
        "cwd": session.cwd,
        "host": session.host or CLAUDE_CODE,
        "began": requests[0].usage.at if requests else 0.0,
        "ended": requests[-1].usage.at if requests else 0.0,
        "standing": session.standing,
        "hooks": session.hooks,
        "calls": session.calls,
        "used": sums.of_models(requests, session.standing, of_request),
        "losses": [
            {
                "at": loss.usage.at, "cause": loss.cause, "detail": loss.detail, "tokens": loss.tokens, "pause_s": round(loss.pause_s, 1),
                "model": loss.usage.model, "prompt": loss.usage.tokens, "ttl_s": loss.usage.cache_ttl_s,
            }
            for loss in losses
        ],
        "by_time": by_time, "kinds_by_time": kinds_by_time, "by_price": sums.by_price(requests),
    }  # fmt: skip


def _session_of(path: str) -> str:
    folder, agent = os.path.split(os.path.dirname(path))
    own = session_id_of(path)
    return f"{os.path.basename(folder)}/{own}" if agent == "subagents" else own


# --- many ------------------------------------------------------------------------------------------------------------------------------


def of_sources(sources: Sequence[Source], progress: Progress, skip: Skip, where: Where = ANYWHERE) -> Iterator[Digest]:
    """Yield the digests of transcripts, in their order. `progress(bytes done, bytes in all)`; `skip(path, reason)` is called for what
    cannot be read or counted."""
    for source, digest, reason in _each(sources, progress, where, _countable):
        if digest is None:
            skip(source.address, reason)
        else:
            yield digest


def _countable(path: str) -> Digest:
    """Return the digest of a transcript; Skipped where it has no request to count."""
    digest = digest_of_file(path)
    if not digest["used"]:
        raise Skipped(_NO_USAGE if digest["calls"] else why_nothing(path))
    return digest


def _each(
    sources: Sequence[Source], progress: Progress, where: Where, task: Callable[[str], Digest]
) -> Iterator[tuple[Source, Digest | None, str]]:
    whole, done = sum(source.size for source in sources), 0
    for each in results(task, sources, where.worth(sources, _ALONE_BYTES)):
        done += each[0].size
        progress(done, whole)
        yield each


def digest_of_file(path: str) -> Digest:
    """Return the digest of a transcript, as long as it is now; OSError where it cannot be read."""
    return digest_of(path, entries.size_of(path))


def of_user(
    environ: Mapping[str, str], since: float, now: float, progress: Progress, where: Where = ANYWHERE,
) -> list[Digest]:  # fmt: skip
    """Return the digests of all sessions and subagents of the user that had a request since a time, including those of deleted transcripts.
    Changed transcripts are read first, and their digests stored."""
    path = os.path.join(home.popkit_home(environ), FILE)
    transcripts = projects.every(environ)
    transcripts += [agent for transcript in transcripts for agent in projects.transcripts_of_agents(transcript)]
    with _open(path) as db:
        known = {row[0]: row[1:] for row in db.execute("SELECT path, size, changed_ns FROM digests WHERE form = ?", (FORM,))}
        stamps = {one: stamp for one in transcripts for stamp in [_stamp(one)] if stamp is not None}
        changed = [one for one, stamp in stamps.items() if known.get(one) != stamp]
        _read(db, [Source(one, stamps[one][0]) for one in changed], stamps, progress, where)
        with Transaction(db):
            db.execute("DELETE FROM digests WHERE form NOT BETWEEN ? AND ?", (_OLDEST, FORM))
            old = db.execute("SELECT path FROM digests WHERE ended < ?", (now - KEPT_S,)).fetchall()
            # The digest of an existing one would be made again the next time.
            db.executemany("DELETE FROM digests WHERE path = ?", [row for row in old if row[0] not in stamps])
        rows = db.execute("SELECT digest, form FROM digests WHERE ended >= ? ORDER BY ended", (since,)).fetchall()
    return [_brought_up(json.loads(text), form) for text, form in rows]


def _brought_up(digest: Digest, form: int) -> Digest:
    """Return a digest of an older form in the present one, with no prices by time known, and before KINDS_SINCE no kinds."""
    if form < FORM:
        digest["by_price"] = []
    if form < KINDS_SINCE:
        for used in digest["used"]:
            used["kinds"] = {sums.UNTOLD: sums.columns_of(used)}
        left = {at: plain + read + written - before for at, plain, read, written, _, before in digest["by_time"]}
        for loss in digest["losses"]:
            left[int(loss["at"]) // SLOT_S * SLOT_S] -= loss["tokens"]
        digest["kinds_by_time"] = [{sums.UNTOLD: left[slot[0]]} for slot in digest["by_time"]]
    return digest


def _open(path: str) -> closing[sqlite3.Connection]:
    """Open the store of digests, or a copy of it in memory if ours cannot be written."""
    try:
        # SQLite would notice with the first write; it writes beside the file, too.
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


def _read(db: sqlite3.Connection, changed: list[Source], stamps: Mapping[str, tuple[int, int]], progress: Progress, where: Where) -> None:
    rows: list[tuple[object, ...]] = []
    for (path, *_), digest, _ in _each(changed, progress, where, digest_of_file):
        if digest is not None:
            rows.append((path, *stamps[path], FORM, digest["ended"], json.dumps(digest, ensure_ascii=True)))
    with Transaction(db):
        db.executemany("INSERT OR REPLACE INTO digests VALUES (?, ?, ?, ?, ?, ?)", rows)
