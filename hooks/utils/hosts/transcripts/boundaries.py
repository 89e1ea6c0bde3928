"""The boundary of a compaction in a transcript."""

from __future__ import annotations

from ...io.codec import as_object, texts


def metadata_of(boundary: dict[str, object]) -> dict[str, object]:
    """Return what a boundary says of its compaction; {} where it says nothing."""
    return as_object(boundary.get("compactMetadata"))


def kept_in(metadata: object) -> list[str]:
    """Return the uuids of the messages that go on behind a boundary, from what it says of its compaction."""
    kept = as_object(as_object(metadata).get("preservedMessages"))
    return texts(kept.get("allUuids") or kept.get("uuids"))
