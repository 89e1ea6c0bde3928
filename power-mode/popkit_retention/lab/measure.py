"""What a policy would have cost, carried and broken in a session. Pure.

Units are input tokens, at the prices of a model and a lifetime of the cache (policy/economics.py). A prompt is read from the cache up to
the end of the last request before the first changed block, where that is within the look-back, else up to the messages; the rest is
written. After an idle gap longer than the lifetime, or a compaction, all of it is written. Where the model binds its thinking, what it
thought behind the first change is thought again.

A recorded compaction empties the context, and its summary enters next. That is free unless the policy asks for it to be charged
(SUMMARISED); under a policy that compacts by itself (STANDS) it does not take place.
"""

from __future__ import annotations

from hooks.utils.policy import warming
from hooks.utils.policy.economics import LOOK_BACK_REQUESTS
from hooks.utils.policy.worth import MISS_OUTPUT

from .sessions import tokens_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hooks.utils.policy.economics import Prices
    from hooks.utils.policy.events import Compacted, Event

    from .sessions import Block, Request, Session

    Choice = tuple[Block, str, list[str]]  # a result, what stands in its place, why


# A session that costs so many times what it costs with nothing cleared became dearer.
DEARER = 1.0001
# What a recorded compaction does under a policy: it empties the context; it does, and the summariser's request and what the host put back
# into the context with its summary count; it does not take place.
FOLDED, SUMMARISED, STANDS = "folded", "summarised", "stands"


class Score:
    """Sums over the requests of one session under one policy: `cost` in units, `carried` prompt tokens, results and their tokens, those
    that were cleared at least once, and those that were missed (each counted once). `curve`: prompt tokens of each request.
    `rethought`: tokens of thinking that clears have lost, and `forgotten` those that SUMMARISED compactions have: their output is in the
    cost, once. `compactions`: how often the context was emptied or built anew. `shortened`: results that entered shorter, by
    `spared_tokens`. `warmed`: requests that only kept the cache."""

    __slots__ = (
        "carried", "cleared", "cleared_tokens", "compactions", "cost", "curve", "forgotten", "missed", "missed_tokens", "requests",
        "results", "results_tokens", "rethought", "shortened", "spared_tokens", "warmed",
    )  # fmt: skip

    def __init__(self) -> None:
        self.cost = 0.0
        self.carried = 0
        self.requests = 0
        self.results = self.results_tokens = 0
        self.cleared = self.cleared_tokens = 0
        self.missed = self.missed_tokens = self.rethought = self.forgotten = self.compactions = 0
        self.shortened = self.spared_tokens = self.warmed = 0
        self.curve: list[int] = []


class View:
    """What a policy sees right before a request: the context as it stands, and nothing of what comes.

    `context`: Blocks in order, `sizes`: tokens of what stands in the place of each · `cleared`: Block -> placeholder that stands in its
    place, `entered`: Block -> text that entered in place of its own · `now`: when the request is sent, `last_at`: when the one before was
    answered (seconds, 0 for none), `used_at`: when the cache was used last · `number` of the request, `since` of the first one after the
    last compaction · `sent`: how many Blocks of the context the request before has sent just so, `ends`: with how many each of the last
    requests ended that the cache may still have · `prices`: those of the model and the cache.
    """

    __slots__ = (
        "base", "cleared", "compacted", "context", "ends", "entered", "last_at", "lost", "now", "number", "prices", "sent", "since",
        "sizes", "used_at",
    )  # fmt: skip

    def __init__(self, base: int, prices: Prices):
        self.base = base
        self.prices = prices
        self.context: list[Block] = []
        self.sizes: list[int] = []
        self.cleared: dict[Block, str] = {}
        self.entered: dict[Block, str] = {}
        self.lost: set[Block] = set()  # Blocks of thinking that a clear has lost
        self.now = self.last_at = self.used_at = 0.0
        self.number = 0
        self.since = 1
        self.sent = 0
        self.ends: list[int] = []
        self.compacted = False

    @property
    def cold(self) -> bool:
        """Whether the whole prompt is written anyway."""
        return self.compacted or not self.last_at or self.now - self.used_at > self.prices.ttl_s

    def size(self, block: Block) -> int:
        """Tokens of what stands in a block's place."""
        placeholder = self.cleared.get(block)
        if placeholder is not None:
            return tokens_of(len(placeholder))
        entered = self.entered.get(block)
        if entered is not None:
            return block.tokens - tokens_of(len(block.text)) + tokens_of(len(entered))
        return block.tokens + (block.thinking if self.prices.bound and block not in self.lost else 0)

    def shows(self, block: Block, string: str) -> bool:
        """Whether what stands in a block's place has a string that the block's own text has."""
        text = self.cleared.get(block, self.entered.get(block))
        return text is None or string in text


