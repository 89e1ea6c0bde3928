"""The variants of a call after a compaction, with the worth of each. Pure.

A variant says how much of the result stays (all of it, a placeholder with an outline, a placeholder alone) and how much of the input (all
of it, of an edit only the new text, a stub). The last variant keeps neither, but a line in a list that names the call. The worth of a
variant estimates how much of it will still be looked for.
"""

from __future__ import annotations

from math import sqrt

from .estimate import estimate_tokens
from .list_text import folded
from .masking import mask
from .messages import ShownResult, Use, result_tokens
from .outlines import most_tokens, verdict_line
from .placeholder import NO_HANDLE, beside, placeholder, why, with_outline
from .stubs import long_fields, replaced_fields, stub
from .tools import FILE, SHELLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from .context import Result
    from .conversation import Conversation

# How much of a result stays, and how much of an input.
WHOLE, OUTLINED, NOTICED = 2, 1, 0
WRITTEN, STUBBED = 1, 0
# Chosen over recorded compactions (`python benchmarks/compacting.py --transcripts FOLDER --tune`): how fast what is needed falls with the
# calls since; what the newest call on a file is worth more, and what a newer result has replaced less; a text twice as long holds less than
# twice as much that is looked for; an outline holds half of it, a placeholder or stub a tenth; a call's input more than a result, and
# nearly all that is looked for in an edit is in what it wrote.
_CALLS, _FALLS = 10, 0.75
_NEWEST_OF_FILE, _REPLACED, _INPUT, _SIZE = 2.0, 0.2, 1.5, 0.75
_OUTLINED, _NOTICED, _WRITTEN = 0.5, 0.1, 0.95
UNKNOWN_NEED = 0.1  # of a result that the engine does not know
_REPLACING = ("superseded", "same_content")
_LINE_TOKENS = estimate_tokens(folded([""], NO_HANDLE).text)  # of a line that lists calls, beside them
# What tells of a call that the engine does not know, or whose result has left before.
_LABEL_CHARS = 100
# A list names a path and a command as they were written, for they are written again most.
_LISTED_CHARS = 90
_SHORT, _FOLDERS = "…/", 2


def mask_ahead(use: Use) -> None:
    """Mask what a list says of a call: it takes long, and is remembered (masking)."""
    Pair(use, ShownResult(use.id, "")).line()


def file_of(use: Use) -> str:
    """Return the path of the file that a call is about; "" for none."""
    return _first(use, use.traits.asks.get(FILE, ()))


def _first(use: Use, fields: Sequence[str]) -> str:
    """Return the first of these fields of a call that holds a text; "" for none."""
    for field in fields:
        text = use.input.get(field)
        if isinstance(text, str):
            return text
    return ""


class Variant:
    """A variant of a pair: its `tokens` (estimated; `names` of them may be absent: an outline is shorter, a line names many calls), its
    `worth`, how much of the `result` stays (WHOLE, OUTLINED, NOTICED), and how much of the `input` (WHOLE, WRITTEN, STUBBED). `listed`:
    neither, but a line that names the call."""

    __slots__ = ("input", "listed", "names", "result", "tokens", "worth")

    def __init__(self, tokens: int, worth: float, result: int, input: int, listed: bool = False, *, names: int) -> None:
        self.tokens = tokens
        self.names = names
        self.worth = worth
        self.result = result
        self.input = input
        self.listed = listed


