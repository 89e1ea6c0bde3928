"""What the boundary of a compaction says in a transcript."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def metadata_of(boundary: dict[str, Any]) -> dict[str, Any]:
    """Return what a boundary says of its compaction; {} where it says nothing."""
    metadata = boundary.get("compactMetadata")
    return metadata if isinstance(metadata, dict) else {}


def preserved_in(boundary: dict[str, Any]) -> Any:
    """Return what a boundary says of the messages that go on behind it; None where it says nothing."""
    return metadata_of(boundary).get("preservedMessages")
