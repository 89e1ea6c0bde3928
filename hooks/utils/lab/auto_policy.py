"""`auto` in the lab: the shipped policy (policy/auto.py), fed as a live system would be."""

from __future__ import annotations

from itertools import accumulate

from ..policy import auto, outline
from ..policy.placeholder import with_outline
from .sessions import tokens_of
from .tracked import Tracked


class AutoPolicy(Tracked):
    """Clears what is worth most to clear, when it is worth something; of a large result an outline stays. `model` is a NeedModel; a
    result that came back stays."""

    def __init__(self, ttl_s: float, model, rules, caution: float | None = None):
        super().__init__(rules)
        self.ttl_s = ttl_s
        self.model = model
        self.caution = caution
        self.stays: set = set()
        self.outlines: dict = {}  # Block -> its outline
        self.lengths: dict = {}  # (Block, characters of the why) -> characters of its notice

    def missed(self, block) -> None:
        self.stays.add(block)

    def decide(self, view) -> list:
        prefixes = list(accumulate(view.sizes, initial=view.base))
        candidates = []
        for block, prefix in zip(view.context[: view.sent], prefixes):  # what the model has not seen yet does not go
            if block.id and block.tokens >= auto.LEAST_TOKENS and block not in view.cleared and block not in self.stays:
                candidate = self._candidate(block, prefix)
                if candidate is not None:
                    candidates.append(candidate)
        situation = auto.Situation(prefixes[-1], prefixes[view.sent], view.cold, self.ttl_s)
        return [self._decision(chosen) for chosen in auto.choose(candidates, situation, self.caution)]

    def _candidate(self, block, prefix: int):
        result = self.result(block)
        if result is None or not auto.may_go(result, self.state):
            return None
        kept = self._outline(block)
        placeholder = tokens_of(self._length(block, result) + len(kept) + bool(kept))
        return _Candidate(block, result, placeholder, prefix, self.model.probability(result, self.state))

    def _length(self, block, result) -> int:
        """Characters of a result's notice. They follow from the length of the why; to write every candidate's at every request would take
        half of the time."""
        key = (block, len(self.why(result)))
        if key not in self.lengths:
            self.lengths[key] = len(self.notice(block, result))
        return self.lengths[key]

    def _outline(self, block) -> str:
        if block not in self.outlines:
            self.outlines[block] = outline.outline(block.text)
        return self.outlines[block]

    def _decision(self, chosen) -> tuple:
        text = with_outline(self.notice(chosen.block, chosen.result), self._outline(chosen.block))
        return chosen.block, text, chosen.reasons()


class _Candidate(auto.Candidate):
    """A candidate with the Block that it stands for."""

    __slots__ = ("block",)

    def __init__(self, block, result, placeholder: int, prefix: int, need: float):
        super().__init__(result, block.tokens, placeholder, prefix, need)
        self.block = block

    def reasons(self) -> list:
        said = [f"needed again with a chance of {self.need:.0%}", f"{self.tokens:,} tokens"]
        return [*said, *(self.result.ended[4] if self.result.ended else ())]


def shipped_model():
    """The model of need that comes with the plugin."""
    from ..state import learnt

    return learnt.shipped().model
