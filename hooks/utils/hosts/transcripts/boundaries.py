"""The boundary of a compaction in a transcript."""

from __future__ import annotations

from ...io.codec import as_object, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def metadata_of(boundary: dict[str, Any]) -> dict[str, Any]:
    """Return what a boundary says of its compaction; {} where it says nothing."""
    return as_object(boundary.get("compactMetadata"))


def kept_in(metadata: object) -> list[str]:
    """Return the uuids of the messages that go on behind a boundary, from what it says of its compaction."""
    kept = as_object(as_object(metadata).get("preservedMessages"))
    return texts(kept.get("allUuids") or kept.get("uuids"))
