"""Decide what of a result enters the context, before a request first carries it. Pure.

`rules.py` lists what may leave something out. Nothing that entered before is changed. A driver archives the whole first, pins what
references lean on, and keeps `Shown` up to date with all that enters and what is gone.
"""

from __future__ import annotations

from ..tools import EDITS, READ
from .once import lines_of, name_of, source
from .rules import ANY, CHOSEN, OFF, READS, REBUILT, REBUILT_BUT_FOR_NOISE, RULES, SAFE, STRONG, Rule, Settings
from .shown import Lines, Shown, Source

__all__ = [
    "ANY", "CHOSEN", "OFF", "READS", "REBUILT", "REBUILT_BUT_FOR_NOISE", "RULES", "SAFE", "STRONG",
    "Arrival", "Entry", "Lines", "Rule", "Settings", "Shown", "Source",
    "enter", "is_partial", "lines_of", "name_of", "shows", "source_of", "written",
]  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import NamedTuple

    from ..tools import Tool

    class Entry(NamedTuple):
        """`text` as it enters · `leans_on`: ids of what its references name · `reasons`, in words for people; none: it enters whole."""

        text: str
        leans_on: tuple[str, ...]
        reasons: tuple[str, ...]

else:
    from collections import namedtuple

    Entry = namedtuple("Entry", "text leans_on reasons")

_SHIPPED = Settings()


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


def enter(arrival: Arrival, shown: Shown, settings: Settings = _SHIPPED, rules: Iterable[Rule] = RULES) -> Entry:
    """Return what enters of a result, given what the context shows. The same call made at once again is to enter whole."""
    text = arrival.text
    leans_on: tuple[str, ...] = ()
    reasons: list[str] = []
    for rule in () if arrival.again else rules:
        value = getattr(settings, rule.setting)
        if value in rule.values and rule.concerns(arrival, value):
            made = rule.shorten(text, arrival, shown, value)
            if made.text != text:
                text = made.text
                leans_on += made.leans_on
                reasons.append(rule.words.format(made.amount))
    return Entry(text, leans_on, tuple(reasons))


def is_partial(entry: Entry) -> bool:
    """Return whether it lacks anything, so that the same call made at once again is to enter whole."""
    return bool(entry.reasons)


def shows(arrival: Arrival, entered: str, settings: Settings) -> Iterator[Source]:
    """Yield what the context shows once a result has entered, as far as the settings ask for that."""
    wrote = written(arrival) if settings.say_once == ANY else None
    if wrote is not None:
        yield wrote
    if settings.say_once != OFF:
        yield source_of(arrival, entered)


def source_of(arrival: Arrival, entered: str) -> Source:
    """Return what a result shows once it has entered."""
    return source(arrival.id, arrival.name, entered, arrival.path if arrival.is_read else "")


def written(arrival: Arrival) -> Source | None:
    """Return what the call itself has written into the conversation, for a later result may repeat it: the text of a file or of an edit;
    None for other calls. A failed one shows nothing, but is the last of its name all the same."""
    if arrival.operation not in EDITS:
        return None
    edits = arrival.tool_input.get("edits")
    inputs = [arrival.tool_input, *(edits if isinstance(edits, list) else ())]
    texts = [given.get(field) for given in inputs if isinstance(given, dict) for field in arrival.traits.written]
    lines = [line for text in texts if isinstance(text, str) for line in text.split("\n")]
    if not lines:
        return None
    return Source("call " + arrival.id, arrival.name, [] if arrival.error else lines, is_input=True)
