"""The effects of retention in this session, in this project, everywhere. Data in, lines out. Pure."""

from __future__ import annotations

from .. import text, units
from ..policy.ruleset import TIERS
from . import amounts, savings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..efficiency_tracker import EfficiencyMetrics
    from ..policy.shapes import LedgerFigures, Period

# Columns of `stats`: of a name, of a scope.
_NAME_COLUMNS, _COLUMN = 28, 14


def stats_lines(
    scopes: tuple[EfficiencyMetrics, EfficiencyMetrics, EfficiencyMetrics], worth: Mapping[str, Period], dated: str, behind: int,
    contexts: Mapping[str, EfficiencyMetrics] | None = None, tracked: bool = True,
) -> list[text.Line]:  # fmt: skip
    """Return the lines of `stats`. `scopes`: the session, the project, everywhere · `worth`: of the last · `dated`: the month of the prices
    · `behind`: sessions that went on since they were counted · `contexts`: of the session, by subagent, where details are asked for ·
    `tracked`: whether the session is one of all these."""
    details = contexts is not None
    lines = [*text.title("Retention efficiency"), *text.wrap(savings.headline(worth), indent="  "), ""]
    if scopes[-1].figures:
        lines += [*savings.ledger_table(worth), "", *savings.ledger_notes(worth, dated), ""]
    if not tracked:
        lines += [*text.wrap("This session was not tracked: its results are counted from the transcript, and only in its column."), ""]
    if behind:
        lines += [*savings.uncounted_note(behind), ""]
    lines += [
        _row("", ["this session", "this project", "everywhere"]),
        _row("Sessions", [f"{each.sessions:,}" for each in scopes]),
        _row("Contexts", [f"{each.contexts:,}" for each in scopes]),
        _row("Tool results", [f"{each.results:,}" for each in scopes]),
    ]
    if details:
        lines += _tier_rows([(each.tier_distribution, each.results_tokens) for each in scopes])
    lines.append(_row("Expired", [f"{each.items_expired:,}" for each in scopes]))
    if details:
        lines += _tier_rows([(each.expired_by_tier, each.expired_tokens_by_tier) for each in scopes])
    lines.append(_row("Superseded by newer results", [f"{each.supersession_events:,}" for each in scopes]))
    lines.append(_row("False expirations", [_false(each) for each in scopes]))
    lines += _false_rows(scopes)
    lines += _figure_rows([each.figures for each in scopes], details)
    lines += ["", *text.wrap("Tokens count as cleared once a request shows that they are gone. Money is API-equivalent.")]
    lines += text.wrap("A false expiration is a result that expired and was then fetched again unchanged, or restored. ~ marks estimates.")
    return lines + (_contexts(contexts) if contexts else [])


def _figure_rows(scopes: list[LedgerFigures], details: bool) -> list[text.Line]:
    rows: list[text.Line] = [
        _row("Kept out, tokens", [amounts.kept_out(each) if each else "0" for each in scopes]),
        _row("Cleared, tokens", [amounts.tokens(each.get("cleared_tokens", 0)) for each in scopes]),
    ]
    if not any(scopes):
        return rows
    rows.append(_row("  not confirmed yet", [amounts.tokens(each.get("pending_tokens", 0)) for each in scopes]))
    compacts = any(each.get("spared_compactions") or any(each.get("compactions_usd", {}).values()) for each in scopes)
    if details:
        rows.append(_row("  clears" + ", compactions" * compacts, [amounts.tokens(each.get("clears", 0)) for each in scopes]))
        rows.append(_row("  clears confirmed", [amounts.tokens(each.get("confirmed", 0)) for each in scopes]))
    remembers = any(each.get("memory_tokens") for each in scopes)
    hidden = {name for name, is_there in zip(savings.RARE, (remembers, compacts)) if not is_there}
    if details:
        rows.append("Saved by")
        for gain, name in savings.GAINS:
            if gain not in hidden:
                rows.append(_row("  " + name, [amounts.usd(each.get("saved_by_usd", {}).get(gain, 0.0)) for each in scopes]))
    rows.append(_row("Cost", [amounts.usd(each.get("cost_usd", 0.0)) for each in scopes]))
    if details:
        for cause, name in savings.CAUSES:
            if cause not in hidden:
                rows.append(_row("  " + name, [amounts.usd(each.get("cost_by_usd", {}).get(cause, 0.0)) for each in scopes]))
        if compacts:
            rows += _compaction_rows(scopes)
    if remembers:
        rows.append(_row("Net of memory", [_net_of_memory(each) for each in scopes]))
    return [*rows, _row("Net", [amounts.usd(each.get("net_usd", 0.0), True) for each in scopes])]


def _compaction_rows(scopes: list[LedgerFigures]) -> list[text.Line]:
    """Return what compactions were worth beside those that Claude Code would have made, by part."""
    rows: list[text.Line] = [_row("Summaries spared", [f"~{each.get('spared_compactions', 0):,}" for each in scopes])]
    for part, name, known in savings.COMPACTION_PARTS:
        cells = [amounts.usd(each.get("compactions_usd", {}).get(part, 0.0), True) for each in scopes]
        rows.append(_row(f"  {name} ({known})", cells))
    return rows


def _net_of_memory(figures: LedgerFigures) -> str:
    saved, cost = (by.get("memory", 0.0) for by in (figures.get("saved_by_usd", {}), figures.get("cost_by_usd", {})))
    return amounts.usd(None if saved is None or cost is None else saved - cost, True)


def _row(name: str, cells: list[str]) -> text.Line:
    """Return a name and its cells beside each other, or below it where there is no room."""

    def lines(columns: int) -> list[str]:
        has_room = columns >= _NAME_COLUMNS + _COLUMN * len(cells)
        each = _COLUMN if has_room else columns // len(cells)
        row = "".join(f"{text.cut(cell, each - 1):>{each}}" for cell in cells).rstrip()
        return [f"{name:<{_NAME_COLUMNS}}{row}".rstrip()] if has_room else [*filter(None, [name]), row]

    return lines


def _tier_rows(scopes: list[tuple[dict[str, int], dict[str, int]]]) -> list[text.Line]:
    """Return a row for each tier, of its results and their tokens in each scope."""
    rows: list[text.Line] = []
    for tier in TIERS:
        counts = [(items.get(tier, 0), tokens.get(tier, 0)) for items, tokens in scopes]
        if any(count for count, _ in counts):
            rows.append(_row("  " + tier, [f"{count:,} {units.tokens(size):>6}" for count, size in counts]))
    return rows


def _false_rows(scopes: Iterable[EfficiencyMetrics]) -> list[text.Line]:
    """Return the same of false expirations: they show whose lifetime is too short."""
    counts = {tier: [each.false_expirations_by_tier.get(tier, 0) for each in scopes] for tier in TIERS}
    return [_row("  " + tier, [f"{count:,}" for count in row]) for tier, row in counts.items() if any(row)]


def _false(metrics: EfficiencyMetrics) -> str:
    expired, false = metrics.items_expired, metrics.false_expirations
    return f"{false:,} ({false / expired:.1%})" if expired else f"{false:,}"


def _contexts(contexts: Mapping[str, EfficiencyMetrics]) -> list[text.Line]:
    lines: list[text.Line] = ["", "Contexts of this session:"]
    for name, each in contexts.items():
        counts = f"{units.counted(each.results, 'result')}, {each.items_expired:,} expired, {each.false_expirations:,} false"
        lines.append(text.fitted(f"  {text.pad(text.clean(name) or 'main thread', 28)} {counts}"))
    return lines
