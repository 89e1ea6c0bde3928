"""What requests cost at the models' prices, lost caches included. Pure."""

from __future__ import annotations

from hooks.utils.policy import lost_cache

from .sums import _MOST_DETAILS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from hooks.utils.policy.models import Models

    from .records import Digest, Row, Used


def usd_of(used: Used | Row, models: Models) -> dict[str, float] | None:
    """Return dollars by what they were paid for: plain, read, write, output; None where the price of the model is not known."""
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


def misses(digests: Iterable[Digest], models: Models) -> dict[str, Any]:
    """Return the losses of the caches of sessions: `sessions`, `requests`, the names of their `hosts`, `usd` of all requests, `unpriced`:
    how many of them have a model without a price; `lost`: {times, tokens, usd, unpriced} of all losses, and `causes`: the same for each
    cause, the most expensive first, with `details`: [(words, times)] of the most frequent ones."""
    requests = unpriced = sessions = 0
    usd = 0.0
    hosts: set[str] = set()
    by_cause: dict[str, dict[str, Any]] = {}
    for digest in digests:
        sessions += bool(digest["used"])
        hosts.update([digest["host"]] if digest["used"] else ())
        for used in digest["used"]:
            paid = usd_of(used, models)
            requests += used["requests"]
            unpriced += 0 if paid else used["requests"]
            usd += sum(paid.values()) if paid else 0.0
        for loss in digest["losses"]:
            row = by_cause.setdefault(loss["cause"], {**_none(), "cause": loss["cause"], "details": {}})
            cost = lost_cache.usd(models, loss["model"], loss["prompt"], loss["tokens"], loss["ttl_s"])
            row["times"] += 1
            row["tokens"] += loss["tokens"]
            row["usd"] += cost or 0.0
            row["unpriced"] += cost is None
            if loss["detail"]:
                row["details"][loss["detail"]] = row["details"].get(loss["detail"], 0) + 1
    causes = sorted(by_cause.values(), key=lambda row: (-row["usd"], -row["tokens"], lost_cache.CAUSES.index(row["cause"])))
    for row in causes:
        row["details"] = sorted(row["details"].items(), key=lambda item: (-item[1], item[0]))[:_MOST_DETAILS]
    lost = {name: sum(row[name] for row in causes) for name in _none()}
    whole = {"sessions": sessions, "requests": requests, "hosts": sorted(hosts), "usd": usd, "unpriced": unpriced}
    return {**whole, "lost": lost, "causes": causes}


def _none() -> dict[str, Any]:
    return {"times": 0, "tokens": 0, "usd": 0.0, "unpriced": 0}
