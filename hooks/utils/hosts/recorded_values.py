"""Values in the records that hosts keep, of whatever type they turn out to be."""

from __future__ import annotations

import json  # noqa: TID253  no hook on a tool call reads other hosts' records
from datetime import datetime, timezone  # noqa: TID253

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

MESSAGE = "messageID"  # of a translated entry: the message of its host
NO_USAGE = {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def objects(file: BinaryIO, size: int) -> Iterator[dict[str, object] | None]:
    """Yield the JSON objects in the lines of the first `size` bytes of a file; None for a line that is none and not empty."""
    for line in file:
        size -= len(line)
        if size < 0:
            return
        try:
            value = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) or line.strip():
            yield value if isinstance(value, dict) else None


def list_of(value: object) -> list[Any]:
    """Return a list; [] for anything else."""
    return value if isinstance(value, list) else []


def count_of(value: object) -> int:
    """Return a count of tokens; 0 for anything else."""
    return value if type(value) is int and 0 < value < 10**9 else 0


def stamp_of(at: object) -> str:
    """Return a time in milliseconds as text; that of the epoch where there is none."""
    seconds = at / 1_000 if type(at) in (int, float) and 0 < at < 1e14 else 0.0  # type: ignore[operator]
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
