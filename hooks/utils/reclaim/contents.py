"""Find the contents of results in the lines of a transcript. Reads only, and keeps no content but that of the current line.

A result that an earlier version cleared there has a placeholder in its place, which is found, too.
"""

from __future__ import annotations

import json  # noqa: TID253  who looks for contents has parsed the transcript

from ..hosts.transcripts import entries
from ..hosts.transcripts.spans import LineNotUnderstood, content_spans
from ..policy.placeholder import HEAD, handle_in
from .access import ClearRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..hosts.transcripts.transcript import Index


def stamp_of(seconds: float) -> str:
    """Return a time as the host writes it; "" for none."""
    import time

    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)) if seconds else ""


def results(path: str, index: Index, wanted: Callable[[str], bool], since: int = 0, mark: bytes = b"") -> Iterator[tuple[str, str]]:
    """Yield (id, content as JSON text) of the results of the main thread for which `wanted(id)` is true, in the order of the lines, from
    the byte `since` on. Only lines that hold `mark` are read. ClearRefused for a line that is not understood."""
    for begin, line in entries.lines(path, index.size):
        if begin < since or mark not in line or b'"tool_result"' not in line:
            continue
        try:
            spans = content_spans(line)
        except LineNotUnderstood as error:
            raise ClearRefused(f"the transcript is not understood: byte {begin:,}: {error}") from None
        for id, (start, end) in spans.items():
            if id in index.calls and wanted(id):
                yield id, line[start:end].decode("utf-8")


def placeholders(path: str, index: Index) -> list[str]:
    """Return the handle in each placeholder that the main thread holds."""
    contents = results(path, index, lambda _: True, index.since, HEAD.encode("ascii"))
    return [handle for _, content in contents if (handle := handle_in(json.loads(content)))]
