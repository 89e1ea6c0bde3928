"""The bounds of a memory: which items the job marks where a project holds more than it may. Pure.

A note that a person wrote keeps its worth, so scores alone never delete it (`valuation`): these bounds do.
"""

from __future__ import annotations

from typing import NamedTuple

from popkit_retention.core.policy.estimate import estimate_tokens

from .valuation import DAY_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .items import Item


class Bounds(NamedTuple):
    """The most that a project holds: `items`, `tokens` of their texts together, and `days` since an item was last asked for, or made. None:
    as many as there are."""

    items: int | None = 10_000
    tokens: int | None = None
    days: float | None = None

    @property
    def are_set(self) -> bool:
        return any(bound is not None for bound in self)


DEFAULT, UNBOUNDED = Bounds(), Bounds(None)


def excess(items: Iterable[Item], bounds: Bounds, now: float, may_go: Callable[[Item], bool]) -> list[tuple[Item, str]]:
    """Return the items of one project that go, each with the reason: those that nobody has asked for within the days, then those that are
    worth least, the longest unused first, until the rest is within the bounds. What may not go counts, and stays."""
    going: list[tuple[Item, str]] = []
    staying: list[Item] = []
    for item in items:
        if bounds.days is not None and now - item.last_accessed > bounds.days * DAY_S and may_go(item):
            going.append((item, f"not asked for in {bounds.days:,g} days"))
        else:
            staying.append(item)
    count, tokens = len(staying), sum(estimate_tokens(item.text) for item in staying) if bounds.tokens is not None else 0
    for item in sorted(staying, key=lambda item: (item.score, item.last_accessed, item.id)):
        if bounds.items is not None and count > bounds.items:
            reason = f"worth the least of more than {bounds.items:,} items"
        elif bounds.tokens is not None and tokens > bounds.tokens:
            reason = f"worth the least of more than {bounds.tokens:,} tokens"
        else:
            break
        if may_go(item):
            going.append((item, reason))
            count -= 1
            tokens -= estimate_tokens(item.text)
    return going
