"""The text of `popkit budget`: the user's own limits. Data in, lines out. Pure."""

from __future__ import annotations

from popkit_retention.core import text, units

from .budget_share import range_of, remaining_of
from .budgets import TOKENS, USD, used_percent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .budgets import Standing
    from .configured_database import BudgetReport
    from .records import Sum
    from .unchecked import UncheckedRequests

_NO_LIMITS = "No limit is set, so nothing is left out because of a budget. To set one: popkit budget set month_usd=50"

_EXCEEDED = {
    "warn": "Once one is used up, agents and proxies say so and go on. To make them stop: popkit budget set on_exceeded=refuse",
    "refuse": "Once one is used up, agents and proxies send nothing more. To let them go on: popkit budget set on_exceeded=warn",
}


def budgets(report: BudgetReport) -> list[text.Line]:
    """Return the limits, how much of each is used, and how large a context that allows."""
    lines = text.title("Budgets")
    lines += text.wrap(f"{text.clean(report.user)}, {report.month}; {text.clean(report.database)}")
    for limit in report.limits:
        lines += ["", *_limit(limit)]
    if report.limits:
        lines += ["", *text.wrap(_chosen(report.limits)), "", *text.wrap(_EXCEEDED[report.on_exceeded])]
    else:
        lines += ["", *text.wrap(_NO_LIMITS)]
    if report.unchecked:
        lines += ["", *text.wrap(f"{unchecked(report.unchecked)} The reason: {text.clean(report.unchecked.why)}.")]
    if report.of_session:
        lines += ["", f"Used in this session {text.cut(text.clean(report.session), 40)}", *_used(report.of_session)]
    return [*lines, "", "Used this month", *_used(report.of_month)]


def unchecked(unchecked: UncheckedRequests) -> str:
    """Return the sentence on the requests whose limits could not be checked."""
    fields, verb = unchecked.as_fields(), "was" if unchecked.requests == 1 else "were"
    since, until = (fields[name].replace("T", " ").rstrip("Z") for name in ("since", "until"))
    requests = units.counted(unchecked.requests, "request")
    return f"This month {requests} on this machine {verb} not checked against the limits, from {since} to {until} UTC."


def _limit(limit: Standing) -> list[str]:
    filled = min(20, round(limit.used_percent / 5))
    bar = "█" * filled + "░" * (20 - filled)
    left = _amount(max(0, limit.limit - limit.used), limit.unit)
    of = f"{_amount(limit.used, limit.unit)} of {_amount(limit.limit, limit.unit)}" + (" tokens" if limit.unit == TOKENS else "")
    over = "exceeded" if limit.used > limit.limit else f"{left} left"
    return [f"{limit.scope:<9}{bar}  {limit.used_percent:.1f}% used", f"{'':<9}{of}, {over}"]


def _chosen(limits: list[Standing]) -> str:
    remaining = remaining_of(used_percent(limits))
    return (
        f"The limit that is used up the most counts: {remaining:.1f}% remains, so contexts are built for a budget of {range_of(remaining)}."
    )


def _used(used: Sum) -> list[text.Line]:
    read = f"{units.counted(used.requests, 'request')}: {used.input_tokens:,} tokens in, {used.cache_read_tokens:,} read from the "
    read += f"cache, {used.cache_write_tokens:,} written to it, {used.output_tokens:,} out"
    price = f"; ${used.usd:,.2f}" if used.usd or not used.unpriced else ""
    lines = text.wrap("  " + read + price, indent="  ")
    if used.unpriced:
        note = f"  The price of {units.counted(used.unpriced, 'request')} is not known: add the model to models.by_id."
        lines += text.wrap(note, indent="  ")
    return lines


def _amount(amount: float, unit: str) -> str:
    return f"${amount:,.2f}" if unit == USD else f"{amount:,.0f}"
