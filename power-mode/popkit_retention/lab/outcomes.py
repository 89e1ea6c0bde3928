"""Replay past sessions with PopKit installed: with its unprompted actions alone, or with clears whenever they pay."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from popkit_retention.core.policy import door
from popkit_retention.core.policy.economics import Prices
from popkit_retention.core.policy.least_needed import LONG
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.state import shipped

from .compacting import Compactor
from .door_policy import Door
from .engine_policies import AutoPolicy
from .measure import OnRequest, Score, score
from .policy import STANDS, Choice, Policy, View
from .recorded import Block, Request, Session
from .replay_policies import has_price, prices_for
from .replay_policies import installed as installation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from popkit_retention.core.policy.events import Compacted


class Outcome(NamedTuple):
    """The score of a policy (`total`), beside the same session with nothing done (`nothing`); `moments` at which it cleared something;
    `ttl_s`: lifetime of the prompt cache; `priced`: whether the model has a price."""

    total: Score
    nothing: Score
    moments: int
    ttl_s: float
    priced: bool = True

    @property
    def cost(self) -> float | None:
        """Return the cost as a share of that with nothing done; None where there was no request, or the model has no price."""
        return self.total.cost / self.nothing.cost if self.nothing.cost and self.priced else None

    @property
    def carried(self) -> float | None:
        """Return the prompt tokens as a share of those with nothing done; None where there was no request."""
        return self.total.carried / self.nothing.carried if self.nothing.carried else None

    @property
    def cost_share(self) -> float | None:
        """Return the cost rounded, as people read it."""
        return None if self.cost is None else round(self.cost, 4)

    def to_json(self) -> dict[str, object]:
        total = self.total
        return {
            "requests": total.requests, "kept_out_tokens": total.spared_tokens, "kept_out_results": total.shortened,
            "cleared_tokens": total.cleared_tokens, "cleared_results": total.cleared, "moments": self.moments, "missed": total.missed,
            "fetched": total.fetched,
            "cache_ttl_s": self.ttl_s,
            "cost_share": self.cost_share,
        }  # fmt: skip


def outcome_of(session: Session, policy: Policy, prices: Prices, on_request: OnRequest | None = None) -> Outcome:
    """Return the outcome of a policy over a session; `on_request` as in `measure.score`."""
    moments = 0

    def count(request: Request, choices: list, entered: list) -> None:
        nonlocal moments
        moments += bool(choices)
        if on_request is not None:
            on_request(request, choices, entered)

    return Outcome(
        score(session, policy, prices, count),
        score(session, Policy(), prices),
        moments,
        prices.ttl_s,
        has_price(prices.model) if prices.model else prices.known,
    )


def installed(session: Session, rules: Ruleset, may_clear: bool = True) -> Outcome:
    """Return the outcome of PopKit under these rules: the door as it is configured, and, where the host lets the past be edited
    (`may_clear`), a clear whenever `auto` finds that it pays, with a cache lifetime as the session's requests show it."""
    prices = _prices_of(session)
    clears = AutoPolicy(prices, shipped.need_model(), rules) if may_clear else Policy()
    policy = Door(rules, clears, door.Settings(rules.say_once, rules.shape))
    return outcome_of(session, policy, prices)


class UnaskedOutcome(NamedTuple):
    """A session as it was, with the host's compactions and what they cost (`was`); the same through the `door`; with `all` that PopKit does
    without being asked, the door and compactions without a model; and with all that `auto` adds between turns.

    At `compactions` of the host's it would have left `kept_tokens` of the conversation word for word, where the host wrote summaries of
    `summary_tokens`."""

    was: Score
    door: Score
    all: Score
    auto: Score
    compactions: int
    kept_tokens: int
    summary_tokens: int


