"""When the requests of a session were sent and answered, from its transcript alone. Reads only."""

from __future__ import annotations

import os

from ...io import files
from ...policy.tools import ASK, PLAN
from . import entries
from .stamps import seconds_of
from .tools import TOOLS
from .usage import TAIL_BYTES, usage_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...policy.conversation import Usage
    from .entries import Entry

# Tools that wait for the user.
ASKING = (TOOLS.first(ASK), TOOLS.first(PLAN))


class Moment:
    """A request: the message it produced, not sent before `sent_at` and `answered_at` (seconds), whether that `calls` tools that need no
    word of the user's, so that the next request follows by itself, and the `usage` that the host wrote down (None where it did not)."""

    __slots__ = ("answered_at", "calls", "message_id", "sent_at", "usage")

    def __init__(self, message_id: str, sent_at: float) -> None:
        self.message_id = message_id
        self.sent_at = sent_at
        self.answered_at = sent_at
        self.calls = False
        self.usage: Usage | None = None


def is_answer(entry: Entry) -> bool:
    """Whether the API produced an assistant's entry (and not the host, to tell of an error)."""
    message = entry.get("message")
    return isinstance(message, dict) and message.get("model") != "<synthetic>"


def moments(found: Iterable[Entry]) -> list[Moment]:
    """The requests of a main thread, in the order of its lines. A conversation that is taken up again may be written once more: that
    counts once."""
    made: list[Moment] = []
    known: set[str] = set()
    last_at, again = 0.0, False
    for entry in found:
        if not isinstance(entry.get("uuid"), str) or entries.is_side(entry):
            continue
        at = seconds_of(entry.get("timestamp"))
        if entry.get("type") == "assistant" and is_answer(entry):
            name = entry["message"].get("id") or entry["uuid"]
            if name not in known:
                known.add(name)
                again = False
                made.append(Moment(name, last_at or at))
            again = again or name != made[-1].message_id
            if not again:
                _answered(made[-1], entry, at)
        last_at = max(at, last_at)
    return made


def _answered(moment: Moment, entry: Entry, at: float) -> None:
    moment.answered_at = max(at, moment.answered_at)
    moment.usage = moment.usage or usage_of(entry)
    for block in entries.blocks_of(entry):
        if block.get("type") == "tool_use":
            moment.calls = block.get("name") not in ASKING


def of(path: str) -> list[Moment]:
    """The requests of a transcript, without those that a program asked for and not a person; OSError when it cannot be read."""
    return moments(entry for entry in entries.read(path, entries.size_of(path)) if not _is_scripted(entry))


def _is_scripted(entry: Entry) -> bool:
    began = entry.get("entrypoint")
    return isinstance(began, str) and began.startswith("sdk")


def newest(path: str, tail_bytes: int = TAIL_BYTES) -> Moment | None:
    """The newest request of a main thread of which the usage is known, from the end of its transcript; None where there is none, or where
    the conversation was compacted since."""
    try:
        with files.open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - tail_bytes))
            lines = file.read(tail_bytes).split(b"\n")[1 if size > tail_bytes else 0 :]
    except (OSError, ValueError):
        return None
    told = list(filter(None, map(entries.entry_of, lines)))
    compacted = max((at for at, entry in enumerate(told) if entries.is_compaction(entry)), default=-1)
    found = [moment for moment in moments(told[compacted + 1 :]) if moment.usage is not None]
    if not found:
        return None
    last = found[-1]
    # What only reads the cache does not say for how long it was written.
    if last.usage is not None and any(moment.usage is not None and moment.usage.cache_ttl_s == 3_600 for moment in found):
        last.usage.cache_ttl_s = 3_600
    return last
