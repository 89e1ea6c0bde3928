"""With which settings the provider's own clearing of tool results would have paid on past sessions. Reads only.

The provider checks what was sent, not what it clears of that, so nothing thought is lost. What it clears is written again behind the first
cleared result: too little at a time, or too often, costs more than it saves.
"""

from __future__ import annotations

from itertools import product

from hooks.utils.policy.economics import Prices

from .baselines import ContextEditing
from .measure import DEARER, Policy, score
from .pricing import prices_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NamedTuple

    from .sessions import Session

    class Settings(NamedTuple):
        """Prompt tokens from which results are cleared · how many of the newest stay · tokens under which nothing is cleared."""

        trigger: int
        keep: int
        at_least: int

    class Fit(NamedTuple):
        """`cost` against clearing nothing, results needed again per 100 requests, and the share of sessions that became dearer."""

        settings: Settings
        cost: float
        misses: float
        dearer: float

else:
    from collections import namedtuple

    Settings = namedtuple("Settings", "trigger keep at_least")
    Fit = namedtuple("Fit", "settings cost misses dearer")

TRIGGERS = (60_000, 100_000, 150_000, 250_000)
KEEPS = (5, 15, 30)
AT_LEASTS = (20_000, 40_000)
# Results that had to be fetched again interrupt the work: settings with more of them per 100 requests are not advised, however cheap.
MOST_MISSES = 3.0


def grid() -> list[Settings]:
    return [Settings(*values) for values in product(TRIGGERS, KEEPS, AT_LEASTS)]


def fits(
    sessions: Sequence[Session],
    ttl_s: int,
    model: str = "",
    tried: Sequence[Settings] = (),
    progress: Callable[[int, int], object] | None = None,
) -> list[Fit]:
    """What each of some settings (all of the grid) would have come to, the cheapest first."""
    priced = [_unbound(prices_for(session, ttl_s, model)) for session in sessions]
    without = [score(session, Policy(), prices).cost for session, prices in zip(sessions, priced)]
    found = []
    tried = tried or grid()
    for number, settings in enumerate(tried, 1):
        scored = [score(session, ContextEditing(*settings), prices) for session, prices in zip(sessions, priced)]
        requests = sum(one.requests for one in scored) or 1
        dearer = sum(one.cost > DEARER * alone for one, alone in zip(scored, without))
        cost = sum(one.cost for one in scored) / (sum(without) or 1.0)
        found.append(Fit(settings, cost, 100 * sum(one.missed for one in scored) / requests, dearer / (len(sessions) or 1)))
        if progress:
            progress(number, len(tried))
    return sorted(found, key=lambda fit: fit.cost)


def best_of(found: Sequence[Fit]) -> Fit | None:
    """The cheapest that pays without many results being needed again; None for none."""
    return next((fit for fit in found if fit.cost < 1 and fit.misses <= MOST_MISSES), None)


def _unbound(prices: Prices) -> Prices:
    """The same prices where a clearing loses no thinking."""
    return Prices(prices.read, prices.write, prices.output, prices.ttl_s, False, prices.model, prices.known)