class Policy:
    """What every policy has; one that clears nothing. It is told of everything as it happens, and asked before each request. `rebuilds`:
    whether what it clears leaves a conversation that is built anew, of which no message is read from the cache and no thinking is left."""

    rebuilds = False

    def begin(self, cwd: str) -> None:
        """A session begins in a folder, "" where that is not known."""

    def add(self, block: Block) -> None:
        """The conversation grew by a Block."""

    def enter(self, block: Block) -> str | None:
        """What enters in the place of a result's text, right after it was added; None: the text."""
        return None

    def event(self, event: Event) -> None:
        """Something else happened: the user spoke (an event of the engine)."""

    def at_compaction(self, event: Compacted, view: View) -> str:
        """What a recorded compaction does: FOLDED, SUMMARISED, STANDS."""
        return FOLDED

    def compact(self, event: Event) -> None:
        """The conversation was folded; nothing of it is in the context any more."""

    def cut(self, context: list[Block]) -> None:
        """The conversation was taken back; this is left of it."""

    def decide(self, view: View) -> list[Choice]:
        """[(Block, placeholder, [reasons])] of the results that are cleared right before a request, and of calls whose input is."""
        return []

    def warm(self, request: Request, prompt: int) -> int:
        """How many requests in a row keep the cache of a prompt of so many tokens warm after an answer."""
        return 0

    def missed(self, block: Block) -> None:
        """A cleared result was needed: it came back, and stays."""

    def answered(self, request: Request) -> None:
        """The answer to a request is known."""


def score(
    session: Session,
    policy: Policy,
    prices: Prices,
    on_request: Callable[[Request, list[Choice], list[tuple[Block, str]]], object] | None = None,
) -> Score:
    """Plays a Session under a policy, at Prices. `on_request(request, decisions, entered)` is told of every request: what is cleared right
    before it, and [(Block, text)] of the results before it that enter with another text."""
    play = _Play(session, policy, prices, on_request)
    for step in session.steps:
        getattr(play, step[0])(*step[1:])
    play.keep_warm(float("inf"))  # nobody says that nothing follows
    return play.total


