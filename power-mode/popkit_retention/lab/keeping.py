"""What keeping the cache warm would have been worth on past sessions, as a session does it: while the user is to speak. Reads only."""

from __future__ import annotations

from hooks.utils.policy import warming
from hooks.utils.policy.ruleset import KEEP_WARM_REQUESTS

from . import sessions
from .measure import DEARER, Policy, score
from .pricing import prices_for
from .survey import LEAST_REQUESTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from hooks.utils.policy.economics import Prices

    from .sessions import Request


class KeepWarm(Policy):
    """Clears nothing; sends `number` requests after each answer while the user is to speak, as many as a session does where none is
    given."""

    def __init__(self, prices: Prices, number: int | None = None) -> None:
        self.number = warming.most(prices, KEEP_WARM_REQUESTS) if number is None else number

    def warm(self, request: Request, prompt: int) -> int:
        return 0 if request.calls else self.number


def keeping(paths: Sequence[str], ttl_s: int, model: str = "", progress: Callable[[int, int], object] | None = None) -> dict[str, Any]:
    """{`sessions`, `requests`, `sent` (requests that only kept the cache), `cost`, `without` (units), `dearer` (sessions)}. Files that
    cannot be read are passed over."""
    found = {"sessions": 0, "requests": 0, "sent": 0, "cost": 0.0, "without": 0.0, "dearer": 0}
    for number, path in enumerate(paths, 1):
        session = _read(path)
        if session is not None:
            prices = prices_for(session, ttl_s, model)
            kept = score(session, KeepWarm(prices), prices)
            without = score(session, Policy(), prices)
            sums = (1, kept.requests, kept.warmed, kept.cost, without.cost, int(kept.cost > DEARER * without.cost))
            found = {name: value + more for (name, value), more in zip(found.items(), sums)}
        if progress:
            progress(number, len(paths))
    return found


def _read(path: str) -> sessions.Session | None:
    try:
        session = sessions.read(path, with_needs=False)
    except OSError:
        return None
    return session if len(session.requests) >= LEAST_REQUESTS else None
