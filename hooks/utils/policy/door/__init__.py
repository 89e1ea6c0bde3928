"""What of a result enters the context, decided before a request first carries it. Pure.

Noise is left out (`noise.py`), of an output over its budget what says little (`informative.py`), then what the context already shows is
said as a reference to it (`once.py`). Nothing that entered before
is changed. A driver archives the whole first, pins what references lean on, and tells `Shown` of all that enters and of what is gone.
"""

from __future__ import annotations

from .. import kinds
from ..ruleset import SAY_ONCE, SHAPES
from . import failures, informative, noise, once
from .naming import name_of
from .once import lines_of
from .shown import Shown, Source

__all__ = [
    "ANY",
    "OFF",
    "READS",
    "SAFE",
    "SAY_ONCE",
    "SHAPES",
    "STRONG",
    "Arrival",
    "Entry",
    "Shown",
    "Source",
    "enter",
    "is_partial",
    "lines_of",
    "name_of",
    "source_of",
    "written",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NamedTuple

    class Entry(NamedTuple):
        """`text` as it enters · `leans_on`: ids of what its references name · `reasons`, in words for people; none: it enters whole."""

        text: str
        leans_on: tuple[str, ...]
        reasons: tuple[str, ...]

else:
    from collections import namedtuple

    Entry = namedtuple("Entry", "text leans_on reasons")

# What a result leaves out that the context shows: nothing, what a Read of the same file has shown, anything.
OFF, READS, ANY = SAY_ONCE
# What it leaves out unsaid: nothing, what carries nothing, also what says little.
SAFE, STRONG = SHAPES[1:]
# What runs commands, whose outputs tell of failures.
_SHELLS = ("Bash", "PowerShell", "BashOutput")
# What prints outputs and lists of matches. Others return what was made for the reader: a report, a page, data.
_PRINTS = (*_SHELLS, "Grep", "Glob", "LS")

# A run of a test or a build of so few characters is read at a glance, and its lines belong together.
_SHORT_RUN = 1_000


class Arrival:
    """A result about to enter: `id` of its tool use, `tool` and its `tool_input`, `kind` and `label` as classified, `name` for references,
    `text`, whether it is an `error`, `path` of the file that a Read has read, `again`: the call before was the same one and its result
    entered in part. `handle`: of the archived whole."""

    __slots__ = ("again", "error", "handle", "id", "kind", "name", "path", "text", "tool", "tool_input")

    def __init__(
        self,
        id: str,
        tool: str,
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
        self.tool = tool
        self.tool_input = tool_input
        self.kind = kind
        self.name = name
        self.text = text
        self.error = error
        self.path = path
        self.again = again
        self.handle = handle

    @property
    def is_read(self) -> bool:
        return self.tool == "Read"


def enter(arrival: Arrival, shown: Shown, say_once: str = ANY, shape: str = SAFE) -> Entry:
    """What enters of a result, given what the context shows; an error enters whole, but for what `strong` leaves out of a long one."""
    text, reasons = arrival.text, []
    leans_on: tuple[str, ...] = ()
    if shape != OFF and not arrival.error and not arrival.again and kinds.of(arrival.kind).is_noisy:
        quieted = noise.quiet(text)
        if quieted != text:
            reasons.append(f"{max(0, len(text) - len(quieted)):,} characters of noise left out")
            text = quieted
    told = _told(arrival, text, shape)
    if told.lines:
        reasons.append(f"{told.lines:,} lines over its budget left out")
        text = told.text
    if _may_refer(arrival, say_once):
        said = once.say_once(text, shown, arrival.path if say_once == READS else "", arrival.handle, _stay(arrival))
        if said.lines:
            reasons.append(f"{said.lines:,} lines that the context already shows")
            text, leans_on = said.text, said.leans_on
    return Entry(text, leans_on, tuple(reasons))


def is_partial(entry: Entry) -> bool:
    """Whether it lacks anything, so that the same call made at once again is to enter whole."""
    return bool(entry.reasons)


def _may_refer(arrival: Arrival, say_once: str) -> bool:
    """Whether lines of a result may enter as references."""
    if arrival.error or arrival.again or (kinds.is_run(arrival.kind) and len(arrival.text) < _SHORT_RUN):
        return False
    return say_once == ANY or (say_once == READS and arrival.is_read)


def _stay(arrival: Arrival) -> Callable[[list[str]], Sequence[int]] | None:
    """What says which lines enter though the context shows them: of a command's output those that tell of a failure, for whether it has
    failed again is what was asked for. Of a file, a log or whatever else a command may print, those that do so outright."""
    if arrival.tool not in _SHELLS:
        return None
    kind = kinds.RUN if kinds.is_run(arrival.kind) else kinds.SEARCH
    return lambda lines: failures.told_in(lines, kind)


def _told(arrival: Arrival, text: str, shape: str) -> informative.Told:
    """The informative part of what a shell or a search has printed, where the shape wants no more."""
    if shape != STRONG or arrival.again or arrival.tool not in _PRINTS:
        return informative.Told(text, 0)
    return informative.shorten(text, arrival.kind, arrival.error, arrival.handle)


def source_of(arrival: Arrival, entered: str) -> Source:
    """What a result shows once it has entered."""
    return once.source(arrival.id, arrival.name, entered, arrival.path if arrival.is_read else "")


def written(arrival: Arrival) -> Source | None:
    """What the call itself has written into the conversation and a later result may repeat: the text of a Write or an Edit. One that failed
    shows nothing, but is the last of its name all the same."""
    tool_input = arrival.tool_input
    edits = tool_input.get("edits")
    texts = [tool_input.get("content"), tool_input.get("new_string")]
    texts += [edit.get("new_string") for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else []
    lines = [line for text in texts if isinstance(text, str) for line in text.split("\n")]
    if arrival.tool not in ("Write", "Edit", "MultiEdit", "NotebookEdit") or not lines:
        return None
    return Source("call " + arrival.id, arrival.name, [] if arrival.error else lines, is_input=True)
