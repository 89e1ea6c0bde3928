"""Keeping the cache warm in the lab, under any policy of what is cleared."""

from __future__ import annotations

from hooks.utils.policy import warming

from .measure import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from hooks.utils.policy.economics import Prices

    from .measure import Choice, Event, View
    from .sessions import Block, Request, Session


def breaks_of(sessions: Iterable[Session], ttl_s: float, calls: bool) -> list[float]:
    """How long each break was after which the cache would have been cold (seconds), infinite behind the last request of a session: while
    tools ran (`calls`), or while the user was to speak."""
    return [length for session in sessions for length in warming.lengths(session.requests, ttl_s, calls)]


class KeepWarm(Policy):
    """Sends what keeps the cache warm while that is worth its price by the breaks that are known."""

    def __init__(
        self, prices: Prices, breaks: warming.Breaks, running: warming.Breaks, then: Policy | None = None, limit: int = warming.MOST
    ) -> None:
        """`breaks`: of the user, `running`: of tools; at most `limit` in a row."""
        self.prices = prices
        self.breaks = breaks
        self.running = running
        self.then = then or Policy()
        self.limit = limit

    def warm(self, request: Request, prompt: int) -> int:
        return warming.most(self.running if request.calls else self.breaks, prompt, self.prices, self.limit)

    def begin(self, cwd: str) -> None:
        self.then.begin(cwd)

    def add(self, block: Block) -> None:
        self.then.add(block)

    def enter(self, block: Block) -> str | None:
        return self.then.enter(block)

    def event(self, event: Event) -> None:
        self.then.event(event)

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
