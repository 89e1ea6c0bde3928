"""Policies that compact: the host's own compactions, with what they cost, and those that PopKit answers without a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hooks.utils.policy import compacting, verdict
from hooks.utils.policy.conversation import Conversation, Usage
from hooks.utils.policy.economics import Prices
from hooks.utils.policy.estimate import CHARS_PER_TOKEN
from hooks.utils.policy.events import Compacted
from hooks.utils.policy.messages import ASSISTANT, USER, Message, Shown, Use, handle_of_fold
from hooks.utils.policy.ruleset import COMPACT_LEAST_TOKENS, COMPACT_TARGET, Ruleset
from hooks.utils.policy.worth import NeedModel
from hooks.utils.state import shipped

from .engine_policies import AutoPolicy
from .policy import NO_HANDLE, STANDS, SUMMARISED, Block, Choice, Policy, Request, View, tokens_of

if TYPE_CHECKING:
    from hooks.utils.policy.events import Event

# A conversation that has come to so much of the prompt at which the recorded one was compacted by itself is compacted there too.
_AS_LARGE = 0.98


class Summaries(Policy):
    """Clears nothing. The host's compactions are counted with what they cost: the summariser reads the whole prompt and writes the recorded
    summary, and what the host put back into the context beside it is there."""

    def at_compaction(self, event: Compacted, view: View) -> str:
        return SUMMARISED


class Compact(AutoPolicy):
    """Compacts where the user asked for it, where the recorded session was compacted by itself, if this conversation is as large by then,
    and wherever that size is reached again, down to `target` of the conversation. `cold`: between turns too, where the cache has gone cold
    and it pays, with thinking again counted `caution` times, down to `cold_target`. `soon`: the model of what is needed soon, where it is
    not the one that is shipped."""

    rebuilds = True

    def __init__(
        self, prices: Prices, model: NeedModel, rules: Ruleset, target: float = COMPACT_TARGET, cold: bool = False,
        caution: float = verdict.THINKING_AGAIN, cold_target: float = verdict.COLD_TARGET, soon: NeedModel | None = None,
    ) -> None:  # fmt: skip
        super().__init__(prices, model, rules)
        self.target = target
        self.cold = cold
        self.caution = caution
        self.cold_target = max(cold_target, target)
        self.soon = soon or shipped.need_soon_model()
        self.recorded: list[Block] = []  # the context of the recorded session
        self.threshold = 0  # tokens of the largest prompt at which that was compacted by itself, 0 for none
        self.is_due = False  # whether the user has asked for a compaction
        self.passed = 0  # place of the newest block when a recorded compaction did not take place; 0 where all did
        self.is_turn = False  # whether the user has spoken since the last request

    # --- events ---------------------------------------------------------------------------------------------------------------

    def add(self, block: Block) -> None:
        super().add(block)
        self.recorded.append(block)

    def event(self, event: Event) -> None:
        super().event(event)
        self.is_turn = self.is_turn or event.name == "prompted"

    def cut(self, context: list[Block]) -> None:
        super().cut(context)
        kept = set(context)
        self.recorded = [block for block in self.recorded if block in kept]

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
            self._call("sent", Usage(self.view.base + sum(self.view.sizes), request.answered_at, prices.model, prices.ttl_s))
        else:
            super().answered(request)

    # --- compactions ----------------------------------------------------------------------------------------------------------

    def decide(self, view: View) -> list[Choice]:
        self.view = view
        is_full = self.threshold and view.base + sum(view.sizes) >= _AS_LARGE * self.threshold
        if self.is_due or is_full:
            self.is_due = False
            return self._compacted(view, self.at(view.now), self.target)
        if self.cold and self.is_turn and self.is_cold(view.now):
            conversation = self.at(view.now)
            found = verdict.when_cold(conversation, view.now, self.model, self.prices, self.tuned, self.cold_target, self.caution)
            return self._compacted(view, conversation, self.cold_target, found.least) if found.pays else []
        return []

    def _compacted(self, view: View, conversation: Conversation, share: float, least_gain: float = 0.0) -> list[Choice]:
        """Return what a compaction down to this share does; nothing where fewer tokens than `least_gain` leave."""
        before = messages_of(view)
        after = compacting.compact(before, conversation, self.soon, share, self._handle, least=COMPACT_LEAST_TOKENS)
        if after.before - after.after < least_gain:
            return []
        choices = choices_of(view, before, after)
        live = {result.id for result in self.conversation.results() if not result.cleared}
        left = [(block, text) for block, text, _ in choices if block.id in live]
        self.out.update((block.id, view.size(block) - tokens_of(len(text))) for block, text in left)
        self._call("unthought")
        self._clear([block.id for block, _ in left])
        return choices

    def _handle(self, id: str, content: object) -> str:
        return self.blocks[id].handle if id in self.blocks else NO_HANDLE


def messages_of(view: View) -> list[Message]:
    """Return the context as the messages that a compaction is made of, without calls whose result has not come, and those that are only
    listed on a line. Of other texts only the length is known, which is all that a compaction needs: they stay."""
    asking = {block.asks: block for block in view.context if block.asks}
    messages: list[Message] = []
    for block in view.context:
        text = view.cleared.get(block, view.entered.get(block, block.text))
        if block.id and not (block in view.cleared and (not text or handle_of_fold(text))):
            call = block.call
            stub = view.cleared.get(asking[block.id], "") if block.id in asking else ""  # "": the result came back, called again
            use = Use(block.id, call.traits, json.loads(stub) if stub else call.tool_input)
            messages += [Message(ASSISTANT, "", [use]), Message(USER, "", (), [Shown(block.id, text, call.outcome.error)])]
        elif block.id and text:
            messages.append(Message(USER, text))
        elif block.estimate and not block.asks and block not in view.cleared:
            messages.append(Message(USER, "x" * round(CHARS_PER_TOKEN["dialogue"] * block.estimate)))
    return messages


def choices_of(view: View, before: Sequence[Message], after: compacting.Compacted) -> list[Choice]:
    """Return what a compaction puts in the places of blocks: placeholders, stubs as JSON, and where calls are only listed, the line in the
    place of the first result and nothing in those of the others."""
    texts = {shown.id: shown.text for message in before for shown in message.results}
    inputs = {use.id: use.input for message in before for use in message.uses}
    whys = {each.id: each.why for each in after.left if each.kind == compacting.RESULT}
    of_inputs = {each.id: each.why for each in after.left if each.kind == compacting.INPUT}
    old = set(map(id, before))
    lines = [message.text for message in after.messages if id(message) not in old and handle_of_fold(message.text)]
    new_texts, new_inputs = dict(texts), dict(inputs)
    for message in after.messages:
        new_texts.update((each.id, each.text) for each in message.results)
        new_inputs.update((each.id, each.input) for each in message.uses)
    listed: dict[str, str] = {}
    for left, line in zip([each for each in after.left if each.kind == compacting.CALLS], lines):
        ids = [use["tool_use_id"] for each in left.content for use in each["toolUses"]]  # type: ignore[index]
        listed.update(dict.fromkeys(ids, ""), **{ids[0]: line})
        whys.update(dict.fromkeys(ids, left.why))
    choices: list[Choice] = []
    for block in view.context:
        if block.id in listed:
            choices.append((block, listed[block.id], [whys[block.id]]))
        elif block.asks in listed:
            choices.append((block, "", [whys[block.asks]]))
        elif block.id in texts and new_texts[block.id] is not texts[block.id]:
            choices.append((block, new_texts[block.id], [whys[block.id]]))
        elif block.asks in inputs and new_inputs[block.asks] is not inputs[block.asks]:
            choices.append((block, json.dumps(new_inputs[block.asks], ensure_ascii=False), [of_inputs[block.asks]]))
    return choices
