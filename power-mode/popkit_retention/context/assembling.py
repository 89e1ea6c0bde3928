"""Assemble a ContextResult from the decisions of a build: its messages, its layers, its sums. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..usage.budget_share import remaining_of, used_percent_of
from . import continuity
from .additions import FILES, MEMORY
from .build_types import ContextBuildOptions, ContextResult, ContextTier, PruningStrategy, TierContent, calculate_tier_breakdown
from .content_blocks import blocks_of, plain, text_of
from .dialogue import Changes, Dialogue, texts_of
from .exchange_remains import LEFT
from .message_faults import faults_of
from .message_records import SYSTEM
from .meter import Meter


class Assembly:
    """The decisions of a build. `fixed`: tokens of the system prompt and the tools. `level`: the tier4_messages that the history is cut
    for."""

    def __init__(
        self, options: ContextBuildOptions, strategy: PruningStrategy, dialogue: Dialogue, changes: Changes, fixed: int, level: int
    ) -> None:
        self.options = options
        self.strategy = strategy
        self.dialogue = dialogue
        self.changes = changes
        self.fixed = fixed
        self.level = level

    def result(self, changed_from: int | None, thinking_left_out: int, notes: list[str]) -> ContextResult:
        """Return the result. `changed_from`: the number, among the messages sent, of the first that differs from what was sent before."""
        dialogue, options = self.dialogue, self.options
        tiers = self.tiers()
        breakdown = calculate_tier_breakdown(tiers)
        used = used_percent_of(options.budget_used_percent)
        return ContextResult(
            messages=dialogue.rendered(self.changes),
            tiers=tiers,
            total_tokens=breakdown.total,
            tier_breakdown=breakdown,
            pruning_strategy=self.strategy.model_copy(update={"tier4_messages": self._exchanges_sent()}),
            budgetPercent=used,
            budget_remaining_percent=remaining_of(used),
            full_tokens=self.fixed + sum([tokens.all for tokens in dialogue.tokens]),
            counted="exact" if dialogue.meter.exact else "estimate",
            appended=changed_from is None,
            changed_from=changed_from,
            thinking_left_out=thinking_left_out,
            notes=[*notes, *self._notes()],
            faults=faults_of(options.messages, options.provider),
            state=continuity.handed_on(dialogue, self.changes, self.level, options.model, options.provider.value),
        )

    def tiers(self) -> list[TierContent]:
        """Return the layers that are not empty."""
        parsed, current = self.dialogue.parsed, self.dialogue.current
        first = [number for number in range(len(parsed)) if number >= current.start or not self._is_history(number)]
        history = [number for number in range(len(parsed)) if self._is_history(number) and number not in self.changes.left]
        layers = [
            self._layer(ContextTier.SYSTEM, first, "system prompt and current request", 1, system_text(self.options.system)),
            self._added(ContextTier.MEMORY, (MEMORY,), "memory of the project"),
            self._added(ContextTier.FILES, FILES, "files that the conversation refers to"),
            self._layer(ContextTier.HISTORY, history, "conversation so far", self._exchanges_sent()),
        ]
        return [layer for layer in layers if layer.token_count]

    def _exchanges_sent(self) -> int:
        return len([exchange for exchange in self.dialogue.history if exchange.start not in self.changes.left])

    def _is_history(self, number: int) -> bool:
        return number < self.dialogue.current.start and self.dialogue.can_leave(number) and self.dialogue.parsed[number].part != SYSTEM

    def _layer(self, tier: ContextTier, numbers: Iterable[int], source: str, items: int, head: str = "") -> TierContent:
        numbers = list(numbers)
        tokens = self.dialogue.size(numbers, self.changes) - sum(map(self._added_tokens, numbers))
        texts = [head, *(self._text(number) for number in numbers)]
        if tier is ContextTier.SYSTEM:
            tokens += self.fixed
        else:
            remains = self._blocks((LEFT,))
            tokens += self._tokens(remains)
            texts = [*remains, *texts]
        return TierContent(tier=tier, content="\n\n".join(filter(None, texts)), token_count=max(0, tokens), source=source, items=items)

    def _text(self, number: int) -> str:
        """Return a message as the model reads it: its texts, and the texts that replace its results."""
        parsed, notices = self.dialogue.parsed[number], self.changes.notices.get(number, {})
        return "\n".join([*parsed.texts, *(self.dialogue.sent_text(result.text, notices.get(result.id)) for result in parsed.results)])

    def _added(self, tier: ContextTier, kinds: tuple[str, ...], source: str) -> TierContent:
        blocks = self._blocks(kinds)
        items = len([addition for additions in self.changes.additions.values() for addition in additions if addition.kind in kinds])
        return TierContent(tier=tier, content="\n\n".join(blocks), token_count=self._tokens(blocks), source=source, items=items)

    def _blocks(self, kinds: tuple[str, ...]) -> list[str]:
        """Return the blocks in which additions of these kinds are sent."""
        additions = self.changes.additions
        return [
            text
            for number in sorted(additions)
            for text in texts_of([addition for addition in additions[number] if addition.kind in kinds])
        ]

    def _added_tokens(self, number: int) -> int:
        return self.dialogue.added(self.changes.additions.get(number, ()))

    def _tokens(self, texts: Iterable[str]) -> int:
        return sum(map(self.dialogue.meter.text, texts))

    def _notes(self) -> list[str]:
        """Return notes for people about the parts that are left out."""
        changes = self.changes
        results = sum([len(list(filter(None, notices.values()))) for notices in changes.notices.values()])
        inputs = sum([use.id in notices for number, notices in changes.notices.items() for use in self.dialogue.parsed[number].uses])
        exchanges = len(self.dialogue.history) - self._exchanges_sent()
        notes = []
        if results:
            notes.append(f"{results} tool result{'s' if results > 1 else ''} of the history left out; a notice replaces each.")
        if inputs:
            notes.append(f"Long texts in the input of {inputs} call{'s' if inputs > 1 else ''} of the history shortened.")
        if exchanges:
            of = len(self.dialogue.history)
            notes.append(f"{exchanges} of the {of} earlier exchanges left out.")
        return notes


def system_text(system: Any) -> str:
    """Return a system prompt (a text, or blocks) as text."""
    return "\n".join(text for text in map(text_of, blocks_of(plain(system))) if text is not None)


def untouched(options: ContextBuildOptions, strategy: PruningStrategy, meter: Meter) -> ContextResult:
    """Return the messages as they came, with a note: messages that are not valid are not changed."""
    messages = [plain(message) for message in options.messages]
    total = meter.parts(options.system, options.tools)
    total += sum([meter.message(message) if isinstance(message, dict) else meter.json(message) for message in messages])
    tier = TierContent(tier=ContextTier.SYSTEM, content=system_text(options.system), token_count=total, source="messages as they came")
    used = used_percent_of(options.budget_used_percent)
    return ContextResult(
        messages=options.messages,
        tiers=[tier],
        total_tokens=total,
        tier_breakdown=calculate_tier_breakdown([tier]),
        pruning_strategy=strategy.model_copy(update={"tier4_messages": 0}),
        budgetPercent=used,
        budget_remaining_percent=remaining_of(used),
        full_tokens=total,
        counted="estimate",
        notes=["The messages were left as they are: they are not the form that this provider takes, so nothing was changed."],
        faults=faults_of(options.messages, options.provider) or ["the messages are not of the form that the builder reads"],
    )
