"""The texts of the archive: its records, the matches of a search. Records in, lines out. Pure."""

from __future__ import annotations

from popkit_retention.core import text, units
from popkit_retention.core.io.sqlite_file import is_damage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from popkit_retention.core.archive.records import Record
    from popkit_retention.core.archive.searching import Match


def unusable(path: str, error: Exception) -> str:
    """Return why an archive cannot be used, with its file."""
    message = getattr(error, "strerror", None) or str(error)
    return message if path in message else f"{path}: {message}" + ". Move it away" * is_damage(error)


def rows(records: Sequence[Record]) -> list[text.Line]:
    """Return a line for each record below what its columns are."""
    lines = [text.fitted(f"{'handle':<8}  {'archived (UTC)':<16}  {'zone':<4}  {'tokens':>6}  what")]
    for record in records:
        head = f"{record.id:<8}  {minute(record.created_at)}  {record.zone:<4}  {units.tokens(record.tokens):>6}  "
        lines.append(text.fitted(head + text.clean(record.label)))
    return lines


def minute(stamp: str) -> str:
    """Return a time in ISO 8601 to the minute."""
    return text.clean(stamp[:16].replace("T", " "))


def matches(rows: Sequence[Match], everywhere: bool, more: int) -> list[text.Line]:
    """Return the matches of a search in this project, or `everywhere`; `more`: how many are shown if there are more, else 0."""
    if not rows:
        where, wider = ("", "") if everywhere else (" in this project", " --everywhere searches all projects.")
        return text.wrap(f"Nothing cleared{where} contains any of these words.{wider}")
    lines: list[text.Line] = []
    for match in rows:
        lines.append(text.fitted(f"{match.record.id:<8}  {minute(match.record.created_at)}  {text.clean(match.record.label)}"))
        lines += [text.fitted("    " + text.clean(line)) for line in match.lines]
    lines.append("")
    if more:
        lines += text.wrap(f"There is more: --limit shows more than {units.counted(more, 'record')}.")
    return [*lines, *text.wrap("To see the whole content: popkit restore HANDLE")]
