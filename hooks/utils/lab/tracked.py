"""A policy that follows the conversation with the engine, as the hooks do: what is alive, what has expired, and why."""

from __future__ import annotations

from ..policy import engine
from ..policy.context import ContextState
from ..policy.placeholder import placeholder
from ..policy.selection import why
from .measure import Policy


class Tracked(Policy):
    """Feeds the engine under a Ruleset. `state` is the context's."""

    def __init__(self, rules):
        self.rules = rules
        self.state = ContextState()
        engine.reindex(self.state, rules)

    def add(self, block) -> None:
        if block.call is not None:
            engine.observe(self.state, block.call, self.rules)

    def event(self, event) -> None:
        engine.observe(self.state, event, self.rules)

    def compact(self, event) -> None:
        engine.observe(self.state, event, self.rules)

    def why(self, result) -> str:
        """Why a result would go now, in a few words."""
        return why(result, self.state.quiet_age(result))

    def notice(self, block, result) -> str:
        """What a live clear would put into a result's place now."""
        return placeholder(result.label, self.why(result), block.handle)

    def result(self, block):
        """The engine's Result of a Block, None for what is none or no longer known."""
        return self.state.live.get(block.id) or self.state.expired.get(block.id) if block.id else None