class Pair:
    """A call with its result: the `result` as the engine knows it (None where it does not) and how likely it is `need`ed soon, its `age` in
    calls since, whether it is the `newest` call on its `file`, whether the target leaves it whole (`keeps_all`) or at least its result
    (`keeps_result`), whether it is `dead` and leaves before the target is considered, and whether its placeholder `has_outline`. `ways`:
    from the most to the least, each step losing more worth for each token than the one before; `at`: which of them holds. `argument`: the
    path or the command that it was called with, "" for neither. `estimated`: tokens of its result, None to take them from its text.
    `lost`: its text does not show what it showed."""

    __slots__ = (
        "_all", "_line", "_outline", "_short_line", "_ways", "age", "argument", "at", "dead", "estimated", "file", "has_outline",
        "keeps_all", "keeps_result", "lost", "need", "newest", "result", "shown", "use",
    )  # fmt: skip

    def __init__(
        self, use: Use, shown: ShownResult, result: Result | None = None, need: float = UNKNOWN_NEED, age: int = 0, newest: bool = False,
        keeps_all: bool = False, keeps_result: bool = False, dead: bool = False, has_outline: bool = False,
    ) -> None:  # fmt: skip
        self.use = use
        self.shown = shown
        self.result = result
        self.need = need
        self.age = age
        self.newest = newest
        self.keeps_all = keeps_all
        self.keeps_result = keeps_result
        self.dead = dead
        self.has_outline = has_outline
        self.estimated = result.tokens if result else None
        self.file = file_of(use)
        self.argument = self.file or _first(use, (use.traits.line,) if use.traits.operation in SHELLS else ())
        self.lost = False
        self._line: str | None = None
        self._short_line: str | None = None
        self._outline: str | None = None  # once it is known: to find it takes longer than all else
        self.at = 0
        self._all = _all_ways(self)
        self._ways: list[Variant] = []  # until they are asked for: most results leave before, and then it has others

    @property
    def ways(self) -> list[Variant]:
        """Return the ways that it may take to make room: a call whose result must be known gives up nothing but its input."""
        if not self._ways:
            self._ways = _falling([way for way in self._all if way.result == WHOLE] if self.keeps_result else self._all)
        return self._ways

    def leave(self, lost: bool = False) -> None:
        """Let its result leave before any target is considered, while what it was called with stays: unless a placeholder is no
        shorter. What is `lost` leaves even then."""
        if lost:
            self.lost = lost
            self._all = _all_ways(self)
        ways = [way for way in self._all if way.result != WHOLE]
        if ways and not ways[0].listed:
            self._ways = _falling(ways)

    def make_whole(self, text: str) -> None:
        """Replace the text of its result with `text`, the result before the door shortened it."""
        self.shown = ShownResult(self.shown.id, text, self.shown.error)
        self.estimated = self._outline = None
        self._all = _all_ways(self)
        self._ways, self.at = [], 0

    def tokens_of(self, shown: ShownResult) -> int:
        """Return the estimated tokens of what stays of its result: of the whole what the engine has estimated."""
        return result_tokens(shown.text, self.estimated if shown.text is self.shown.text else None)

    @property
    def now(self) -> Variant:
        """Return the chosen way."""
        return (self._ways or self.ways)[self.at]

    def tokens_at(self, at: int) -> int:
        """Return the tokens that a way takes; of an outline that nobody has made yet none, so that no step seems to give less room than it
        gives."""
        way = self.ways[at]
        known = estimate_tokens(self._outline) if self._outline and way.result == OUTLINED else 0
        return way.tokens - way.names + min(known, way.names)

    @property
    def beside(self) -> Variant:
        """Return its way where it cannot be listed, because a call that was made with it stays."""
        now = self.now
        return self.ways[self.at - 1] if now.listed and self.at else now

    def fields_left(self, level: int) -> list[str]:
        """Return the fields of its input that placeholders replace at a level (WHOLE, WRITTEN, STUBBED). A call that failed has
        replaced nothing."""
        if level == WHOLE or (level == WRITTEN and self.shown.error):
            return []
        return replaced_fields(self.use) if level == WRITTEN else long_fields(self.use)

    @property
    def label(self) -> str:
        """Return the name that people read."""
        if self.result:
            return self.result.label
        return mask(f"{self.use.tool} {_first(self.use, self.use.traits.naming)}".strip())[:_LABEL_CHARS]

    @property
    def masked(self) -> str:
        """Return the path or the command that it was called with, secrets masked."""
        return mask(self.argument)

    def line(self, named: Container[str] = ()) -> str:
        """Return its line in a list; for a file whose whole path is `named` already, with the end of the path only."""
        if self.file and self.file in named:
            if self._short_line is None:
                end = "/".join(self.file.replace("\\", "/").split("/")[-_FOLDERS:])
                self._short_line = mask(f"{self.use.tool} {_SHORT}{end}")[:_LISTED_CHARS]
            return self._short_line
        if self._line is None:
            self._line = f"{self.use.tool} {self.masked}"[:_LISTED_CHARS] if self.argument else self.label
        return self._line

    def placeholder(self, handle: str, conversation: Conversation, level: int) -> str:
        """Return the placeholder of its result, which the engine knows, OUTLINED or NOTICED."""
        result: Result = self.result  # type: ignore[assignment]
        notice = placeholder(result.label, why(result, conversation.state.quiet_age(result)), handle)
        if level == OUTLINED:
            if self._outline is None:
                self._outline = beside(result, self.shown.text, conversation.rules)
            return with_outline(notice, self._outline)
        return with_outline(notice, verdict_line(result))


