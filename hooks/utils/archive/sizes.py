"""Sizes of the archive, as a whole or by zone."""

from __future__ import annotations

from .retrieval import RETENTION_ZONES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

STORED = "CASE coalesce(zone, 'hot') WHEN 'hot' THEN size WHEN 'warm' THEN length(content_compressed) ELSE 0 END"

_STATS = f"""
SELECT count(*), coalesce(sum(size), 0), coalesce(sum({STORED}), 0), min(created_at), max(created_at),
  count(CASE WHEN zone IS NULL OR zone = 'hot' THEN 1 END), count(CASE zone WHEN 'warm' THEN 1 END), count(CASE zone WHEN 'cold' THEN 1 END)
FROM thought_records
"""  # noqa: S608  a piece of our own

_ZONE_SIZES = f"""
SELECT coalesce(zone, 'hot'), count(*), coalesce(sum({STORED}), 0), coalesce(sum(size), 0) FROM thought_records GROUP BY 1
"""  # noqa: S608  a piece of our own


def stats(db: Connection) -> dict[str, Any]:
    """Return {"records", "chains", "zones": {zone: records}, "stored_bytes" (of contents, as they lie there), "original_bytes"
    (as they were), "file_bytes", "oldest", "newest" (ISO texts, None in an empty archive)}."""
    count, original, stored, oldest, newest, hot, warm, cold = db.execute(_STATS).fetchone()
    pages = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")]
    return {
        "records": count,
        "chains": db.execute("SELECT count(*) FROM chains").fetchone()[0],
        "zones": {"hot": hot, "warm": warm, "cold": cold},
        "stored_bytes": stored,
        "original_bytes": original,
        "file_bytes": pages[0] * pages[1],
        "oldest": oldest and str(oldest),
        "newest": newest and str(newest),
    }


def zone_sizes(db: Connection) -> dict[str, tuple[int, int, int]]:
    """Return zone -> (records, bytes of their contents as they lie there, bytes as they were)."""
    sizes = dict.fromkeys(RETENTION_ZONES, (0, 0, 0))
    sizes.update({zone: (records, stored, original) for zone, records, stored, original in db.execute(_ZONE_SIZES)})
    return sizes
