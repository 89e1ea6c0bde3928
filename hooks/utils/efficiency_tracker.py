"""The figures of retention's effect, from the counters of stored contexts, summed per session, per project or over all.

Nothing counts as reclaimed that a request has not shown to be gone (policy/settling.py). Other token figures are estimates, scaled by what
the context's own usage says of them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields

from .io import files, home
from .io.system import day_of, days_before
from .policy import figures
from .policy.context import Counts, counts_of
from .policy.ledger import AMOUNTS, DAILY
from .state import session, stored_contexts
from .state.past import past

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from .policy.shapes import LedgerFigures, Period

WEEK_DAYS = 7


@dataclass
class EfficiencyMetrics:
    """Sums over one or more contexts. Dicts are by tier."""

    items_expired: int = 0
    tokens_reclaimed: int = 0
    """Gone from the requests that were sent, as their usage shows."""
    supersession_events: int = 0
    tier_distribution: dict[str, int] = field(default_factory=dict)
    """Results that were given a tier."""
    results: int = 0
    results_tokens: dict[str, int] = field(default_factory=dict)
    expired_by_tier: dict[str, int] = field(default_factory=dict)
    expired_tokens_by_tier: dict[str, int] = field(default_factory=dict)
    false_expirations: int = 0
    """Expired, and then fetched again unchanged, or restored."""
    false_expirations_by_tier: dict[str, int] = field(default_factory=dict)
    triggers: dict[str, int] = field(default_factory=dict)
    contexts: int = 0
    sessions: int = 0
    ledger: dict[str, float] = field(default_factory=dict)
    """Amounts saved and charged: the keys of `policy.ledger.Ledger.to_json`, summed."""
    days: dict[str, float] = field(default_factory=dict)
    """The same by day (rebuild.newest_days), of the last days of each context."""

    @property
    def figures(self) -> LedgerFigures:
        """Return the figures of the ledger."""
        return figures.of_ledger(self.ledger)

    def to_json(self) -> dict[str, object]:
        metrics = asdict(self)
        del metrics["ledger"], metrics["days"]
        return {**metrics, "figures": self.figures}


def metrics_of(counts: Counts | dict, calibration: float = 1.0) -> EfficiencyMetrics:
    """Return the metrics of one context, from its counters."""
    counts = counts if isinstance(counts, Counts) else counts_of(counts)
    results, expired, false = (_numbers(table) for table in (counts.results, counts.expired, counts.false_expirations))
    ledger = _by_cause(_amounts(counts.ledger))
    return EfficiencyMetrics(
        items_expired=sum(expired.values()),
        supersession_events=counts.superseded,
        tier_distribution=results,
        results=sum(results.values()),
        results_tokens=_numbers(counts.results_tokens, calibration),
        expired_by_tier=expired,
        expired_tokens_by_tier=_numbers(counts.expired_tokens, calibration),
        false_expirations=sum(false.values()),
        false_expirations_by_tier=false,
        triggers=_numbers(counts.triggers),
        contexts=1,
        tokens_reclaimed=int(ledger.get("reclaimed_tokens", 0)),
        ledger=ledger,
        days=_amounts(counts.days),
    )


def _numbers(table: dict, factor: float = 1.0) -> dict:
    return {key: round(value * factor) for key, value in _amounts(table).items()}


def _amounts(table: dict) -> dict:
    return {key: value for key, value in table.items() if isinstance(value, (int, float)) and not isinstance(value, bool)}


def _by_cause(ledger: dict) -> dict:
    """Return a ledger that was stored before causes and money were separated: all of it comes from clears, of models whose price was not
    kept."""
    if not ledger or "saved_cleared" in ledger:
        return ledger
    saved, charged = ledger.get("saved", 0), ledger.get("charged", 0)
    return {**dict.fromkeys(AMOUNTS, 0.0), **ledger, "saved_cleared": saved, "charged": charged, "unpriced": saved + charged}


def worth(metrics: EfficiencyMetrics, now: float) -> dict[str, Period]:
    """Return the worth of retention in three periods: `yesterday`, `week`, `installed`. The first period begins with yesterday, the second
    six days before today, the third with the first day."""
    today = day_of(now)
    since = {"yesterday": days_before(today, 1), "week": days_before(today, WEEK_DAYS - 1)}
    periods: dict[str, Period] = {name: {"since": day, **figures.of(sums_since(metrics.days, day))} for name, day in since.items()}
    return {**periods, "installed": {"since": "", **figures.of(metrics.ledger)}}


def sums_since(table: Mapping[str, float], day: str) -> dict[str, float]:
    """Return the sums of a flat table of days from one on, by name; 0 where there is nothing."""
    sums = dict.fromkeys(DAILY, 0.0)
    for key, amount in table.items():
        of, _, name = key.partition(" ")
        if of >= day and name in sums:
            sums[name] += amount
    return sums


def sum_metrics(several: Iterable[EfficiencyMetrics]) -> EfficiencyMetrics:
    """Return all of them together."""
    total = EfficiencyMetrics()
    for metrics in several:
        for part in fields(EfficiencyMetrics):
            value, more = getattr(total, part.name), getattr(metrics, part.name)
            if isinstance(value, dict):
                for key, amount in more.items():
                    value[key] = value.get(key, 0) + amount
            else:
                setattr(total, part.name, value + more)
    return total


def context_metrics(popkit_home: str, session_id: str) -> dict[str, EfficiencyMetrics]:
    """Return agent id ("" for the main thread) -> the metrics of each context of a session; a state that cannot be read counts for
    nothing."""
    by_context: dict[str, EfficiencyMetrics] = {}
    for paths in stored_contexts.contexts_of(popkit_home, session_id):
        state = files.read_object(paths.state)
        if state:
            agent = state.get("agent_id")
            by_context[agent if isinstance(agent, str) else paths.agent_id] = _metrics_in(state)
    return by_context


def session_metrics(popkit_home: str, session_id: str) -> EfficiencyMetrics:
    """Return the metrics of a session, its subagents included."""
    return of_session(context_metrics(popkit_home, session_id).values())


def project_metrics(popkit_home: str, project: str) -> EfficiencyMetrics:
    """Return the metrics of every session of a project, those that were swept since included."""
    here = [name for name in stored_contexts.folders(popkit_home) if session.read(popkit_home, name).project == project]
    swept = [metrics for name, metrics in swept_metrics(popkit_home) if project and name == home.safe_name(project)]
    return sum_metrics([*(session_metrics(popkit_home, name) for name in here), *swept])


def all_metrics(popkit_home: str) -> EfficiencyMetrics:
    """Return the metrics of every session, those that were swept since included."""
    here = (session_metrics(popkit_home, name) for name in stored_contexts.folders(popkit_home))
    return sum_metrics([*here, *(metrics for _, metrics in swept_metrics(popkit_home))])


def swept_metrics(popkit_home: str) -> list[tuple[str, EfficiencyMetrics]]:
    """Return (safe name of its project, its metrics) of each session that was swept since."""
    return [(project, of_session([_metrics_in(state) for state in states])) for project, states in past(popkit_home)]


def of_session(contexts: Collection[EfficiencyMetrics]) -> EfficiencyMetrics:
    """Return the metrics of the contexts of one session together."""
    total = sum_metrics(contexts)
    total.sessions = 1 if contexts else 0
    return total


def _metrics_in(state: dict[str, Any]) -> EfficiencyMetrics:
    """Return the metrics of a stored state."""
    factor = state.get("calibration")
    factor = factor if isinstance(factor, (int, float)) and 0 < factor < 10 else 1.0
    return metrics_of(state.get("counts") or {}, factor)
