"""Chains, the records of one context, each bound to the one before by its hash: begin and verify them; and clears: which records left the
context together.

A verification walks every chain from its first record, with one record in memory at a time.
"""

from __future__ import annotations

from ..io.sqlite_file import COMPACT, FIRST_PREV_HASH, AsWritten, Transaction, link_hash
from .content import RetentionIntegrityError, Row, as_text, decompress_content, hash_content, plain, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from sqlite3 import Connection
    from typing import Any

# Columns that never change: the hash of a record is made of these and the hash before it.
HASHED = ("id", "type", "task_id", "agent_id", "timestamp", "created_at", "place", "tool_use_id", "label", "subjects", "tokens", "size",
          "content_hash")  # fmt: skip


# Move a chain to its present folder, unless that is unknown or would take the chain out of a project that is held.
_MOVE = """
UPDATE chains SET transcript = ?, project = CASE WHEN ? = '' OR (
  project <> '' AND EXISTS (SELECT 1 FROM holds WHERE scope = 'project' AND released_at IS NULL) AND (
    project NOT IN (SELECT folder FROM folders) OR project IN (
      SELECT folder FROM folders WHERE project IN (SELECT target FROM holds WHERE scope = 'project' AND released_at IS NULL)
    )
  )
) THEN project ELSE ? END WHERE task_id = ?
"""
_SELECT = "SELECT id, task_id, at, undone_at, (SELECT count(*) FROM cleared WHERE clear_id = clears.id) FROM clears "


class Chain:
    """The context that records belong to. Its `task_id` is the session's id, with "/" and the agent's id for a subagent."""

    __slots__ = ("agent_id", "project", "session_id", "task_id", "transcript")

    def __init__(self, task_id: str, session_id: str, agent_id: str = "", project: str = "", transcript: str = ""):
        self.task_id = plain(task_id)
        self.session_id = plain(session_id)
        self.agent_id = plain(agent_id)  # "" for the main thread
        self.project = plain(project)
        self.transcript = plain(transcript)


def chain(db: Connection, task_id: str) -> Chain | None:
    """Return a chain by its task_id."""
    row = db.execute(
        "SELECT task_id, session_id, agent_id, project, transcript FROM chains WHERE task_id = ?", (plain(task_id),)
    ).fetchone()
    return Chain(*map(as_text, row)) if row else None


def ensure_chain(db: Connection, chain: Chain) -> tuple[int, str]:
    """Make a chain known to the archive, with where its folder and its transcript are now. Return its length and the hash at its end."""
    db.execute(
        "INSERT OR IGNORE INTO chains (task_id, session_id, agent_id, project, transcript, head) VALUES (?, ?, ?, ?, ?, ?)",
        (chain.task_id, chain.session_id, chain.agent_id, chain.project, chain.transcript, FIRST_PREV_HASH),
    )
    db.execute(_MOVE, (chain.transcript, chain.project, chain.project, chain.task_id))
    return db.execute("SELECT length, head FROM chains WHERE task_id = ?", (chain.task_id,)).fetchone()


class Clear:
    """One clear of a chain. Times in seconds; `undone_at` is None for one that was not undone; `records` is how many it took."""

    __slots__ = ("at", "id", "records", "task_id", "undone_at")

    def __init__(self, id: int, task_id: str, at: float, undone_at: float | None, records: int):
        self.id = id
        self.task_id = task_id
        self.at = at
        self.undone_at = undone_at
        self.records = records


def clears_of(db: Connection, task_id: str) -> list[Clear]:
    """Return the clears of a chain, newest first."""
    rows = db.execute(_SELECT + "WHERE task_id = ? ORDER BY id DESC", (plain(task_id),)).fetchall()
    return [Clear(*row) for row in rows]


def clears_of_records(db: Connection, ids: Iterable[str]) -> list[Clear]:
    """Return the clears, of any chain, that took one of these records, newest first."""
    asked = "SELECT clear_id FROM cleared WHERE record_id = ?"
    clear_ids = {clear_id for id in ids for (clear_id,) in db.execute(asked, (plain(id),)).fetchall()}
    return [Clear(*db.execute(_SELECT + "WHERE id = ?", (clear_id,)).fetchone()) for clear_id in sorted(clear_ids, reverse=True)]


def mark_undone(db: Connection, clear_id: int | None, at: float) -> bool:
    """Note that a clear was undone; return False for one that is unknown or undone already."""
    with Transaction(db):
        done = db.execute("UPDATE clears SET undone_at = ? WHERE id = ? AND undone_at IS NULL", (at, clear_id))
        return done.rowcount == 1


# --- verification ---------------------------------------------------------------------------------------------------------------


