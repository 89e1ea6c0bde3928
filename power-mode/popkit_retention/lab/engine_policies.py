"""Policies that follow a replayed conversation with the engine, like the hooks: the tiers of a profile, `auto`."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy, deepcopy
from typing import Any, Optional

from popkit_retention.core.policy import engine, planning, worth
from popkit_retention.core.policy.classify import classify
from popkit_retention.core.policy.context import ContextState, Result
from popkit_retention.core.policy.conversation import Conversation
from popkit_retention.core.policy.economics import Prices
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.events import Cleared, Entered, ManualClear, Restored, Tick
from popkit_retention.core.policy.need_model import NeedModel
from popkit_retention.core.policy.placeholder import beside, placeholder, why, with_outline
from popkit_retention.core.policy.plans import CLEAR, Decision, Plan, Selection
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.policy.usage import Usage

from .policy import Choice, Policy, View
from .recorded import Block, Request, rewound, tokens_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.events import Event


# A method of a Conversation, its arguments, and the Block that it is about.
ConversationCall = tuple[str, tuple[Any, ...], Optional[Block]]


class TrackingPolicy(Policy):
    """Passes every event to a Conversation under a Ruleset, and each request with everything that the measure knows about it."""

    def __init__(self, rules: Ruleset):
        self.rules = rules
        self.cwd = ""
        self.calls: list[ConversationCall] = []  # since its beginning, on this branch
        self.all_calls: list[ConversationCall] = []  # with those of branches that were left since the last compaction
        self.conversation = self._new()
        self.view: View
        self.out: dict[str, int] = {}  # id -> tokens that requests would carry without the policy
        self.left_out: dict[str, int] = {}  # the same for branches that were left

    def _new(self) -> Conversation:
        state = ContextState()
        state.cwd = self.cwd
        return Conversation(state, lambda profile: self.rules)

    def begin(self, cwd: str) -> None:
        self.cwd = self.state.cwd = cwd

    @property
    def state(self) -> ContextState:
        return self.conversation.state

    @property
    def look_ups(self) -> int:
        return self.conversation.look_ups.count

    def _call(self, method: str, *arguments: Any, block: Block | None = None) -> None:
        if _kind(method, arguments) == "compacted":
            self.all_calls = list(self.calls)
        for calls in (self.calls, self.all_calls):
            calls.append((method, arguments, block))
        getattr(self.conversation, method)(*arguments)

    def add(self, block: Block) -> None:
        if block.id:
            self._call("observe", block.call, block=block)
        else:
            spoken, thought = (0, block.estimate) if block.thinking else (block.estimate, 0)
            self._call("add_text", spoken, thought, spoken if block.asks else 0, block=block)

    def event(self, event: Event) -> None:
        self._call("observe", event)

    def entered(self, block: Block, text: str, leans_on: tuple[str, ...], reasons: Collection[str]) -> None:
        """Note that a text entered in place of a result's own, or replaces it from this request on."""
        content = classify(block.call, block.call.cwd or self.cwd, self.rules).content
        tokens, whole = (estimate_tokens(version, content) for version in (text, block.text))
        left_out = len(block.text) - len(text)
        event = Entered(block.id, tokens, leans_on, block.handle, left_out, reasons, block.call.at, max(0, whole - tokens))
        self._call("observe", event, block=block)

    def compact(self, event: Event) -> None:
        self._call("observe", event)
        self.out = {}

    def cut(self, context: list[Block]) -> None:
        """Replay the conversation without the branches that were left, except that their requests count as reads of the cache."""
        calls: list[ConversationCall] = []
        is_in_context, is_folded, blocks = False, False, set(context)
        for method, arguments, block in reversed(self.all_calls):
            kind = _kind(method, arguments)
            is_folded = is_folded or kind == "compacted"
            if block is not None:
                is_in_context = block in blocks
            # A prompt, and a request, are kept where the next written block is.
            if is_folded or is_in_context or (block is None and kind not in ("sent", "prompted")):
                calls.append((method, arguments, block))
            elif kind == "sent":
                calls.append(("went_on", (arguments[0].until,), None))
        self.calls, self.conversation = calls[::-1], self._new()
        for method, arguments, _ in self.calls:
            getattr(self.conversation, method)(*arguments)
        self.out, self.left_out = rewound(self.out, self.left_out, [block.id for block in context])

    def decide(self, view: View) -> list[Choice]:
        self.view = view
        return []

    def answered(self, request: Request) -> None:
        """Pass on the request with the usage that it would have had under the policy: without the cleared results."""
        view, usage = self.view, request.usage
        prompt = view.base + sum(view.sizes) if usage is None else max(1, usage.tokens - sum(self.out.values()))
        self._call("sent", Usage(prompt, request.answered_at, view.prices.model, view.prices.ttl_s))

    def why(self, result: Result) -> str:
        """Return why a result would be cleared now, in a few words."""
        return why(result, self.state.quiet_age(result))

    def notice(self, block: Block, result: Result) -> str:
        """Return the text with which a live clear would replace a result now."""
        return with_outline(placeholder(result.label, self.why(result), block.handle), beside(result, block.text, self.rules))

    def result(self, block: Block) -> Result | None:
        """Return the engine's Result of a Block; None for a block that is not a result or is no longer known."""
        return self.state.live.get(block.id) or self.state.expired.get(block.id) if block.id else None


