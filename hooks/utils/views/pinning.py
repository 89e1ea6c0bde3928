"""The outcome of a pin or an unpin. Reports in, lines out."""

from __future__ import annotations

from .. import text, units
from . import phrases
from .report import matching

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .shapes import Report, ResultRow


def pinned_lines(before: Report, after: Report, targets: list[str], command: str) -> list[text.Line]:
    """Return the effect of a pin, one paragraph a target."""
    lines = text.title("Pinned")
    for target in targets:
        row = next((row for row in after["results"] if row["id"] == target), None)
        if row is None:
            held = units.counted(len(matching(after, target)), "result")
            lines += [
                *text.wrap(target),
                f"  holds {held} now, and every later one",
                *text.wrap(f"  until {command} unpin {phrases.quoted(target)}", indent="    "),
            ]
            continue
        lines.append(_title_line(row))
        if target in before["pins"]:
            lines += ["  was already pinned"]
        elif any(old["id"] == target and old["state"] == "expired" for old in before["results"]):
            lines += ["  had expired and is live again"]
        lines += [f"  stays live until {command} unpin {phrases.number(row)}"]
    return lines


def _title_line(row: ResultRow) -> text.Line:
    return lambda columns: [phrases.title(row, columns)]


def unpinned_lines(after: Report, targets: list[str]) -> list[text.Line]:
    """Return the effect of an unpin, one paragraph a target."""
    lines = text.title("Unpinned")
    for target in targets:
        row = next((row for row in after["results"] if row["id"] == target), None)
        if row is None:
            lines += [*text.wrap(target), "  its results follow their tiers again"]
            continue
        lines.append(_title_line(row))
        if row["state"] == "live":
            until = "still held by " + text.clean(row["pinned_by"]) if row["pinned_by"] else "lives " + phrases.ends_until(row)
            lines.append(text.fitted("  " + until))
    return lines
