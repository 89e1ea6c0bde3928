"""The rules by which a result enters shorter, in the order in which it passes them. Pure.

To add one, write its function and give it a row here: the setting and the values that switch it on, the law that holds for what it leaves
out, and the words in which people are told. `enter`, the lab, the benchmarks and the tests of the laws go by these rows. A new value of a
setting goes into `policy/ruleset.py`, a new law into `tests/policy/door_laws.py`.
"""

from __future__ import annotations

from .. import kinds
from ..ruleset import DEFAULT_SAY_ONCE, DEFAULT_SHAPE, SAY_ONCE, SHAPES
from ..tools import LOOKUPS, OUTPUT, SHELLS
from . import failures, informative, noise, once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NamedTuple

    from . import Arrival
    from .shown import Shown

    class Settings(NamedTuple):
        """What the user has set, as docs/configuration.md says it."""

        say_once: str = DEFAULT_SAY_ONCE
        shape: str = DEFAULT_SHAPE

    class Shortened(NamedTuple):
        """`text` as it goes on · `amount` of what is left out, as the rule's words count it · `leans_on`: ids that references name."""

        text: str
        amount: int
        leans_on: tuple[str, ...] = ()

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
    Shortened = namedtuple("Shortened", "text amount leans_on", defaults=((),))
    Rule = namedtuple("Rule", "name setting values law words concerns shorten")

# What a result leaves out that the context shows: nothing, what a Read of the same file has shown, anything.
OFF, READS, ANY = SAY_ONCE
# What it leaves out unsaid: nothing, what carries nothing, also what says little.
SAFE, STRONG = SHAPES[1:]

# A reader who sees the context alone can write the text again, line for line.
REBUILT = "rebuilt"
# The same, but for escape codes, progress that was drawn over and blank lines beyond two in a row.
REBUILT_BUT_FOR_NOISE = "rebuilt but for noise"
# Whole lines stay in their order, each that tells of a failure among them; how many are missing is said, and the archive has them.
CHOSEN = "chosen"

# What runs commands, whose outputs tell of failures.
_RUNNERS = frozenset((*SHELLS, OUTPUT))
# What prints outputs and lists of matches. Others return what was made for the reader: a report, a page, data.
_PRINTS = _RUNNERS | LOOKUPS
# A run of a test or a build of so few characters is read at a glance, and its lines belong together.
_SHORT_RUN = 1_000


def _may_be_noisy(arrival: Arrival, value: str) -> bool:
    return not arrival.error and kinds.of(arrival.kind).is_noisy


def _quieted(text: str, arrival: Arrival, shown: Shown, value: str) -> Shortened:
    quieted = noise.quiet(text)
    return Shortened(quieted, max(0, len(text) - len(quieted)))


def _is_printed(arrival: Arrival, value: str) -> bool:
    return arrival.operation in _PRINTS


def _within_budget(text: str, arrival: Arrival, shown: Shown, value: str) -> Shortened:
    return Shortened(*informative.shorten(text, arrival.kind, arrival.error, arrival.handle))


def _may_refer(arrival: Arrival, value: str) -> bool:
    if arrival.error or (kinds.is_run(arrival.kind) and len(arrival.text) < _SHORT_RUN):
        return False
    return value == ANY or arrival.is_read


def _said_once(text: str, arrival: Arrival, shown: Shown, value: str) -> Shortened:
    result = once.say_once(text, shown, arrival.path if value == READS else "", arrival.handle, _stay(arrival))
    return Shortened(result.text, result.lines, result.leans_on)


def _stay(arrival: Arrival) -> Callable[[list[str]], Sequence[int]] | None:
    """Return what says which lines enter though the context shows them: of a command's output those that tell of a failure, for whether it
    has failed again is what was asked for. Of a file, a log or whatever else a command may print, those that do so outright."""
    if arrival.operation not in _RUNNERS:
        return None
    kind = kinds.RUN if kinds.is_run(arrival.kind) else kinds.SEARCH
    return lambda lines: failures.told_in(lines, kind)


RULES = (
    Rule(
        "noise", "shape", (SAFE, STRONG), REBUILT_BUT_FOR_NOISE, "{:,} characters of noise left out", _may_be_noisy, _quieted,
    ),
    Rule("budget", "shape", (STRONG,), CHOSEN, "{:,} lines over its budget left out", _is_printed, _within_budget),
    Rule("shown", "say_once", (READS, ANY), REBUILT, "{:,} lines that the context already shows", _may_refer, _said_once),
)  # fmt: skip