def _kind(method: str, arguments: tuple[Any, ...]) -> str:
    """Return the kind of event that a call of a Conversation passes on, or the name of the method."""
    return str(arguments[0].name) if method == "observe" else method


class Tiers(TrackingPolicy):
    """Clears results that have expired under a Ruleset; with `only_cold`, only right before requests that write the whole prompt anyway. A
    result that came back is kept, as is one no longer than its placeholder."""

    def __init__(self, rules: Ruleset, only_cold: bool = False):
        super().__init__(rules)
        self.only_cold = only_cold
        self.uncleared: dict[str, Block] = {}  # id -> Block of the results that were never cleared
        self.left: dict[str, Block] = {}  # the same of branches that were left

    def add(self, block: Block) -> None:
        super().add(block)
        if block.id:
            self.uncleared[block.id] = block

    def compact(self, event: Event) -> None:
        super().compact(event)
        self.uncleared = {}

    def cut(self, context: list[Block]) -> None:
        super().cut(context)
        self.uncleared, self.left = rewound(self.uncleared, self.left, [block.id for block in context])

    def decide(self, view: View) -> list[Choice]:
        super().decide(view)
        if self.only_cold and not view.cold:
            return []
        self.event(Tick(view.now))
        choices: list[Choice] = []
        for id, block in list(self.uncleared.items()):
            result = self.state.expired.get(id)
            if result is not None:
                del self.uncleared[id]
                text = self.notice(block, result)
                if tokens_of(len(text), view.factor) <= block.tokens * planning.MOST_SHARE:
                    choices.append((block, text, list(result.reasons)))
        return choices


class AutoPolicy(TrackingPolicy):
    """Clears what the plan of a live clear (policy/planning.py) clears, when it pays, leaving an outline of a large result. A result that
    came back is held as one that the user put back."""

    def __init__(self, prices: Prices, model: NeedModel, rules: Ruleset, tuned: worth.Tuning = worth.TUNED):
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
        self._call("needed", block.id or block.asks)
        if not block.id:
            return  # the input of the call
        self._call("observe", Restored(block.id, True, self.view.now))
        self._call("returned", {block.id})

    def at(self, now: float) -> Conversation:
        """Return a copy of the conversation at a time: everything that is due by then has expired."""
        conversation = copy(self.conversation)
        conversation.state = deepcopy(self.state)
        engine.observe(conversation.state, Tick(now), self.rules)
        return conversation

    def plan(self, now: float) -> Plan:
        """Return the plan of a live clear."""
        return planning.plan(self.at(now), Selection(), now, self.model, self.prices, self.is_cold(now), self.tuned)

    def is_cold(self, now: float) -> bool:
        """Return whether the next request finds no cache."""
        return not self.conversation.last.is_warm(now)

    def decide(self, view: View) -> list[Choice]:
        super().decide(view)
        if not self.is_cold(view.now):
            return []  # otherwise the plan would hold everything back
        plan = self.plan(view.now)
        clearable = set(view.context)  # a block that was carried over a compaction cannot be cleared
        going = [decision for decision in plan.having(CLEAR) if self.blocks[decision.result.id] in clearable]
        if not plan.pays or not going:
            return []
        choices = [self._cleared(decision) for decision in going]
        if self.prices.bound:
            self._call("drop_thinking", going[0].result.id)
        self._clear([decision.result.id for decision in going])
        self.out.update((decision.result.id, decision.gain) for decision in going)
        return choices

    def _clear(self, ids: list[str]) -> None:
        """Record that these results were cleared."""
        self._call("observe", ManualClear(ids, self.view.now))
        self._call("observe", Cleared({id: self.blocks[id].handle for id in ids}))
        self._call("left", set(ids))

    def _cleared(self, decision: Decision) -> Choice:
        block, result = self.blocks[decision.result.id], decision.result
        reasons = [f"needed again with a chance of {decision.need:.0%}", f"{decision.tokens:,} tokens"]
        return block, self.notice(block, result), [*reasons, *(result.ended[4] if result.ended else ())]
