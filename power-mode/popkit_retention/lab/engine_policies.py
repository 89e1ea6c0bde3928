"""Policies that follow a replayed conversation with the engine, as the hooks do: the tiers of a profile, `auto`, and the door, through
which each result enters, whatever policy clears later."""

from __future__ import annotations

import json
from collections.abc import Collection
from copy import copy, deepcopy
from typing import Any, Optional

from hooks.utils.policy import door, engine, planning, worth
from hooks.utils.policy.classify import classify
from hooks.utils.policy.context import ContextState, Result
from hooks.utils.policy.conversation import Conversation
from hooks.utils.policy.economics import Prices
from hooks.utils.policy.estimate import estimate_tokens
from hooks.utils.policy.events import Cleared, Compacted, Entered, ManualClear, Restored, Tick
from hooks.utils.policy.list_text import handle_of_fold
from hooks.utils.policy.placeholder import beside, handle_in, placeholder, why, with_outline
from hooks.utils.policy.plans import CLEAR, Decision, Plan, Selection
from hooks.utils.policy.ruleset import Ruleset
from hooks.utils.policy.usage import Usage
from hooks.utils.policy.worth import NeedModel

from .policy import Block, Choice, Policy, Request, View, rewound, tokens_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hooks.utils.policy.events import Event


# A method of a Conversation, its arguments, and the Block that it is about.
ConversationCall = tuple[str, tuple[Any, ...], Optional[Block]]


class Tracked(Policy):
    """Passes every event to a Conversation under a Ruleset; a request with everything that the measure knows of it."""

    def __init__(self, rules: Ruleset):
        self.rules = rules
        self.cwd = ""
        self.calls: list[ConversationCall] = []  # since its beginning, on this branch
        self.all_calls: list[ConversationCall] = []  # with those of branches that were left since the last compaction
        self.conversation = self._new()
        self.view: View
        self.out: dict[str, int] = {}  # id -> tokens that requests would carry without the policy
        self.left_out: dict[str, int] = {}  # the same of branches that were left

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
            said, thought = (0, block.estimate) if block.thinking else (block.estimate, 0)
            self._call("add_text", said, thought, said if block.asks else 0, block=block)

    def event(self, event: Event) -> None:
        self._call("observe", event)

    def entered(self, block: Block, text: str, leans_on: tuple[str, ...], reasons: Collection[str]) -> None:
        """Note that a text entered in the place of a result's own, or takes its place from now on."""
        content = classify(block.call, block.call.cwd or self.cwd, self.rules).content
        tokens, whole = (estimate_tokens(each, content) for each in (text, block.text))
        left_out = len(block.text) - len(text)
        event = Entered(block.id, tokens, leans_on, block.handle, left_out, reasons, block.call.at, max(0, whole - tokens))
        self._call("observe", event, block=block)

    def compact(self, event: Event) -> None:
        self._call("observe", event)
        self.out = {}

    def cut(self, context: list[Block]) -> None:
        """Replay the conversation without branches that were left, except that their requests have read the cache."""
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
        """Return the text that a live clear would put in a result's place now."""
        return with_outline(placeholder(result.label, self.why(result), block.handle), beside(result, block.text, self.rules))

    def result(self, block: Block) -> Result | None:
        """Return the engine's Result of a Block; None for a block that is not a result or is no longer known."""
        return self.state.live.get(block.id) or self.state.expired.get(block.id) if block.id else None


def _kind(method: str, arguments: tuple[Any, ...]) -> str:
    """Return which event a call of a Conversation passes on, or the method."""
    return str(arguments[0].name) if method == "observe" else method


class Tiers(Tracked):
    """Clears results that have expired under a Ruleset; with `only_cold`, only right before requests that write the whole prompt anyway.
    Keep a result that came back, and one that is no longer than its placeholder."""

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


class AutoPolicy(Tracked):
    """Clears what the plan of a live clear (policy/planning.py) clears, when it pays, leaving an outline of a large result. A result that
    came back is held as one that the user put back."""

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
        self._call("needed", block.id or block.asks)
        if not block.id:
            return  # what a call was made with
        self._call("observe", Restored(block.id, True, self.view.now))
        self._call("returned", {block.id})

    def at(self, now: float) -> Conversation:
        """Return a copy of the conversation at a time: everything that is due by then has expired."""
        conversation = copy(self.conversation)
        conversation.state = deepcopy(self.state)
        engine.observe(conversation.state, Tick(now), self.rules)
        return conversation

    def plan(self, now: float) -> Plan:
        """Return the plan that a live clear would make."""
        return planning.plan(self.at(now), Selection(), now, self.model, self.prices, self.is_cold(now), self.tuned)

    def is_cold(self, now: float) -> bool:
        """Return whether the next request finds no cache."""
        return not self.conversation.last.is_warm(now)

    def decide(self, view: View) -> list[Choice]:
        super().decide(view)
        if not self.is_cold(view.now):
            return []  # the plan would hold everything back
        plan = self.plan(view.now)
        clearable = set(view.context)  # a block that was carried over a compaction can be cleared no more
        going = [decision for decision in plan.having(CLEAR) if self.blocks[decision.result.id] in clearable]
        if not plan.pays or not going:
            return []
        choices = [self._cleared(decision) for decision in going]
        if self.prices.bound:
            self._call("unthought", going[0].result.id)
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


# --- the door ---

_SHIPPED_DOOR = door.Settings()
# setting -> the values with which a rule is on; by these a door is named.
DOOR_SWITCHES = {
    setting: tuple(dict.fromkeys(value for rule in door.RULES if rule.setting == setting for value in rule.values))
    for setting in door.Settings._fields
}
DOOR_NAMES = tuple(value for values in DOOR_SWITCHES.values() for value in values)


