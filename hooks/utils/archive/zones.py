"""Zones: how far back in its chain a record stands decides how much of its content is kept.

The newest 100 records of a chain are hot (content as it was), those up to 1,000 warm (compressed), the rest cold (only the hash).
Records only ever go that way, no row is deleted, and nothing but `zone`, `content` and `content_compressed` changes.
"""

from __future__ import annotations

from ..io.sqlite_file import Transaction
from .content import RetentionIntegrityError, compress_content, decompress_content, hash_content, plain, to_text
from .holds import held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

RETENTION_ZONES = ("hot", "warm", "cold")
HOT_MAX_POSITION = 100
WARM_MAX_POSITION = 1000

_CONTENT = "SELECT zone, CAST(content AS BLOB), content_compressed, content_hash FROM thought_records WHERE id = ?"
_POSITION = """
SELECT (SELECT max(place) FROM thought_records WHERE task_id = mine.task_id) - mine.place + 1 FROM thought_records AS mine WHERE id = ?
"""


class RecordNotFound(LookupError):
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
            raise ValueError(f"a zone is one of {', '.join(RETENTION_ZONES)}, not {value!r}")
        return str(value)


class RecordInput:
    """The specification's ArchiveRecordInputSchema and RetrieveRecordInputSchema, which ask the same."""

    @staticmethod
    def parse(value: object) -> dict[str, str]:
        """Return {"id"}, other keys left out; ValueError for what is no object, or has no id that is a text and not empty."""
        id = value.get("id") if isinstance(value, dict) else None
        if not isinstance(id, str) or not id:
            raise ValueError("a record's id is a text that is not empty")
        return {"id": id}


ArchiveRecordInput = RetrieveRecordInput = RecordInput


def compute_zone(position: int, hot_max: int = HOT_MAX_POSITION, warm_max: int = WARM_MAX_POSITION) -> str:
    """The zone of a position, the newest being 1; ValueError for what is no position, or for boundaries that do not rise."""
    for value in (position, hot_max, warm_max):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"positions are whole numbers from 1, not {value!r}")
    if hot_max > warm_max:
        raise ValueError(f"hot ends at {hot_max}, which is behind the end of warm at {warm_max}")
    if position <= hot_max:
        return "hot"
    return "warm" if position <= warm_max else "cold"


def get_record_position(db: Connection, id: str) -> int | None:
    """How many records of its chain are as new or newer; None for an id that is unknown."""
    row = db.execute(_POSITION, (plain(id),)).fetchone()
    return row[0] if row else None


def archive_record(
    db: Connection, id: str, hot_max: int = HOT_MAX_POSITION, warm_max: int = WARM_MAX_POSITION, now: float | None = None
) -> dict[str, Any]:
    """Moves a record to the zone of its position: {"id", "from_zone", "to_zone", "changed"}; one that is held at `now` (seconds; by default
    the clock's) goes no further than warm.

    A record that was never archived counts as hot. If it stays so, its row says so from then on, which is no change. A record whose
    position asks for an earlier zone than it has stays where it is. ValueError for an id that is none, RecordNotFound for an unknown
    one, RetentionIntegrityError for one whose content is not what it should be; then nothing is changed.
    """
    RecordInput.parse({"id": id})
    with Transaction(db):
        position = get_record_position(db, id)
        if position is None:
            raise RecordNotFound(id)
        target = compute_zone(position, hot_max, warm_max)
        task_id, zone = db.execute("SELECT task_id, zone FROM thought_records WHERE id = ?", (plain(id),)).fetchone()
        before = _known_zone(zone, id)
        if target == "cold" and held(db, now).keeps(plain(id), task_id):
            target = "warm"
        if RETENTION_ZONES.index(target) > RETENTION_ZONES.index(before):
            move(db, id, target)
            return {"id": id, "from_zone": before, "to_zone": target, "changed": True}
        if zone is None:
            db.execute("UPDATE thought_records SET zone = 'hot' WHERE id = ?", (plain(id),))
        return {"id": id, "from_zone": before, "to_zone": before, "changed": False}


def move(db: Connection, id: str, target: str) -> None:
    """Gives a record the warm or the cold form; RetentionIntegrityError where its content is not what its hash says. What has no content
    any more is neither in the index nor marked for deletion."""
    content = _content(db.execute(_CONTENT, (plain(id),)).fetchone(), id)
    squeezed = compress_content(content) if target == "warm" else None
    if target == "cold":
        from . import index

        index.leave(db, [db.execute("SELECT seq FROM thought_records WHERE id = ?", (plain(id),)).fetchone()[0]])
        db.execute("DELETE FROM marks WHERE record_id = ?", (plain(id),))
    db.execute("UPDATE thought_records SET zone = ?, content = NULL, content_compressed = ? WHERE id = ?", (target, squeezed, plain(id)))


def retrieve_record(db: Connection, id: str) -> dict[str, Any] | None:
    """What is left of a record, None for an id that is unknown:
    hot and warm {"id", "zone", "content", "content_available": True}, cold {"id", "zone", "hash_only", "content_available": False}.

    ValueError for an id that is none; RetentionIntegrityError for a record whose columns do not fit its zone or its hash.
    """
    RecordInput.parse({"id": id})
    row = db.execute(_CONTENT, (plain(id),)).fetchone()
    if row is None:
        return None
    zone = _known_zone(row[0], id)
    if zone == "cold":
        if not row[3]:
            raise RetentionIntegrityError(f"{id}: is cold and has no content_hash")
        return {"id": id, "zone": "cold", "hash_only": row[3], "content_available": False}
    return {"id": id, "zone": zone, "content": _content(row, id), "content_available": True}


def _content(row: tuple[Any, ...], id: str) -> str:
    """The content of a hot or warm row, held against its hash."""
    content, squeezed, content_hash = row[1:]
    zone = _known_zone(row[0], id)
    if (content if zone == "hot" else squeezed) is None:
        raise RetentionIntegrityError(f"{id}: is {zone} and has no content{'' if zone == 'hot' else '_compressed'}")
    try:
        found = to_text(content) if zone == "hot" else decompress_content(squeezed)
    except RetentionIntegrityError as error:
        raise RetentionIntegrityError(f"{id}: {error}") from None
    if hash_content(found) != content_hash:
        raise RetentionIntegrityError(f"{id}: its content does not have its content_hash")
    return found


def _known_zone(zone: object, id: str) -> str:
    if zone is None:
        return "hot"
    if zone not in RETENTION_ZONES:
        raise RetentionIntegrityError(f"{id}: there is no zone {zone!r}")
    return zone
