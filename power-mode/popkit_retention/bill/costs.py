"""The cost of requests at the models' prices, lost caches included. Pure."""

from __future__ import annotations

from collections import Counter

from popkit_retention.core.policy import lost_cache

from .sums import MOST_DETAILS, size_below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from popkit_retention.core.policy.models import Models

    from .records import Cause, Digest, LossSum, Misses, ModelUsage


def usd_of(used: ModelUsage | dict[str, Any], models: Models) -> dict[str, float] | None:
    """Return dollars by what they paid for: plain, read, write, output; None where the price of the model is unknown."""
    model = models.model(used["model"])
    price_in, price_out = model.usd(used["prompt"] + 1)
    if price_in is None or price_out is None:
        return None
    write = used["write_5m"] * model.write_5m + used["write_1h"] * model.write_1h
    unit = price_in / 1e6
    return {
        "plain": used["plain"] * unit,
        "read": used["read"] * model.read * unit,
        "write": write * unit,
        "output": used["output"] * price_out / 1e6,
    }


def misses(digests: Iterable[Digest], models: Models) -> Misses:
    """Return the losses of the caches of sessions."""
    requests = unpriced = sessions = 0
    usd = 0.0
    hosts: set[str] = set()
    by_cause: dict[str, LossSum] = {}
    details: dict[str, Counter[str]] = {}
    for digest in digests:
        sessions += bool(digest["used"])
        hosts.update([digest["host"]] if digest["used"] else ())
        for used in digest["used"]:
            paid = usd_of(used, models)
            requests += used["requests"]
            unpriced += 0 if paid else used["requests"]
            usd += sum(paid.values()) if paid else 0.0
        for loss in digest["losses"]:
            row = by_cause.setdefault(loss["cause"], _none())
            cost = lost_cache.usd(models, loss["model"], size_below(loss["prompt"]) + 1, loss["tokens"], loss["written"], loss["ttl_s"])
            row["times"] += 1
            row["tokens"] += loss["tokens"]
            row["usd"] += cost or 0.0
            row["unpriced"] += cost is None
            details.setdefault(loss["cause"], Counter()).update([loss["detail"]] if loss["detail"] else ())
    ranked = sorted(by_cause, key=lambda cause: (-by_cause[cause]["usd"], -by_cause[cause]["tokens"], lost_cache.CAUSES.index(cause)))
    causes: list[Cause] = [{**by_cause[cause], "cause": cause, "details": _most_frequent(details[cause])} for cause in ranked]
    return {
        "sessions": sessions, "requests": requests, "hosts": sorted(hosts), "usd": usd, "unpriced": unpriced,
        "lost": _sum(causes), "causes": causes,
    }  # fmt: skip


def _most_frequent(details: Counter[str]) -> list[tuple[str, int]]:
    return sorted(details.items(), key=lambda item: (-item[1], item[0]))[:MOST_DETAILS]


def _none() -> LossSum:
    return {"times": 0, "tokens": 0, "usd": 0.0, "unpriced": 0}


def _sum(rows: list[Cause]) -> LossSum:
    return {
        "times": sum(row["times"] for row in rows),
        "tokens": sum(row["tokens"] for row in rows),
        "usd": sum(row["usd"] for row in rows),
        "unpriced": sum(row["unpriced"] for row in rows),
    }
