"""The payment for a project's requests, by part. Pure."""

from __future__ import annotations

from popkit_retention.core.policy.kind_rows import kind_rows

from . import lifetimes
from .costs import usd_of
from .prompt_rows import calls_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from popkit_retention.core.policy.models import Models
    from popkit_retention.core.views.shapes import AddedRow, BillTotal, Pace

    from .records import Digest, ModelUsage


MONTH_S = 30 * 86_400
# The parts of a bill, in the order in which they are shown. Together they are the whole.
PARTS = ("standing", "conversation", "pauses", "lost", "output")


def pace(digests: Iterable[Digest], models: Models, period_s: float) -> Pace:
    """Return the cost of a token in each prompt at the pace of main threads over a period."""
    usd, requests, unpriced = 0.0, 0, 0
    active = [digest for digest in digests if digest["used"]]
    for used in (used for digest in active for used in digest["used"]):
        model = models.model(used["model"])
        price, _ = model.usd(used["prompt"] + 1)
        requests += used["requests"]
        if price is None:
            unpriced += used["requests"]
            continue
        short, hour, plain = used["cold"]
        units = (used["requests"] - sum(used["cold"])) * model.read + short * model.write_5m + hour * model.write_1h + plain
        usd += units * price / 1e6
    covered_s = max((digest["ended"] for digest in active), default=0.0) - min((digest["began"] for digest in active), default=0.0)
    if active and covered_s < lifetimes.LEAST_DAYS * 86_400:
        return {"usd": 0.0, "requests": requests, "unpriced": unpriced, "is_told": False}
    scale = MONTH_S / period_s
    return {"usd": usd * scale, "requests": round(requests * scale), "unpriced": round(unpriced * scale), "is_told": True}


def whole(digests: Iterable[Digest], models: Models) -> BillTotal:
    """Return what requests were paid for."""
    parts = dict.fromkeys(PARTS, 0.0)
    usd_by_kind: dict[str, float] = {}
    tokens: dict[str, int] = {}
    requests = unpriced = sessions = 0
    everything = list(digests)
    hosts: set[str] = set()
    for digest in everything:
        sessions += bool(digest["used"])
        hosts.update([digest["host"]] if digest["used"] else ())
        for used in digest["used"]:
            requests += used["requests"]
            for kind, sums in used["kinds"].items():
                tokens[kind] = tokens.get(kind, 0) + sum(sums)
            paid = usd_of(used, models)
            if paid is None:
                unpriced += used["requests"]
                continue
            dollars = _divided(used, models)
            for kind, sums in used["kinds"].items():
                usd_by_kind[kind] = usd_by_kind.get(kind, 0.0) + _paid(sums, used, models)
            dollars["output"] = paid["output"]
            dollars["conversation"] = max(0.0, sum(paid.values()) - sum(dollars.values()))
            for name, usd in dollars.items():
                parts[name] += usd
    return {
        "usd": sum(parts.values()), "parts": parts, "kinds": kind_rows(tokens, usd_by_kind, calls_of(everything)),
        "added": _added(everything), "requests": requests, "sessions": sessions, "hosts": sorted(hosts), "unpriced": unpriced,
    }  # fmt: skip


def _added(digests: Iterable[Digest]) -> list[AddedRow]:
    sums: dict[str, list[int]] = {}
    for name, counts in (item for digest in digests for item in digest["added"].items()):
        sums[name] = [sum + count for sum, count in zip(sums.get(name, (0, 0, 0, 0)), counts)]
    rows: list[AddedRow] = [
        {"name": name, "times": times, "tokens": tokens, "times_again": times_again, "tokens_again": tokens_again}
        for name, (times, tokens, times_again, tokens_again) in sums.items()
    ]
    return sorted(rows, key=lambda row: (-row["tokens"], row["name"]))


def _divided(used: ModelUsage, models: Models) -> dict[str, float]:
    again = {name: (plain, -plain - short - hour, short, hour) for name in ("pauses", "lost") for plain, short, hour in [used[name]]}
    return {name: _paid(tokens, used, models) for name, tokens in {"standing": used["stands"], **again}.items()}


def _paid(tokens: Sequence[int], used: ModelUsage, models: Models) -> float:
    """Return the dollars for tokens: plain, read, written for five minutes, written for an hour."""
    model = models.model(used["model"])
    price, _ = model.usd(used["prompt"] + 1)
    units = sum(count * cost for count, cost in zip(tokens, (1.0, model.read, model.write_5m, model.write_1h)))
    return units * (price or 0.0) / 1e6
