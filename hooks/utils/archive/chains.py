"""Write and read chains, the records of one context, each bound to the one before by its hash; and clears: which of them left the context
together.
"""

from __future__ import annotations

from ..io.hash_chain import FIRST_PREV_HASH
from ..io.sqlite_file import Transaction
from .content import as_text, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from sqlite3 import Connection

# What is written once and never changed: what the hash of a record is made of, beside the hash before it.
HASHED = ("id", "type", "task_id", "agent_id", "timestamp", "created_at", "place", "tool_use_id", "label", "subjects", "tokens", "size",
          "content_hash")  # fmt: skip


# Where a chain's folder is now; one that cannot be told, or would take the chain out of a project that is held, is passed over.
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


def begin(db: Connection, chain: Chain) -> tuple[int, str]:
    """Make a chain known to the archive, with where its folder and its transcript are now. Return its length and the hash at its end."""
    db.execute(
        "INSERT OR IGNORE INTO chains (task_id, session_id, agent_id, project, transcript, head) VALUES (?, ?, ?, ?, ?, ?)",
        (chain.task_id, chain.session_id, chain.agent_id, chain.project, chain.transcript, FIRST_PREV_HASH),
    )
    db.execute(_MOVE, (chain.transcript, chain.project, chain.project, chain.task_id))
    return db.execute("SELECT length, head FROM chains WHERE task_id = ?", (chain.task_id,)).fetchone()


class Clear:
    """One clear of a chain. Times in seconds; `undone_at` is None for one that stands; `records` is how many it took."""

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
