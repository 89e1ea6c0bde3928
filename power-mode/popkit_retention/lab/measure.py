"""Measure a policy by replaying a session under it. Pure.

Units are input tokens, at the prices of a model and a lifetime of the cache (policy/economics.py). A prompt is read from the cache up to
the end of the last request before the first changed block, where that is within the look-back, else up to the messages; the rest is
written. After an idle gap longer than the lifetime, or a compaction, all of it is written. Where the model binds its thinking, its thinking
after the first change is lost, and a share of it thought again.

A recorded compaction empties the context, and its summary enters next, at the cost that the ledger counts, too
(policy/host_compaction.py); under a policy that compacts by itself (STANDS) it does not take place. One before the first request belongs to
another recording. What it has lost is missed as well; but the recorded session has gone on without that, so nothing is fetched for it,
whatever the policy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from popkit_retention.core.policy.economics import LOOK_BACK_REQUESTS, THINKING_AGAIN, Prices
from popkit_retention.core.policy.events import Compacted
from popkit_retention.core.policy.host_compaction import FILE_TOKENS, FILES, files_put_back, request_units, summary_units
from popkit_retention.core.policy.tools import EDIT, READ, WRITE
from popkit_retention.core.policy.worth import MISS_OUTPUT

from .policy import STANDS, SUMMARISED, Choice, Policy, View
from .recorded import CHARS_PER_TOKEN, Block, Request, Session, shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.events import Event

# Called for every request with its Choices, and [(Block, text)] of the results before it that enter with another text.
OnRequest = Callable[[Request, list[Choice], list[tuple[Block, str]]], object]

# A session that costs this many times its cost with nothing cleared became dearer.
DEARER = 1.0001


@dataclass
class Score:
    """Sums over the requests of one session under one policy.

    `cost`: units; `carried`: prompt tokens; `curve`: prompt tokens of each request; `results`, `cleared` and `missed` with their tokens:
    each result counts once. `missed`: also what a compaction has lost; `fetched`: how often a content was fetched again; `look_ups`: how
    many look-ups a session would have counted (policy/look_ups.py). `rethought`: tokens of thinking that clears have lost, and `forgotten`
    those that SUMMARISED compactions have: their output is in the cost, once. `compactions`: how often the context was emptied or built
    again. `shortened`: results that entered shorter, by `spared_tokens`."""

    cost: float = 0.0
    carried: int = 0
    requests: int = 0
    curve: list[int] = field(default_factory=list)
    results: int = 0
    results_tokens: int = 0
    cleared: int = 0
    cleared_tokens: int = 0
    missed: int = 0
    missed_tokens: int = 0
    fetched: int = 0
    look_ups: int = 0
    rethought: int = 0
    forgotten: int = 0
    compactions: int = 0
    shortened: int = 0
    spared_tokens: int = 0

    def without(self, first: Score) -> Score:
        """Return the sums without those of the session's first requests."""
        totals, first_totals = vars(self), vars(first)
        rest = {name: totals[name] - first_totals[name] for name in totals if name != "curve"}
        return Score(**rest, curve=self.curve[len(first.curve) :])


def score(session: Session, policy: Policy, prices: Prices, on_request: OnRequest | None = None) -> Score:
    """Replay a session under a policy, at these prices."""
    replay = _Replay(session, policy, prices, on_request)
    for kind, *arguments in session.steps:
        getattr(replay, kind)(*arguments)
    replay.total.look_ups = policy.look_ups
    return replay.total


