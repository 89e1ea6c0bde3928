"""apply_pruning: a context that was built already, brought under a tighter strategy. Pure."""

from __future__ import annotations

from typing import Any

from . import continuity, history, naming, remembering, showing
from .assembling import Assembled
from .dialogue import Addition, Changes, Dialogue, read, texts_of
from .metering import Meter
from .models import ContextBuildOptions, ContextResult, ContextTier, Provider, PruningStrategy
from .pruning import calculate_tier_breakdown
from .said import plain
from .shipped import binds_thinking


def apply_pruning(context: ContextResult, strategy: PruningStrategy) -> ContextResult:
    """A built context with no more of each layer than a strategy lets in; layer 1 as it is. What a looser strategy would let in is not
    there to be taken back. A context whose messages were not understood, or whose turn under way needs its thinking, stays as it is."""
    previous = continuity.read(context.state, str(context.state.get("model")))
    out = previous.changes.left | (previous.changes.unthought & previous.alone)
    kept = [number for number in range(len(previous.digests)) if number not in out]
    if previous is continuity.NOTHING or len(kept) != len(context.messages):
        return context
    return _Pruned(context, strategy, previous.changes, kept).result()


class _Pruned:
    """`kept`: the numbers, among the caller's messages, of those that the context sends."""

    def __init__(self, context: ContextResult, strategy: PruningStrategy, built: Changes, kept: list[int]) -> None:
        self.context = context
        self.strategy = strategy
        self.built = built
        self.kept = kept
        self.stood = Changes()  # as the context is, by the numbers of its own messages
        self.stood.additions = {at: built.additions[number] for at, number in enumerate(kept) if number in built.additions}
        self.stood.notices = {at: built.notices[number] for at, number in enumerate(kept) if number in built.notices}
        self.options = ContextBuildOptions.model_construct(
            messages=[_without(message, len(texts_of(self.stood.additions.get(at, ())))) for at, message in enumerate(context.messages)],
            budget_used_percent=context.budget_used_percent,
            provider=Provider(context.state["provider"]),
            model=context.state["model"],
            system=None,
        )

    def result(self) -> ContextResult:
        context, options = self.context, self.options
        dialogue = read(options.messages, options.provider, Meter(options.model, options.provider))
        bound = binds_thinking(options.model)
        if dialogue is None or (bound and dialogue.thinks_on):
            return context
        dialogue.reckon({})
        changes = self.stood.copy()
        changes.additions = stays = self._additions(changes)
        changes = history.reduced(dialogue, changes, self.strategy, None)
        if dialogue.is_stuck(changes):
            return context
        if changes.left and dialogue.asks:
            self._move_behind(dialogue, changes, [each for at in sorted(changes.left) for each in stays.get(at, ())])
        first = next((at for at in range(len(self.kept)) if changes.of(at) != self.stood.of(at)), None)
        if first is None:
            return context.model_copy(update={"pruning_strategy": self.strategy})
        if bound:
            changes.unthought = {at for at in range(first, len(self.kept)) if dialogue.said[at].thoughts}
        out = sum([dialogue.said[at].thoughts for at in changes.unthought | changes.left])
        made = Assembled(options, self.strategy, dialogue, changes, 0, self.strategy.tier4_messages).result(first, out, list(context.notes))
        return _with_layer_1(made, context).model_copy(update={"full_tokens": context.full_tokens, "state": self._state(changes)})

    def _additions(self, changes: Changes) -> dict[int, list[Addition]]:
        """Memories and files that may stay."""
        items, mode = self.strategy.tier2_items, self.strategy.tier3_mode
        left, kept = float("inf") if items == "all" else float(items), {}
        for at in sorted(changes.additions):
            stays = []
            for addition in changes.additions[at]:
                if addition.kind == remembering.KIND:
                    left -= 1
                    if left < 0:
                        continue
                elif (addition.kind == showing.FILE and mode != "full") or (addition.kind == showing.OUTLINE and mode == "none"):
                    continue
                stays.append(addition)
            if stays:
                kept[at] = stays
        return kept

    def _move_behind(self, dialogue: Dialogue, changes: Changes, stays: list[Addition]) -> None:
        """What stands for the exchanges that have left, and their memories and files, go to the newest request."""
        newest = dialogue.newest
        key = continuity.key_of({self.kept[at] for at in changes.left})
        remains = Addition(naming.LEFT, key, naming.remains_of(dialogue, changes, changes.left))
        there = [*stays, *changes.additions.get(newest, ())]
        told = [each for each in there if each.kind == naming.LEFT]  # of what had left before
        changes.additions[newest] = [*told, remains, *(each for each in there if each.kind != naming.LEFT)]

    def _state(self, changes: Changes) -> dict[str, Any]:
        """The state to hand on, by the numbers of the caller's messages."""
        whole, kept = self.built.copy(), self.kept
        whole.left |= {kept[at] for at in changes.left}
        whole.unthought |= {kept[at] for at in changes.unthought}
        whole.notices = {kept[at]: notices for at, notices in changes.notices.items()}
        whole.additions = {kept[at]: additions for at, additions in changes.additions.items()}
        return {**self.context.state, **continuity.as_json(whole), "level": self.strategy.tier4_messages}


def _without(message: Any, blocks: int) -> Any:
    """A message without the blocks that a build has put in front."""
    if not blocks:
        return message
    known = plain(message)
    said = known["content"][blocks:]
    alone = len(said) == 1 and isinstance(said[0], dict) and said[0].keys() == {"type", "text"}
    return {**known, "content": said[0]["text"] if alone else said}


def _with_layer_1(made: ContextResult, context: ContextResult) -> ContextResult:
    """The layers of a result, the first as it was built."""
    first = [tier for tier in context.tiers if tier.tier is ContextTier.SYSTEM]
    tiers = first + [tier for tier in made.tiers if tier.tier is not ContextTier.SYSTEM]
    breakdown = calculate_tier_breakdown(tiers)
    return made.model_copy(update={"tiers": tiers, "tier_breakdown": breakdown, "total_tokens": breakdown.total})
