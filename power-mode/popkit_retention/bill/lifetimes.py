"""Compare the cost of a session's pauses under the lifetimes of a prompt cache, five minutes or an hour: its requests are replayed under
both, as Claude Code lets its user choose. Pure.

Only what the lifetime decides is different. Tokens that were written again after a pause are read where the other lifetime is longer than
the pause; after a pause that the other lifetime does not last, the whole prompt is written. What was lost for any other reason, and what
was read of a prompt at all, stays as it was. All that is written costs what writing for that lifetime does.
"""

from __future__ import annotations

from popkit_retention.core.policy.lost_cache import PAUSE
from popkit_retention.core.policy.models import HOUR_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from popkit_retention.core.policy.lost_cache import Loss, SentRequest
    from popkit_retention.core.policy.models import Model, Models
    from popkit_retention.core.views.shapes import Lifetime

    from .records import Digest, ModelUsage

FIVE_MINUTES, HOUR = "5m", "1h"
SECONDS = {FIVE_MINUTES: 300, HOUR: HOUR_S}
# Two lifetimes whose bills differ by less are equally good.
LEAST_SHARE = 0.01
# Fewer requests say nothing about anybody's pauses.
LEAST_REQUESTS = 100
# No dollars per month are given for fewer days: a few days do not show a month's pauses.
LEAST_DAYS = 3
_DAY_S, _MONTH_DAYS = 86_400, 30


def replayed(requests: Sequence[SentRequest], losses: Mapping[int, Loss]) -> list[tuple[list[int], bool]]:
    """Return for each request the tokens that it would have read and written, [read, written] with five minutes and then with an hour, and
    whether it came after a pause that only an hour bridges. `losses`: id of a Usage -> its loss."""
    rows: list[tuple[list[int], bool]] = []
    before, recorded_s = None, SECONDS[FIVE_MINUTES]
    for request in requests:
        usage, loss = request.usage, losses.get(id(request.usage))
        pause_s = usage.at - before.at if before is not None else 0.0
        lost = min(loss.tokens, usage.created) if loss is not None and loss.cause == PAUSE and not loss.later else 0
        row: list[int] = []
        for lifetime_s in SECONDS.values():
            read = usage.read
            if pause_s <= lifetime_s:
                read += lost
            elif lifetime_s < recorded_s:
                read = 0
            row += [read, usage.read + usage.created - read]
        rows.append((row, SECONDS[FIVE_MINUTES] < pause_s <= SECONDS[HOUR]))
        before = usage
        recorded_s = usage.cache_ttl_s if usage.created else recorded_s
    return rows


def compared(digests: Iterable[Digest], models: Models, is_priced: bool, period_s: float) -> Lifetime | None:
    """Return which lifetime pays, "" where the two differ by less than LEAST_SHARE; None where fewer than LEAST_REQUESTS can be replayed.
    `digests`: of main threads or of subagents · `is_priced`: whether dollars mean anything · `period_s`: seconds that the digests cover at
    most."""
    units, usd = dict.fromkeys(SECONDS, 0.0), dict.fromkeys(SECONDS, 0.0)
    requests = pauses = 0
    newest, has, began, ended = 0.0, "", float("inf"), 0.0
    is_known = True
    for digest in digests:
        for used in digest["used"]:
            model = models.model(used["model"])
            if not model.known or model.kept_s:
                continue
            requests += used["requests"]
            pauses += used["bridged"]
            price, _ = model.usd(used["prompt"] + 1)
            is_known = is_known and price is not None
            for name, amount in _costs(used, model).items():
                units[name] += amount
                usd[name] += amount * (price or 0.0) / 1e6
            if digest["ended"] >= newest and used["write_5m"] + used["write_1h"]:
                newest, has = digest["ended"], HOUR if used["write_1h"] > used["write_5m"] else FIVE_MINUTES
            began, ended = min(began, digest["began"]), max(ended, digest["ended"])
    # With one price unknown, dollars would weigh only the other models.
    costs = usd if is_known else units
    cheap, dear = sorted(costs, key=costs.__getitem__)
    if requests < LEAST_REQUESTS or not costs[dear]:
        return None
    share = 1 - costs[cheap] / costs[dear]
    days = min(period_s, ended - began) / _DAY_S
    is_told = is_known and is_priced and days >= LEAST_DAYS
    return {
        "pays": cheap if share >= LEAST_SHARE else "", "share": round(share, 4),
        "usd_per_month": round((usd[dear] - usd[cheap]) / days * _MONTH_DAYS, 2) if is_told else None,
        "has": has, "requests": requests, "pauses": pauses, "days": round(days, 1),
    }  # fmt: skip


def _costs(used: ModelUsage, model: Model) -> dict[str, float]:
    """Return the units that requests cost with each lifetime."""
    same = used["plain"] + used["output"] * model.output_units
    read_5m, written_5m, read_1h, written_1h = used["lifetimes"]
    return {
        FIVE_MINUTES: same + read_5m * model.read + written_5m * model.write_5m,
        HOUR: same + read_1h * model.read + written_1h * model.write_1h,
    }
