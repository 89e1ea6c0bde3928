"""Find the places of results in a transcript: a walk over its lines that keeps no content but the current one."""

from __future__ import annotations

import json  # noqa: TID253  a rewrite has parsed the transcript

from ..hosts.claude_code import entries
from ..hosts.claude_code.spans import NotUnderstood, content_spans
from ..io.system import sha256
from ..policy.estimate import estimate_tokens
from ..policy.placeholder import HEAD, handle_in
from .access import Refused
from .rewrite import Edit, Seen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..hosts.claude_code.transcript import Index


class Place:
    """Where the content of a result stands in the file, the hash of its bytes, and of a placeholder the estimated `tokens`."""

    __slots__ = ("end", "hash", "id", "start", "tokens")

    def __init__(self, id: str, start: int, end: int, hash: str):
        self.id = id
        self.start = start
        self.end = end
        self.hash = hash
        self.tokens = 0

    def edit(self, content: str) -> Edit:
        """Return the edit that puts another content there, given as JSON text."""
        return Edit(self.start, self.end, content.encode("utf-8"), self.hash)


def stamp_of(seconds: float) -> str:
    """Return a time as the host writes it; "" for none."""
    import time

    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)) if seconds else ""


def seen_of(index: Index) -> Seen:
    """Return the part of the file that was read."""
    return Seen(*index.seen, index.size)


def contents(
    path: str, index: Index, wanted: Callable[[str], bool], since: int = 0, mark: bytes = b'"tool_result"'
) -> Iterator[tuple[Place, str]]:
    """Return (Place, content as JSON text) of the results of the main thread for which `wanted(id)` holds, in the order of the lines, from
    the byte `since` on. Only lines that hold `mark` are looked at. Refused for a line that is not understood."""
    for begin, line in entries.lines(path, index.size):
        if begin < since or mark not in line or b'"tool_result"' not in line:
            continue
        try:
            spans = content_spans(line)
        except NotUnderstood as error:
            raise Refused(f"the transcript is not understood, so nothing was changed: byte {begin:,}: {error}") from None
        for id, (start, end) in spans.items():
            if id in index.calls and wanted(id):
                content = line[start:end]
                yield Place(id, begin + start, begin + end, sha256(content).hexdigest()), content.decode("utf-8")


def placeholders(path: str, index: Index) -> Iterator[tuple[Place, str]]:
    """Return (Place, handle) of every placeholder of the main thread, compacted parts included."""
    for place, content in contents(path, index, lambda _: True, mark=HEAD.encode("ascii")):
        try:
            text = json.loads(content)
        except ValueError:
            continue
        handle = handle_in(text)
        if handle:
            place.tokens = estimate_tokens(text)
            yield place, handle
