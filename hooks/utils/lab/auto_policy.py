"""`auto` in the lab: the plan that a live clear makes (policy/planning.py), before every request of a recorded session."""

from __future__ import annotations

from ..policy import outline, planning, worth
from ..policy.events import Cleared, ManualClear, Restored
from ..policy.placeholder import with_outline
from .tracked import Tracked


class AutoPolicy(Tracked):
    """Clears what the plan says, when it says so; of a large result an outline stays. `model` is a NeedModel; a result that came back is
    held as one that the user put back."""

    def __init__(self, prices, model, rules, tuned=worth.TUNED):
        super().__init__(rules)
        self.tuned = tuned
        self.prices = prices
        self.model = model
        self.blocks: dict = {}  # id -> Block

    def add(self, block) -> None:
        super().add(block)
        if block.id:
            self.blocks[block.id] = block

    def missed(self, block) -> None:
        self._tell("observe", Restored(block.id, True, self.view.now))
        self._tell("returned", {block.id})

    def decide(self, view) -> list:
        super().decide(view)
        if not view.cold:
            return []  # the plan would hold everything back
        plan = planning.plan(self.conversation, planning.Asked(), view.now, self.model, self.prices, True, self.tuned)
        if not plan.pays:
            return []
        going = plan.having(planning.CLEAR)
        decisions = [self._cleared(decision) for decision in going]
        ids = [decision.result.id for decision in going]
        self._tell("observe", ManualClear(ids, view.now))
        self._tell("observe", Cleared(dict(zip(ids, (self.blocks[id].handle for id in ids)))))
        self._tell("left", set(ids))
        return decisions

    def _cleared(self, decision) -> tuple:
        block, result = self.blocks[decision.result.id], decision.result
        text = with_outline(self.notice(block, result), outline.outline_of(result, block.text))
        said = [f"needed again with a chance of {decision.need:.0%}", f"{decision.tokens:,} tokens"]
        return block, text, [*said, *(result.ended[4] if result.ended else ())]


def shipped_model():
    """The model of need that comes with the plugin."""
    from ..state import learnt

    return learnt.shipped().model