def unasked(session: Session, rules: Ruleset, most: float, copied: Collection[str] = ()) -> UnaskedOutcome:
    """Return the outcome of PopKit's unprompted actions, beside the host's own; `most`: `auto_misses`. `copied`: ids of the messages that
    count in another session, such as a fork's first ones: events up to the last of them count nothing here."""
    prices = _prices_of(session)
    whole, first = _replayed(session, rules, prices, most), _beginning(session, copied)
    if not first.requests:
        return whole
    before = _replayed(first, rules, prices, most)
    compactions = whole.compactions - before.compactions
    kept = max(0, whole.kept_tokens - before.kept_tokens) if compactions else 0
    was, with_door, all = (total.without(first_total) for total, first_total in zip(whole[:3], before[:3]))
    auto, summaries = whole.auto.without(before.auto), whole.summary_tokens - before.summary_tokens
    return UnaskedOutcome(was, with_door, all, auto, compactions, kept, summaries)


def _beginning(session: Session, copied: Collection[str]) -> Session:
    """Return the beginning of a session, up to the last request that one of these messages has answered."""
    last = max((request.number for request in session.requests if request.message_id in copied), default=0)
    end = next((at for at, (kind, *arguments) in enumerate(session.steps, 1) if kind == "request" and arguments[0].number == last), 0)
    return replace(session, steps=session.steps[:end], requests=session.requests[:last])


def _replayed(session: Session, rules: Ruleset, prices: Prices, most: float) -> UnaskedOutcome:
    settings = door.Settings(rules.say_once, rules.shape)
    was = score(session, Policy(), prices)
    with_door = score(session, Door(rules, None, settings), prices)
    compact, all = _InPlaceCompact(prices, rules, _summaries(session)), with_door
    if _summaries(session):
        all = score(session, Door(rules, compact, settings), prices, compact.stays)
        compact.settle()  # where no further compaction was needed, all of it stays
    auto = all
    if _finds_cold(session, prices.ttl_s) or _is_long(session):
        auto = score(session, installation(prices, True, rules, most=most), prices)
    return UnaskedOutcome(was, with_door, all, auto, compact.count, compact.kept_tokens, compact.summary_tokens)


class _InPlaceCompact(Compactor):
    """Compacts as PopKit does, with sums of what stays at the recorded compactions. `summaries`: tokens of the host's summary at each."""

    def __init__(self, prices: Prices, rules: Ruleset, summaries: list[int]) -> None:
        super().__init__(prices, shipped.need_model(), rules)
        self.summaries = iter(summaries)
        self.due: list[int] = []  # summaries that were not written, since the last compaction
        self.count = self.kept_tokens = self.summary_tokens = 0
        self.standing = 0  # tokens of the conversation at the first request after these, or at the compaction that followed

    def at_compaction(self, event: Compacted, view: View) -> str:
        effect, summary = super().at_compaction(event, view), next(self.summaries)
        self.due += [summary] if effect == STANDS else []
        return effect

    def stays(self, _request: Request, choices: list[Choice], _entered: list[tuple[Block, str]]) -> None:
        """Add the remainder of a compaction in place of recorded ones, as an `OnRequest`."""
        if self.due and (choices or not self.standing):
            view = self.view
            self.standing = sum(size for block, size in zip(view.context, view.sizes) if block not in view.cleared)
            if choices:
                self.settle()

    def settle(self) -> None:
        """Count the recorded compactions since the last one: what stays takes the place of their summaries."""
        self.count += len(self.due)
        self.summary_tokens += sum(self.due)
        self.kept_tokens += self.standing
        self.due, self.standing = [], 0


def _summaries(session: Session) -> list[int]:
    """Return the tokens of the host's summary at each recorded compaction."""
    sizes: list[int] = []
    for kind, *arguments in session.steps:
        if kind == "compact":
            sizes.append(0)
        elif kind == "add" and arguments[0].is_summary and sizes:
            sizes[-1] += arguments[0].tokens
    return sizes


def _finds_cold(session: Session, ttl_s: float) -> bool:
    """Return whether any request came after its cache had gone."""
    requests = session.requests
    return any(later.sent_at - earlier.answered_at > ttl_s for earlier, later in zip(requests, requests[1:]))


def _is_long(session: Session) -> bool:
    """Return whether any request may have been one of a long conversation."""
    return any(request.usage is not None and request.usage.tokens - session.base >= LONG.tokens for request in session.requests)


def _prices_of(session: Session) -> Prices:
    """Return the prices of the model that answered a session, with the lifetime of the cache that its requests show."""
    return prices_for(session, max((request.usage.cache_ttl_s for request in session.requests if request.usage is not None), default=300))
