"""A policy that follows the conversation as the hooks do: what is alive, what has expired, and why, and where everything stands."""

from __future__ import annotations

from hooks.utils.policy.context import ContextState
from hooks.utils.policy.conversation import Conversation, Usage
from hooks.utils.policy.placeholder import beside, placeholder, why, with_outline

from .measure import Policy, View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hooks.utils.policy.context import Result
    from hooks.utils.policy.events import Event
    from hooks.utils.policy.ruleset import Ruleset

    from .measure import Choice
    from .sessions import Block, Request


class Tracked(Policy):
    """Tells a Conversation under a Ruleset of everything that happens; a request is told with what the measure says of it."""

    def __init__(self, rules: Ruleset):
        self.rules = rules
        self.cwd = ""
        self.told: list[
            tuple[str, tuple[Any, ...], Block | None]
        ] = []  # (method of the conversation, what it was told, Block) since its beginning, to begin anew after a cut
        self.conversation = self._new()
        self.view: View
        self.out: dict[str, int] = {}  # id -> tokens that requests would carry but for the policy

    def _new(self) -> Conversation:
        state = ContextState()
        state.cwd = self.cwd
        return Conversation(state, lambda profile: self.rules)

    def begin(self, cwd: str) -> None:
        self.cwd = self.state.cwd = cwd

    @property
    def state(self) -> ContextState:
        return self.conversation.state

    def _tell(self, method: str, *what: Any, block: Block | None = None) -> None:
        self.told.append((method, what, block))
        getattr(self.conversation, method)(*what)

    def add(self, block: Block) -> None:
        if block.id:
            self._tell("observe", block.call, block=block)
        else:
            self._tell("said", block.said, block.thinking, block=block)

    def event(self, event: Event) -> None:
        self._tell("observe", event)

    def compact(self, event: Event) -> None:
        self._tell("observe", event)
        self.out = {}

    def cut(self, context: list[Block]) -> None:
        """The conversation was taken back: it is as if what is gone had never been, but that its requests have read the cache."""
        told, stands, folded, standing = [], False, False, set(context)
        for method, what, block in reversed(self.told):
            about = what[0].name if method == "observe" else method
            folded = folded or about == "compacted"
            if block is not None:
                stands = block in standing
            # A prompt, and a request, stand where what was written next does.
            if folded or stands or (block is None and about not in ("sent", "prompted")):
                told.append((method, what, block))
            elif about == "sent":
                told.append(("went_on", (what[0].until,), None))
        self.told, self.conversation = [], self._new()
        for method, what, block in reversed(told):
            self._tell(method, *what, block=block)
        self.out = {id: tokens for id, tokens in self.out.items() if any(block.id == id for block in context)}

    def decide(self, view: View) -> list[Choice]:
        self.view = view
        return []

    def answered(self, request: Request) -> None:
        """The request as its usage would tell had the policy been at work: without what it has cleared."""
        view, told = self.view, request.usage
        prompt = view.base + sum(view.sizes) if told is None else max(1, told.tokens - sum(self.out.values()))
        self._tell("sent", Usage(prompt, request.answered_at, view.prices.model, view.prices.ttl_s))

    def why(self, result: Result) -> str:
        """Why a result would go now, in a few words."""
        return why(result, self.state.quiet_age(result))

    def notice(self, block: Block, result: Result) -> str:
        """What a live clear would put into a result's place now."""
        return with_outline(placeholder(result.label, self.why(result), block.handle), beside(result, block.text, self.rules))

    def result(self, block: Block) -> Result | None:
        """The engine's Result of a Block, None for what is none or no longer known."""
        return self.state.live.get(block.id) or self.state.expired.get(block.id) if block.id else None
