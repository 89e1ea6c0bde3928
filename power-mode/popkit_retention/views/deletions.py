"""The texts of deletions from the archive. Records in, lines out. Pure."""

from __future__ import annotations

from popkit_retention.core import text, units
from popkit_retention.core.hosts.transcripts.projects import session_id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from popkit_retention.core import archive
    from popkit_retention.core.archive.records import Record


_SHOWN = 5  # placeholders shown of one transcript


def records(deleted: archive.PruneResult) -> str:
    """Return how many records a deletion removes."""
    return f"{units.counted(deleted.records, 'record')} ({units.size(deleted.bytes)})"


def would_delete(deleted: archive.PruneResult) -> list[text.Line]:
    """Return what a deletion would remove."""
    lines = text.wrap(f"Would delete {records(deleted)} for good.")
    return [*lines, f"{units.counted(deleted.chains, 'context')} would disappear completely."] if deleted.chains else lines


def on_hold(deleted: archive.PruneResult) -> list[text.Line]:
    """Return how many records a deletion leaves because of holds."""
    if not deleted.on_hold:
        return []
    stay = "is on hold and stays" if deleted.on_hold == 1 else "are on hold and stay"
    return text.wrap(f"{units.counted(deleted.on_hold, 'record')} {stay}: popkit retention hold list.")


def unrestorable(placed: Mapping[str, Sequence[Record]], is_done: bool) -> list[text.Line]:
    """Return which placeholders a deletion makes unrestorable. `placed`: transcript -> the records whose placeholders are in it."""
    many = sum(map(len, placed.values()))
    remain, can = "it remains" if many == 1 else "them remain", "can" if is_done else "could"
    lines = text.wrap(f"{units.counted(many, 'placeholder')} for {remain} in transcripts and {can} no longer be restored:")
    lines += placeholders(placed)
    back = "To put contents back first: /popkit undo in the session, once it is resumed"
    return lines if is_done else [*lines, *text.wrap(back, indent="  ")]


def placeholders(placed: Mapping[str, Sequence[Record]]) -> list[text.Line]:
    """Return placeholders below their sessions."""
    lines: list[text.Line] = []
    for path, of_it in placed.items():
        lines.append(text.fitted("  session " + text.clean(session_id_of(path))))
        shown, others = text.beginning(of_it, _SHOWN)
        lines += [text.fitted(f"    {record.id}  {text.clean(record.label)}") for record in shown]
        lines += [f"    … {others:,} more"] if others else []
    return lines