def door_settings_of(name: str) -> door.Settings:
    """Return the settings of a door's name: values joined by + (`any+safe`), with all else off. Raise ValueError for a value that switches
    no rule on."""
    parts = name.split("+")
    if not {*DOOR_NAMES, door.OFF}.issuperset(parts):
        raise ValueError(f"{name}: parts joined by +, of {', '.join(DOOR_NAMES)}")
    return door.Settings(*(next((part for part in parts if part in values), door.OFF) for values in DOOR_SWITCHES.values()))


class Door(Policy):
    """Lets results in once and without noise. The policy `then` clears no result on which a reference in the context depends."""

    def __init__(self, rules: Ruleset, then: Policy | None = None, settings: door.Settings = _SHIPPED_DOOR) -> None:
        self.then = then or Policy()
        self.tracked = Tracked(rules)
        self.cwd = ""  # where the session began
        self.settings = settings
        self.shown = door.Shown()
        self.leans_on: dict[str, tuple[str, ...]] = {}  # id of a result in the context -> ids that its references name
        self.left: dict[str, tuple[str, ...]] = {}  # the same of branches that were left
        self.before: tuple[object, ...] = ()  # (tool, input) of the call before, if its result entered in part
        self.told = self.then if isinstance(self.then, Tracked) else None

    def begin(self, cwd: str) -> None:
        self.cwd = cwd
        self.tracked.begin(cwd)
        self.then.begin(cwd)

    def add(self, block: Block) -> None:
        self.tracked.add(block)
        self.then.add(block)

    def arrival_of(self, block: Block) -> door.Arrival | None:
        """Return a result as it comes to the door; None for any other block."""
        result = self.tracked.result(block)
        if result is None:
            return None
        call = block.call
        path = door.path_of(call.traits, result.subjects, result.parts)
        name = door.name_of(call.traits, call.tool_input, self.cwd)
        return door.Arrival(
            block.id, call.traits, call.tool_input, result.kind, name, block.text, call.outcome.error, path,
            (call.tool, call.tool_input) == self.before, block.handle,
        )  # fmt: skip

    def enter(self, block: Block) -> str | None:
        arrival = self.arrival_of(block)
        if arrival is None:
            return None
        call = block.call
        entry = door.enter(arrival, self.shown, self.settings)
        self.before = (call.tool, call.tool_input) if door.is_partial(entry) else ()
        for source in door.shows(arrival, entry.text, self.settings):
            self.shown.add(source)
        if entry.leans_on:
            self.leans_on[block.id] = entry.leans_on
        if entry.reasons and self.told is not None:
            self.told.entered(block, entry.text, entry.leans_on, entry.reasons)
        return entry.text if entry.reasons else None

    def event(self, event: Event) -> None:
        self.tracked.event(event)
        self.then.event(event)

    @property
    def rebuilds(self) -> bool:  # type: ignore[override]
        return self.then.rebuilds

    @property
    def look_ups(self) -> int:
        return self.then.look_ups

    def at_compaction(self, event: Compacted, view: View) -> str:
        return self.then.at_compaction(event, view)

    def compact(self, event: Event) -> None:
        self.tracked.compact(event)
        self.then.compact(event)
        self._keep(())

    def cut(self, context: list[Block]) -> None:
        self.tracked.cut(context)
        self.then.cut(context)
        self._keep([block.id for block in context if block.id])

    def _keep(self, ids: Collection[str]) -> None:
        """Forget what all results but these show; what shows again on a branch that was left enters again."""
        self.shown.keep({*ids, *("call " + id for id in ids)})
        self.leans_on, self.left = rewound(self.leans_on, self.left, ids)
        self.before = ()

    def decide(self, view: View) -> list[Choice]:
        self.tracked.decide(view)
        choices = self.then.decide(view)
        if self.then.makes_whole:
            if choices:
                self._show_again(view, choices)
            return choices
        going = self._free({block.id for block, *_ in choices})
        self.shown.drop(going)
        self.leans_on = {id: leant for id, leant in self.leans_on.items() if id not in going}
        return [choice for choice in choices if choice[0].id in going]

    def _show_again(self, view: View, choices: list[Choice]) -> None:
        """Show what stands in a conversation that is built again, as the host hands it over once more."""
        whole = {block for block, text, _ in choices if block.id and text == block.text}
        stands = {**view.entered, **view.cleared, **{block: text for block, text, _ in choices}}
        inputs = {block.asks: stands[block] for block in view.context if block.asks and block in stands}
        self.shown, self.before = door.Shown(), ()
        kept = {}
        for block in view.context:
            arrival, text = self.arrival_of(block), stands.get(block, block.text)
            if arrival is None or not text or handle_of_fold(text):
                continue
            stub = inputs.get(block.id)
            arrival.text, arrival.tool_input = text, json.loads(stub) if stub else arrival.tool_input
            for source in door.shows(arrival, "" if handle_in(text) else text, self.settings):
                self.shown.add(source)
            if block.id in self.leans_on and block not in whole and text == view.entered.get(block):
                kept[block.id] = self.leans_on[block.id]
        self.leans_on = kept

    def _free(self, going: set[str]) -> set[str]:
        """Return those ids on which no result that stays depends, directly or indirectly."""
        while held := going & {leant for id, some in self.leans_on.items() if id not in going for leant in some}:
            going = going - held
        return going

    def missed(self, block: Block) -> None:
        self.leans_on.pop(block.id, None)
        if self.told is not None and block.id in self.told.conversation.entered:
            self.told.entered(block, block.text, (), ["whole again: it was needed"])
        self.then.missed(block)

    def answered(self, request: Request) -> None:
        self.tracked.answered(request)
        self.then.answered(request)
