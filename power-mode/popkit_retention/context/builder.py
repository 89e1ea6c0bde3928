"""build_context: what of a conversation, of memory and of files a request carries. It touches no disk itself.

What the build before sent stands in front, unchanged, as long as the budget allows: the prompt cache hangs on it, and on current models
the thinking, which is bound to all before it. What is new goes behind it. A cut changes the past; when one is made, and what becomes of
the thinking behind it, is decided here, what leaves in history.py.
"""

from __future__ import annotations

from ..usage.remaining import remaining_of
from . import continuity, history, naming, remembering, showing
from .assembling import Assembled, untouched
from .dialogue import Addition, Changes, read
from .metering import Meter
from .models import ContextBuildOptions, ContextResult
from .pruning import FULL, get_pruning_strategy, with_forced
from .shipped import binds_thinking, window_of
from .sources import Sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .continuity import Previous
    from .dialogue import Dialogue
    from .models import PruningStrategy

# A cut that nothing forces is made where it takes at least this share of the history: so cuts are deep, and seldom.
WORTH_A_CUT = 0.3
# Where nothing was handed on, nobody knows what was sent before; still, for less than this nothing is changed.
LEAST_CUT = 0.05
# So many tokens are left for what stands in the place of exchanges that a limit lets go.
REMAINS_TOKENS = 600
NO_SOURCES = Sources()


def build_context(options: ContextBuildOptions, sources: Sources = NO_SOURCES) -> ContextResult:
    """The context of a request. Messages that are not understood come back unchanged, with a note. It raises nothing of its own."""
    strategy = with_forced(get_pruning_strategy(remaining_of(options.budget_used_percent)), options.force_include_tiers)
    meter = Meter(options.model, options.provider)
    dialogue = read(options.messages, options.provider, meter, options.digests)
    if dialogue is None:
        return untouched(options, strategy, meter)
    build = _Build(options, strategy, dialogue)
    build.cut()
    build.enter(sources)
    build.leave_thinking()
    return build.result()


