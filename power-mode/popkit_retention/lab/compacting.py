"""The policy that compacts like PopKit, without a model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from math import inf

from popkit_retention.core.archive import records
from popkit_retention.core.policy import compacting, least_needed, lists, planning
from popkit_retention.core.policy.bound import Bound
from popkit_retention.core.policy.conversation import Conversation
from popkit_retention.core.policy.economics import THINKING_AGAIN, Prices
from popkit_retention.core.policy.estimate import CHARS_PER_TOKEN
from popkit_retention.core.policy.events import Compacted
from popkit_retention.core.policy.least_needed import LengthRule
from popkit_retention.core.policy.list_text import handle_of_fold
from popkit_retention.core.policy.messages import ASSISTANT, USER, Message, ShownResult, Use
from popkit_retention.core.policy.need_model import NeedModel
from popkit_retention.core.policy.placeholder import NO_HANDLE
from popkit_retention.core.policy.plans import Selection
from popkit_retention.core.policy.ruleset import COMPACT_LEAST_TOKENS, COMPACT_TARGET, Ruleset
from popkit_retention.core.policy.usage import Usage
from popkit_retention.core.state import shipped

from .engine_policies import AutoPolicy
from .policy import STANDS, SUMMARISED, Choice, View
from .recorded import Block, Request, rewound, tokens_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.events import Event


# The share of the prompt at which the recorded conversation was compacted automatically, from which on a smaller one is compacted too; and
# by how much of it a conversation has to have grown since, for what could leave has left.
_AS_LARGE, _GROWN = 0.98, 0.1
_WHOLE_AGAIN = "whole again: what it referred to was taken out"
_BEHIND_HANDLE = 256 - 5 * records.HANDLE_CHARS  # bits of a digest that are not in a handle


class Compactor(AutoPolicy):
    """Compacts where the user asked for it, where the recorded session was compacted by itself, if this conversation is as large by then,
    and wherever that size is reached again, down to `target` of the conversation. `cold`: also between turns, where the cache has gone cold
    and it pays, down to `cold_target`; the share `caution` of lost thinking is assumed to be thought again. `long`: also where the cache is
    warm and the conversation is this long. `most`: the bound of look-ups in 100 requests. `soon`: the model of what is needed soon, where
    it is not the shipped one."""

    rebuilds = makes_whole = True

    def __init__(
        self, prices: Prices, model: NeedModel, rules: Ruleset, target: float = COMPACT_TARGET, cold: bool = False,
        caution: float = THINKING_AGAIN, cold_target: float = least_needed.COLD_TARGET, soon: NeedModel | None = None,
        long: LengthRule | None = None, most: float = inf,
    ) -> None:  # fmt: skip
        super().__init__(prices, model, rules)
        self.target = target
        self.most = most
        self.cold = cold
        self.long = long
        self.caution = caution
        self.cold_target = max(cold_target, target)
        self.soon = soon or shipped.need_soon_model()
        self.recorded: dict[Block, int] = {}  # the context of the recorded session: Block -> its place
        self.left: dict[Block, int] = {}  # the same for branches that were left
        self.threshold = 0  # tokens of the largest prompt at which the recorded session was compacted automatically, 0 where it was not
        self.is_due = False  # whether the user has asked for a compaction
        self.left_tokens = 0  # tokens of the prompt after the newest compaction, 0 before the first
        self.has_compacted = False  # whether that compaction came right before the request that is being sent
        self.passed = 0  # place of the newest block when a recorded compaction did not take place; 0 where all did
        self.is_turn = False  # whether the user has spoken since the last request
        self.listed: dict[str, list[str]] = {}  # handle of a list -> ids of the calls that it stands for
        self.held: dict[str, list[str]] = {}  # handle of a list -> handles of the lists in it

    def add(self, block: Block) -> None:
        super().add(block)
        self.recorded[block] = block.place

    def event(self, event: Event) -> None:
        super().event(event)
        self.is_turn = self.is_turn or event.name == "prompted"

    def cut(self, context: list[Block]) -> None:
        super().cut(context)
        self.recorded, self.left = rewound(self.recorded, self.left, context)

    def at_compaction(self, event: Compacted, view: View) -> str:
        if self.recorded and event.tokens:
            self.threshold = max(self.threshold, view.base + self._whole(self.recorded))
        if not self.recorded or view.earlier:
            return SUMMARISED  # the conversation began before the transcript, and what a compaction leaves of that part is unknown
        if not event.tokens:
            self.is_due = True
        self.passed = max(self.recorded.values())
        self.recorded = {}
        return STANDS

    def compact(self, event: Event) -> None:
        super().compact(event)
        self.recorded, self.passed, self.left_tokens = {}, 0, 0

    def answered(self, request: Request) -> None:
        self.is_turn = False
        view, prompt = self.view, self._prompt(self.view)
        if self.has_compacted:
            self.left_tokens, self.has_compacted = prompt, False
        if not self.passed and request.usage is not None:  # otherwise the recorded usage is that of a compacted conversation
            prompt = max(1, request.usage.tokens - self._whole(view.context) + sum(view.sizes))
        self._call("sent", Usage(prompt, request.answered_at, view.prices.model, view.prices.ttl_s))

    def _whole(self, blocks: Iterable[Block]) -> int:
        """Return the tokens of blocks as they were recorded."""
        return sum(block.tokens + (block.thinking if self.prices.bound else 0) for block in blocks)

    @staticmethod
    def _prompt(view: View) -> int:
        return view.base + sum(view.sizes)

    def decide(self, view: View) -> list[Choice]:
        self.view = view
        if self.is_due or self._is_full(view):
            self.is_due = False
            return self._compacted(view, self.at(view.now), self.target)
        return self._by_itself(view) if self.cold and self.is_turn else []

    @property
    def bound(self) -> Bound:
        """Return the bound of look-ups with its use so far."""
        looked_up = self.conversation.look_ups
        return Bound(self.most, looked_up.count, self.conversation.count, looked_up.taken)

    def _is_full(self, view: View) -> bool:
        least = max(_AS_LARGE * self.threshold, self.left_tokens and self.left_tokens + _GROWN * self.threshold)
        return bool(self.threshold) and self._prompt(view) >= least

    def _by_itself(self, view: View) -> list[Choice]:
        """Return the choices of a compaction that nobody asked for, at a prompt of the user's."""
        is_cold, left = self.is_cold(view.now), max(0, self.left_tokens - view.base)
        if not is_cold and (self.long is None or not self.long.holds(sum(view.sizes), left)):
            return []
        conversation = self.at(view.now)
        goal, selection = least_needed.Goal(self.cold_target, left, self.caution, self.long), Selection()
        plan = planning.plan(conversation, selection, view.now, self.model, self.prices, is_cold, self.tuned, in_place=True, goal=goal)
        stays = self.bound.stays(plan.needs)
        if plan.share is None or stays >= 1 or not plan.may_pay(stays):
            return []
        return self._compacted(view, conversation, max(plan.share, stays), plan.least, plan.ids, is_due=False)

    def _compacted(
        self, view: View, conversation: Conversation, share: float, least_gain: float = 0.0, also: Sequence[str] = (), is_due: bool = True
    ) -> list[Choice]:  # fmt: skip
        """Return the choices of a compaction down to this share; none where fewer tokens than `least_gain` would leave. `also`: as in
        `compacting.compact`. `is_due`: whether the host would compact anyway."""
        before = messages_of(view)
        after = compacting.compact(
            before, conversation, self.soon, share, self._handle, whole_of=self._whole_of, least=COMPACT_LEAST_TOKENS, ours=self.held,
            also=also,
        )  # fmt: skip
        if after.before - after.after < least_gain:
            return []
        self.has_compacted = True
        choices = choices_of(view, before, after, self.listed)
        live = {result.id for result in self.conversation.results() if not result.cleared}
        whole = [block for block, text, _ in choices if block.id and text == block.text]
        left = [block.id for block, text, _ in choices if block.id in live and text != block.text]
        self._call("drop_thinking")
        inputs = sum(view.size(block) - tokens_of(len(text), view.factor) for block, text, _ in choices if block.asks)
        self._call("stubbed", round(inputs / conversation.state.calibration))
        for block in whole:
            self.entered(block, block.text, (), [_WHOLE_AGAIN])
        self._clear(left)
        if is_due:
            self._call("was_due")
        else:
            self._call("was_ours", 1 - after.after / after.before)
        return choices

    def _whole_of(self, id: str) -> str:
        return self.blocks[id].text

    def _handle(self, id: str, content: compacting.Content) -> str:
        if id in self.blocks:
            return self.blocks[id].handle
        if not isinstance(content, list):
            return NO_HANDLE
        handle = records.handle(len(self.listed) << _BEHIND_HANDLE, records.HANDLE_CHARS)
        inner = [id for list_handle in lists.directly_held_by(content) for id in self.listed[list_handle]]
        self.listed[handle] = [*inner, *[use["tool_use_id"] for row in content for use in row["toolUses"]]]
        self.held[handle] = lists.held_by(content)
        return handle


