"""Find in the lines of a transcript what a change of it is about: the places of results, and the thinking behind them. Reads only, and
keeps no content but that of the current line.

A model that binds its thinking to all that was said before it takes none that was thought over something else: it leaves with the change,
as one run to the end, and is archived like a result. A line that holds nothing else keeps its place in the chain with an empty content,
which the host merges into the rest of its message. A message of thinking alone (an interrupted one) is never sent by the host, which would
say "(no content)" for an empty one: it stays.
"""

from __future__ import annotations

import json  # noqa: TID253  a rewrite has parsed the transcript

from .. import archive
from ..hosts.claude_code import entries
from ..hosts.claude_code.spans import NotUnderstood, content_span, content_spans
from ..io.system import sha256
from ..policy.estimate import estimate_tokens
from ..policy.messages import thinking_tokens
from ..policy.placeholder import HEAD, handle_in
from ..state.archived import THINKING
from .access import Refused, Running
from .rewrite import Changed, Edit, Seen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import Any

    from ..hosts.claude_code.transcript import Index


class Place:
    """The place of a result's content in the file, the hash of its bytes, and of a placeholder the estimated `tokens`."""

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
    the byte `since` on. Only lines that hold `mark` are read. Refused for a line that is not understood."""
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


# --- thinking behind a change ------------------------------------------------------------------------------------------------------------

_KINDS = frozenset(("thinking", "redacted_thinking"))
_RUNNING = (
    "Claude is in the middle of a turn, and this model needs its thinking until the turn ends, so nothing was changed. "
    "Try again once it has answered"
)


class Thought(Place):
    """The thinking in a line that begins at the byte `begin`: the Place of the message's `content` (its JSON text), the estimated
    `tokens` of the thinking, and the `timestamp` of the line. `id` is the line's uuid."""

    __slots__ = ("begin", "content", "timestamp")

    def __init__(self, id: str, start: int, end: int, hash: str, begin: int, content: str, timestamp: str) -> None:
        super().__init__(id, start, end, hash)
        self.begin, self.content, self.timestamp = begin, content, timestamp

    def record(self) -> archive.NewRecord:
        """Return what is archived of it, under the uuid of its line."""
        return archive.NewRecord(self.id, THINKING, "thinking", self.content, self.timestamp, tokens=self.tokens)

    def leaving(self) -> Edit:
        """Return the edit that takes it out."""
        return self.edit(without_thinking(self.content))


class Behind:
    """The thinking behind a change: the Thoughts in the order of the lines, their `tokens`, and whether the turn is still `running`."""

    __slots__ = ("running", "thoughts")

    def __init__(self, thoughts: list[Thought], running: bool):
        self.thoughts = thoughts
        self.running = running

    @property
    def tokens(self) -> int:
        return sum(thought.tokens for thought in self.thoughts)

    def check_ended(self) -> Behind:
        """Raise Running while a turn runs: the thinking of it would be bound to what is changed."""
        if self.running:
            raise Running(_RUNNING)
        return self


def thinking_behind(path: str, index: Index, first_change: int) -> Behind:
    """Return the thinking of the active branch in the lines behind the one that holds the byte `first_change`, which is in a tool
    result."""
    thoughts, on_branch, with_text = [], set(), set()
    running = True
    for begin, line in entries.lines(path, index.size):
        entry = _entry(line) if begin > first_change else {}
        uuid = entry.get("uuid")
        if uuid in index.chain:
            running = _is_running(entry, running)
        if entry.get("type") != "assistant":
            continue
        blocks = entries.blocks_of(entry)
        message = str(entry["message"].get("id") or uuid) if blocks else uuid
        thinking = [block for block in blocks if _kind(block) in _KINDS]
        if uuid in index.chain:
            on_branch.add(message)
        if len(thinking) < len(blocks):
            with_text.add(message)
        if thinking:
            thoughts.append((message, _thought(begin, line, entry, thinking)))
    return Behind([thought for message, thought in thoughts if message in on_branch & with_text], running)


def check_no_words(appended: bytes) -> None:
    """Raise Changed where a turn has begun in these lines: its thinking is bound to what is about to be changed."""
    appended_entries = map(_entry, appended.splitlines())
    if any(entry.get("type") == "assistant" or _is_running(entry, False) for entry in appended_entries):
        raise Changed(_RUNNING)


def messages_of(path: str, index: Index, uuids: Collection[str]) -> Iterator[tuple[Thought, str]]:
    """Return (Place, content) of the message in each of the assistant's lines with these uuids."""
    for begin, line in entries.lines(path, index.size):
        entry = _entry(line) if b'"assistant"' in line else {}
        if entry.get("uuid") in uuids:
            thought = _thought(begin, line, entry, [])
            yield thought, thought.content


def without_thinking(content: str) -> str:
    """Return the content of a message, as JSON text, without its thinking; every other block unchanged."""
    kept, at = [], _next(content, 1)
    while content[at] != "]":
        block, end = json.JSONDecoder().raw_decode(content, at)
        if not isinstance(block, dict) or _kind(block) not in _KINDS:
            kept.append(content[at:end])
        at = _next(content, end)
    return "[" + ",".join(kept) + "]"


def _kind(block: dict[str, Any]) -> str:
    return str(block.get("type"))


def _next(content: str, at: int) -> int:
    while content[at] in " \t\n\r,":
        at += 1
    return at


def _entry(line: bytes) -> dict[str, Any]:
    """Return the entry of a line; empty for one that is none."""
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) and isinstance(entry.get("uuid"), str) else {}


def _is_running(entry: dict[str, Any], before: bool) -> bool:
    """Return whether the turn is under way after this entry of the branch: something was said to Claude, or a tool called, and the answer
    has not come. An interrupted turn goes on with what is said next; the host's own words about a failed request are no answer."""
    blocks = entries.blocks_of(entry)
    kinds = set(map(_kind, blocks))
    if entry.get("type") == "assistant" and not entry.get("isApiErrorMessage"):
        return "text" not in kinds or "tool_use" in kinds or entry["message"].get("stop_reason") == "tool_use"
    return before or entries.is_prompt(entry) or (entry.get("type") == "user" and "tool_result" in kinds)


def _thought(begin: int, line: bytes, entry: dict[str, Any], thinking: list[dict[str, Any]]) -> Thought:
    try:
        start, end = content_span(line) or (0, 0)
    except NotUnderstood as error:
        raise Refused(f"the transcript is not understood, so nothing was changed: byte {begin:,}: {error}") from None
    content, said_at = line[start:end], str(entry.get("timestamp") or "")
    digest = sha256(content).hexdigest()
    thought = Thought(entry["uuid"], begin + start, begin + end, digest, begin, content.decode("utf-8"), said_at)
    thought.tokens = sum(map(thinking_tokens, thinking))
    return thought
