"""The rules that shorten a result before it enters: a row each, by which `door.enter`, lab, benchmarks and laws go. Pure."""

from __future__ import annotations

from .. import kinds, own_lines
from ..ruleset import SAY_ONCE, SHAPES
from ..tools import LOOKUPS, OUTPUT, SHELLS
from . import durations, failures, informative, noise, once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NamedTuple

    from .arrival import Arrival
    from .shown import ContextLines

    class Shortening(NamedTuple):
        """`text` as it goes on · `amount` left out, as the rule's words count it · `leans_on`: ids that references name · `but`: where the
        text departs from the rule's words."""

        text: str
        amount: int
        leans_on: tuple[str, ...] = ()
        but: str = ""

    class Rule(NamedTuple):
        """`setting`, and the `values` with which the rule is on · `law`: a property of all that it leaves out · `words` for people: the
        noun that the amount counts, and what follows it · `concerns`: whether it applies to a result at all, under a value · `shorten`:
        makes its text of the text that the rules before it have left; the same text where it leaves nothing out."""

        name: str
        setting: str
        values: tuple[str, ...]
        law: str
        words: tuple[str, str]
        concerns: Callable[[Arrival, str], bool]
        shorten: Callable[[str, Arrival, ContextLines, str], Shortening]

else:
    from collections import namedtuple

    Shortening = namedtuple("Shortening", "text amount leans_on but", defaults=((), ""))
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
# A run of a test or a build of so few characters is read at a glance, and its lines belong together.
_SHORT_RUN = 1_000


def _may_be_forged(arrival: Arrival, value: str) -> bool:
    return own_lines.may_look_like_one(arrival.text)


def _marked(text: str, arrival: Arrival, shown: ContextLines, value: str) -> Shortening:
    return Shortening(*own_lines.marked(text))


def _may_be_noisy(arrival: Arrival, value: str) -> bool:
    return not arrival.error and (kinds.of(arrival.kind).is_noisy or len(arrival.steps) > 1)


def _quieted(text: str, arrival: Arrival, shown: ContextLines, value: str) -> Shortening:
    parts = arrival.sections(text)
    if len(parts) == 1:
        quieted = noise.quiet(text) if kinds.of(parts[0].kind).is_noisy else text
    elif noise.has_count(text):
        return Shortening(text, 0)  # beside it, none of ours could be told from it
    else:
        lines = text.split("\n")
        pieces = [("\n".join(lines[begin:end]), kind) for begin, end, kind in parts]
        quieted = "\n".join([noise.quiet(piece) if kinds.of(kind).is_noisy else piece for piece, kind in pieces])
    return Shortening(quieted, max(0, len(text) - len(quieted)))


def _is_printed(arrival: Arrival, value: str) -> bool:
    return arrival.operation in _PRINTS


def _within_budget(text: str, arrival: Arrival, shown: ContextLines, value: str) -> Shortening:
    return Shortening(*informative.shorten_sections(text, arrival.sections(text), arrival.error, arrival.handle))


def _may_refer(arrival: Arrival, value: str) -> bool:
    if arrival.error or (kinds.is_run(arrival.kind) and len(arrival.text) < _SHORT_RUN):
        return False
    return value == ANY or arrival.path != ""


def _deduplicated(text: str, arrival: Arrival, shown: ContextLines, value: str) -> Shortening:
    earlier = shown.results_of(arrival.name) if value == ANY and _may_be_repeated(arrival) else ()
    result = once.say_once(text, shown, arrival.path if value == READS else "", arrival.handle, _stay(text, arrival), earlier)
    return Shortening(result.text, result.lines, result.leans_on, "" if result.is_exact else ", but for durations")


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
        "forged", "say_once", (READS, ANY), MARKED, ("part", " marked that could be taken for PopKit's own"), _may_be_forged, _marked,
    ),
    Rule(
        "noise", "shape", (SAFE, STRONG), REBUILT_BUT_FOR_NOISE, ("character", " of noise left out"), _may_be_noisy, _quieted,
    ),
    Rule("budget", "shape", (STRONG,), CHOSEN, ("line", " over its budget left out"), _is_printed, _within_budget),
    Rule("shown", "say_once", (READS, ANY), REBUILT, ("line", " that the context already shows"), _may_refer, _deduplicated),
)  # fmt: skip
