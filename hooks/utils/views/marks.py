"""The lines that tell a user in a session what is marked for deletion. Pure."""

from __future__ import annotations

from .. import text, units
from ..state import marked
from . import phrases

_WHO = {marked.BY_TOOL: "An agent's tool", marked.BY_JOB: "The hourly job"}
_RETENTION = "popkit retention"
_LONGEST = 20  # characters of an id that a command is made of


def marks(part: str, row: marked.MarkedCount, now: float, memory_command: str) -> list[text.Line]:
    """Return the lines of a row that `state/marked.py` keeps."""
    count = int(row["count"])
    one, several = ("archived result", "archived results") if part == marked.RAG else ("memory", "memories")
    what = units.counted(count, one) if count == 1 else f"{count:,} {several}"
    left = row["first"] - now
    words = f"{_WHO[row['by']]} has marked {what}, which the next run deletes."
    if left > 0:
        words = f"{_WHO[row['by']]} has marked {what} for deletion{' in' if count == 1 else ', starting in'} {units.span(left)}."
    keep, command = "To keep it:" if count == 1 else "To keep them:", f"{_RETENTION} undo --domain {part}"
    if part == marked.FORGOTTEN and count <= len(row["ids"]) and all(map(_is_typed_as_it_is, row["ids"])):
        command = f"{memory_command} undo {' '.join(row['ids'])}"
    elif part == marked.FORGOTTEN:
        keep, command = "To see which, so that you can undo it:", f"{memory_command} list --marked"
    return [*text.wrap(f"{words} {keep}"), *phrases.command_lines(command)]


def _is_typed_as_it_is(id: str) -> bool:
    """Return whether a shell command can hold an id without quotes."""
    return id.isascii() and id.isalnum() and len(id) <= _LONGEST
