"""Move records to their zones: how far back in its chain a record is decides how much of its content is kept.

The newest 100 records of a chain are hot (content as it was), those up to 1,000 warm (compressed), the rest cold (only the hash). Records
only ever go that way, no row is deleted, and nothing but `zone`, `content` and `content_compressed` changes.
"""

from __future__ import annotations

from ..errors import PopkitError
from ..io.sqlite_file import Transaction
from .content import RetentionIntegrityError, compress_content, plain
from .holds import held
from .records import record
from .retrieval import KEPT, RETENTION_ZONES, RecordInput, content_of, known_zone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection

    from .records import Record

HOT_MAX_POSITION = 100
WARM_MAX_POSITION = 1000

_POSITION = """
SELECT (SELECT max(place) FROM thought_records WHERE task_id = mine.task_id) - mine.place + 1 FROM thought_records AS mine WHERE id = ?
"""
# The rows that could have to move, oldest first: those whose position is beyond the end of their zone.
_BEHIND = """
SELECT id, zone, place FROM thought_records
WHERE task_id = ? AND ((place <= ? AND (zone IS NULL OR zone = 'hot')) OR (place <= ? AND zone = 'warm')) ORDER BY place
"""


class RecordNotFound(PopkitError, LookupError):
    """The archive has no record of that id."""

    def __init__(self, id: str):
        super().__init__("Record not found: " + id)
        self.id = id


class RetentionZone:
    """The specification's RetentionZoneSchema."""

    @staticmethod
    def parse(value: object) -> str:
        """Return the name of a zone; ValueError for anything else."""
        if value not in RETENTION_ZONES:
            raise ValueError(f"a zone has to be one of {', '.join(RETENTION_ZONES)}, not {value!r}")
        return str(value)


ArchiveRecordInput = RecordInput


def compute_zone(position: int, hot_max: int = HOT_MAX_POSITION, warm_max: int = WARM_MAX_POSITION) -> str:
    """Return the zone of a position, the newest being 1; ValueError for what is no position, or for boundaries that do not rise."""
    for value in (position, hot_max, warm_max):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"positions have to be whole numbers from 1, not {value!r}")
    if hot_max > warm_max:
        raise ValueError(f"hot ends at {hot_max}, which is behind the end of warm at {warm_max}")
    if position <= hot_max:
        return "hot"
    return "warm" if position <= warm_max else "cold"


def get_record_position(db: Connection, id: str) -> int | None:
    """Return how many records of its chain are as new or newer; None for an id that is unknown."""
    row = db.execute(_POSITION, (plain(id),)).fetchone()
    return row[0] if row else None


def archive_record(
    db: Connection, id: str, hot_max: int = HOT_MAX_POSITION, warm_max: int = WARM_MAX_POSITION, now: float | None = None
) -> dict[str, object]:
    """Move a record to the zone of its position: {"id", "from_zone", "to_zone", "changed"}; one that is held at `now` (seconds; by default
    the clock's) goes no further than warm.

    A record that was never archived counts as hot. If it stays so, its row says so from then on, which is no change. A record whose
    position asks for an earlier zone than it has stays where it is. ValueError for an id that is none, RecordNotFound for an unknown one,
    RetentionIntegrityError for one whose content is not what it should be; then nothing is changed."""
    RecordInput.parse({"id": id})
    with Transaction(db):
        position = get_record_position(db, id)
        if position is None:
            raise RecordNotFound(id)
        target = compute_zone(position, hot_max, warm_max)
        task_id, zone = db.execute("SELECT task_id, zone FROM thought_records WHERE id = ?", (plain(id),)).fetchone()
        before = known_zone(zone, id)
        if target == "cold" and held(db, now).keeps(plain(id), task_id):
            target = "warm"
        if RETENTION_ZONES.index(target) > RETENTION_ZONES.index(before):
            move(db, id, target)
            return {"id": id, "from_zone": before, "to_zone": target, "changed": True}
        if zone is None:
            db.execute("UPDATE thought_records SET zone = 'hot' WHERE id = ?", (plain(id),))
        return {"id": id, "from_zone": before, "to_zone": before, "changed": False}