_ROWS = f"""
SELECT id, seq, place, prev_hash, hash, zone, source, content_hash, content_compressed, CAST(content AS BLOB), {", ".join(HASHED)}
FROM thought_records WHERE task_id = ? ORDER BY place
"""  # noqa: S608  names of our own columns
_CHAINS = "SELECT task_id FROM chains UNION SELECT task_id FROM thought_records ORDER BY 1"
_LEFT_TO_A_SOURCE = "SELECT id FROM thought_records WHERE zone = 'cold' AND source IS NOT NULL ORDER BY seq"
# Which of content and content_compressed a zone keeps.
_KEEPS = {None: (True, False), "hot": (True, False), "warm": (False, True), "cold": (False, False)}


class Broken(Row):
    """The first record of a chain that is not as it was written. `id` is "" where it is missing altogether."""

    __slots__ = ("id", "place", "task_id", "what")

    def __init__(self, task_id: str, place: int, id: str, what: str):
        self.task_id = task_id
        self.place = place
        self.id = id
        self.what = what


class Verified:
    """What a walk over the archive found: records that were looked at, chains, the first broken record of each broken chain, and the
    handles of those that are `lost`: as they were written, but their content was left to a source that no longer gives it; and `problems`
    with what is kept beside the records, in sentences."""

    __slots__ = ("broken", "chains", "lost", "problems", "records")

    def __init__(self) -> None:
        self.chains = 0
        self.records = 0
        self.broken: list[Broken] = []
        self.lost: list[str] = []
        self.problems: list[str] = []


def verify(db: Connection) -> Verified:
    """Hold every record against its hash, its content, its zone and its place, then look at holds, mark and the index. A chain's walk ends
    at its first broken record.

    Each chain is read in a transaction of its own, so that writers wait for one chain and not for all."""
    from . import deletion, holds, index  # a restore loads this module, and needs none of them

    report = Verified()
    with AsWritten(db):
        chains = [row[0] for row in db.execute(_CHAINS).fetchall()]
    for task_id in chains:
        report.chains += 1
        with AsWritten(db):
            broken = _walk(db, task_id, report)
        if broken:
            report.broken.append(broken)
    with AsWritten(db):
        report.problems = [*holds.problems(db), *deletion.mark_problems(db), *index.problems(db)]
    named = {each.id for each in report.broken}
    report.lost = [id for (id,) in db.execute(_LEFT_TO_A_SOURCE).fetchall() if id not in named and _is_lost(db, id)]
    return report


def _is_lost(db: Connection, id: str) -> bool:
    from .recovery import recover  # which stands on records, and these on chains

    try:
        return recover(db, id) is None
    except RetentionIntegrityError:
        return True


def _walk(db: Connection, task_id: str, report: Verified) -> Broken | None:
    try:
        rows = db.execute(_ROWS, (task_id,))
    except UnicodeEncodeError:
        return Broken(task_id, 0, "", "the name of the chain is no text")
    place, prev_hash, seq = 0, FIRST_PREV_HASH, 0
    for row in rows:
        place += 1
        report.records += 1
        what = _wrong_place(row, place, prev_hash, seq) or _wrong_zone(row) or _wrong_source(row[6])
        if what:
            return Broken(task_id, place, str(row[0]), what)
        seq, prev_hash = row[1], row[4]
    noted = db.execute("SELECT length, head FROM chains WHERE task_id = ?", (task_id,)).fetchone()
    if noted is None:
        return Broken(task_id, 0, "", "the chain itself is not in the archive's list of chains")
    if noted != (place, prev_hash):
        return Broken(task_id, place + 1, "", f"the chain should end with record {noted[0]}, and ends with another one, at {place}")
    return None


def _wrong_place(row: tuple[Any, ...], place: int, prev_hash: str, seq: int) -> str:
    if row[2] != place:
        return f"the record before it is missing: it is number {row[2]} where number {place} should be"
    if row[1] <= seq:
        return "it stands before the record that it follows"
    if row[3] != prev_hash:
        return "its prev_hash is not the hash of the record before it"
    if row[4] != link_hash((prev_hash, *row[10:]), COMPACT):
        return "its hash does not fit its columns: one of them was changed"
    return ""


def _wrong_zone(row: tuple[Any, ...]) -> str:
    zone, content_hash, squeezed, content = row[5], *row[7:10]
    if zone not in _KEEPS:
        return f"there is no zone {zone!r}"
    if (content is not None, squeezed is not None) != _KEEPS[zone]:
        return f"content and content_compressed are not as a {zone or 'hot'} record has them"
    if zone == "cold":
        return ""
    try:
        text = to_text(content) if squeezed is None else decompress_content(squeezed)
    except RetentionIntegrityError as error:
        return str(error)
    return "" if hash_content(text) == content_hash else "its content does not have its content_hash"


def _wrong_source(source: Any) -> str:
    import json

    try:
        return "" if source is None or isinstance(json.loads(source), dict) else "its source is no object"
    except (TypeError, ValueError):
        return "its source cannot be read"
