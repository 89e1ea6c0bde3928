"""Layer 2: the memories that enter with a request, by what they are worth for it. Pure but for its source."""

from __future__ import annotations

from .dialogue import Addition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from .metering import Meter
    from .models import PruningStrategy
    from .sources import MemorySource

KIND = "memory"
HEAD = "From memory of earlier sessions:"
# Tokens that all memories together may have: they are what a session begins with, not what it is about.
MOST_TOKENS = 4_000


def entering(
    source: MemorySource | None, request: str, strategy: PruningStrategy, standing: Collection[Addition], room: float, meter: Meter
) -> list[Addition]:
    """The memories that enter with a request, the best first: none that stands already, and with these no more than the strategy allows.
    `room`: tokens there are for them."""
    known = {addition.key for addition in standing if addition.kind == KIND}
    items = strategy.tier2_items
    most = None if items == "all" else items - len(known)
    if source is None or (most is not None and most <= 0):
        return []
    room = min(room, MOST_TOKENS - sum([meter.text(addition.text) for addition in standing if addition.kind == KIND])) - meter.text(HEAD)
    found: list[Addition] = []
    for memory in source.relevant(request, None if most is None else most + len(known)):
        addition = Addition(KIND, memory.id, memory.text.strip(), HEAD)
        tokens = meter.text("\n- " + addition.text)
        if memory.id not in known and addition.text and tokens <= room and (most is None or len(found) < most):
            found.append(addition)
            known.add(memory.id)
            room -= tokens
    return found
