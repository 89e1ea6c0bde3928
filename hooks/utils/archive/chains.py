"""Begin, hold and verify chains, the records of one context, each bound to the one before by its hash; and note clears: which records left
the context together.

A verification walks every chain from its first record, with one record in memory at a time. A hold says which records must stay, whatever
asks for their deletion. It is on a record (`item`, by its handle), all records of a session, or all of a project (by its key). The archive
knows the folder that a context worked in; `place_folders` gives it the project of each folder. While a project is held, a folder that is
not placed yet counts as held too. A held record never goes cold.
"""

from __future__ import annotations

import time

from ..io.sqlite_file import COMPACT, FIRST_PREV_HASH, AsWritten, Transaction, link_hash
from .content import RetentionIntegrityError, Row, as_text, decompress_content, hash_content, plain, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
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
    query = "SELECT clear_id FROM cleared WHERE record_id = ?"
    clear_ids = {clear_id for id in ids for (clear_id,) in db.execute(query, (plain(id),)).fetchall()}
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
    """The findings of a walk over the archive: records that it checked, chains, the first broken record of each broken chain, and the
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
    from . import deletion, index  # a restore loads this module, and needs none of them

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
        report.problems = [*hold_problems(db), *deletion.mark_problems(db), *index.problems(db)]
    named = {each.id for each in report.broken}
    report.lost = [id for (id,) in db.execute(_LEFT_TO_A_SOURCE).fetchall() if id not in named and _is_lost(db, id)]
    return report


def _is_lost(db: Connection, id: str) -> bool:
    from .recovery import recover  # which imports records, and these chains

    try:
        return recover(db, id) is None
    except RetentionIntegrityError:
        return True


def _walk(db: Connection, task_id: str, report: Verified) -> Broken | None:
    try:
        rows = db.execute(_ROWS, (task_id,))
    except UnicodeEncodeError:
        return Broken(task_id, 0, "", "the name of the chain is not text")
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
        return "it comes before the record that it follows"
    if row[3] != prev_hash:
        return "its prev_hash is not the hash of the record before it"
    if row[4] != link_hash((prev_hash, *row[10:]), COMPACT):
        return "its hash does not match its columns: one of them was changed"
    return ""


def _wrong_zone(row: tuple[Any, ...]) -> str:
    zone, content_hash, squeezed, content = row[5], *row[7:10]
    if zone not in _KEEPS:
        return f"there is no zone {zone!r}"
    if (content is not None, squeezed is not None) != _KEEPS[zone]:
        return f"content and content_compressed do not match a {zone or 'hot'} record"
    if zone == "cold":
        return ""
    try:
        text = to_text(content) if squeezed is None else decompress_content(squeezed)
    except RetentionIntegrityError as error:
        return str(error)
    return "" if hash_content(text) == content_hash else "its content does not match its content_hash"


def _wrong_source(source: Any) -> str:
    import json

    try:
        return "" if source is None or isinstance(json.loads(source), dict) else "its source is not an object"
    except (TypeError, ValueError):
        return "its source cannot be read"


# --- holds -------------------------------------------------------------------------------------------------------------------------------

ITEM, SESSION, PROJECT = SCOPES = ("item", "session", "project")
_FIELDS = ("id", "scope", "target", "who", "why", "created_at", "until", "released_at")
_IN_FORCE = "released_at IS NULL AND (until IS NULL OR until > ?)"
_HELD_CHAINS = f"""
SELECT task_id FROM chains WHERE session_id IN (SELECT target FROM holds WHERE scope = 'session' AND {_IN_FORCE}) OR project IN (
  SELECT folder FROM folders WHERE project IN (SELECT target FROM holds WHERE scope = 'project' AND {_IN_FORCE})
)
"""  # noqa: S608  a piece of our own
_UNPLACED = "SELECT DISTINCT project FROM chains WHERE project NOT IN (SELECT folder FROM folders)"


class Hold(Row):
    """Keeps what `target` names, by `scope`, also what comes to a held session or project later: from `created_at` until `until` (seconds;
    None: until it is released). `who` wanted it, and `why`."""

    __slots__ = _FIELDS

    def __init__(self, id: str, scope: str, target: str, who: str, why: str, created_at: float, until: float | None = None,
                 released_at: float | None = None):  # fmt: skip
        self.id = id
        self.scope = scope
        self.target = target
        self.who = who
        self.why = why
        self.created_at = created_at
        self.until = until
        self.released_at = released_at

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Hold:
        """Return the hold of a JSON object, as `to_json` made it; what it lacks is None."""
        values: list[Any] = [value.get(name) for name in _FIELDS]
        return cls(*values)

    def in_force(self, now: float) -> bool:
        """Return whether it holds at a time (seconds). One whose end cannot be read does."""
        return self.released_at is None and not (isinstance(self.until, (int, float)) and now >= self.until)

    def released(self, at: float) -> Hold:
        """Return the same hold, ended at a time (seconds)."""
        return Hold(**{**self.to_json(), "released_at": at})


class Held:
    """The holds at a time: handles of records, and chains that are held as a whole."""

    __slots__ = ("chains", "items")

    def __init__(self, items: frozenset[str], chains: frozenset[str]):
        self.items = items
        self.chains = chains

    def keeps(self, id: str, task_id: str) -> bool:
        """Return whether a record of a chain has to stay."""
        return id in self.items or task_id in self.chains


NOTHING = Held(frozenset(), frozenset())


def holds(db: Connection) -> list[Hold]:
    """Return all holds that ever were, oldest first."""
    return [Hold(*row) for row in db.execute(f"SELECT {', '.join(_FIELDS)} FROM holds ORDER BY created_at, id").fetchall()]  # noqa: S608


def add_hold(db: Connection, hold: Hold) -> None:
    """Keep a hold; one of the same id is left as it is. ValueError for a scope that there is not, or a target that names nothing."""
    if hold.scope not in SCOPES or not hold.target:
        raise ValueError(f"a hold names one of these: {', '.join(SCOPES)}")
    values = [plain(value) if isinstance(value, str) else value for value in (getattr(hold, name) for name in _FIELDS)]
    with Transaction(db):
        db.execute(f"INSERT OR IGNORE INTO holds ({', '.join(_FIELDS)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)  # noqa: S608


def release_hold(db: Connection, id: str, at: float) -> bool:
    """End a hold at a time (seconds); whether it was in force."""
    with Transaction(db):
        return db.execute(f"UPDATE holds SET released_at = ? WHERE id = ? AND {_IN_FORCE}", (at, plain(id), at)).rowcount == 1  # noqa: S608


def held(db: Connection, now: float | None = None) -> Held:
    """Return the holds at `now` (seconds; by default the clock's). A deletion asks within its own transaction."""
    now = time.time() if now is None else now
    scopes = {scope for (scope,) in db.execute(f"SELECT DISTINCT scope FROM holds WHERE {_IN_FORCE}", (now,))}  # noqa: S608
    if not scopes:
        return NOTHING
    items = db.execute(f"SELECT target FROM holds WHERE scope = 'item' AND {_IN_FORCE}", (now,)).fetchall()  # noqa: S608
    chains = db.execute(_HELD_CHAINS, (now, now)).fetchall()
    if PROJECT in scopes:
        chains += db.execute(f"SELECT task_id FROM chains WHERE project IN ({_UNPLACED})").fetchall()  # noqa: S608
    return Held(frozenset(id for (id,) in items), frozenset(task_id for (task_id,) in chains))


def place_folders(db: Connection, key_of: Callable[[str], str]) -> None:
    """Note which project each new folder of the archive belongs to, while a project is held at all; `key_of(folder)` tells. It stays with
    that one wherever it moves, so that no hold ends that way. A context that names no folder is never placed."""
    if db.execute("SELECT 1 FROM holds WHERE scope = 'project' AND released_at IS NULL LIMIT 1").fetchone() is None:
        return
    new = [(folder, plain(key_of(folder))) for (folder,) in db.execute(_UNPLACED).fetchall() if folder and isinstance(folder, str)]
    if new:
        with Transaction(db):
            db.executemany("INSERT OR IGNORE INTO folders VALUES (?, ?)", new)


def hold_problems(db: Connection) -> list[str]:
    """Return what is wrong with the holds, in sentences."""
    sentences = []
    for hold in holds(db):
        if hold.scope not in SCOPES or not hold.target:
            sentences.append(f"hold {hold.id} names nothing: {hold.scope!r} {hold.target!r}")
        elif not all(isinstance(at, (int, float)) for at in (hold.created_at, hold.until or 0.0, hold.released_at or 0.0)):
            sentences.append(f"hold {hold.id} has an invalid time")
        elif hold.until is not None and hold.until <= hold.created_at:
            sentences.append(f"hold {hold.id} ends before it begins")
    return sentences
