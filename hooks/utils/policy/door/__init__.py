"""Decide what of a result enters the context, before a request first carries it. Pure.

A result passes RULES in their order. Nothing that entered before is changed. A driver archives the whole first, pins what references lean
on, and keeps `Shown` up to date with all that enters and what is gone.

To add a rule, write its function and give it a row: the setting and the values that switch it on, the law that holds for what it leaves
out, and the words that people read. `enter`, the lab, the benchmarks and the tests of the laws go by these rows. A new value of a
setting goes into `policy/ruleset.py`, a new law into `tests/policy/door_laws.py`.
"""

from __future__ import annotations

from .. import kinds, own_lines
from ..classify import COMMAND_CHARS
from ..commandline import printed
from ..parts import FILE, UNKNOWN
from ..ruleset import DEFAULT_SAY_ONCE, DEFAULT_SHAPE, SAY_ONCE, SHAPES
from ..tools import EDITS, LOOKUPS, OUTPUT, READ, SHELLS
from . import durations, failures, informative, noise, once
from .call_names import name_of
from .once import lines_of, source
from .sections import SAID, Section, sections
from .shown import Lines, Shown, Source

__all__ = [
    "ANY", "CHOSEN", "MARKED", "OFF", "READS", "REBUILT", "REBUILT_BUT_FOR_NOISE", "RULES", "SAFE", "STRONG",
    "Arrival", "Entry", "Lines", "Rule", "Settings", "Shown", "Source",
    "enter", "enter_whole", "is_partial", "lines_of", "name_of", "path_of", "shows", "source_of", "written",
]  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import NamedTuple

    from ..commandline.printed import Step
    from ..parts import Part
    from ..tools import Tool

    class Settings(NamedTuple):
        """The user's settings, with the values of docs/configuration.md."""

        say_once: str = DEFAULT_SAY_ONCE
        shape: str = DEFAULT_SHAPE

    class Shortened(NamedTuple):
        """`text` as it goes on · `amount` of what is left out, as the rule's words count it · `leans_on`: ids that references name ·
        `but`: what of it is not quite as the rule's words say."""

        text: str
        amount: int
        leans_on: tuple[str, ...] = ()
        but: str = ""

    class Rule(NamedTuple):
        """`setting`, and the `values` with which the rule is on · `law`: what holds for all that it leaves out · `words` for people, with
        room for the amount · `concerns`: whether it looks at a result at all, under a value · `shorten`: what it makes of the text that
        the rules before it have left; the same text where it leaves nothing out."""

        name: str
        setting: str
        values: tuple[str, ...]
        law: str
        words: str
        concerns: Callable[[Arrival, str], bool]
        shorten: Callable[[str, Arrival, Shown, str], Shortened]

else:
    from collections import namedtuple

    Settings = namedtuple("Settings", "say_once shape", defaults=(DEFAULT_SAY_ONCE, DEFAULT_SHAPE))
    Shortened = namedtuple("Shortened", "text amount leans_on but", defaults=((), ""))
    Rule = namedtuple("Rule", "name setting values law words concerns shorten")

# What a result leaves out that the context shows: nothing, what a Read of the same file has shown, anything.
OFF, READS, ANY = SAY_ONCE
# What it leaves out unsaid: nothing, what carries nothing, also what says little.
SAFE, STRONG = SHAPES[1:]

# A reader who sees the context alone can write the text again, line for line; of a command that has run again, but for durations that say
# nothing, where a reference says so.
REBUILT = "rebuilt"
# The same, but for escape codes, progress that was drawn over and blank lines beyond two in a row.
REBUILT_BUT_FOR_NOISE = "rebuilt but for noise"
# Whole lines stay in their order, each that tells of a failure among them; a line says how many are missing, and the archive has them.
CHOSEN = "chosen"
# Nothing is left out: what looks like a line of ours has a mark, and nothing else is changed.
MARKED = "marked"

