"""Build a context: the parts of a conversation, of memory and of files that a request carries. It touches no disk itself.

A request begins with everything that the build before sent, unchanged, as long as the budget allows: the prompt cache depends on it, and on
current models the thinking, which is bound to everything before it. New parts go behind it. A cut changes the past; when one is made, and
what becomes of the thinking behind it, is decided here, which parts leave in history_cuts.py.
"""

from __future__ import annotations

from ..usage.budget_share import remaining_of
from . import continuity, history_cuts
from .additions import files_for, memories_for
from .assembling import Assembly, untouched
from .build_types import (
    FULL,
    ContextBuildOptions,
    ContextResult,
    PruningStrategy,
    get_pruning_strategy,
    with_forced,
)
from .continuity import NOTHING
from .dialogue import Addition, Changes, Dialogue, read
from .exchange_remains import LEFT, remains_of, remains_size
from .judging import binds_thinking, window_of
from .meter import Meter
from .sources import Sources

# An unforced cut is made only if it removes at least this share of the history, so cuts are deep and rare. Additions, and the text that
# replaces exchanges, remove nothing: they are sent again behind the cut.
WORTH_A_CUT = 0.25
# Without a state from an earlier build, nobody knows what was sent before; still, nothing is changed for less than this.
LEAST_CUT = 0.05
# Tokens reserved for the text that replaces exchanges which leave because of a limit.
REMAINS_TOKENS = 600
NO_SOURCES = Sources()


def build_context(options: ContextBuildOptions, sources: Sources = NO_SOURCES) -> ContextResult:
    """Return the context of a request. Messages that are not valid for the provider come back unchanged, with a note. It raises no errors
    of its own."""
    strategy = with_forced(get_pruning_strategy(remaining_of(options.budget_used_percent)), options.force_include_tiers)
    meter = Meter(options.model, options.provider)
    dialogue = read(options.messages, options.provider, meter, options.digests)
    if dialogue is None:
        return untouched(options, strategy, meter)
    build = _Build(options, strategy, dialogue)
    build.cut()
    build.add(sources)
    build.drop_thinking()
    return build.result()


