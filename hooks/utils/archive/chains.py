"""Keep the chains: the records of one context, each bound to the one before by its hash."""

from __future__ import annotations

from ..io.row_chain import FIRST_PREV_HASH
from .content import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection

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
    return Chain(*map(str, row)) if row else None


def ensure_chain(db: Connection, chain: Chain) -> tuple[int, str]:
    """Make a chain known to the archive, with where its folder and its transcript are now. Return its length and the hash at its end."""
    db.execute(
        "INSERT OR IGNORE INTO chains (task_id, session_id, agent_id, project, transcript, head) VALUES (?, ?, ?, ?, ?, ?)",
        (chain.task_id, chain.session_id, chain.agent_id, chain.project, chain.transcript, FIRST_PREV_HASH),
    )
    db.execute(_MOVE, (chain.transcript, chain.project, chain.project, chain.task_id))
    return db.execute("SELECT length, head FROM chains WHERE task_id = ?", (chain.task_id,)).fetchone()
