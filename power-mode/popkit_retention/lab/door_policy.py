"""The door of a replayed conversation, through which each result enters, whatever policy clears later."""

from __future__ import annotations

import json
from collections.abc import Collection

from popkit_retention.core.policy import door
from popkit_retention.core.policy.door.arrival import Arrival
from popkit_retention.core.policy.door.rules import OFF, RULES
from popkit_retention.core.policy.events import Compacted
from popkit_retention.core.policy.list_text import handle_of_fold
from popkit_retention.core.policy.placeholder import handle_in
from popkit_retention.core.policy.ruleset import Ruleset

from .engine_policies import TrackingPolicy
from .policy import Choice, Policy, View
from .recorded import Block, Request, rewound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.events import Event


_SHIPPED_DOOR = door.Settings()
# setting -> the values with which a rule is on, which a door is named for
DOOR_SWITCHES = {
    setting: tuple(dict.fromkeys(value for rule in RULES if rule.setting == setting for value in rule.values))
    for setting in door.Settings._fields
}
DOOR_NAMES = tuple(value for values in DOOR_SWITCHES.values() for value in values)


def door_settings_of(name: str) -> door.Settings:
    """Return the settings of a door's name: values joined by + (`any+safe`), with all other settings off. Raise ValueError for a value that
    switches no rule on."""
    parts = name.split("+")
    if not {*DOOR_NAMES, OFF}.issuperset(parts):
        raise ValueError(f"{name}: parts joined by +, of {', '.join(DOOR_NAMES)}")
    return door.Settings(*(next((part for part in parts if part in values), OFF) for values in DOOR_SWITCHES.values()))


class Door(Policy):
    """Lets each result in only once, and without noise. The policy `then` clears no result on which a reference in the context depends."""

    def __init__(self, rules: Ruleset, then: Policy | None = None, settings: door.Settings = _SHIPPED_DOOR) -> None:
        self.then = then or Policy()
        self.tracked = TrackingPolicy(rules)
        self.cwd = ""  # where the session began
        self.settings = settings
        self.shown = door.ContextLines()
        self.leans_on: dict[str, tuple[str, ...]] = {}  # id of a result in the context -> ids that its references name
        self.left: dict[str, tuple[str, ...]] = {}  # the same for branches that were left
        self.before: tuple[object, ...] = ()  # (tool, input) of the call before, if its result entered in part
        self.told = self.then if isinstance(self.then, TrackingPolicy) else None

    def begin(self, cwd: str) -> None:
        self.cwd = cwd
        self.tracked.begin(cwd)
        self.then.begin(cwd)

    def add(self, block: Block) -> None:
        self.tracked.add(block)
        self.then.add(block)

    def arrival_of(self, block: Block) -> Arrival | None:
        """Return a result as it arrives at the door; None for any other block."""
        result = self.tracked.result(block)
        if result is None:
            return None
        call = block.call
        path = door.path_of(call.traits, result.subjects, result.parts)
        name = door.name_of(call.traits, call.tool_input, self.cwd)
        return Arrival(
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
        """Forget what all other results show: on a branch that was left, it may enter again."""
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
        """Show what is in a conversation that is rebuilt, as the host hands it over once more."""
        whole = {block for block, text, _ in choices if block.id and text == block.text}
        stands = {**view.entered, **view.cleared, **{block: text for block, text, _ in choices}}
        inputs = {block.asks: stands[block] for block in view.context if block.asks and block in stands}
        self.shown, self.before = door.ContextLines(), ()
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
        while held := going & {leant for id, references in self.leans_on.items() if id not in going for leant in references}:
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
