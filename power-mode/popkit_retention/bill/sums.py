"""Sums of the usage of requests, by model or time. Pure.

Tokens that the cache lost count as read, as in the shares of the requests: the extra cost of writing them again has no kind, either.
"""

from __future__ import annotations

from bisect import bisect_left

from popkit_retention.core.policy import lost_cache

from .kind_sums import add_shares, add_unlost_shares, columns_of, shared_by_kind
from .lifetimes import replayed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from popkit_retention.core.policy.lost_cache import SentRequest
    from popkit_retention.core.policy.usage import Usage

    from .records import ModelUsage, Priced


SLOT_S = 600  # columns of the sums by time
_PRICED = ("model", "prompt", "plain", "read", "write_5m", "write_1h", "output")
# Up to which the shipped prices hold, among others.
_SIZES = (0, 100_000, 200_000, 272_000)
MOST_DETAILS = 3


def of_models(
    requests: list[SentRequest], standing: int, losses: Mapping[int, lost_cache.Loss], copies: Collection[str] = ()
) -> list[ModelUsage]:  # fmt: skip
    """Return the sums of requests by model, without those of the messages `copies`; `losses`: id of a Usage -> the loss of its request."""
    sums: dict[Priced, ModelUsage] = {}
    shares: dict[Priced, dict[str, list[float]]] = {}
    for request, (lived, is_bridged) in zip(requests, replayed(requests, losses)):
        usage = request.usage
        if request.id in copies:
            continue
        key = usage.model, size_below(usage.tokens)
        sum = sums.get(key)
        if sum is None:
            sum = sums[key] = {
                "model": key[0], "prompt": key[1], "requests": 0,
                "plain": 0, "read": 0, "write_5m": 0, "write_1h": 0, "output": 0,
                "cold": [0, 0, 0], "stands": [0, 0, 0, 0], "pauses": [0, 0, 0], "lost": [0, 0, 0], "kinds": {},
                "lifetimes": [0, 0, 0, 0], "bridged": 0,
            }  # fmt: skip
        sum["requests"] += 1
        sum["plain"] += max(0, usage.tokens - usage.read - usage.created)
        sum["read"] += usage.read
        sum["write_1h" if usage.cache_ttl_s > 300 else "write_5m"] += usage.created
        sum["output"] += request.output
        sum["lifetimes"] = [total + tokens for total, tokens in zip(sum["lifetimes"], lived)]
        sum["bridged"] += is_bridged
        _divide(sum, usage, standing, losses.get(id(usage)))
        add_shares(shares.setdefault(key, {}), request.shares, usage.cache_ttl_s > 300)
    for key, sum in sums.items():
        sum["kinds"] = shared_by_kind(shares[key], columns_of(sum))
    return list(sums.values())


def size_below(prompt: int) -> int:
    """Return the size of prompt by which a request is counted: with one token more, its price is the same, if that begins at a size."""
    return _SIZES[max(0, bisect_left(_SIZES, prompt) - 1)]


def _divide(sum: ModelUsage, usage: Usage, standing: int, loss: lost_cache.Loss | None) -> None:
    """Add to sums the tokens of a request before the first word, and those written again. A prompt is read from its beginning on, so the
    former are read first, and the lost ones begin where reading ends: tokens that are both count once."""
    hour = usage.cache_ttl_s > 300
    if not usage.read:
        sum["cold"][2 if not usage.created else hour] += 1
    read = min(standing, usage.read)
    written = min(standing - read, usage.created)
    plain = max(0, min(standing, usage.tokens) - read - written)
    lost = loss.written if loss else 0
    lost_plain = loss.tokens - lost if loss else 0
    both, both_plain = min(lost, written), min(lost_plain, plain)
    sum["stands"][0] += plain - both_plain
    sum["stands"][1] += read + both + both_plain
    sum["stands"][3 if hour else 2] += written - both
    if loss:
        sums = sum["pauses" if loss.cause == lost_cache.PAUSE else "lost"]
        sums[0] += lost_plain
        sums[2 if hour else 1] += lost


def by_time(
    requests: list[SentRequest], standing: int, losses: Mapping[int, lost_cache.Loss],
) -> tuple[list[list[int]], list[dict[str, int]]]:  # fmt: skip
    """Return sums by slots of ten minutes, and what their conversations were made of: `by_time` and `kinds_by_time` of a Digest."""
    slots: dict[int, list[int]] = {}
    left: dict[int, int] = {}
    shares: dict[int, dict[str, list[float]]] = {}
    for request in requests:
        usage = request.usage
        at = int(usage.at) // SLOT_S * SLOT_S
        sums = slots.setdefault(at, [at, 0, 0, 0, 0, 0])
        loss = losses.get(id(usage))
        lost = loss.tokens if loss else 0
        # Lost tokens begin where reading ends, so those before the first word are lost, too, as far as they were not read.
        before = min(standing, usage.tokens)
        before -= max(0, min(before - usage.read, lost))
        counts = (max(0, usage.tokens - usage.read - usage.created), usage.read, usage.created, request.output, before)
        sums[1:] = [sum + count for sum, count in zip(sums[1:], counts)]
        left[at] = left.get(at, 0) + usage.tokens - before - lost
        add_unlost_shares(shares.setdefault(at, {}), request.shares)
    by_kind = [shared_by_kind(shares[at], [left[at]]) for at in slots]
    return list(slots.values()), [{kind: tokens for kind, (tokens,) in row.items()} for row in by_kind]


def by_price(requests: list[SentRequest]) -> list[list[Any]]:
    """Return sums by slots of ten minutes, model and size of the prompt: `by_price` of a Digest."""
    rows: dict[tuple[int, str, int], list[Any]] = {}
    for request in requests:
        usage = request.usage
        key = int(usage.at) // SLOT_S * SLOT_S, usage.model, size_below(usage.tokens)
        row = rows.setdefault(key, [*key, 0, 0, 0, 0, 0])
        row[3] += max(0, usage.tokens - usage.read - usage.created)
        row[4] += usage.read
        row[6 if usage.cache_ttl_s > 300 else 5] += usage.created
        row[7] += request.output
    return list(rows.values())
