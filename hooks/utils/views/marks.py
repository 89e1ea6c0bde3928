"""What tools and the hourly job have marked for deletion, in words: what, from when on, and how to keep it. Pure, but for `lines`."""

from __future__ import annotations

from .. import text
from ..state import marked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_WHO = {marked.BY_TOOL: "An agent's tool", marked.BY_JOB: "The hourly job"}
_RETENTION = "popkit retention"
_LONGEST = 20  # characters of an id that a command is made of


def lines(popkit_home: str, project: str, now: float, memory_command: str) -> list[str]:
    """What is told of a project, by its key, before anything else; nothing where nothing is marked. `memory_command`: how the reader calls
    `popkit memory`."""
    found = [line for part, row in marked.of_project(popkit_home, project) for line in in_words(part, row, now, memory_command)]
    return ["", *found] if found else []


def in_words(part: str, row: dict[str, Any], now: float, memory_command: str) -> list[str]:
    """One row of `state.marked`."""
    count = int(row["count"])
    one, several = ("archived result", "archived results") if part == marked.RAG else ("memory", "memories")
    what = text.counted(count, one) if count == 1 else f"{count:,} {several}"
    left = row["first"] - now
    said = f"{_WHO[row['by']]} has marked {what}, which the next run deletes."
    if left > 0:
        said = f"{_WHO[row['by']]} has marked {what} for deletion{' in' if count == 1 else ', starting in'} {text.span(left)}."
    keep, command = "To keep it:" if count == 1 else "To keep them:", f"{_RETENTION} undo --domain {part}"
    if part == marked.FORGOTTEN and count <= len(row["ids"]) and all(map(_is_typed_as_it_is, row["ids"])):
        command = f"{memory_command} undo {' '.join(row['ids'])}"
    elif part == marked.FORGOTTEN:
        keep, command = "To see which, so that you can undo it:", f"{memory_command} list --marked"
    return [*text.wrap(f"{said} {keep}"), "  " + command]


def _is_typed_as_it_is(id: str) -> bool:
    """Whether no shell reads anything else than an id."""
    return id.isascii() and id.isalnum() and len(id) <= _LONGEST
