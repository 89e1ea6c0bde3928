"""`auto` in the lab: the shipped policy (policy/auto.py), fed as a live system would be."""

from __future__ import annotations

from ..policy import auto, outline
from ..policy.placeholder import placeholder
from ..policy.selection import why
from .sessions import tokens_of
from .tracked import Tracked

_HANDLE = "a" * 8  # a live placeholder names the archived record here


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

    def missed(self, block) -> None:
        self.stays.add(block)

    def decide(self, view) -> list:
        candidates, prefix, sent = [], view.base, 0
        for place, block in enumerate(view.context):
            if place == view.sent:
                sent = prefix
            if block.id and block not in view.cleared and block not in self.stays and block.tokens >= auto.LEAST_TOKENS:
                candidate = self._candidate(block, prefix)
                if candidate is not None:
                    candidates.append(candidate)
            prefix += view.size(block)
        if view.sent >= len(view.context):
            sent = prefix
        situation = auto.Situation(prefix, sent, view.cold, self.ttl_s, view.number - view.since + 1)
        return [(chosen.block, chosen.text(), chosen.reasons()) for chosen in auto.choose(candidates, situation, self.caution)]

    def _candidate(self, block, prefix: int):
        result = self.result(block)
        if result is None or not auto.may_go(result):
            return None
        return _Candidate(block, result, self._outline(block), prefix, self.model.probability(result, self.state))

    def _outline(self, block) -> str:
        if block.tokens < outline.LEAST_TOKENS:
            return ""
        if block not in self.outlines:
            self.outlines[block] = outline.outline(block.text)
        return self.outlines[block]


class _Candidate(auto.Candidate):
    """A candidate with the Block that it stands for, and what stays of it."""

    __slots__ = ("block", "notice", "outline")

    def __init__(self, block, result, kept: str, prefix: int, need: float):
        self.notice = placeholder(result.label, why(result), _HANDLE)
        super().__init__(result, block.tokens, tokens_of(len(self.notice) + len(kept) + bool(kept)), prefix, need)
        self.block = block
        self.outline = kept

    def text(self) -> str:
        return self.notice + "\n" + self.outline if self.outline else self.notice

    def reasons(self) -> list:
        said = [f"needed again with a chance of {self.need:.0%}", f"{self.tokens:,} tokens"]
        return [*said, *(self.result.ended[4] if self.result.ended else ())]


def shipped_model():
    """The model of need that comes with the plugin."""
    import json
    import os

    from ..edges import home
    from ..policy.need import model_of

    with open(os.path.join(home.plugin_root(), "hooks", "utils", "data", "need-model.json"), encoding="utf-8") as file:
        return model_of(json.load(file))
