"""Decide how much of a result enters the context, before a request first carries it. Pure.

A result passes RULES in their order. Nothing that entered before is changed. A driver archives the whole first, pins what references lean
on, and keeps `ContextLines` up to date with all that enters and what is gone.
"""

from __future__ import annotations

from ... import units
from ..parts import FILE, UNKNOWN
from ..ruleset import DEFAULT_SAY_ONCE, DEFAULT_SHAPE
from ..tools import EDITS, READ, SHELLS, edits_of
from .arrival import Arrival
from .call_names import name_of
from .once import lines_of, source
from .rules import ANY, MARKED, OFF, READS, RULES, SAFE, STRONG, Rule
from .shown import ContextLines, Lines, Source

__all__ = [
    "ANY", "OFF", "READS", "RULES", "SAFE", "STRONG",
    "Arrival", "ContextLines", "Entry", "Lines", "Rule", "Settings", "Source",
    "enter", "enter_whole", "is_partial", "lines_of", "name_of", "path_of", "shows", "source_of", "written",
]  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import NamedTuple

    from ..parts import Part
    from ..tools import Tool

    class Settings(NamedTuple):
        """The user's settings, with the values of docs/configuration.md."""

        say_once: str = DEFAULT_SAY_ONCE
        shape: str = DEFAULT_SHAPE

    class Entry(NamedTuple):
        """`text` as it enters · `leans_on`: ids of what its references name · `reasons`, in words for people; none: it enters whole."""

        text: str
        leans_on: tuple[str, ...]
        reasons: tuple[str, ...]

else:
    from collections import namedtuple

    Settings = namedtuple("Settings", "say_once shape", defaults=(DEFAULT_SAY_ONCE, DEFAULT_SHAPE))
    Entry = namedtuple("Entry", "text leans_on reasons")

_SHIPPED = Settings()
# The command that references, notices and placeholders name.
_RESTORE = "popkit restore "


def enter(arrival: Arrival, shown: ContextLines, settings: Settings = _SHIPPED, rules: Iterable[Rule] = RULES) -> Entry:
    """Return the form in which a result enters, given the lines that the context shows. An immediate repeat of a call enters whole, and so
    does omitted content that is asked for."""
    if arrival.again or _is_restored(arrival):
        rules = [rule for rule in rules if rule.law == MARKED]
    text = arrival.text
    leans_on: tuple[str, ...] = ()
    reasons: list[str] = []
    for rule in rules:
        value = getattr(settings, rule.setting)
        if value in rule.values and rule.concerns(arrival, value):
            shortened = rule.shorten(text, arrival, shown, value)
            if shortened.text != text:
                text = shortened.text
                leans_on += shortened.leans_on
                noun, ending = rule.words
                reasons.append(units.counted(shortened.amount, noun) + ending + shortened.but)
    return Entry(text, leans_on, tuple(reasons))


def _is_restored(arrival: Arrival) -> bool:
    command = arrival.tool_input.get(arrival.traits.line) if arrival.operation in SHELLS else None
    return isinstance(command, str) and command.startswith(_RESTORE)


def enter_whole(arrival: Arrival, settings: Settings) -> Entry:
    """Return a result of which everything enters."""
    return enter(arrival, ContextLines(), settings, [rule for rule in RULES if rule.law == MARKED])


def is_partial(entry: Entry) -> bool:
    """Return whether it lacks anything, so that the same call made at once again is to enter whole."""
    return bool(entry.reasons)


def path_of(tool: Tool, subjects: Sequence[str], parts: Iterable[Part]) -> str:
    """Return the file whose lines a result shows; "" for a result that shows anything else."""
    if tool.operation == READ:
        return subjects[0] if subjects else ""
    files = {part[0] for part in parts} if tool.operation in SHELLS else set()
    file = files.pop() if len(files) == 1 else ""
    return file[len(FILE) :] if file.startswith(FILE) and not file.startswith(FILE + UNKNOWN) else ""


def shows(arrival: Arrival, entered: str, settings: Settings) -> Iterator[Source]:
    """Yield the lines that the context shows once a result has entered, as far as the settings ask for them."""
    wrote = written(arrival) if settings.say_once == ANY else None
    if wrote is not None:
        yield wrote
    if settings.say_once != OFF:
        yield source_of(arrival, entered)


def source_of(arrival: Arrival, entered: str) -> Source:
    """Return the source of a result that has entered."""
    return source(arrival.id, arrival.name, entered, arrival.path)


def written(arrival: Arrival) -> Source | None:
    """Return what the call itself has written into the conversation, for a later result may repeat it: the text of a file or of an edit;
    None for other calls. A failed one shows nothing, but is the last of its name all the same."""
    if arrival.operation not in EDITS:
        return None
    inputs = edits_of(arrival.traits, arrival.tool_input)
    texts = [edit.get(field) for edit in inputs for field in arrival.traits.written]
    lines = [line for text in texts if isinstance(text, str) for line in text.split("\n")]
    if not lines:
        return None
    return Source("call " + arrival.id, arrival.name, [] if arrival.error else lines, is_input=True)
