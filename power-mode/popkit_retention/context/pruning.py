"""Bring a built context under a tighter strategy."""

from __future__ import annotations

from typing import Any

from . import continuity, history_cuts
from .additions import FILE, MEMORY, OUTLINE
from .assembling import Assembly
from .build_types import (
    ContextBuildOptions,
    ContextResult,
    ContextTier,
    PruningStrategy,
    calculate_tier_breakdown,
)
from .content_blocks import plain
from .continuity import PreviousBuild
from .dialogue import Addition, Changes, Dialogue, read, texts_of
from .exchange_remains import LEFT, remains_of
from .judging import binds_thinking
from .meter import Meter
from .provider_forms import Provider


def apply_pruning(context: ContextResult, strategy: PruningStrategy) -> ContextResult:
    """Return a built context with no more of each layer than a strategy lets in, and layer 1 as it is. A looser strategy restores nothing.
    A context whose messages were not valid, or whose turn under way needs its thinking, stays as it is, and so does one of OpenAI's
    Responses."""
    previous = continuity.read(context.state)
    out = previous.changes.left | (previous.changes.without_thinking & previous.alone)
    sent = [number for number in range(len(previous.digests)) if number not in out]
    if previous is continuity.NOTHING or previous.provider == Provider.RESPONSES or len(sent) != len(context.messages):
        return context
    return _PrunedHistory(context, strategy, previous, sent).result()


class _PrunedHistory:
    """`sent`: the numbers, among the caller's messages, of those that the context sends."""

    def __init__(self, context: ContextResult, strategy: PruningStrategy, previous: PreviousBuild, sent: list[int]) -> None:
        self.context = context
        self.strategy = strategy
        self.built = built = previous.changes
        self.sent = sent
        self.before = Changes()  # the additions and notices of the context, by the numbers of its own messages
        self.before.additions = {at: built.additions[number] for at, number in enumerate(sent) if number in built.additions}
        self.before.notices = {at: built.notices[number] for at, number in enumerate(sent) if number in built.notices}
        self.options = ContextBuildOptions.model_construct(
            messages=[_without(message, len(texts_of(self.before.additions.get(at, ())))) for at, message in enumerate(context.messages)],
            budget_used_percent=context.budget_used_percent,
            provider=previous.provider,
            model=previous.model,
            system=None,
        )

    def result(self) -> ContextResult:
        context, options = self.context, self.options
        dialogue = read(options.messages, options.provider, Meter(options.model, options.provider))
        bound = binds_thinking(options.model)
        if dialogue is None or (bound and dialogue.thinks_on):
            return context
        dialogue.count({})
        changes = self.before.copy()
        changes.additions = additions = self._additions(changes)
        changes = history_cuts.reduced(dialogue, changes, self.strategy, None)
        if dialogue.is_stuck(changes):
            return context
        if changes.left and dialogue.asks:
            self._move_behind(dialogue, changes, [addition for at in sorted(changes.left) for addition in additions.get(at, ())])
        first = next((at for at in range(len(self.sent)) if changes.of(at) != self.before.of(at)), None)
        if first is None:
            sent = context.pruning_strategy.tier4_messages
            return context.model_copy(update={"pruning_strategy": self.strategy.model_copy(update={"tier4_messages": sent})})
        if bound:
            changes.without_thinking = {at for at in range(first, len(self.sent)) if dialogue.parsed[at].thoughts}
        out = sum([dialogue.parsed[at].thoughts for at in changes.without_thinking | changes.left])
        assembled = Assembly(options, self.strategy, dialogue, changes, 0, self.strategy.tier4_messages)
        result = assembled.result(first, out, list(context.notes))
        return _with_layer_1(result, context).model_copy(update={"full_tokens": context.full_tokens, "state": self._state(changes)})

    def _additions(self, changes: Changes) -> dict[int, list[Addition]]:
        """Return the memories and files that may stay."""
        items, mode = self.strategy.tier2_items, self.strategy.tier3_mode
        additions: dict[int, list[Addition]] = {}
        memories = float("inf") if items == "all" else float(items)
        out = {"full": (), "summary": (FILE,), "none": (FILE, OUTLINE)}[mode]
        for at in sorted(changes.additions):
            for addition in changes.additions[at]:
                memories -= addition.kind == MEMORY
                if addition.kind not in out and (addition.kind != MEMORY or memories >= 0):
                    additions.setdefault(at, []).append(addition)
        return additions

    def _move_behind(self, dialogue: Dialogue, changes: Changes, additions: list[Addition]) -> None:
        """Move the remains of the exchanges that have left, and their memories and files, to the newest request."""
        newest = dialogue.newest
        key = continuity.key_of({self.sent[at] for at in changes.left})
        remains = Addition(LEFT, key, remains_of(dialogue, changes, changes.left))
        additions = [*additions, *changes.additions.get(newest, ())]
        earlier = [addition for addition in additions if addition.kind == LEFT]
        changes.additions[newest] = [*earlier, remains, *(addition for addition in additions if addition.kind != LEFT)]

    def _state(self, changes: Changes) -> dict[str, object]:
        """Return the state to hand on, by the numbers of the caller's messages."""
        whole, sent = self.built.copy(), self.sent
        whole.left |= {sent[at] for at in changes.left}
        whole.without_thinking |= {sent[at] for at in changes.without_thinking}
        whole.notices = {sent[at]: notices for at, notices in changes.notices.items()}
        whole.additions = {sent[at]: additions for at, additions in changes.additions.items()}
        return {**self.context.state, **continuity.as_json(whole), "level": self.strategy.tier4_messages}


def _without(message: Any, blocks: int) -> Any:
    """Return a message without the blocks that a build has put before it."""
    if not blocks:
        return message
    known = plain(message)
    content = known["content"][blocks:]
    is_text = len(content) == 1 and isinstance(content[0], dict) and content[0].keys() == {"type", "text"}
    return {**known, "content": content[0]["text"] if is_text else content}


def _with_layer_1(result: ContextResult, context: ContextResult) -> ContextResult:
    """Return a result with its first layer as it was built."""
    first = [tier for tier in context.tiers if tier.tier is ContextTier.SYSTEM]
    tiers = first + [tier for tier in result.tiers if tier.tier is not ContextTier.SYSTEM]
    breakdown = calculate_tier_breakdown(tiers)
    return result.model_copy(update={"tiers": tiers, "tier_breakdown": breakdown, "total_tokens": breakdown.total})
