"""Whole chains moved to their zones, how large the archive is, and the one way out of it for good."""

from __future__ import annotations

from .content import RetentionIntegrityError, plain, stamp
from .migrations import Transaction
from .records import record
from .zones import HOT_MAX_POSITION, WARM_MAX_POSITION, compute_zone, move

# The rows that could have to move, oldest first: those whose position is beyond the end of their zone.
_BEHIND = """
SELECT id, zone, place FROM thought_records
WHERE task_id = ? AND ((place <= ? AND (zone IS NULL OR zone = 'hot')) OR (place <= ? AND zone = 'warm')) ORDER BY place
"""
_STORED = "CASE coalesce(zone, 'hot') WHEN 'hot' THEN size WHEN 'warm' THEN length(content_compressed) ELSE 0 END"
_STATS = f"""
SELECT count(*), coalesce(sum(size), 0), coalesce(sum({_STORED}), 0), min(created_at), max(created_at),
  count(CASE WHEN zone IS NULL OR zone = 'hot' THEN 1 END), count(CASE zone WHEN 'warm' THEN 1 END), count(CASE zone WHEN 'cold' THEN 1 END)
FROM thought_records
"""  # noqa: S608  a piece of our own
_OLD_CHAINS = "(SELECT task_id FROM thought_records GROUP BY task_id HAVING max(created_at) < ?1)"
_OLD = "created_at < ?1 AND (coalesce(zone, 'hot') <> 'cold' OR task_id IN " + _OLD_CHAINS + ")"


class Pruned:
    """What a prune took, or would take: records whose content (or whole row) goes, chains that vanish wholly, the bytes stored for them,
    how many of the records still stand as placeholders, and whether the file gave its space back."""

    __slots__ = ("bytes", "chains", "held", "records", "shrunk")

    def __init__(self, records: int, chains: int, bytes: int, held: int):
        self.records = records
        self.chains = chains
        self.bytes = bytes
        self.held = held
        self.shrunk = False

    def to_json(self) -> dict:
        return {name: getattr(self, name) for name in ("records", "chains", "bytes", "held", "shrunk")}


def archive_chain(
    db, task_id: str, may_go_cold=lambda record: True, hot_max: int = HOT_MAX_POSITION, warm_max: int = WARM_MAX_POSITION
) -> dict:
    """Moves every record of a chain to the zone of its position, in one transaction. Returns how many went
    {"hot_to_warm", "hot_to_cold", "warm_to_cold"}, how many were "kept_warm", and how many are "damaged" and stay as they are.

    What `may_go_cold(record)` refuses stays warm, or becomes so. It is asked before the transaction begins, so it may take its time.
    """
    compute_zone(1, hot_max, warm_max)
    task_id = plain(task_id)
    counts = {"hot_to_warm": 0, "hot_to_cold": 0, "warm_to_cold": 0, "kept_warm": 0, "damaged": 0}
    behind = _behind(db, task_id, hot_max, warm_max)
    asked = [record(db, id) for id, _, target in behind if target == "cold"]
    released = {each.id for each in asked if each and may_go_cold(each)}
    with Transaction(db):
        for id, zone, target in _behind(db, task_id, hot_max, warm_max):
            if target == "cold" and id not in released:
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


def _end(db, task_id: str) -> int:
    """The place of a chain's newest record, 0 where it has none."""
    return db.execute("SELECT coalesce(max(place), 0) FROM thought_records WHERE task_id = ?", (task_id,)).fetchone()[0]


def _behind(db, task_id: str, hot_max: int, warm_max: int) -> list:
    """[(id, zone, the zone of its position)] of the records of a chain that are not as far back as their position."""
    end = _end(db, task_id)
    rows = db.execute(_BEHIND, (task_id, end - hot_max, end - warm_max)).fetchall()
    return [(id, zone or "hot", compute_zone(end - place + 1, hot_max, warm_max)) for id, zone, place in rows]


def stats(db) -> dict:
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
        "oldest": oldest,
        "newest": newest,
    }


def prune(db, older_than: float, dry_run: bool = False, held=None) -> Pruned:
    """Deletes for good what was archived before `older_than` (seconds): a chain that has nothing newer vanishes with its clears; in
    another its old records lose their contents and stay as cold stubs, so that the chain can still be verified.

    `held(record)` tells whether a placeholder of it still stands; those go too, and are counted. Not to be called within a transaction.
    """
    cutoff = (stamp(older_than),)
    db.execute("PRAGMA secure_delete = ON")  # freed pages are overwritten
    standing = 0
    if held is not None:
        doomed = [row[0] for row in db.execute(f"SELECT id FROM thought_records WHERE {_OLD}", cutoff).fetchall()]  # noqa: S608
        standing = sum(1 for id in doomed if held(record(db, id)))
    with Transaction(db):
        count, size = db.execute(f"SELECT count(*), coalesce(sum({_STORED}), 0) FROM thought_records WHERE {_OLD}", cutoff).fetchone()  # noqa: S608
        chains = db.execute(f"SELECT count(*) FROM {_OLD_CHAINS}", cutoff).fetchone()[0]  # noqa: S608
        report = Pruned(count, chains, size, standing)
        if dry_run or not count:
            return report
        _delete(db, cutoff)
    report.shrunk = _shrink(db)
    return report


def _delete(db, cutoff: tuple) -> None:
    gone = [row[0] for row in db.execute(f"SELECT task_id FROM {_OLD_CHAINS}", cutoff).fetchall()]  # noqa: S608
    for task_id in gone:
        db.execute("DELETE FROM cleared WHERE clear_id IN (SELECT id FROM clears WHERE task_id = ?)", (task_id,))
        for table in ("clears", "thought_records", "chains"):
            db.execute(f"DELETE FROM {table} WHERE task_id = ?", (task_id,))  # noqa: S608
    db.execute(f"UPDATE thought_records SET zone = 'cold', content = NULL, content_compressed = NULL WHERE {_OLD}", cutoff)  # noqa: S608


def _shrink(db) -> bool:
    """Whether the file was written anew without its free pages; where there is no room for that, they stay, empty."""
    import sqlite3

    try:
        db.execute("VACUUM")
    except sqlite3.OperationalError:
        return False
    return True