def move(db: Connection, id: str, target: str) -> None:
    """Give a record the warm or the cold form; RetentionIntegrityError where its content is not what its hash says. What has no content any
    more is neither in the index nor marked for deletion."""
    content = content_of(db.execute(KEPT, (plain(id),)).fetchone(), id)
    squeezed = compress_content(content) if target == "warm" else None
    if target == "cold":
        from . import index  # seldom

        index.remove_records(db, [db.execute("SELECT seq FROM thought_records WHERE id = ?", (plain(id),)).fetchone()[0]])
        db.execute("DELETE FROM marks WHERE record_id = ?", (plain(id),))
    db.execute("UPDATE thought_records SET zone = ?, content = NULL, content_compressed = ? WHERE id = ?", (target, squeezed, plain(id)))


def archive_chain(
    db: Connection,
    task_id: str,
    may_go_cold: Callable[[Record], bool] = lambda record: True,
    hot_max: int = HOT_MAX_POSITION,
    warm_max: int = WARM_MAX_POSITION,
    now: float | None = None,
) -> dict[str, int]:
    """Move every record of a chain to the zone of its position, in one transaction. Returns how many went {"hot_to_warm", "hot_to_cold",
    "warm_to_cold"}, how many were "kept_warm", and how many are "damaged" and stay as they are.

    What `may_go_cold(record)` refuses stays warm, or becomes so, and so does what is held at `now` (seconds; by default the clock's).
    `may_go_cold` is asked before the transaction begins, so it may take its time."""
    compute_zone(1, hot_max, warm_max)
    task_id = plain(task_id)
    counts = {"hot_to_warm": 0, "hot_to_cold": 0, "warm_to_cold": 0, "kept_warm": 0, "damaged": 0}
    behind = _behind(db, task_id, hot_max, warm_max)
    candidates = [record(db, id) for id, _, target in behind if target == "cold"]
    released = {candidate.id for candidate in candidates if candidate and may_go_cold(candidate)}
    with Transaction(db):
        holds = held(db, now)
        for id, zone, target in _behind(db, task_id, hot_max, warm_max):
            if target == "cold" and (id not in released or holds.keeps(id, task_id)):
                counts["kept_warm"] += 1
                target = "warm"
            if zone == target:
                continue
            try:
                move(db, id, target)
                counts[f"{zone}_to_{target}"] += 1
            except RetentionIntegrityError:
                counts["damaged"] += 1
        db.execute(
            "UPDATE thought_records SET zone = 'hot' WHERE task_id = ? AND zone IS NULL AND place > ?",
            (task_id, _end(db, task_id) - hot_max),
        )
    return counts


def due_cold(db: Connection, task_id: str, most: int, now: float | None = None) -> list[str]:
    """Return at most so many handles of a chain that by their position could be cold and about whose source nothing is noted yet, oldest
    first; not of what is held at `now` (seconds; by default the clock's)."""
    task_id, holds = plain(task_id), held(db, now)
    due = db.execute(
        "SELECT id FROM thought_records WHERE task_id = ? AND place <= ? AND zone = 'warm' AND source IS NULL ORDER BY place",
        (task_id, _end(db, task_id) - WARM_MAX_POSITION),
    )
    return [id for (id,) in due.fetchall() if not holds.keeps(id, task_id)][:most]


def _end(db: Connection, task_id: str) -> int:
    """Return the place of a chain's newest record, 0 where it has none."""
    return db.execute("SELECT coalesce(max(place), 0) FROM thought_records WHERE task_id = ?", (task_id,)).fetchone()[0]


def _behind(db: Connection, task_id: str, hot_max: int, warm_max: int) -> list[tuple[str, str, str]]:
    """Return [(id, zone, the zone of its position)] of the records of a chain that are not as far back as their position."""
    end = _end(db, task_id)
    rows = db.execute(_BEHIND, (task_id, end - hot_max, end - warm_max)).fetchall()
    return [(id, zone or "hot", compute_zone(end - place + 1, hot_max, warm_max)) for id, zone, place in rows]
