"""What the end of a transcript tells: when its session last said or did something, and whether a turn is going on. A file's own time tells
neither: a clear, an undo or a copy writes the file too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hooks.utils.edges import files
from hooks.utils.hosts.claude_code import entries
from hooks.utils.hosts.claude_code.stamps import seconds_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIRST_BYTES, _MOST_BYTES = 16 * 1024, 8 << 20


class End(NamedTuple):
    """`at` (seconds): the time of the last entry that has one. `in_turn`: Claude has yet to answer, or a tool to return."""

    at: float
    in_turn: bool


def end_of(path: str) -> End | None:
    """The End of a transcript; None where it tells no time."""
    try:
        with files.open_regular(path) as file:
            size, tail = file.seek(0, 2), _FIRST_BYTES
            while True:
                file.seek(max(0, size - tail))
                lines = file.read(min(size, tail)).split(b"\n")
                found = _end(_entries(lines if tail >= size else lines[1:]))
                if found or tail >= min(size, _MOST_BYTES):
                    return found
                tail *= 8
    except (OSError, ValueError):
        return None


def _entries(lines: list[bytes]) -> Iterator[dict[str, Any]]:
    """The newest first."""
    for line in reversed(lines):
        entry = entries.entry_of(line)
        if entry is not None:
            yield entry


def _end(newest_first: Iterator[dict[str, Any]]) -> End | None:
    at = 0.0
    for entry in newest_first:
        at = at or seconds_of(entry.get("timestamp"))
        if at and entry.get("type") in ("user", "assistant") and not entries.is_side(entry):
            return End(at, _goes_on(entry))
    return End(at, False) if at else None


def _goes_on(entry: dict[str, Any]) -> bool:
    """Whether something has to follow this entry."""
    kinds = {block.get("type") for block in entries.blocks_of(entry)}
    if entry.get("type") == "assistant":
        return "tool_use" in kinds
    return entries.is_prompt(entry) or "tool_result" in kinds
