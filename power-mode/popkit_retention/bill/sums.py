"""What a session's requests used, added up by model and by time. Pure."""

from __future__ import annotations

from hooks.utils.policy import lost_cache

from . import kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hooks.utils.policy.conversation import Usage
    from hooks.utils.policy.lost_cache import Sent

    from .digests import Priced, Used

SLOT_S = 600  # of what is added up by time
GRAIN_S = 10  # of what is added up by model and time
_BUCKET = 100_000
_MOST_BUCKETS = 2


def of_models(requests: list[Sent], standing: int, losses: Mapping[int, lost_cache.Loss]) -> list[Used]:
    """Return the sums of requests; `losses`: id of a Usage -> what its request lost."""
    sums: dict[Priced, Used] = {}
    shares: dict[Priced, dict[str, list[float]]] = {}
    for request in requests:
        usage = request.usage
        key = usage.model, min(_MOST_BUCKETS, usage.tokens // _BUCKET)
        sum = sums.get(key)
        if sum is None:
            sum = sums[key] = {
                "model": key[0], "prompt": key[1] * _BUCKET, "requests": 0,
                "plain": 0, "read": 0, "write_5m": 0, "write_1h": 0, "output": 0,
                "cold": [0, 0, 0], "stands": [0, 0, 0, 0], "pauses": [0, 0], "lost": [0, 0], "kinds": {},
            }  # fmt: skip
        sum["requests"] += 1
        sum["plain"] += max(0, usage.tokens - usage.read - usage.created)
        sum["read"] += usage.read
        sum["write_1h" if usage.cache_ttl_s > 300 else "write_5m"] += usage.created
        sum["output"] += request.output
        _divide(sum, usage, standing, losses.get(id(usage)))
        kinds.add(shares.setdefault(key, {}), request.shares, usage.cache_ttl_s > 300)
    for key, sum in sums.items():
        sum["kinds"] = kinds.shared(shares[key], kinds.columns(sum))
    return list(sums.values())


def _divide(sum: Used, usage: Usage, standing: int, loss: lost_cache.Loss | None) -> None:
    """Add to sums what of a request stood before the first word, and what was written again. A prompt is read from its beginning on, so
    what stands is read first, and what was lost begins where reading ends: the two share tokens, which count once."""
    hour = usage.cache_ttl_s > 300
    if not usage.read:
        sum["cold"][2 if not usage.created else hour] += 1
    read = min(standing, usage.read)
    written = min(standing - read, usage.created)
    lost = min(loss.tokens, usage.created) if loss else 0
    both = min(lost, written)
    sum["stands"][0] += max(0, min(standing, usage.tokens) - read - written)
    sum["stands"][1] += read + both
    sum["stands"][3 if hour else 2] += written - both
    if loss:
        sum["pauses" if loss.cause == lost_cache.PAUSE else "lost"][hour] += lost


def by_time(
    requests: list[Sent], standing: int, losses: Mapping[int, lost_cache.Loss],
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
        # What was lost begins where reading ends, so what stands is lost with it as far as it was not read.
        stands = min(standing, usage.tokens)
        stands -= max(0, min(stands - usage.read, lost))
        counts = (max(0, usage.tokens - usage.read - usage.created), usage.read, usage.created, request.output, stands)
        sums[1:] = [sum + count for sum, count in zip(sums[1:], counts)]
        left[at] = left.get(at, 0) + usage.tokens - stands - lost
        kinds.add_kept(shares.setdefault(at, {}), request.shares)
    by_kind = [kinds.shared(shares[at], [left[at]]) for at in slots]
    return list(slots.values()), [{kind: tokens for kind, (tokens,) in row.items()} for row in by_kind]


def by_model(requests: list[Sent]) -> dict[str, list[list[int]]]:
    """Return sums by model and slots of ten seconds: `by_model` of a Digest."""
    slots: dict[str, dict[int, list[int]]] = {}
    for request in requests:
        usage = request.usage
        at = int(usage.at) // GRAIN_S * GRAIN_S
        row = slots.setdefault(usage.model, {}).setdefault(at, [at, 0, 0, 0, 0, 0])
        row[1] += max(0, usage.tokens - usage.read - usage.created)
        row[2] += usage.read
        row[4 if usage.cache_ttl_s > 300 else 3] += usage.created
        row[5] += request.output
    return {model: list(rows.values()) for model, rows in slots.items()}