class _Replay:
    """A replay, with a method for each kind of step of a session."""

    def __init__(self, session: Session, policy: Policy, prices: Prices, on_request: OnRequest | None) -> None:
        self.policy = policy
        self.prices = prices
        self.on_request = on_request
        self.entries: list[tuple[Block, str]] = []  # results that entered with another text since the last request
        self.total = Score()
        self.view = View(session.base + session.earlier, prices, factor=session.factor, earlier=session.earlier)
        self.by_host: dict[Block, str | None] = {}  # blocks before recorded compactions -> what the host left of each, None for all
        self.emptied: dict[Block, str | None] = {}  # the same for those that took place
        self.files = 0  # tokens of what the host put back, where no usage shows it
        self.ever_cleared: set[Block] = set()
        self.ever_missed: set[Block] = set()
        self.compaction = ""  # effect of the compaction before the next request; "" where there is none
        self.carried = 0  # number of blocks of the context where the recorded session had been folded
        self.sent: list[Block] | None = None  # blocks that the newest request sent unchanged, where the context was cut since
        policy.begin(session.cwd)

    def add(self, block: Block) -> None:
        if block.is_summary and self.compaction == STANDS:
            self.view.cleared[block] = ""  # there was no summary
        else:
            self.policy.add(block)
        if block.is_summary and self.compaction == SUMMARISED and self.view.number:
            self.total.cost += summary_units(self.prices, block.tokens)
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

    def cut(self, length: int, stays: list[Block]) -> None:
        view = self.view
        self.sent = view.context[: view.sent] if self.sent is None else self.sent
        self.carried = self.carried if length else 0  # an empty context carries nothing
        length += self.carried
        view.context = view.context[:length] + stays
        view.sizes = view.sizes[:length] + list(map(view.size, stays))
        view.sent = shared(view.context, self.sent)
        self.policy.cut(view.context)

    def compact(self, event: Compacted) -> None:
        view = self.view
        self.compaction = self.policy.at_compaction(event, view)
        left, self.files = _left_by_host(view.context, event.kept, view.factor)
        self.by_host.update(left)
        if self.compaction == STANDS:
            self.carried = len(view.context)
            return
        if view.number:
            self._summarise(event.at)
            self.total.compactions += 1
        self.emptied.update(left)
        view.context, view.sizes = [], []
        view.base, view.earlier = view.base - view.earlier, 0
        view.sent, self.sent, self.carried = 0, None, 0
        view.since = view.number + 1
        self.policy.compact(event)

    def _summarise(self, at: float) -> None:
        """Charge the summariser's request, which reads the whole conversation."""
        view, total, prices = self.view, self.total, self.prices
        view.now = at
        total.cost += request_units(prices, view.base + sum(view.sizes), self._read())
        lost = total.rethought
        if prices.bound:
            self._lose(0)
        total.forgotten += total.rethought - lost
        total.rethought = lost
        view.last_at = at

    def _put_back(self, request: Request) -> None:
        """Add to the summary's size the files that the host put back with it: by the recorded usage, or else by an assumed size."""
        view = self.view
        at = next((at for at, block in enumerate(view.context) if block.is_summary), None)
        if at is not None:
            known = self.files if request.usage is None else request.usage.tokens - view.base - sum(view.sizes)
            view.sizes[at] += max(0, known)

    def request(self, request: Request) -> None:
        view, total, prices = self.view, self.total, self.prices
        view.now, view.number = request.sent_at, request.number
        if self.compaction == SUMMARISED:
            self._put_back(request)
        self.compaction = ""
        decisions = self._clear()
        if self.on_request:
            self.on_request(request, decisions, self.entries)
        self.entries = []
        prompt, read = view.base + sum(view.sizes), self._read()
        total.cost += request_units(prices, prompt, read) + prices.output * request.output
        total.carried += prompt
        total.requests += 1
        total.curve.append(prompt)
        view.sent, self.sent = len(view.context), None
        view.ends = [*view.ends[-LOOK_BACK_REQUESTS:], view.sent]
        view.last_at = request.answered_at
        self.policy.answered(request)
        if view.cleared or view.entered or self.emptied:
            for string, holders in request.needs:
                self._need(string, holders, prompt)

    def _read(self) -> int:
        """Return the tokens that the request reads from the cache: those that an earlier request ended with, as far as they are
        unchanged."""
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
            is_whole = bool(block.id) and placeholder == block.text
            if is_whole:
                view.cleared.pop(block, None)
                view.entered.pop(block, None)
            else:
                view.cleared[block] = placeholder
            view.sizes[at] = view.size(block)
            if block.id and not is_whole and block not in self.ever_cleared:
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
        """Remove the thinking behind the first change, and charge the output of the share that is thought again."""
        view, total = self.view, self.total
        for at in range(first, len(view.context)):
            block = view.context[at]
            if block.thinking and block not in view.lost:
                view.lost.add(block)
                view.sizes[at] = view.size(block)
                total.rethought += block.thinking
                total.cost += THINKING_AGAIN * self.prices.output * block.thinking

    def _need(self, string: str, holders: list[Block], prompt: int) -> None:
        """Charge a miss where no text in the context has a string that the answer wrote."""
        view, total, prices = self.view, self.total, self.prices
        if any(self._shows(holder, string) for holder in holders):
            return
        block = max(holders, key=lambda holder: holder.place)
        if block not in self.ever_missed:
            self.ever_missed.add(block)
            total.missed += 1
            total.missed_tokens += block.tokens
        if all(holder in self.by_host and not _has(self.by_host[holder], string) for holder in holders):
            return
        # It is fetched again and stays: it is written, and one more request reads the whole prompt.
        total.cost += prices.write * block.tokens + prices.read * prompt + prices.output * MISS_OUTPUT
        total.carried += prompt
        total.fetched += 1
        view.cleared.pop(block, None)
        view.entered.pop(block, None)
        view.sizes[view.context.index(block)] = view.size(block)
        self.policy.missed(block)

    def _shows(self, holder: Block, string: str) -> bool:
        return _has(self.emptied[holder], string) if holder in self.emptied else self.view.shows(holder, string)


def _has(left: str | None, string: str) -> bool:
    return left is None or string in left


def _left_by_host(context: list[Block], kept: Collection[str], factor: float) -> tuple[dict[Block, str | None], int]:
    """Return {Block: what the host leaves of it behind a compaction of its own, None for all of it}, and the tokens of what it puts back:
    the results that it has `kept` (ids), and files, which are assumed."""
    asking = {block.asks: block for block in context if block.asks}
    files: dict[str, list[Block]] = {}  # path -> what has shown or written it, the file that was touched last at the end
    for block in context:
        if block.id and block.call.operation in (READ, WRITE, EDIT) and block.call.path and not block.call.outcome.error:
            files[block.call.path] = [*files.pop(block.call.path, ()), block]
    left: dict[Block, str | None] = {block: None if (block.id or block.asks) in kept else "" for block in context}
    sizes = []
    for blocks in files.values():
        shown = [block if block.call.operation == READ else asking.get(block.id, block) for block in blocks]
        sizes.append(max(block.tokens for block in shown))
    for blocks in list(files.values())[-FILES:]:
        for block in blocks:
            if block.id in asking:
                left[asking[block.id]] = None  # the path, or what was written
            if block.call.operation == READ:
                left[block] = block.text[: round(FILE_TOKENS * CHARS_PER_TOKEN / factor)] if left[block] == "" else None
    return left, files_put_back(sizes) + sum(block.tokens for block in context if (block.id or block.asks) in kept)