class _Play:
    """One method for each kind of step of a Session."""

    def __init__(
        self,
        session: Session,
        policy: Policy,
        prices: Prices,
        on_request: Callable[[Request, list[Choice], list[tuple[Block, str]]], object] | None,
    ) -> None:
        self.policy = policy
        self.on_request = on_request
        self.entries: list = []  # [(Block, text)] since the last request
        self.total = Score()
        self.warmed = self.prompt = 0  # of the newest request: how many may keep its cache warm, and its tokens
        self.prices = prices
        self.view = View(session.base, prices)
        self.ever_cleared: set[Block] = set()
        self.ever_missed: set[Block] = set()
        self.compaction = ""  # what the one before the next request did; "" for none
        self.carried = 0  # how many blocks of the context stand where the recorded session had been folded
        policy.begin(session.cwd)

    def add(self, block: Block) -> None:
        if block.is_summary and self.compaction == STANDS:
            self.view.cleared[block] = ""  # nobody has written it
        else:
            self.policy.add(block)
        if block.is_summary and self.compaction == SUMMARISED:
            self.total.cost += self.prices.output * block.tokens
        if block.id:
            self.total.results += 1
            self.total.results_tokens += block.tokens
            entered = self.policy.enter(block)
            if entered is not None:
                self.view.entered[block] = entered
                self.entries.append((block, entered))
                self.total.shortened += 1
                self.total.spared_tokens += block.tokens - self.view.size(block)
        self.view.context.append(block)
        self.view.sizes.append(self.view.size(block))

    def event(self, event: Event) -> None:
        self.policy.event(event)

    def cut(self, kept: int, stays: list[Block]) -> None:
        view = self.view
        self.carried = self.carried if kept else 0  # a clear context is clear
        kept += self.carried
        view.context = view.context[:kept] + stays
        view.sizes = view.sizes[:kept] + list(map(view.size, stays))
        view.sent = min(view.sent, kept)
        self.policy.cut(view.context)

    def compact(self, event: Compacted) -> None:
        view = self.view
        self.compaction = self.policy.at_compaction(event, view)
        if self.compaction == STANDS:
            self.carried = len(view.context)
            return
        if self.compaction == SUMMARISED:
            self._summarise(event.at)
        view.context, view.sizes = [], []
        view.sent = self.carried = 0
        view.since = view.number + 1
        view.compacted = self.compaction == FOLDED
        self.total.compactions += 1
        self.policy.compact(event)

    def _summarise(self, at: float) -> None:
        """The summariser reads the whole conversation."""
        view, total, prices = self.view, self.total, self.prices
        view.now = at
        self.keep_warm(at - view.last_at)
        prompt, read = view.base + sum(view.sizes), self._read()
        total.cost += prices.read * read + prices.write * (prompt - read)
        lost = total.rethought
        if prices.bound:
            self._lose(0)
        total.forgotten += total.rethought - lost
        total.rethought = lost
        view.last_at = view.used_at = at

    def _put_back(self, request: Request) -> None:
        """The host puts files back beside the summary; what that takes, the recorded usage tells. It stands where the summary does."""
        view = self.view
        at = next((at for at, block in enumerate(view.context) if block.is_summary), None)
        if at is not None and request.usage is not None:
            view.sizes[at] += max(0, request.usage.tokens - view.base - sum(view.sizes))

    def request(self, request: Request) -> None:
        view, total, prices = self.view, self.total, self.prices
        view.now, view.number = request.sent_at, request.number
        self.keep_warm(view.now - view.last_at)
        if self.compaction == SUMMARISED:
            self._put_back(request)
        self.compaction = ""
        decisions = self._clear()
        if self.on_request:
            self.on_request(request, decisions, self.entries)
        self.entries = []
        prompt, read = view.base + sum(view.sizes), self._read()
        total.cost += prices.read * read + prices.write * (prompt - read) + prices.output * request.output
        total.carried += prompt
        total.requests += 1
        total.curve.append(prompt)
        view.sent = len(view.context)
        view.ends = [*view.ends[-LOOK_BACK_REQUESTS:], view.sent]
        view.compacted = False
        view.last_at = view.used_at = request.answered_at
        self.policy.answered(request)
        self.warmed, self.prompt = self.policy.warm(request, prompt), prompt
        if view.cleared or view.entered:
            for string, holders in request.needs:
                self._need(string, holders, prompt)

    def keep_warm(self, idle: float) -> None:
        """Requests keep the cache warm for as long as nothing else is sent, and as the policy wants."""
        step = warming.interval_s(self.prices.ttl_s)
        sent = self.warmed if idle > self.warmed * step else int(idle // step)
        if sent > 0:
            self.total.cost += sent * warming.price(self.prompt, self.prices)
            self.total.warmed += sent
            self.view.used_at = self.view.last_at + sent * step
        self.warmed = 0

    def _read(self) -> int:
        """Tokens that the request reads from the cache: what an earlier one ended with and is unchanged."""
        view = self.view
        if view.cold:
            view.ends = []
            return 0
        view.ends = [end for end in view.ends if end <= view.sent]
        return view.base + (sum(view.sizes[: view.ends[-1]]) if view.ends else 0)

    def _clear(self) -> list[Choice]:
        view, total = self.view, self.total
        decisions = self.policy.decide(view)
        if not decisions:
            return []
        places = {block: at for at, block in enumerate(view.context)}
        for block, placeholder, _ in decisions:
            at = places[block]
            view.cleared[block] = placeholder
            view.sizes[at] = tokens_of(len(placeholder))
            if block.id and block not in self.ever_cleared:
                self.ever_cleared.add(block)
                total.cleared += 1
                total.cleared_tokens += block.tokens
        first = 0 if self.policy.rebuilds else min(places[block] for block, _, _ in decisions)
        view.sent = min(view.sent, first)
        total.compactions += self.policy.rebuilds
        if self.prices.bound:
            self._lose(first)
        return decisions

    def _lose(self, first: int) -> None:
        """What was thought behind the first change leaves, and is thought again."""
        view, total = self.view, self.total
        for at in range(first, len(view.context)):
            block = view.context[at]
            if block.thinking and block not in view.lost:
                view.lost.add(block)
                view.sizes[at] = view.size(block)
                total.rethought += block.thinking
                total.cost += self.prices.output * block.thinking

    def _need(self, string: str, holders: list[Block], prompt: int) -> None:
        """A string that the answer wrote: a miss when nothing of what held it stands in the context, nor a placeholder that names it."""
        view, total, prices = self.view, self.total, self.prices
        if any(view.shows(holder, string) for holder in holders):
            return
        block = max(holders, key=lambda holder: holder.place)
        if block not in self.ever_missed:
            self.ever_missed.add(block)
            total.missed += 1
            total.missed_tokens += block.tokens
        # It is fetched again: written, with one more request over the whole prompt, and stays.
        total.cost += prices.write * block.tokens + prices.read * prompt + prices.output * MISS_OUTPUT
        total.carried += prompt
        view.cleared.pop(block, None)
        view.entered.pop(block, None)
        view.sizes[view.context.index(block)] = block.tokens
        self.policy.missed(block)
