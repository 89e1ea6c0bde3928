"""Replays past sessions with PopKit installed, and with the cache kept warm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from hooks.utils.policy import door, warming
from hooks.utils.policy.economics import Prices
from hooks.utils.policy.ruleset import KEEP_WARM_REQUESTS, Ruleset
from hooks.utils.state import shipped

from ..parallel import Skipped, Source, Where, results
from . import sent_requests
from .engine_policies import AutoPolicy, Door
from .measure import DEARER, OnRequest, Score, score
from .policy import Policy, Request, Session
from .replay_policies import prices_for
from .survey import LEAST_REQUESTS

Progress = Callable[[int, int], object]  # done, of all

# --- PopKit installed -------------------------------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """The score of a policy (`total`), beside the same session with nothing done (`nothing`); `moments` at which it cleared something;
    `ttl_s`: lifetime of the prompt cache."""

    total: Score
    nothing: Score
    moments: int
    ttl_s: float

    @property
    def cost(self) -> float | None:
        """Return the cost as a share of that with nothing done; None where there was no request."""
        return self.total.cost / self.nothing.cost if self.nothing.cost else None

    @property
    def carried(self) -> float | None:
        """Return the prompt tokens as a share of those with nothing done; None where there was no request."""
        return self.total.carried / self.nothing.carried if self.nothing.carried else None

    def to_json(self) -> dict[str, object]:
        total, cost = self.total, self.cost
        return {
            "requests": total.requests, "kept_out_tokens": total.spared_tokens, "kept_out_results": total.shortened,
            "cleared_tokens": total.cleared_tokens, "cleared_results": total.cleared, "moments": self.moments, "missed": total.missed,
            "cache_ttl_s": self.ttl_s,
            "cost_share": None if cost is None else round(cost, 4),
        }  # fmt: skip


def outcome_of(session: Session, policy: Policy, prices: Prices, on_request: OnRequest | None = None) -> Outcome:
    """Return the outcome of a policy over a session; `on_request` as in `measure.score`."""
    moments = 0

    def count(request: Request, choices: list, entered: list) -> None:
        nonlocal moments
        moments += bool(choices)
        if on_request is not None:
            on_request(request, choices, entered)

    return Outcome(score(session, policy, prices, count), score(session, Policy(), prices), moments, prices.ttl_s)


def installed(session: Session, rules: Ruleset, may_clear: bool = True) -> Outcome:
    """Return the outcome of PopKit under these rules: the door as it is configured, and, where the host lets the past be edited
    (`may_clear`), a clear whenever `auto` finds that it pays, with a cache lifetime as the session's requests show it."""
    ttl_s = max((request.usage.cache_ttl_s for request in session.requests if request.usage is not None), default=300)
    prices = prices_for(session, ttl_s)
    clears = AutoPolicy(prices, shipped.need_model(), rules) if may_clear else Policy()
    policy = Door(rules, clears, door.Settings(rules.say_once, rules.shape))
    return outcome_of(session, policy, prices)


# --- the cache kept warm ----------------------------------------------------------------------------------------------------------


class KeepWarm(Policy):
    """Clears nothing; sends `number` requests after each answer while waiting for the user, by default as many as a session does."""

    def __init__(self, prices: Prices, number: int | None = None) -> None:
        self.number = warming.most(prices, KEEP_WARM_REQUESTS) if number is None else number

    def warm(self, request: Request, prompt: int) -> int:
        return 0 if request.calls else self.number


def keeping_warm(
    sources: Sequence[Source],
    ttl_s: int,
    model: str = "",
    progress: Progress | None = None,
    where: Where = Where(1),  # noqa: B008  a value
) -> dict[str, Any]:
    """Return {`sessions`, `requests`, `sent` (requests that only kept the cache), `cost`, `without` (units), `dearer` (sessions)}. Files
    that cannot be read are skipped."""
    sums = {"sessions": 0, "requests": 0, "sent": 0, "cost": 0.0, "without": 0.0, "dearer": 0}
    for number, (_, added, _) in enumerate(results(partial(_sums_of, ttl_s=ttl_s, model=model), sources, where), 1):
        if added is not None:
            sums = {name: value + more for (name, value), more in zip(sums.items(), added)}
        if progress:
            progress(number, len(sources))
    return sums


def _sums_of(path: str, ttl_s: int, model: str) -> tuple[float, ...]:
    """Return what a session adds to the sums; Skipped where it has too few requests."""
    session = sent_requests.read(path, with_needs=False)
    if len(session.requests) < LEAST_REQUESTS:
        raise Skipped(f"under {LEAST_REQUESTS} requests")
    prices = prices_for(session, ttl_s, model)
    warm, without = score(session, KeepWarm(prices), prices), score(session, Policy(), prices)
    return (1, warm.requests, warm.warmed, warm.cost, without.cost, int(warm.cost > DEARER * without.cost))
