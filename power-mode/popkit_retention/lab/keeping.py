"""What keeping the cache warm would have been worth on past sessions, as a session does it: while the user is to speak, decided by breaks
of the sessions before, and of others where these are few. Reads only."""

from __future__ import annotations

import os

from hooks.utils.policy.ruleset import KEEP_WARM_REQUESTS
from hooks.utils.policy.warming import Breaks
from hooks.utils.state import breaks

from . import sessions
from .measure import Policy, score
from .pricing import prices_for
from .survey import DEARER, LEAST_REQUESTS
from .warm_policy import KeepWarm, breaks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


def keeping(paths: Sequence[str], ttl_s: int, model: str = "", progress: Callable[[int, int], object] | None = None) -> dict[str, Any]:
    """{`sessions`, `requests`, `sent` (requests that only kept the cache), `cost`, `without` (units), `dearer` (sessions), `breaks` (known
    in the end)}. The files are read in the order in which they were written last; those that cannot be read are passed over."""
    own: list[float] = []
    others = breaks.others().after_which_cold(ttl_s)
    found = {"sessions": 0, "requests": 0, "sent": 0, "cost": 0.0, "without": 0.0, "dearer": 0}
    ordered = sorted(paths, key=_written)
    for number, path in enumerate(ordered, 1):
        session = _read(path)
        if session is not None:
            prices = prices_for(session, ttl_s, model)
            kept = score(session, KeepWarm(prices, Breaks(own, others), Breaks(), limit=KEEP_WARM_REQUESTS), prices)
            without = score(session, Policy(), prices)
            sums = (1, kept.requests, kept.warmed, kept.cost, without.cost, int(kept.cost > DEARER * without.cost))
            found = {name: value + more for (name, value), more in zip(found.items(), sums)}
            own.extend(breaks_of([session], ttl_s, False))
        if progress:
            progress(number, len(ordered))
    return {**found, "breaks": len(own)}


def _written(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _read(path: str) -> sessions.Session | None:
    try:
        session = sessions.read(path, with_needs=False)
    except OSError:
        return None
    return session if len(session.requests) >= LEAST_REQUESTS else None
