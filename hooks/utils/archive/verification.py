"""Verify the archive: walk every chain from its first record, with one record in memory at a time."""

from __future__ import annotations

from ..io.row_chain import COMPACT, FIRST_PREV_HASH, RowSnapshot, link_hash
from ..rows import Row
from . import holds, index, marks
from .chains import HASHED
from .content import RetentionIntegrityError, decompress_content, hash_content, to_text
from .recovery import recover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

_ROWS = f"""
SELECT id, seq, place, prev_hash, hash, zone, source, content_hash, content_compressed, CAST(content AS BLOB), {", ".join(HASHED)}
FROM thought_records WHERE task_id = ? ORDER BY place
"""  # noqa: S608  names of our own columns
_CHAINS = "SELECT task_id FROM chains UNION SELECT task_id FROM thought_records ORDER BY 1"
_LEFT_TO_A_SOURCE = "SELECT id FROM thought_records WHERE zone = 'cold' AND source IS NOT NULL ORDER BY seq"
# Which of content and content_compressed a zone keeps.
_KEEPS = {None: (True, False), "hot": (True, False), "warm": (False, True), "cold": (False, False)}


class Breach(Row):
    """The first record of a chain that is not as it was written. `id` is "" where it is missing altogether."""

    __slots__ = ("id", "place", "task_id", "what")

    def __init__(self, task_id: str, place: int, id: str, what: str):
        self.task_id = task_id
        self.place = place
        self.id = id
        self.what = what


class Verification:
    """The findings of a walk over the archive: records that it checked, chains, the first broken record of each broken chain, and the
    handles of those that are `lost`: as they were written, but their content was left to a source that no longer gives it; and `problems`
    with what is kept beside the records, in sentences."""

    __slots__ = ("broken", "chains", "lost", "problems", "records")

    def __init__(self) -> None:
        self.chains = 0
        self.records = 0
        self.broken: list[Breach] = []
        self.lost: list[str] = []
        self.problems: list[str] = []


def verify(db: Connection) -> Verification:
    """Hold every record against its hash, its content, its zone and its place, then look at holds, mark and the index. A chain's walk ends
    at its first broken record.

    Each chain is read in a transaction of its own, so that writers wait for one chain and not for all."""
    report = Verification()
    with RowSnapshot(db):
        chains = [row[0] for row in db.execute(_CHAINS).fetchall()]
    for task_id in chains:
        report.chains += 1
        with RowSnapshot(db):
            broken = _walk(db, task_id, report)
        if broken:
            report.broken.append(broken)
    with RowSnapshot(db):
        report.problems = [*holds.problems(db), *marks.problems(db), *index.problems(db)]
    named = {broken.id for broken in report.broken}
    report.lost = [id for (id,) in db.execute(_LEFT_TO_A_SOURCE).fetchall() if id not in named and _is_lost(db, id)]
    return report


def _is_lost(db: Connection, id: str) -> bool:
    try:
        return recover(db, id) is None
    except RetentionIntegrityError:
        return True


def _walk(db: Connection, task_id: str, report: Verification) -> Breach | None:
    try:
        rows = db.execute(_ROWS, (task_id,))
    except UnicodeEncodeError:
        return Breach(task_id, 0, "", "the name of the chain is not text")
    place, prev_hash, seq = 0, FIRST_PREV_HASH, 0
    for row in rows:
        place += 1
        report.records += 1
        what = _wrong_place(row, place, prev_hash, seq) or _wrong_zone(row) or _wrong_source(row[6])
        if what:
            return Breach(task_id, place, str(row[0]), what)
        seq, prev_hash = row[1], row[4]
    noted = db.execute("SELECT length, head FROM chains WHERE task_id = ?", (task_id,)).fetchone()
    if noted is None:
        return Breach(task_id, 0, "", "the chain itself is not in the archive's list of chains")
    if noted != (place, prev_hash):
        return Breach(task_id, place + 1, "", f"the chain should end with record {noted[0]}, and ends with another one, at {place}")
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
