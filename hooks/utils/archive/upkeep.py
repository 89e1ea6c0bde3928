"""Whole chains moved to their zones, how large the archive is, and the one way out of it for good."""

from __future__ import annotations

import time

from ..io.sqlite_file import Transaction
from . import deleting
from .content import RetentionIntegrityError, as_text, plain, stamp
from .holds import held
from .records import record
from .zones import HOT_MAX_POSITION, RETENTION_ZONES, WARM_MAX_POSITION, compute_zone, move

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection
    from typing import Any

    from .deleting import Going
    from .records import Record

# The rows that could have to move, oldest first: those whose position is beyond the end of their zone.
_BEHIND = """
SELECT id, zone, place FROM thought_records
WHERE task_id = ? AND ((place <= ? AND (zone IS NULL OR zone = 'hot')) OR (place <= ? AND zone = 'warm')) ORDER BY place
"""
_STATS = f"""
SELECT count(*), coalesce(sum(size), 0), coalesce(sum({deleting.STORED}), 0), min(created_at), max(created_at),
  count(CASE WHEN zone IS NULL OR zone = 'hot' THEN 1 END), count(CASE zone WHEN 'warm' THEN 1 END), count(CASE zone WHEN 'cold' THEN 1 END)
FROM thought_records
"""  # noqa: S608  a piece of our own

_ZONE_SIZES = f"""
SELECT coalesce(zone, 'hot'), count(*), coalesce(sum({deleting.STORED}), 0), coalesce(sum(size), 0) FROM thought_records GROUP BY 1
"""  # noqa: S608  a piece of our own


class Pruned:
    """What a prune took, or would take: records whose content (or whole row) goes, chains that vanish wholly, the bytes stored for them,
    how many old records are `on_hold` and stay, and whether the file gave its space back."""

    __slots__ = ("bytes", "chains", "on_hold", "records", "shrunk")

    def __init__(self, gone: Going):
        self.records = len(gone.ids)
        self.chains = len(gone.chains)
        self.bytes = gone.bytes
        self.on_hold = gone.on_hold
        self.shrunk = False

    def to_json(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in ("records", "chains", "bytes", "on_hold", "shrunk")}


def archive_chain(
    db: Connection,
    task_id: str,
    may_go_cold: Callable[[Record], bool] = lambda record: True,
    hot_max: int = HOT_MAX_POSITION,
    warm_max: int = WARM_MAX_POSITION,
    now: float | None = None,
) -> dict[str, int]:
    """Moves every record of a chain to the zone of its position, in one transaction. Returns how many went
    {"hot_to_warm", "hot_to_cold", "warm_to_cold"}, how many were "kept_warm", and how many are "damaged" and stay as they are.

    What `may_go_cold(record)` refuses stays warm, or becomes so, and so does what is held at `now` (seconds; by default the clock's).
    `may_go_cold` is asked before the transaction begins, so it may take its time.
    """
    compute_zone(1, hot_max, warm_max)
    task_id = plain(task_id)
    counts = {"hot_to_warm": 0, "hot_to_cold": 0, "warm_to_cold": 0, "kept_warm": 0, "damaged": 0}
    behind = _behind(db, task_id, hot_max, warm_max)
    asked = [record(db, id) for id, _, target in behind if target == "cold"]
    released = {each.id for each in asked if each and may_go_cold(each)}
    with Transaction(db):
        kept = held(db, now)
        for id, zone, target in _behind(db, task_id, hot_max, warm_max):
            if target == "cold" and (id not in released or kept.keeps(id, task_id)):
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


def due_cold(db: Connection, task_id: str, most: int, warm_max: int = WARM_MAX_POSITION, now: float | None = None) -> list[str]:
    """At most so many handles of a chain that by their position could be cold and about whose source nothing is noted yet, oldest first;
    not of what is held at `now` (seconds; by default the clock's)."""
    task_id, kept = plain(task_id), held(db, now)
    due = db.execute(
        "SELECT id FROM thought_records WHERE task_id = ? AND place <= ? AND zone = 'warm' AND source IS NULL ORDER BY place",
        (task_id, _end(db, task_id) - warm_max),
    )
    return [id for (id,) in due.fetchall() if not kept.keeps(id, task_id)][:most]