def messages_of(view: View) -> list[Message]:
    """Return the context as the messages of a compaction, without calls whose result has not come, and those that are only listed on a
    line. Only the length of other texts is known, which is all that a compaction needs: they stay."""
    asking = {block.asks: block for block in view.context if block.asks}
    messages: list[Message] = []
    for block in view.context:
        text = view.cleared.get(block, view.entered.get(block, block.text))
        if block.id and not (block in view.cleared and (not text or handle_of_fold(text))):
            call = block.call
            stub = view.cleared.get(asking[block.id], "") if block.id in asking else ""  # "": the result came back, called again
            use = Use(block.id, call.traits, json.loads(stub) if stub else call.tool_input)
            messages += [Message(ASSISTANT, "", [use]), Message(USER, "", (), [ShownResult(block.id, text, call.outcome.error)])]
        elif block.id and text:
            messages.append(Message(USER, text))
        elif block.estimate and not block.asks and block not in view.cleared:
            messages.append(Message(USER, "x" * round(CHARS_PER_TOKEN["dialogue"] * block.estimate)))
    return messages


def choices_of(
    view: View, before: Sequence[Message], after: compacting.CompactionResult, ids_of: Mapping[str, Sequence[str]]
) -> list[Choice]:
    """Return the texts that a compaction puts in the places of blocks: placeholders, stubs as JSON, a result's own where it is whole again,
    and where calls are only listed, the line in the place of the first result and nothing in those of the others. `ids_of`: handle of a
    list -> ids of the calls that it stands for."""
    texts = {shown.id: shown.text for message in before for shown in message.results}
    inputs = {use.id: use.input for message in before for use in message.uses}
    whys = {**dict.fromkeys(after.made_whole, _WHOLE_AGAIN), **{cut.id: cut.why for cut in after.left if cut.kind == compacting.RESULT}}
    of_inputs = {cut.id: cut.why for cut in after.left if cut.kind == compacting.INPUT}
    new_texts, new_inputs = dict(texts), dict(inputs)
    for message in after.messages:
        new_texts.update((result.id, result.text) for result in message.results)
        new_inputs.update((use.id, use.input) for use in message.uses)
    old = set(map(id, before))
    listed: dict[str, str] = {}
    for message in after.messages:
        ids = ids_of.get(handle_of_fold(message.text), ()) if id(message) not in old else ()
        if ids:
            listed.update(dict.fromkeys(ids, ""), **{ids[0]: message.text})
            whys.update(dict.fromkeys(ids, compacting.NEEDED_ROOM))
    choices: list[Choice] = []
    for block in view.context:
        call_id = block.id or block.asks
        if call_id in listed:
            text = listed[call_id] if block.id else ""
            if view.cleared.get(block) != text:  # an earlier list may have had it
                choices.append((block, text, [whys[call_id]]))
        elif block.id in texts and new_texts[block.id] is not texts[block.id]:
            choices.append((block, new_texts[block.id], [whys[block.id]]))
        elif block.asks in inputs and new_inputs[block.asks] is not inputs[block.asks]:
            choices.append((block, json.dumps(new_inputs[block.asks], ensure_ascii=False), [of_inputs[block.asks]]))
    return choices
