"""Policies that know the rest of the session: bounds of what any policy can reach. Pure.

The session shows what every answer needs. Of several results with the same string only one is needed; from the last request to the first,
it is the one whose longer stay costs least (tokens times requests), so both bounds are near the best, not the best.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator
from itertools import accumulate

from popkit_retention.core.policy.economics import LOOK_BACK_REQUESTS, Prices
from popkit_retention.lab.policy import Choice, Policy, View
from popkit_retention.lab.recorded import Block, Session, rewound, tokens_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.events import Event

PLACEHOLDER = "[cleared]"
_LEFT = tokens_of(len(PLACEHOLDER))
# Smaller results are not worth the trouble.
LEAST = 20
# The times a plan looks back upon at which a result became free; earlier ones are cleared at places chosen later.
_LOOK_BACK = 150


class Future:
    """The needs of a session for each block, and their times.

    `born`, `free`, `last`: Block -> number of the first request that has it in its context, of the first from which on nothing needs it, of
    the last that has it. `segments`: [first, last] request, from one that writes everything to the next. `sent`: request -> where the part
    ends that was sent before, `offset`: Block -> where it begins (tokens; a block that is never needed counts as cleared).
    """

    def __init__(self, session: Session, ttl_s: float):
        self.born: dict[Block, int] = {}
        self.free: dict[Block, int] = {}
        self.last: dict[Block, int] = {}
        self.offset: dict[Block, int] = {}
        self.sent: dict[int, int] = {}
        self.segments: list[list[int]] = []
        self.number = 0
        self._needs(session)
        self._walk(session, ttl_s)

    def _needs(self, session: Session) -> None:
        number = 1
        since: dict[int, set[Block]] = {}  # request -> the results that no compaction has taken before it
        there: set[Block] = set()
        for step in session.steps:
            if step[0] == "add" and step[1].id:
                self.born[step[1]] = self.free[step[1]] = number
                there.add(step[1])
            elif step[0] == "compact":
                there = set()
            elif step[0] == "request":
                number = step[1].number + 1
                since[step[1].number] = there
        for request in reversed(session.requests):
            for _, every in request.needs:
                holders = [holder for holder in every if holder in since[request.number]]
                if holders and not any(self.free[holder] > request.number for holder in holders):
                    best = min(holders, key=lambda holder: (holder.tokens * (request.number + 1 - self.born[holder]), -holder.place))
                    self.free[best] = request.number + 1

    def _walk(self, session: Session, ttl_s: float) -> None:
        context: list[Block] = []
        ends: list[int] = [0]  # tokens up to each place
        sent, last_at, cold = 0, 0.0, True
        for step in session.steps:
            if step[0] == "add":
                context.append(step[1])
                self._place(step[1], ends)
            elif step[0] == "cut":
                self._leave(context[step[1] :])
                context, ends, sent = context[: step[1]], ends[: step[1] + 1], min(sent, step[1])
                for block in step[2]:
                    context.append(block)
                    self._place(block, ends)
            elif step[0] == "compact":
                self._leave(context)
                context, ends, sent, cold = [], [0], 0, True
            elif step[0] == "request":
                request = step[1]
                if cold or not last_at or request.sent_at - last_at > ttl_s:
                    self.segments.append([request.number, request.number])
                self.segments[-1][1] = self.number = request.number
                self.sent[request.number] = ends[sent]
                sent, last_at, cold = len(context), request.answered_at, False
        self._leave(context)

    def _place(self, block: Block, ends: list[int]) -> None:
        self.offset[block] = ends[-1]
        self.last.pop(block, None)
        ends.append(ends[-1] + (_LEFT if self.never_needed(block) else block.tokens))

    def _leave(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            self.last.setdefault(block, self.number)

    def never_needed(self, block: Block) -> bool:
        """Return whether a result can go before it is sent for the first time."""
        return bool(block.id) and block.tokens >= LEAST and self.free[block] <= self.born[block]


class Needs(Policy):
    """Clears every result of at least LEAST tokens as soon as nothing will need it again, whatever the cache does."""

    def __init__(self, session: Session, prices: Prices):
        self.future = Future(session, prices.ttl_s)
        self.uncleared: dict[Block, int] = {}  # Block -> first request from which on nothing needs it
        self.left: dict[Block, int] = {}  # the same of branches that were left

    def add(self, block: Block) -> None:
        if block.id and block.tokens >= LEAST:
            self.uncleared[block] = self.future.free[block]

    def compact(self, event: Event) -> None:
        self.uncleared = {}

    def cut(self, context: list[Block]) -> None:
        self.uncleared, self.left = rewound(self.uncleared, self.left, context)

    def free_at(self, number: int) -> list[Block]:
        """Return the results that request `number` and all after it can do without."""
        return [block for block, free in self.uncleared.items() if free <= number]

    def decide(self, view: View) -> list[Choice]:
        return self.clear(self.free_at(view.number))

    def clear(self, blocks: list[Block]) -> list[Choice]:
        """Clear these results."""
        for block in blocks:
            del self.uncleared[block]
        return [(block, PLACEHOLDER, ["nothing needs it again"]) for block in blocks]


class Oracle(Needs):
    """Knows needs and the cache. Everything free is cleared when the cache is cold, and unsent results at any time.

    In between, a clear rewrites everything behind it: the requests at which to clear are chosen by dynamic programming over all requests
    until the next cold one, with the true number of requests that each result would still be carried; the place to begin by trying every
    one. Results that such a clear leaves behind are not planned for again, only taken along where it pays; in small sessions where every
    choice can be tried this came to 99.9 % of what could be saved (77 % at worst). Not tried: to clear a result that a later request needs,
    and fetch it again then.
    """

    def __init__(self, session: Session, prices: Prices):
        super().__init__(session, prices)
        self.read, self.dearer = prices.read, prices.write - prices.read
        self.until: dict[int, int] = {}  # request -> the last one before everything is written anyway
        self.planned: set[int] = set()
        self.came: dict[int, list[Block]] = {}
        for block, free in self.future.free.items():
            if block.tokens >= LEAST and not self.future.never_needed(block):
                self.came.setdefault(free, []).append(block)
        for first, last in self.future.segments:
            self.until.update(dict.fromkeys(range(first, last + 1), last))
            planned = self._plan(first, last)
            # The plan ends at its last time: after that every clear that pays by itself is made.
            self.planned |= planned | set(range(max(planned, default=first) + 1, last + 1))

    def gain(self, block: Block, number: int) -> float:
        """Return what clearing a result at a request saves until everything is written anyway, or it would have left by itself."""
        stays = min(self.until[number], self.future.last.get(block, 0)) - number + 1
        return self.read * (block.tokens - _LEFT) * max(0, stays)

    def _plan(self, first: int, last: int) -> set[int]:
        """Return the requests of a segment at which to clear."""
        times = [number for number in range(first + 1, last + 1) if number in self.came]
        best = dict.fromkeys((first, *times), 0.0)  # the gain of the times after one
        then: dict[int, int] = {}
        for place in range(len(times) - 1, -1, -1):
            for since, worth in self._values(first, times, place):
                if worth + best[times[place]] > best[since]:
                    best[since], then[since] = worth + best[times[place]], times[place]
        chosen, at = set(), then.get(first)
        while at is not None:
            chosen.add(at)
            at = then.get(at)
        return chosen

    def _values(self, first: int, times: list[int], place: int) -> Iterator[tuple[int, float]]:
        """Yield (time of the clear before, gain of clearing at `times[place]` all that became free since)."""
        at = times[place]
        costs = self._costs(first, times[: place + 1], at)
        free: list[tuple[int, int, float, float]] = []
        for back in range(place, max(-1, place - _LOOK_BACK), -1):
            for block in self.came[times[back]]:
                if block in costs:
                    insort(free, (-self.future.offset[block], block.place, self.gain(block, at), costs[block]))
            total = most = 0.0
            for _, _, gain, cost in free:
                total += gain
                most = max(most, total - cost)
            yield (times[back - 1] if back else first), most

    def _costs(self, first: int, times: list[int], at: int) -> dict[Block, float]:
        """Return Block -> cost of beginning a clear with it, once everything free behind it is gone too."""
        future = self.future
        numbers = (number for number in self.came if number <= first)
        known = [
            block for number in (*numbers, *times) for block in self.came[number] if future.born[block] <= at <= future.last.get(block, 0)
        ]
        costs, cleared = {}, 0
        for block in sorted(known, key=lambda block: -future.offset[block]):
            born = future.born[block]
            cached = future.sent[born] if first < born and at - born <= LOOK_BACK_REQUESTS else 0
            behind = future.sent[at] - cached - block.tokens - cleared
            costs[block] = self.dearer * (max(0, behind) + _LEFT)
            cleared += block.tokens - _LEFT
        return costs

    def decide(self, view: View) -> list[Choice]:
        if view.cold:
            return self.clear(self.free_at(view.number))
        fresh = [block for block in view.context[view.sent :] if self.uncleared.get(block, view.number + 1) <= view.number]
        if view.number not in self.planned:
            return self.clear(fresh)
        return self.clear([*self._from_best_place(view), *fresh])

    def _from_best_place(self, view: View) -> list[Block]:
        """Return the free results, of those sent, from the place on from which clearing is worth most."""
        best, begin, total, behind = 0.0, None, 0.0, 0
        before = [0, *accumulate(view.sizes)]
        free: list[Block] = []
        for place in range(view.sent - 1, -1, -1):
            block = view.context[place]
            if self.uncleared.get(block, view.number + 1) > view.number:
                behind += view.sizes[place]
                continue
            free.append(block)
            total += self.gain(block, view.number)
            behind += _LEFT
            cached = max((end for end in view.ends if end <= place), default=0)
            net = total - self.dearer * (behind + before[place] - before[cached])
            if net > best:
                best, begin = net, len(free)
        return free[:begin] if begin else []
