"""`auto` in the lab: the plan that a live clear makes (policy/planning.py), before every request of a recorded session."""

from __future__ import annotations

from copy import copy, deepcopy

from hooks.utils.policy import engine, planning, worth
from hooks.utils.policy.events import Cleared, ManualClear, Restored, Tick

from .tracked import Tracked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hooks.utils.policy.economics import Prices
    from hooks.utils.policy.need import NeedModel
    from hooks.utils.policy.ruleset import Ruleset

    from .measure import Choice, View
    from .sessions import Block


class AutoPolicy(Tracked):
    """Clears what the plan says, when it says so; of a large result an outline stays. `model` is a NeedModel; a result that came back is
    held as one that the user put back."""

    def __init__(self, prices: Prices, model: NeedModel, rules: Ruleset, tuned: worth.Tuned = worth.TUNED):
        super().__init__(rules)
        self.tuned = tuned
        self.prices = prices
        self.model = model
        self.blocks: dict[str, Block] = {}  # id -> Block

    def add(self, block: Block) -> None:
        super().add(block)
        if block.id:
            self.blocks[block.id] = block

    def missed(self, block: Block) -> None:
        self.out.pop(block.id, None)
        self._tell("observe", Restored(block.id, True, self.view.now))
        self._tell("returned", {block.id})

    def plan(self, now: float) -> planning.Plan:
        """The plan that a live clear would make. As there, time ends what it ends for the answer only."""
        conversation = copy(self.conversation)
        conversation.state = deepcopy(self.state)
        engine.observe(conversation.state, Tick(now), self.rules)
        return planning.plan(conversation, planning.Asked(), now, self.model, self.prices, self.is_cold(now), self.tuned)

    def is_cold(self, now: float) -> bool:
        """Whether the next request finds no cache."""
        return not self.conversation.last.is_warm(now)

    def decide(self, view: View) -> list[Choice]:
        super().decide(view)
        if not self.is_cold(view.now):
            return []  # the plan would hold everything back
        plan = self.plan(view.now)
        standing = set(view.context)  # what was carried over a compaction can be cleared no more
        going = [decision for decision in plan.having(planning.CLEAR) if self.blocks[decision.result.id] in standing]
        if not plan.pays or not going:
            return []
        decisions = [self._cleared(decision) for decision in going]
        ids = [decision.result.id for decision in going]
        if self.prices.bound:
            self._tell("unthought", ids[0])
        self._tell("observe", ManualClear(ids, view.now))
        self._tell("observe", Cleared(dict(zip(ids, (self.blocks[id].handle for id in ids)))))
        self._tell("left", set(ids))
        self.out.update((decision.result.id, decision.gain) for decision in going)
        return decisions

    def _cleared(self, decision: planning.Decision) -> Choice:
        block, result = self.blocks[decision.result.id], decision.result
        text = self.notice(block, result)
        said = [f"needed again with a chance of {decision.need:.0%}", f"{decision.tokens:,} tokens"]
        return block, text, [*said, *(result.ended[4] if result.ended else ())]