class _Build:
    """One build. `before`: how what stands differs from the caller's messages by earlier builds, `changes`: how it will."""

    def __init__(self, options: ContextBuildOptions, strategy: PruningStrategy, dialogue: Dialogue) -> None:
        self.options = options
        self.strategy = strategy
        self.dialogue = dialogue
        self.previous: Previous = continuity.read(options.previous, options.model)
        dialogue.reckon(self.previous.tokens)
        dialogue.meter.exact = dialogue.meter.exact and self.previous.exact  # counts of earlier builds are taken over
        self.before, self.same = continuity.standing(self.previous, dialogue)
        self.changes = self.before.copy()
        self.fixed = dialogue.meter.parts(options.system, options.tools)
        self.bound = binds_thinking(options.model)
        self.most = window_of(options.model) if options.max_tokens is None else options.max_tokens
        self.level = strategy.tier4_messages  # that the history is cut for
        self.notes: list[str] = []

    @property
    def changed_from(self) -> int | None:
        return continuity.first_difference(self.previous, self.same, self.before, self.changes)

    def size(self, changes: Changes) -> int:
        return self.fixed + self.dialogue.size(range(len(self.dialogue.said)), changes)

    def cut(self) -> None:
        """Lets parts of the history go where the strategy has become tighter, the request is too large, or a cut is worth it."""
        over = self.most is not None and self.size(self.changes) > self.most
        tighter = self.strategy.tier4_messages < self.previous.level
        forced = over or tighter
        if not self.dialogue.history or not (forced or self.dialogue.asks or self.previous is continuity.NOTHING):
            return
        if self.bound and self.dialogue.thinks_on:
            if forced:
                self.notes.append("Nothing more was left out: the turn under way needs its thinking, which is bound to all before it.")
            uncut = FULL.tier4_messages if self.previous is continuity.NOTHING else self.previous.level
            self.level = max(self.level, uncut)
            return
        made = self._of_one_piece(self.before.copy(), tighter)
        made = history.reduced(self.dialogue, made, self.strategy, self._room(), self.options.project)
        if self.dialogue.is_stuck(made):
            return
        numbers = history.numbers_of(self.dialogue)
        stood, stays = self.dialogue.size(numbers, self.changes), self.dialogue.size(numbers, made)
        least = LEAST_CUT if self.previous is continuity.NOTHING else WORTH_A_CUT
        if (forced and stays < stood) or stood - stays >= least * stood > 0:
            self.changes = self._of_one_piece(made, False)
        if self.most is not None and self.size(self.changes) > self.most:
            self._forget_remains()

    def _forget_remains(self) -> None:
        """A limit has become so tight that even what stands in the current request for exchanges that have left is too much."""
        for number, standing in self.changes.additions.items():
            if number >= self.dialogue.current.start:
                self.changes.additions[number] = [each for each in standing if each.kind != naming.LEFT]

    def _room(self) -> int | None:
        """Tokens that there are for the history under the caller's limit."""
        if self.most is None:
            return None
        numbers = set(history.numbers_of(self.dialogue))
        others = [number for number in range(len(self.dialogue.said)) if number not in numbers]
        room = self.most - self.fixed - self.dialogue.size(others, self.changes)
        # What has to leave is told of, at least in a few lines.
        return room - min(REMAINS_TOKENS, self.most // 10) if self.size(self.changes) > self.most else room

    def _of_one_piece(self, made: Changes, all_of_them: bool) -> Changes:
        """What is sent anew, behind the first change, has no old memories and files: what of them still counts enters again with the newest
        request. Under a tighter strategy that goes for all of the history."""
        current, numbers = self.dialogue.current.start, range(len(self.dialogue.said))
        first = 0 if all_of_them else next((number for number in numbers if made.of(number) != self.before.of(number)), len(numbers))
        made.additions = {number: each for number, each in made.additions.items() if number < first or number >= current}
        return made

    def enter(self, sources: Sources) -> None:
        """Memories, files and what remains of exchanges that have left enter with a new request, behind everything that was sent before."""
        number = self.dialogue.newest
        if not self.dialogue.asks or number < self.same:
            return
        standing = [addition for each in self.changes.additions.values() for addition in each]
        found = self._remains(standing)
        request = "\n".join(self.dialogue.said[number].texts)
        found += remembering.entering(sources.memory, request, self.strategy, standing, self._left(found), self.dialogue.meter)
        if sources.files is not None:
            found += showing.entering(sources.files, self.dialogue, self.changes, self.strategy, standing, self._left(found))
        if found:
            self.changes.additions[number] = found

    def _remains(self, standing: list[Addition]) -> list[Addition]:
        """What stands for the exchanges that have left, as far as that is not said already and there is room for it."""
        told = {number for addition in standing if addition.kind == naming.LEFT for number in continuity.numbers_in(addition.key)}
        numbers = self.changes.left - told
        remains = naming.remains_of(self.dialogue, self.changes, numbers, self._left([])) if numbers else ""
        return [Addition(naming.LEFT, continuity.key_of(numbers), remains)] if remains else []

    def _left(self, found: list[Addition]) -> float:
        """Tokens that there are beside these additions."""
        if self.most is None:
            return float("inf")
        return self.most - self.size(self.changes) - self.dialogue.added(found)

    def leave_thinking(self) -> None:
        """What was thought behind the first change leaves as one run to the end, where the model binds it to what it was thought over.
        Where nothing was handed on, nobody knows what that was, so all of it leaves."""
        last = self.dialogue.newest
        first = next((number for number in range(last) if self.changes.of(number) != self.before.of(number)), None)
        if self.previous is continuity.NOTHING and not self.dialogue.thinks_on and not self.dialogue.is_stuck(self.changes):
            first = 0
        if self.bound and first is not None:
            self.changes.unthought |= {number for number in range(first, last) if self.dialogue.said[number].thoughts}

    def result(self) -> ContextResult:
        changed = self.changed_from
        if changed is not None:
            changed -= len([number for number in range(changed) if self.dialogue.is_out(number, self.changes)])
        out = len(self._thoughts(self.changes)) - len(self._thoughts(self.before))
        return Assembled(self.options, self.strategy, self.dialogue, self.changes, self.fixed, self.level).result(changed, out, self.notes)

    def _thoughts(self, changes: Changes) -> list[int]:
        """The number of its message for each block of thinking that is out."""
        out = changes.unthought | changes.left
        return [number for number in out for _ in range(self.dialogue.said[number].thoughts)]