class _Build:
    """A build. `before`: the changes of earlier builds that still apply, `changes`: those of this one."""

    def __init__(self, options: ContextBuildOptions, strategy: PruningStrategy, dialogue: Dialogue) -> None:
        self.options = options
        self.strategy = strategy
        self.dialogue = dialogue
        self.previous = continuity.read(options.previous, options.model)
        dialogue.count(self.previous.tokens)
        dialogue.meter.exact = dialogue.meter.exact and self.previous.exact  # with the counts of earlier builds
        self.before, self.same = continuity.carried(self.previous, dialogue)
        self.changes = self.before.copy()
        self.fixed = dialogue.meter.parts(options.system, options.tools)
        self.bound = binds_thinking(options.model)
        self.most = window_of(options.model) if options.max_tokens is None else options.max_tokens
        self.level = strategy.tier4_messages  # the strategy that the history is cut for
        self.notes: list[str] = []

    @property
    def changed_from(self) -> int | None:
        return continuity.first_difference(self.previous, self.same, self.before, self.changes)

    def size(self, changes: Changes) -> int:
        return self.fixed + self.dialogue.size(range(len(self.dialogue.parsed)), changes)

    def cut(self) -> None:
        """Cut the history where the strategy has become tighter, the request is too large, or a cut is worth it."""
        over = self.most is not None and self.size(self.changes) > self.most
        tighter = self.strategy.tier4_messages < self.previous.level
        forced = over or tighter
        if not self.dialogue.history or not (forced or self.dialogue.asks or self.previous is NOTHING):
            return
        if self.bound and self.dialogue.thinks_on:
            if forced:
                self.notes.append("Nothing more was left out: the turn under way needs its thinking, which is bound to all before it.")
            uncut = FULL.tier4_messages if self.previous is NOTHING else self.previous.level
            self.level = max(self.level, uncut)
            return
        changes = self._of_one_piece(self.before.copy(), tighter)
        changes = history_cuts.reduced(self.dialogue, changes, self.strategy, self._room(), self.options.project)
        if self.dialogue.is_stuck(changes):
            return
        numbers = history_cuts.numbers_of(self.dialogue)
        size_before, size = self.dialogue.size(numbers, self.changes), self.dialogue.size(numbers, changes)
        remains = remains_size(history_cuts.newly_left(self.dialogue, self.before, changes), self.dialogue)
        gain = self.dialogue.own_size(numbers, self.changes) - self.dialogue.own_size(numbers, changes) - remains
        least = LEAST_CUT if self.previous is NOTHING else WORTH_A_CUT
        if (forced and size < size_before) or gain >= least * size_before > 0:
            self.changes = self._of_one_piece(changes, False)
        if self.most is not None and self.size(self.changes) > self.most:
            self._drop_remains()

    def _drop_remains(self) -> None:
        """Drop the remains of exchanges in the current request, for a limit that even they exceed."""
        for number, additions in self.changes.additions.items():
            if number >= self.dialogue.current.start:
                self.changes.additions[number] = [addition for addition in additions if addition.kind != LEFT]

    def _room(self) -> int | None:
        """Return the tokens available for the history under the limit."""
        if self.most is None:
            return None
        numbers = set(history_cuts.numbers_of(self.dialogue))
        others = [number for number in range(len(self.dialogue.parsed)) if number not in numbers]
        room = self.most - self.fixed - self.dialogue.size(others, self.changes)
        # At least a few lines remain of the exchanges that have to leave.
        return room - min(REMAINS_TOKENS, self.most // 10) if self.size(self.changes) > self.most else room

    def _of_one_piece(self, changes: Changes, all_of_them: bool) -> Changes:
        """Remove the additions of messages that are sent again, behind the first change: memories and files that still matter enter again
        with the newest request. Under a tighter strategy this applies to the whole history."""
        current, numbers = self.dialogue.current.start, range(len(self.dialogue.parsed))
        first = 0 if all_of_them else next((number for number in numbers if changes.of(number) != self.before.of(number)), len(numbers))
        changes.additions = {number: added for number, added in changes.additions.items() if number < first or number >= current}
        return changes

    def add(self, sources: Sources) -> None:
        """Add memories, files and remains of exchanges that have left to a new request, behind everything that was sent before."""
        number = self.dialogue.newest
        if not self.dialogue.asks or number < self.same:
            return
        present = [addition for added in self.changes.additions.values() for addition in added]
        added = self._remains(present)
        request = "\n".join(self.dialogue.parsed[number].texts)
        added += memories_for(sources.memory, request, self.strategy, present, self._tokens_left(added), self.dialogue.meter)
        if sources.files is not None:
            added += files_for(sources.files, self.dialogue, self.changes, self.strategy, present, self._tokens_left(added))
        if added:
            self.changes.additions[number] = added

    def _remains(self, present: list[Addition]) -> list[Addition]:
        """Return the text in the place of exchanges that have left, unless it is present already or there is no room for it."""
        covered = {number for addition in present if addition.kind == LEFT for number in continuity.numbers_in(addition.key)}
        numbers = self.changes.left - covered
        remains = remains_of(self.dialogue, self.changes, numbers, self._tokens_left([])) if numbers else ""
        return [Addition(LEFT, continuity.key_of(numbers), remains)] if remains else []

    def _tokens_left(self, added: list[Addition]) -> float:
        """Return the tokens available beside these additions."""
        if self.most is None:
            return float("inf")
        return self.most - self.size(self.changes) - self.dialogue.added(added)

    def drop_thinking(self) -> None:
        """Remove the thinking behind the first change, as one run to the end, where the model binds it to everything before it. Without a
        state of an earlier build that is unknown, so all thinking leaves."""
        last = self.dialogue.newest
        first = next((number for number in range(last) if self.changes.of(number) != self.before.of(number)), None)
        if self.previous is NOTHING and not self.dialogue.thinks_on and not self.dialogue.is_stuck(self.changes):
            first = 0
        if self.bound and first is not None:
            self.changes.without_thinking |= {number for number in range(first, last) if self.dialogue.parsed[number].thoughts}

    def result(self) -> ContextResult:
        changed = self.changed_from
        if changed is not None:
            changed = self.dialogue.sent_before(changed, self.changes)
        out = len(self._thoughts(self.changes)) - len(self._thoughts(self.before))
        if self.most is not None and self.size(self.changes) > self.most and not self.notes:
            self.notes.append(f"The request is larger than its limit of {self.most:,} tokens: nothing more can leave.")
        return Assembly(self.options, self.strategy, self.dialogue, self.changes, self.fixed, self.level).result(changed, out, self.notes)

    def _thoughts(self, changes: Changes) -> list[int]:
        """Return, for each block of thinking that is left out, the number of its message."""
        out = changes.without_thinking | changes.left
        return [number for number in out for _ in range(self.dialogue.parsed[number].thoughts)]