def _end(db: Connection, task_id: str) -> int:
    """The place of a chain's newest record, 0 where it has none."""
    return db.execute("SELECT coalesce(max(place), 0) FROM thought_records WHERE task_id = ?", (task_id,)).fetchone()[0]


def _behind(db: Connection, task_id: str, hot_max: int, warm_max: int) -> list[tuple[str, str, str]]:
    """[(id, zone, the zone of its position)] of the records of a chain that are not as far back as their position."""
    end = _end(db, task_id)
    rows = db.execute(_BEHIND, (task_id, end - hot_max, end - warm_max)).fetchall()
    return [(id, zone or "hot", compute_zone(end - place + 1, hot_max, warm_max)) for id, zone, place in rows]


def stats(db: Connection) -> dict[str, Any]:
    """{"records", "chains", "clears", "zones": {zone: records}, "stored_bytes" (of contents, as they lie there), "original_bytes" (as they
    were), "file_bytes", "oldest", "newest" (ISO texts, None in an empty archive)}."""
    count, original, stored, oldest, newest, hot, warm, cold = db.execute(_STATS).fetchone()
    pages = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")]
    return {
        "records": count,
        "chains": db.execute("SELECT count(*) FROM chains").fetchone()[0],
        "clears": db.execute("SELECT count(*) FROM clears").fetchone()[0],
        "zones": {"hot": hot, "warm": warm, "cold": cold},
        "stored_bytes": stored,
        "original_bytes": original,
        "file_bytes": pages[0] * pages[1],
        "oldest": oldest and as_text(oldest),
        "newest": newest and as_text(newest),
    }


def zone_sizes(db: Connection) -> dict[str, tuple[int, int, int]]:
    """zone -> (records, bytes of their contents as they lie there, bytes as they were)."""
    found = dict.fromkeys(RETENTION_ZONES, (0, 0, 0))
    found.update({zone: (records, stored, original) for zone, records, stored, original in db.execute(_ZONE_SIZES)})
    return found


def prunable(db: Connection, older_than: float, now: float | None = None) -> list[str]:
    """The handles of the records that `prune` would take."""
    return _old(db, older_than, time.time() if now is None else now).ids


def prune(db: Connection, older_than: float, dry_run: bool = False, now: float | None = None) -> Pruned:
    """Deletes for good what was archived, or came back, before `older_than` (seconds), but for what is held at `now` (by default the
    clock's): a chain that has nothing newer vanishes with its clears; in another its old records lose their contents and stay as cold
    stubs, so that the chain can still be verified. That it was done stays known (`pruned_of`), with the time `now`. Not to be called
    within a transaction."""
    now = time.time() if now is None else now
    deleting.overwrite_what_is_freed(db)
    with Transaction(db):
        gone = _old(db, older_than, now)
        if dry_run or not gone.ids:
            return Pruned(gone)
        deleting.delete(db, gone, now)
    report = Pruned(gone)
    report.shrunk = deleting.compact(db)
    return report


def _old(db: Connection, older_than: float, now: float) -> Going:
    cutoff = stamp(older_than)
    chains = [
        task_id for (task_id,) in db.execute("SELECT DISTINCT task_id FROM thought_records WHERE created_at < ?", (cutoff,)).fetchall()
    ]
    back = {id for (id,) in db.execute("SELECT record_id FROM brought_back WHERE at >= ?", (older_than,)).fetchall()}
    return deleting.going(db, chains, lambda handle, created_at: created_at < cutoff and handle not in back, held(db, now))


def pruned_of(db: Connection, task_id: str) -> tuple[float, int] | None:
    """(when, in seconds, how many records) of a chain that was pruned, wholly or in part; None for any other."""
    return db.execute("SELECT at, records FROM pruned WHERE task_id = ?", (plain(task_id),)).fetchone()
