"""What a policy would have cost, carried and broken in a session. Pure.

Units are input tokens: a cache read costs 0.1, a write 1.25 (5-minute lifetime) or 2.0 (1 hour), output 5. A prefix is read from the cache
up to the first changed block and written from there; after an idle gap longer than the lifetime, or a compaction, all of it is written.
"""

from __future__ import annotations

from ..policy.economics import PRICE_READ, lifetime_of, write_price
from .sessions import tokens_of

PRICE_OUTPUT = 5.0
MISS_OUTPUT = 150  # tokens that asking for a missed content takes


class Score:
    """Sums over the requests of one session under one policy: `cost` in units, `carried` prompt tokens, results and their tokens, those
    that were cleared at least once, and those that were missed (each counted once). `curve`: prompt tokens of each request."""

    __slots__ = (
        "carried", "cleared", "cleared_tokens", "cost", "curve", "missed", "missed_tokens", "requests", "results", "results_tokens",
    )  # fmt: skip

    def __init__(self):
        self.cost = 0.0
        self.carried = 0
        self.requests = 0
        self.results = self.results_tokens = 0
        self.cleared = self.cleared_tokens = 0
        self.missed = self.missed_tokens = 0
        self.curve: list = []


class View:
    """What a policy sees right before a request: the context as it stands, and nothing of what comes.

    `context`: Blocks in order, `sizes`: tokens of what stands in the place of each · `cleared`: Block -> placeholder that stands in its
    place · `now`: when the request is sent, `last_at`: when the one before was answered (seconds, 0 for none) · `number` of the request,
    `since` of the first one after the last compaction · `sent`: how many Blocks of the context the request before has sent just so.
    """

    __slots__ = ("base", "cleared", "compacted", "context", "last_at", "now", "number", "sent", "since", "sizes", "ttl_s")

    def __init__(self, base: int, ttl_s: float):
        self.base = base
        self.ttl_s = lifetime_of(ttl_s)
        self.context: list = []
        self.sizes: list = []
        self.cleared: dict = {}
        self.now = self.last_at = 0.0
        self.number = 0
        self.since = 1
        self.sent = 0
        self.compacted = False

    @property
    def cold(self) -> bool:
        """Whether the whole prompt is written anyway."""
        return self.compacted or not self.last_at or self.now - self.last_at > self.ttl_s

    def size(self, block) -> int:
        """Tokens of what stands in a block's place."""
        placeholder = self.cleared.get(block)
        return block.tokens if placeholder is None else tokens_of(len(placeholder))


class Policy:
    """What every policy has; one that clears nothing. It is told of everything as it happens, and asked before each request."""

    def add(self, block) -> None:
        """The conversation grew by a Block."""

    def event(self, event) -> None:
        """Something else happened: the user spoke (an event of the engine)."""

    def compact(self, event) -> None:
        """The conversation was folded; nothing of it is in the context any more."""

    def cut(self, context: list) -> None:
        """The conversation was taken back; this is left of it."""

    def decide(self, view: View) -> list:
        """[(Block, placeholder, [reasons])] of the results that are cleared right before a request."""
        return []

    def missed(self, block) -> None:
        """A cleared result was needed: it came back, and stays."""

    def answered(self, request) -> None:
        """The answer to a request is known."""


def score(session, policy: Policy, ttl_s: float = 300, on_clear=None) -> Score:
    """Plays a Session under a policy. `on_clear(request, decisions)` is told of every request at which something is cleared."""
    play = _Play(session, policy, ttl_s, on_clear)
    for step in session.steps:
        getattr(play, step[0])(*step[1:])
    return play.total


class _Play:
    """One method for each kind of step of a Session."""

    def __init__(self, session, policy: Policy, ttl_s: float, on_clear):
        self.policy = policy
        self.on_clear = on_clear
        self.total = Score()
        self.view = View(session.base, ttl_s)
        self.write = write_price(ttl_s)
        self.ever_cleared: set = set()
        self.ever_missed: set = set()

    def add(self, block) -> None:
        self.view.context.append(block)
        self.view.sizes.append(block.tokens)
        if block.id:
            self.total.results += 1
            self.total.results_tokens += block.tokens
        self.policy.add(block)

    def event(self, event) -> None:
        self.policy.event(event)

    def cut(self, kept: int, stays: list) -> None:
        view = self.view
        view.context = view.context[:kept] + stays
        view.sizes = view.sizes[:kept] + list(map(view.size, stays))
        view.sent = min(view.sent, kept)
        self.policy.cut(view.context)

    def compact(self, event) -> None:
        view = self.view
        view.context, view.sizes = [], []
        view.sent = 0
        view.since = view.number + 1
        view.compacted = True
        self.policy.compact(event)

    def request(self, request) -> None:
        view, total = self.view, self.total
        view.now, view.number = request.sent_at, request.number
        self._clear(request)
        prompt = view.base + sum(view.sizes)
        read = 0 if view.cold else view.base + sum(view.sizes[: view.sent])
        total.cost += PRICE_READ * read + self.write * (prompt - read) + PRICE_OUTPUT * request.output
        total.carried += prompt
        total.requests += 1
        total.curve.append(prompt)
        view.sent = len(view.context)
        view.compacted = False
        view.last_at = request.answered_at
        if view.cleared:
            for string, holders in request.needs:
                self._need(string, holders, prompt)
        self.policy.answered(request)

    def _clear(self, request) -> None:
        view, total = self.view, self.total
        decisions = self.policy.decide(view)
        if not decisions:
            return
        places = {block: at for at, block in enumerate(view.context)}
        for block, placeholder, _ in decisions:
            at = places[block]
            view.cleared[block] = placeholder
            view.sizes[at] = tokens_of(len(placeholder))
            view.sent = min(view.sent, at)
            if block not in self.ever_cleared:
                self.ever_cleared.add(block)
                total.cleared += 1
                total.cleared_tokens += block.tokens
        if self.on_clear:
            self.on_clear(request, decisions)

    def _need(self, string: str, holders: list, prompt: int) -> None:
        """A string that the answer wrote: a miss when nothing of what held it stands in the context, nor a placeholder that names it."""
        view, total = self.view, self.total
        if any(holder not in view.cleared or string in view.cleared[holder] for holder in holders):
            return
        block = max(holders, key=lambda holder: holder.place)
        if block not in self.ever_missed:
            self.ever_missed.add(block)
            total.missed += 1
            total.missed_tokens += block.tokens
        # It is fetched again: written, with one more request over the whole prompt, and stays.
        total.cost += self.write * block.tokens + PRICE_READ * prompt + PRICE_OUTPUT * MISS_OUTPUT
        total.carried += prompt
        del view.cleared[block]
        view.sizes[view.context.index(block)] = block.tokens
        self.policy.missed(block)
