"""Step pairs from one variant to the next until there is room. Pure."""

from __future__ import annotations

import heapq

from .ways import Pair, loss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def make_room(needed: float, pairs: Iterable[Pair]) -> bool:
    """Take the steps that lose least, until as many tokens as are `needed` may have left. Return whether it took any."""
    steps: list[tuple[float, int, Pair]] = []
    for order, pair in enumerate(pairs):
        if not pair.keeps_all:
            _offer(steps, order, pair)
    moved = False
    while steps and needed > 0:
        _, order, pair = heapq.heappop(steps)
        needed -= pair.tokens_at(pair.at) - pair.tokens_at(pair.at + 1)
        pair.at += 1
        moved = True
        _offer(steps, order, pair)
    return moved


def _offer(steps: list[tuple[float, int, Pair]], order: int, pair: Pair) -> None:
    if pair.at + 1 < len(pair.ways):
        heapq.heappush(steps, (loss(pair.now, pair.ways[pair.at + 1]), order, pair))


def give_back(room: float, pairs: Iterable[Pair]) -> bool:
    """Take steps back, those first that are worth most, as far as there is room: what left last was larger than what had to. Return whether
    it took any."""
    steps: list[tuple[float, int, Pair]] = []
    for order, pair in enumerate(pairs):
        _offer_back(steps, order, pair)
    moved = False
    while steps:
        _, order, pair = heapq.heappop(steps)
        tokens = pair.ways[pair.at - 1].tokens - pair.tokens_at(pair.at)
        if tokens <= room:
            room -= tokens
            pair.at -= 1
            moved = True
            _offer_back(steps, order, pair)
    return moved


def _offer_back(steps: list[tuple[float, int, Pair]], order: int, pair: Pair) -> None:
    if pair.at:
        heapq.heappush(steps, (-loss(pair.ways[pair.at - 1], pair.now), order, pair))
