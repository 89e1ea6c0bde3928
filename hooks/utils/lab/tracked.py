"""A policy that follows the conversation as the hooks do: what is alive, what has expired, and why, and where everything stands."""

from __future__ import annotations

from ..policy.context import ContextState
from ..policy.conversation import Conversation, Usage
from ..policy.placeholder import placeholder, why
from .measure import Policy


class Tracked(Policy):
    """Tells a Conversation under a Ruleset of everything that happens; a request is told with what the measure says of it."""

    def __init__(self, rules):
        self.rules = rules
        self.told: list = []  # (method of the conversation, what it was told, Block) since its beginning, to begin anew after a cut
        self.conversation = self._new()
        self.view = None

    def _new(self) -> Conversation:
        return Conversation(ContextState(), lambda profile: self.rules)

    @property
    def state(self) -> ContextState:
        return self.conversation.state

    def _tell(self, method: str, *what, block=None) -> None:
        self.told.append((method, what, block))
        getattr(self.conversation, method)(*what)

    def add(self, block) -> None:
        if block.call is not None:
            self._tell("observe", block.call, block=block)
        else:
            self._tell("said", block.tokens, block.thinking, block=block)

    def event(self, event) -> None:
        self._tell("observe", event)

    def compact(self, event) -> None:
        self._tell("observe", event)

    def cut(self, context: list) -> None:
        """The conversation was taken back: it is as if what is gone had never been."""
        standing = set(context)
        compacted = next((at for at in range(len(self.told) - 1, -1, -1) if _is_compaction(self.told[at])), -1)
        told = [one for at, one in enumerate(self.told) if at <= compacted or one[2] is None or one[2] in standing]
        self.told, self.conversation = [], self._new()
        for method, what, block in told:
            self._tell(method, *what, block=block)

    def decide(self, view) -> list:
        self.view = view
        return []

    def answered(self, request) -> None:
        view = self.view
        prompt = view.base + sum(view.sizes)
        self._tell("sent", Usage(prompt, request.answered_at, view.prices.model, view.prices.ttl_s))

    def why(self, result) -> str:
        """Why a result would go now, in a few words."""
        return why(result, self.state.quiet_age(result))

    def notice(self, block, result) -> str:
        """What a live clear would put into a result's place now."""
        return placeholder(result.label, self.why(result), block.handle)

    def result(self, block):
        """The engine's Result of a Block, None for what is none or no longer known."""
        return self.state.live.get(block.id) or self.state.expired.get(block.id) if block.id else None


def _is_compaction(told: tuple) -> bool:
    method, what, _ = told
    return method == "observe" and what[0].name == "compacted"