def _all_ways(pair: Pair) -> list[Variant]:
    """Return every way, the whole first. A newest verdict is never only listed: it stays, whatever else leaves."""
    use, recent = pair.use, _recent(pair)
    worth_of_whole = _worth_of_input(recent, use.tokens)
    inputs = [(use.tokens, worth_of_whole, WHOLE)]
    for share, level in ((_WRITTEN, WRITTEN), (_NOTICED, STUBBED)) if use.traits.on_disk else ():
        fields = pair.fields_left(level)
        if fields:
            inputs.append((Use(use.id, use.traits, stub(use, NO_HANDLE, fields, pair.shown.error)).tokens, share * worth_of_whole, level))
    ways = [
        Variant(tokens + of_input, worth + worth_of_input, level, level_of_input, names=names)
        for tokens, worth, level, names in _results(pair, recent)
        for of_input, worth_of_input, level_of_input in inputs
    ]
    if pair.result and verdict_line(pair.result):
        return ways
    line = _LINE_TOKENS + estimate_tokens(pair.line())
    return [*ways, Variant(line, 0.0, NOTICED, STUBBED, listed=True, names=_LINE_TOKENS)]


def _results(pair: Pair, recent: float) -> list[tuple[int, float, int, int]]:
    """Return (tokens, worth, how much stays, tokens of an outline) of the result, the whole first."""
    result = pair.result
    whole = result_tokens(pair.shown.text, pair.estimated)
    worth = _worth_of_result(pair, recent, whole)
    ways = [(whole, worth, WHOLE, 0)]
    if result is not None:
        notice = result_tokens(with_outline(placeholder(result.label, why(result), NO_HANDLE), verdict_line(result)))
        outlined = [(_OUTLINED, OUTLINED, most_tokens(whole))] if pair.has_outline else []
        for share, level, names in (*outlined, (_NOTICED, NOTICED, 0)):
            if notice + names < ways[-1][0] or pair.lost:
                ways.append((notice + names, share * worth, level, names))
    return ways


def _worth_of_result(pair: Pair, recent: float, tokens: int) -> float:
    replaced = pair.result is not None and pair.result.ended is not None and pair.result.ended[0] in _REPLACING
    return sqrt(pair.need) * recent * (_REPLACED if replaced else 1.0) * tokens**_SIZE


def _worth_of_input(recent: float, tokens: int) -> float:
    return sqrt(UNKNOWN_NEED) * _INPUT * recent * tokens**_SIZE


def _recent(pair: Pair) -> float:
    return (1 + pair.age / _CALLS) ** -_FALLS * (_NEWEST_OF_FILE if pair.newest else 1.0)


def _falling(ways: Sequence[Variant]) -> list[Variant]:
    """Return the ways that are worth most for their tokens: the upper hull of worth over tokens, the whole first."""
    hull = [ways[0]]
    for way in sorted(ways[1:], key=_by_size):
        if way.tokens >= hull[-1].tokens:
            continue
        while len(hull) > 1 and loss(hull[-2], way) <= loss(hull[-2], hull[-1]):
            hull.pop()
        hull.append(way)
    return hull


def _by_size(way: Variant) -> tuple[int, float]:
    return -way.tokens, -way.worth


def loss(before: Variant, after: Variant) -> float:
    """Worth that is lost for each token that leaves."""
    return (before.worth - after.worth) / (before.tokens - after.tokens)
