"""Store the entries of a MEMORY.md as JSON values. Pure."""

from __future__ import annotations

from .memory_records import Entry, Fact
from .memory_text import TITLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def to_json(entries: Iterable[Entry]) -> list[list[object]]:
    """Return entries as JSON values."""
    return [[entry.kind, entry.text, entry.home, entry.changed, [list(fact) for fact in entry.facts]] for entry in entries]


def from_json(value: object) -> list[Entry]:
    """Return the entries of such values. Raise ValueError for any others."""
    entries = []
    if not isinstance(value, list):
        raise ValueError("not as it was written")
    for row in value:
        try:
            kind, text, home, changed, facts = row
            entry = Entry(kind, text, home, [Fact(*fact) for fact in facts])
        except (TypeError, ValueError):
            raise ValueError("not as it was written") from None
        if kind not in TITLES or not all(isinstance(part, str) for fact in entry.facts for part in fact):
            raise ValueError("not as it was written")
        entry.changed = bool(changed)
        entries.append(entry)
    return entries
