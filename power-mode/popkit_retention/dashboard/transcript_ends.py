"""The time of the last entry of a transcript. The file's own time does not show it, because a clear or a copy writes the file, too."""

from __future__ import annotations

from popkit_retention.core.hosts.transcripts import entries
from popkit_retention.core.hosts.transcripts.stamps import seconds_of
from popkit_retention.core.io import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_FIRST_BYTES, _MOST_BYTES = 16 * 1024, 8 << 20


def end_of(path: str) -> float | None:
    """Return the time of the last entry of a transcript that has one (seconds); None where none has."""
    try:
        with files.open_regular(path) as file:
            size, tail = file.seek(0, 2), _FIRST_BYTES
            while True:
                file.seek(max(0, size - tail))
                lines = file.read(min(size, tail)).split(b"\n")
                end = _end(_newest_first(lines if tail >= size else lines[1:]))
                if end or tail >= min(size, _MOST_BYTES):
                    return end
                tail *= 8
    except (OSError, ValueError):
        return None


def _newest_first(lines: list[bytes]) -> Iterator[dict[str, object]]:
    """Yield the entries of these lines, the newest first."""
    for line in reversed(lines):
        entry = entries.entry_of(line)
        if entry is not None:
            yield entry


def _end(newest_first: Iterator[dict[str, object]]) -> float | None:
    return next((at for entry in newest_first if (at := seconds_of(entry.get("timestamp")))), None)
