"""The text on restored results: put back into the conversation, or printed. Records in, lines and data out."""

from __future__ import annotations

from .. import text
from . import phrases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..archive.records import Record


def record_data(record: Record) -> dict[str, object]:
    """Return a record for `--json`."""
    return {
        "handle": record.id,
        "id": record.tool_use_id,
        "label": record.label,
        "tokens": record.tokens,
        "archived_at": record.created_at,
        "zone": record.zone,
    }


def begun_lines(later: bool, command: str) -> list[text.Line]:
    """Return the lines for contents that go back into the conversation as soon as Claude is idle, or, with `later`, once it is resumed.
    `command`: how the reader calls us."""
    when = f" {phrases.RESUMED}, before the first request" if later else ""
    words = "It comes" if later else "Putting it"
    lines = ["", *text.wrap(f"{words} back in place{when}, as far as the window allows.")]
    return lines + (["", "To cancel it before that:", *phrases.command_lines(f"{command} undo")] if later else [])


def gone(records: list[Record]) -> str:
    """Return the sentence that names records whose contents are gone."""
    return "Gone for good (pruned, or no longer in git): " + "; ".join(text.clean(record.label) for record in records)


def printed_lines(printed: list[tuple[Record, str | None]], safe: bool = False) -> list[text.Line]:
    """Return the contents of records, each under its name if there are several. `printed`: [(record, text or None)]; `safe`: for a reader
    that does not escape what would move the cursor, hide or reorder letters."""
    lines: list[text.Line] = []
    for record, content in printed:
        if len(printed) > 1:
            lines += [*([""] if lines else []), f"=== {record.id}  {text.clean(record.label)}"]
        if content is None:
            lines += text.wrap(gone([record]))
        else:
            of_content = content.split("\n")
            lines.append(text.whole(*(map(text.visible, of_content) if safe else of_content)))
    return lines


def printed_data(printed: list[tuple[Record, str | None]]) -> dict[str, object]:
    return {"records": [{**record_data(record), "content": content} for record, content in printed]}
