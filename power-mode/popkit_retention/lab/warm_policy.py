"""Keeping the cache warm in the lab, under any policy of what is cleared."""

from __future__ import annotations

from hooks.utils.policy import warming
from hooks.utils.policy.ruleset import KEEP_WARM_REQUESTS

from .measure import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hooks.utils.policy.economics import Prices
    from hooks.utils.policy.events import Compacted

    from .measure import Choice, Event, View
    from .sessions import Block, Request


class KeepWarm(Policy):
    """Sends `number` requests after each answer while the user is to speak; as many as a session does where none is given."""

    def __init__(self, prices: Prices, then: Policy | None = None, number: int | None = None) -> None:
        self.number = warming.most(prices, KEEP_WARM_REQUESTS) if number is None else number
        self.then = then or Policy()

    def warm(self, request: Request, prompt: int) -> int:
        return 0 if request.calls else self.number

    def begin(self, cwd: str) -> None:
        self.then.begin(cwd)

    def add(self, block: Block) -> None:
        self.then.add(block)

    def enter(self, block: Block) -> str | None:
        return self.then.enter(block)

    def event(self, event: Event) -> None:
        self.then.event(event)

    @property
    def rebuilds(self) -> bool:  # type: ignore[override]
        return self.then.rebuilds

    def at_compaction(self, event: Compacted, view: View) -> str:
        return self.then.at_compaction(event, view)

    def compact(self, event: Event) -> None:
        self.then.compact(event)

    def cut(self, context: list[Block]) -> None:
        self.then.cut(context)

    def decide(self, view: View) -> list[Choice]:
        return self.then.decide(view)

    def missed(self, block: Block) -> None:
        self.then.missed(block)

    def answered(self, request: Request) -> None:
        self.then.answered(request)
