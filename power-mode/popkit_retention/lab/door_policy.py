"""A policy of what enters: each result as the door lets it in, under any policy of what is cleared later."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hooks.utils.policy import door
from hooks.utils.policy.events import Compacted
from hooks.utils.policy.ruleset import Ruleset
from hooks.utils.policy.tools import READ

from .blocks import Block, Request
from .engine_policies import Tracked
from .policy import Choice, Policy, View

if TYPE_CHECKING:
    from hooks.utils.policy.events import Event

_SHIPPED = door.Settings()
# setting -> the values with which a rule is on; by these a door is named.
SWITCHES = {
    setting: tuple(dict.fromkeys(value for rule in door.RULES if rule.setting == setting for value in rule.values))
    for setting in door.Settings._fields
}
NAMES = tuple(value for values in SWITCHES.values() for value in values)


def settings_of(name: str) -> door.Settings:
    """Return the settings of a door's name: values joined by + (`any+safe`), with all else off. Raise ValueError for a value that switches
    no rule."""
    parts = name.split("+")
    if not {*NAMES, door.OFF}.issuperset(parts):
        raise ValueError(f"{name}: parts joined by +, of {', '.join(NAMES)}")
    return door.Settings(*(next((part for part in parts if part in values), door.OFF) for values in SWITCHES.values()))


class Door(Policy):
    """Lets results in once and without noise. The policy `then` clears no result that a reference in the context leans on."""

    def __init__(self, rules: Ruleset, then: Policy | None = None, settings: door.Settings = _SHIPPED) -> None:
        self.then = then or Policy()
        self.tracked = Tracked(rules)
        self.cwd = ""  # where the session began
        self.settings = settings
        self.shown = door.Shown()
        self.leans_on: dict[str, tuple[str, ...]] = {}  # id of a result in the context -> ids that its references name
        self.before: tuple[object, ...] = ()  # (tool, input) of the call before, if its result entered in part

    def begin(self, cwd: str) -> None:
        self.cwd = cwd
        self.tracked.begin(cwd)
        self.then.begin(cwd)

    def add(self, block: Block) -> None:
        self.tracked.add(block)
        self.then.add(block)

    def arrival_of(self, block: Block) -> door.Arrival | None:
        """Return a result as it comes to the door; None for another block."""
        result = self.tracked.result(block)
        if result is None:
            return None
        call = block.call
        path = result.subjects[0] if call.operation == READ and result.subjects else ""
        name = door.name_of(call.tool, call.tool_input, self.cwd)
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
        return entry.text if entry.reasons else None

    def event(self, event: Event) -> None:
        self.tracked.event(event)
        self.then.event(event)

    @property
    def rebuilds(self) -> bool:  # type: ignore[override]
        return self.then.rebuilds

    def at_compaction(self, event: Compacted, view: View) -> str:
        return self.then.at_compaction(event, view)

    def compact(self, event: Event) -> None:
        self.tracked.compact(event)
        self.then.compact(event)
        self._keep(())

    def cut(self, context: list[Block]) -> None:
        self.tracked.cut(context)
        self.then.cut(context)
        self._keep(block.id for block in context if block.id)

    def _keep(self, ids: Iterable[str]) -> None:
        """Forget all results but these."""
        kept = set(ids)
        self.shown.keep(kept | {"call " + id for id in kept})
        self.leans_on = {id: leant for id, leant in self.leans_on.items() if id in kept}
        self.before = ()

    def decide(self, view: View) -> list[Choice]:
        self.tracked.decide(view)
        choices = self.then.decide(view)
        going = self._free({block.id for block, *_ in choices})
        self.shown.drop(going)
        self.leans_on = {id: leant for id, leant in self.leans_on.items() if id not in going}
        return [choice for choice in choices if choice[0].id in going]

    def _free(self, going: set[str]) -> set[str]:
        """Return those of some ids on which no result that stays leans, directly or over others."""
        while held := going & {leant for id, some in self.leans_on.items() if id not in going for leant in some}:
            going = going - held
        return going

    def missed(self, block: Block) -> None:
        self.then.missed(block)

    def answered(self, request: Request) -> None:
        self.tracked.answered(request)
        self.then.answered(request)
