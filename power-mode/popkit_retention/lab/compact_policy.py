"""Compactions in the lab: the host's own, with what they cost, and those that PopKit answers without a model (policy/compacting.py)."""

from __future__ import annotations

from copy import copy, deepcopy

from hooks.utils.policy import compacting, engine, planning, when_cold
from hooks.utils.policy.conversation import Usage
from hooks.utils.policy.events import Cleared, ManualClear, Tick
from hooks.utils.policy.ruleset import COMPACT_LEAST_TOKENS, COMPACT_TARGET

from . import standing
from .auto_policy import AutoPolicy
from .measure import STANDS, SUMMARISED, Policy
from .sessions import NO_HANDLE, tokens_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from hooks.utils.policy.conversation import Conversation
    from hooks.utils.policy.economics import Prices
    from hooks.utils.policy.events import Compacted, Event
    from hooks.utils.policy.need import NeedModel
    from hooks.utils.policy.ruleset import Ruleset

    from .measure import Choice, View
    from .sessions import Block, Request

# A conversation that has come to so much of the prompt at which the recorded one was compacted by itself is compacted there too.
_AS_LARGE = 0.98


class Summaries(Policy):
    """Clears nothing. The host's compactions are counted with what they cost: the summariser reads the whole prompt and writes the recorded
    summary, and what the host put back into the context beside it stands there."""

    def at_compaction(self, event: Compacted, view: View) -> str:
        return SUMMARISED


class Compact(AutoPolicy):
    """Compacts where the user asked for it, where the recorded session was compacted by itself, if this conversation is as large by then,
    and wherever that size is reached again, down to `target` of the conversation. `cold`: between turns too, where the cache has gone cold
    and it pays, with thinking again counted `caution` times."""

    rebuilds = True

    def __init__(
        self, prices: Prices, model: NeedModel, rules: Ruleset, target: float = COMPACT_TARGET, cold: bool = False,
        caution: float = when_cold.THINKING_AGAIN,
    ) -> None:  # fmt: skip
        super().__init__(prices, model, rules)
        self.target = target
        self.cold = cold
        self.caution = caution
        self.recorded: list[Block] = []  # the context of the recorded session
        self.threshold = 0  # tokens of the largest prompt at which that was compacted by itself, 0 for none
        self.is_due = False  # whether the user has asked for a compaction
        self.passed = 0  # place of the newest block that stood when a recorded compaction did not take place; 0 where all did
        self.is_turn = False  # whether the user has spoken since the last request
        self.view = None  # type: ignore[assignment]

    # --- what happens ---------------------------------------------------------------------------------------------------------

    def add(self, block: Block) -> None:
        super().add(block)
        self.recorded.append(block)

    def event(self, event: Event) -> None:
        super().event(event)
        self.is_turn = self.is_turn or event.name == "prompted"

    def cut(self, context: list[Block]) -> None:
        super().cut(context)
        standing_yet = set(context)
        self.recorded = [block for block in self.recorded if block in standing_yet]

    def at_compaction(self, event: Compacted, view: View) -> str:
        if not self.recorded:
            return SUMMARISED  # it had begun before the transcript does
        if event.tokens:
            thinking = sum(block.thinking for block in self.recorded) if view.prices.bound else 0
            self.threshold = max(self.threshold, view.base + sum(block.tokens for block in self.recorded) + thinking)
        else:
            self.is_due = True
        self.passed = self.recorded[-1].place
        self.recorded = []
        return STANDS

    def compact(self, event: Event) -> None:
        super().compact(event)
        self.recorded, self.passed = [], 0

    def answered(self, request: Request) -> None:
        self.is_turn = False
        if self.passed:  # the recorded usage is of a conversation that was folded
            prices = self.view.prices
            self._tell("sent", Usage(self.view.base + sum(self.view.sizes), request.answered_at, prices.model, prices.ttl_s))
        else:
            super().answered(request)

    # --- what leaves ----------------------------------------------------------------------------------------------------------

    def decide(self, view: View) -> list[Choice]:
        self.view = view
        is_full = self.threshold and view.base + sum(view.sizes) >= _AS_LARGE * self.threshold
        if self.is_due or is_full:
            self.is_due = False
            return self._compacted(view, self._later(view.now), None)
        if self.cold and self.is_turn and self.is_cold(view.now):
            conversation = self._later(view.now)
            found = when_cold.when_cold(conversation, view.now, self.model, self.prices, self.tuned, self.caution)
            standing_yet = {block.id for block in view.context}  # what was carried over a compaction can be cleared no more
            ids = [id for id in found.ids if id in standing_yet]
            return self._compacted(view, conversation, ids) if ids else []
        return []

    def _later(self, now: float) -> Conversation:
        """The conversation with what time ends."""
        conversation = copy(self.conversation)
        conversation.state = deepcopy(self.state)
        engine.observe(conversation.state, Tick(now), self.rules)
        return conversation

    def _compacted(self, view: View, conversation: Conversation, only: Sequence[str] | None) -> list[Choice]:
        before = standing.messages_of(view)
        plan = planning.plan(conversation, planning.Asked(), view.now, self.model, self.prices, True, self.tuned)
        share = self.target if only is None else 1.0
        found = standing.choices(
            view, before, compacting.compact(before, conversation, plan, share, self._handle, only, least=COMPACT_LEAST_TOKENS)
        )
        live = {result.id for result in self.conversation.results() if not result.cleared}
        left = [(block, text) for block, text, _ in found if block.id in live]
        self.out.update((block.id, view.size(block) - tokens_of(len(text))) for block, text in left)
        ids = [block.id for block, _ in left]
        self._tell("unthought")
        self._tell("observe", ManualClear(ids, view.now))
        self._tell("observe", Cleared({id: self.blocks[id].handle for id in ids}))
        self._tell("left", set(ids))
        return found

    def _handle(self, id: str, content: object) -> str:
        return self.blocks[id].handle if id in self.blocks else NO_HANDLE
