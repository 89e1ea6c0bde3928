"""Read what its zone keeps of a record's content."""

from __future__ import annotations

from ..io.codec import as_object
from .content import RetentionIntegrityError, decompress_content, hash_content, plain, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

RETENTION_ZONES = ("hot", "warm", "cold")
KEPT = "SELECT zone, CAST(content AS BLOB), content_compressed, content_hash FROM thought_records WHERE id = ?"


class RecordInput:
    """The specification's ArchiveRecordInputSchema and RetrieveRecordInputSchema, which ask the same."""

    @staticmethod
    def parse(value: object) -> dict[str, str]:
        """Return {"id"}, other keys left out; ValueError for what is no object, or has no id that is a text and not empty."""
        id = as_object(value).get("id")
        if not isinstance(id, str) or not id:
            raise ValueError("a record's id has to be a text that is not empty")
        return {"id": id}


RetrieveRecordInput = RecordInput


def retrieve_record(db: Connection, id: str) -> dict[str, Any] | None:
    """Return what is left of a record, None for an id that is unknown: hot and warm {"id", "zone", "content", "content_available": True},
    cold {"id", "zone", "hash_only", "content_available": False}. ValueError for an id that is none; RetentionIntegrityError for a record
    whose columns do not fit its zone or its hash."""
    RecordInput.parse({"id": id})
    row = db.execute(KEPT, (plain(id),)).fetchone()
    if row is None:
        return None
    zone = known_zone(row[0], id)
    if zone == "cold":
        if not row[3]:
            raise RetentionIntegrityError(f"{id}: is cold and has no content_hash")
        return {"id": id, "zone": "cold", "hash_only": row[3], "content_available": False}
    return {"id": id, "zone": zone, "content": content_of(row, id), "content_available": True}


def content_of(row: tuple[Any, ...], id: str) -> str:
    """Return the content of a hot or warm row, held against its hash."""
    content, squeezed, content_hash = row[1:]
    zone = known_zone(row[0], id)
    if (content if zone == "hot" else squeezed) is None:
        raise RetentionIntegrityError(f"{id}: is {zone} and has no content{'' if zone == 'hot' else '_compressed'}")
    try:
        text = to_text(content) if zone == "hot" else decompress_content(squeezed)
    except RetentionIntegrityError as error:
        raise RetentionIntegrityError(f"{id}: {error}") from None
    if hash_content(text) != content_hash:
        raise RetentionIntegrityError(f"{id}: its content does not match its content_hash")
    return text


def known_zone(zone: object, id: str) -> str:
    if zone is None:
        return "hot"
    if zone not in RETENTION_ZONES:
        raise RetentionIntegrityError(f"{id}: there is no zone {zone!r}")
    return zone
