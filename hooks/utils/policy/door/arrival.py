"""A result at the door, what of it enters, and what the context shows from then on. Pure."""

from __future__ import annotations

from ..tools import EDITS, READ
from . import once
from .rules import ANY, OFF
from .shown import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple

    from ..tools import Tool
    from .rules import Settings

    class Entry(NamedTuple):
        """`text` as it enters · `leans_on`: ids of what its references name · `reasons`, in words for people; none: it enters whole."""

        text: str
        leans_on: tuple[str, ...]
        reasons: tuple[str, ...]

else:
    from collections import namedtuple

    Entry = namedtuple("Entry", "text leans_on reasons")


class Arrival:
    """A result about to enter: `id` of its tool use, `tool`, what that does (`traits`), its `tool_input`, `kind` as classified, `name` for
    references, `text`, whether it is an `error`, `path` of the file that a read has shown, `again`: the call before was the same one and
    its result entered in part. `handle`: of the archived whole."""

    __slots__ = ("again", "error", "handle", "id", "kind", "name", "path", "text", "tool", "tool_input", "traits")

    def __init__(
        self,
        id: str,
        tool: Tool,
        tool_input: dict,
        kind: str,
        name: str,
        text: str,
        error: bool = False,
        path: str = "",
        again: bool = False,
        handle: str = "",
    ) -> None:
        self.id = id
        self.tool = tool.name
        self.traits = tool
        self.tool_input = tool_input
        self.kind = kind
        self.name = name
        self.text = text
        self.error = error
        self.path = path
        self.again = again
        self.handle = handle

    @property
    def operation(self) -> str:
        return self.traits.operation

    @property
    def is_read(self) -> bool:
        return self.operation == READ


def shows(arrival: Arrival, entered: str, settings: Settings) -> Iterator[Source]:
    """Yield what the context shows once a result has entered, as far as the settings ask for that."""
    wrote = written(arrival) if settings.say_once == ANY else None
    if wrote is not None:
        yield wrote
    if settings.say_once != OFF:
        yield source_of(arrival, entered)


def source_of(arrival: Arrival, entered: str) -> Source:
    """What a result shows once it has entered."""
    return once.source(arrival.id, arrival.name, entered, arrival.path if arrival.is_read else "")


def written(arrival: Arrival) -> Source | None:
    """What the call itself has written into the conversation and a later result may repeat: the text of a file or of an edit. One that
    failed shows nothing, but is the last of its name all the same."""
    if arrival.operation not in EDITS:
        return None
    edits = arrival.tool_input.get("edits")
    inputs = [arrival.tool_input, *(edits if isinstance(edits, list) else ())]
    texts = [given.get(field) for given in inputs if isinstance(given, dict) for field in arrival.traits.written]
    lines = [line for text in texts if isinstance(text, str) for line in text.split("\n")]
    if not lines:
        return None
    return Source("call " + arrival.id, arrival.name, [] if arrival.error else lines, is_input=True)