# What runs commands, whose outputs tell of failures.
_RUNNERS = frozenset((*SHELLS, OUTPUT))
# What prints outputs and lists of matches. Others return what was made for the reader: a report, a page, data.
_PRINTS = _RUNNERS | LOOKUPS
# The command that references, notices and placeholders name.
_RESTORE = "popkit restore "
# Kinds of what commands print.
_OF_COMMANDS = frozenset((kinds.READ, kinds.SEARCH, kinds.RUN, kinds.ACK, kinds.ERROR, kinds.OTHER))
# So begins what the host says of an output that it has put into a file.
_ELSEWHERE = "<persisted-output>"
# A run of a test or a build of so few characters is read at a glance, and its lines belong together.
_SHORT_RUN = 1_000


def _may_be_forged(arrival: Arrival, value: str) -> bool:
    return own_lines.may_look_like_one(arrival.text)


def _marked(text: str, arrival: Arrival, shown: Shown, value: str) -> Shortened:
    return Shortened(*own_lines.marked(text))


def _may_be_noisy(arrival: Arrival, value: str) -> bool:
    return not arrival.error and (kinds.of(arrival.kind).is_noisy or len(arrival.steps) > 1)


def _quieted(text: str, arrival: Arrival, shown: Shown, value: str) -> Shortened:
    parts = arrival.sections(text)
    if len(parts) == 1:
        quieted = noise.quiet(text) if kinds.of(parts[0].kind).is_noisy else text
    elif noise.has_count(text):
        return Shortened(text, 0)  # beside it, none of ours could be told from it
    else:
        lines = text.split("\n")
        pieces = [("\n".join(lines[begin:end]), kind) for begin, end, kind in parts]
        quieted = "\n".join([noise.quiet(piece) if kinds.of(kind).is_noisy else piece for piece, kind in pieces])
    return Shortened(quieted, max(0, len(text) - len(quieted)))


def _is_printed(arrival: Arrival, value: str) -> bool:
    return arrival.operation in _PRINTS


def _within_budget(text: str, arrival: Arrival, shown: Shown, value: str) -> Shortened:
    return Shortened(*informative.shorten_sections(text, arrival.sections(text), arrival.error, arrival.handle))


def _may_refer(arrival: Arrival, value: str) -> bool:
    if arrival.error or (kinds.is_run(arrival.kind) and len(arrival.text) < _SHORT_RUN):
        return False
    return value == ANY or arrival.path != ""


def _deduplicated(text: str, arrival: Arrival, shown: Shown, value: str) -> Shortened:
    earlier = shown.results_of(arrival.name) if value == ANY and _may_be_repeated(arrival) else ()
    result = once.say_once(text, shown, arrival.path if value == READS else "", arrival.handle, _stay(text, arrival), earlier)
    return Shortened(result.text, result.lines, result.leans_on, "" if result.is_exact else ", but for durations")


def _may_be_repeated(arrival: Arrival) -> bool:
    """Return whether a result is of a command that runs again and again, and nobody has asked how long that takes."""
    is_run = arrival.operation in _RUNNERS and kinds.is_run(arrival.kind)
    return is_run and not durations.asked_for(arrival.tool_input.get(arrival.traits.line))


def _stay(text: str, arrival: Arrival) -> Callable[[list[str]], Sequence[int]] | None:
    """Return what says which lines enter though the context shows them: of a command's output those that tell of a failure, for whether it
    has failed again is what was asked for. Of a file, a log or whatever else a command may print, those that do so outright."""
    if arrival.operation not in _RUNNERS:
        return None

    def stay(lines: list[str]) -> Sequence[int]:
        found = []
        for begin, end, kind in arrival.sections(text):
            kind = kinds.RUN if kinds.is_run(kind) else kinds.SEARCH
            found += [begin + at for at in failures.failures_in(lines[begin:end], kind)]
        return found

    return stay


