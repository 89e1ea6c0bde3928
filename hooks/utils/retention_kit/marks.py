"""The mark for deletion that all stores share. Pure."""

from __future__ import annotations

from ..rows import Row

GRACE_S = 86_400.0  # from a mark to the deletion


class Mark(Row):
    """A mark: since when (seconds) something is to be deleted, and by whom (`user`, `tool`, `job`, `policy`)."""

    __slots__ = ("at", "by", "id")

    def __init__(self, id: str, at: float, by: str):
        self.id = id
        self.at = at
        self.by = by

    @property
    def due_at(self) -> float:
        """Return when it may be deleted (seconds)."""
        return self.at + GRACE_S

    def precedes(self, used_at: float | None) -> bool:
        """Return whether the thing was used or written after it was marked (seconds; None: that is unknown), so that its grace period
        begins again."""
        return used_at is not None and used_at > self.at