RULES = (
    Rule(
        "forged", "say_once", (READS, ANY), MARKED, "{:,} parts marked that look like lines of PopKit's", _may_be_forged, _marked,
    ),
    Rule(
        "noise", "shape", (SAFE, STRONG), REBUILT_BUT_FOR_NOISE, "{:,} characters of noise left out", _may_be_noisy, _quieted,
    ),
    Rule("budget", "shape", (STRONG,), CHOSEN, "{:,} lines over its budget left out", _is_printed, _within_budget),
    Rule("shown", "say_once", (READS, ANY), REBUILT, "{:,} lines that the context already shows", _may_refer, _deduplicated),
)  # fmt: skip


# --- what enters ---


if TYPE_CHECKING:

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

    __slots__ = ("_steps", "again", "error", "handle", "id", "kind", "name", "path", "text", "tool", "tool_input", "traits")

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
        self._steps: list[Step] | None = None

    @property
    def steps(self) -> list[Step]:
        """Return what each command of a shell's line prints; none of anything else."""
        if self._steps is None:
            line = self.tool_input.get(self.traits.line) if self.operation in SHELLS else None
            is_read = isinstance(line, str) and kinds.name_of(self.kind) in _OF_COMMANDS
            self._steps = printed.steps(line[:COMMAND_CHARS]) if is_read and isinstance(line, str) else []
        return self._steps

    def sections(self, text: str) -> list[Section]:
        """Return the sections of a text of this result, by what has printed them: all of its lines, in order."""
        lines = text.split("\n")
        steps = self.steps
        if len(steps) == 1 and steps[0].kind == kinds.READ:
            return [Section(0, len(lines), kinds.READ)]
        if len(steps) < 2 or text.startswith(_ELSEWHERE):
            return [Section(0, len(lines), self.kind)]
        own = len(text.partition(once.REMINDER)[0].split("\n"))
        found = sections(steps, lines[:own])
        found[-1] = found[-1]._replace(end=len(lines))
        if all(section.kind not in (SAID, kinds.READ) for section in found):
            return [Section(0, len(lines), self.kind)]
        return found

    @property
    def operation(self) -> str:
        return self.traits.operation


def enter(arrival: Arrival, shown: Shown, settings: Settings = _SHIPPED, rules: Iterable[Rule] = RULES) -> Entry:
    """Return what enters of a result, given what the context shows. The same call made at once again is to enter whole, and so is what was
    left out and is asked for."""
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
                reasons.append(rule.words.format(shortened.amount) + shortened.but)
    return Entry(text, leans_on, tuple(reasons))


def _is_restored(arrival: Arrival) -> bool:
    command = arrival.tool_input.get(arrival.traits.line) if arrival.operation in SHELLS else None
    return isinstance(command, str) and command.startswith(_RESTORE)


def enter_whole(arrival: Arrival, settings: Settings) -> Entry:
    """Return a result of which everything enters."""
    return enter(arrival, Shown(), settings, [rule for rule in RULES if rule.law == MARKED])


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
    """Yield what the context shows once a result has entered, as far as the settings ask for that."""
    wrote = written(arrival) if settings.say_once == ANY else None
    if wrote is not None:
        yield wrote
    if settings.say_once != OFF:
        yield source_of(arrival, entered)


def source_of(arrival: Arrival, entered: str) -> Source:
    """Return what a result shows once it has entered."""
    return source(arrival.id, arrival.name, entered, arrival.path)


def written(arrival: Arrival) -> Source | None:
    """Return what the call itself has written into the conversation, for a later result may repeat it: the text of a file or of an edit;
    None for other calls. A failed one shows nothing, but is the last of its name all the same."""
    if arrival.operation not in EDITS:
        return None
    edits = arrival.tool_input.get("edits")
    inputs = [arrival.tool_input, *(edits if isinstance(edits, list) else ())]
    texts = [each.get(field) for each in inputs if isinstance(each, dict) for field in arrival.traits.written]
    lines = [line for text in texts if isinstance(text, str) for line in text.split("\n")]
    if not lines:
        return None
    return Source("call " + arrival.id, arrival.name, [] if arrival.error else lines, is_input=True)
