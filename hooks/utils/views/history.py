"""How a session went: `timeline`, one line for each call, with a bar from its call to its end on an axis of calls; `stats`, what retention
did in this session, this project and everywhere. Data in, lines out. Pure.
"""

from __future__ import annotations

from .. import text
from ..policy import figures
from ..policy.ruleset import TIERS
from . import amounts, phrases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..efficiency_tracker import EfficiencyMetrics
    from ..policy.shapes import Figures, LedgerFigures, Period
    from .shapes import Report, ResultRow

LAST = 40
_BAR = 14
_LIVE, _EXPIRED, _CLEARED = "█", "░", "·"
_LABEL = 24
# Columns from which label and bar share a line when notes are not cut; more columns than any note has.
_ROOMY, _WHOLE = 72, 200
# How many of the results that a call ended are named.
_ENDED_SHOWN = 3
# Columns of `stats`: of a name, of a scope.
_NAME_COLUMNS, _COLUMN = 28, 14


# --- timeline ---


def timeline_lines(report: Report, last: int | None = LAST, folds: bool = False, more: str = "Add --all or --last N") -> list[text.Line]:
    """Return the timeline of the newest `last` results in the context (None: of all). `folds`: a note without room goes on below instead of
    being cut. `more`: what the reader can do to see the others."""
    rows = report["results"]
    shown = rows if last is None else rows[max(0, len(rows) - last) :]
    lines = text.title("Tool call timeline")
    if not shown:
        return [*lines, phrases.no_results(report).replace("there are no", "There are no") + "."]
    lines.append(lambda columns: _bars(report, shown, columns, folds))
    lines += ["", f"{_LIVE} live   {_EXPIRED} expired, still in the context   ← what it ended"]
    if any(row["state"] == "cleared" for row in shown):
        lines.append(f"{_CLEARED} cleared: only a placeholder is left in the context")
    left = len(rows) - len(shown)
    if left:
        lines += text.wrap(f"{text.counted(left, 'earlier result')} left out. {more} to see more.")
    compacted = report["calls"] - len(rows)
    if compacted > 0:
        lines += text.wrap(
            f"{text.counted(compacted, 'more call')} of this session {'is' if compacted == 1 else 'are'} no longer in the "
            "context (compacted)."
        )
    return lines


def _bars(report: Report, shown: list[ResultRow], columns: int, folds: bool) -> list[str]:
    """Return the axis, and below it the bars of the results that are shown."""
    first, now = shown[0]["number"], max(report["calls"], shown[-1]["number"])
    numbers = len(str(now)) + 1
    ended = _ended_by(report["results"])
    folds = folds or columns < text.WIDTH
    lines = [" " * (numbers + 2 + (0 if folds and columns < _ROOMY else _LABEL + 1)) + _axis(first, now)]
    for row in shown:
        number, bar = f"{phrases.number(row):<{numbers}}  ", _bar(row, first, now) + " "
        draw = _folded if folds else _line
        lines += draw(row, number, bar, ended.get(row["number"], []), columns)
    return lines


def _axis(first: int, now: int) -> str:
    """Return `T2 ──────────► T41` over the bars."""
    left, right = f"T{first} ", f" T{now}"
    room = _BAR + 2 - len(left) - len(right)
    return left + "─" * (room - 1) + "►" + right if room > 1 else f"T{first}─T{now}"


def _line(row: ResultRow, number: str, bar: str, ended: list[int], columns: int) -> list[str]:
    head = f"{number}{text.pad(phrases.label(row, _LABEL), _LABEL)} {bar}"
    return [head + _note(row, ended, columns - text.width(head))]


def _folded(row: ResultRow, number: str, bar: str, ended: list[int], columns: int) -> list[str]:
    """Return the same with the whole note: beside the bar, and below it where there is no room."""
    if columns < _ROOMY:
        above, head = [(number + phrases.label(row, columns - len(number))).rstrip()], " " * len(number) + bar
    else:
        above, head = [], f"{number}{text.pad(phrases.label(row, _LABEL), _LABEL)} {bar}"
    return [*above, *text.laid_out(text.pair(head, _whole_note(row, ended), text.width(head)), columns)]


def _whole_note(row: ResultRow, ended: list[int]) -> str:
    did = _did(ended, min(len(ended), _ENDED_SHOWN)) if ended else ""
    if did and row["tier"] == "ephemeral":
        return did
    return "; ".join(filter(None, [did, _fate(row, _WHOLE)]))


def _note(row: ResultRow, ended: list[int], room: int) -> str:
    """Return how a result ended, and before it the newest results that its call ended, as many as fit."""
    shown = min(len(ended), _ENDED_SHOWN)
    if ended and row["tier"] == "ephemeral":  # what it did tells more than that it is gone after one call
        return text.cut(_did(ended, shown), room)
    while shown:
        did = _did(ended, shown) + "; "
        note = did + _fate(row, room - len(did))
        if text.width(note) <= room:
            return note
        shown -= 1
    return text.cut(_did(ended, min(len(ended), _ENDED_SHOWN)) if ended else _fate(row, room), room)


def _fate(row: ResultRow, room: int) -> str:
    return phrases.ends_until(row) if row["state"] == "live" else phrases.how_ended(row, room)


def _did(ended: list[int], shown: int) -> str:
    """Return `← T15, T16 +4`: the results that a call ended."""
    more = f" +{len(ended) - shown}" if len(ended) > shown else ""
    return "← " + ", ".join(f"T{number}" for number in ended[-shown:]) + more


def _bar(row: ResultRow, first: int, now: int) -> str:
    """Return the bar on the axis from call `first` to call `now`: blank before the call, full while live, shaded when expired, dots if
    cleared."""
    calls = now - first + 1
    born = (row["number"] - first) * _BAR // calls
    end = now + 1 if row["state"] == "live" else row["ended"]["at_call"]
    dead = max(born + 1, (end - first) * _BAR // calls)
    return "[" + " " * born + _LIVE * (dead - born) + (_CLEARED if row["state"] == "cleared" else _EXPIRED) * (_BAR - dead) + "]"


def _ended_by(rows: list[ResultRow]) -> dict[int, list[int]]:
    """Return number of a call -> numbers of the results that it ended by what it did; acknowledgements are not worth telling."""
    ended: dict[int, list[int]] = {}
    for row in rows:
        if row["state"] == "live" or row["tier"] == "ephemeral":
            continue
        by = row["ended"]["by_number"]
        if by is not None and row["ended"]["trigger"] in phrases.CAUSED:
            ended.setdefault(by, []).append(row["number"])
    return ended


# --- stats ---


def stats_lines(
    scopes: tuple[EfficiencyMetrics, EfficiencyMetrics, EfficiencyMetrics], worth: Mapping[str, Period], dated: str, behind: int,
    contexts: Mapping[str, EfficiencyMetrics] | None = None,
) -> list[text.Line]:  # fmt: skip
    """Return the lines of `stats`. `scopes`: the session, the project, everywhere · `worth`: of the last · `dated`: the month of the prices
    · `behind`: sessions that went on since they were counted · `contexts`: of the session, by subagent, where details are asked
    for."""
    details = contexts is not None
    lines = [*text.title("Retention efficiency"), *text.wrap(amounts.headline(worth), indent="  "), ""]
    if scopes[-1].figures:
        lines += [*amounts.ledger_table(worth), "", *amounts.ledger_notes(worth, dated), ""]
    if behind:
        lines += [*amounts.uncounted_note(behind), ""]
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
    lines.append(_row("Removed by compactions", [f"{each.compacted:,}" for each in scopes]))
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
    if details:
        rows.append(_row("  clears", [amounts.tokens(each.get("clears", 0)) for each in scopes]))
        rows.append(_row("  clears confirmed", [amounts.tokens(each.get("confirmed", 0)) for each in scopes]))
    remembers = any(each.get("memory_tokens") for each in scopes)
    compacts = any(each.get("spared_compactions") or any(each.get("compactions_usd", {}).values()) for each in scopes)
    hidden = {name for name, is_there in zip(amounts.RARE, (remembers, compacts)) if not is_there}
    if details:
        rows.append("Saved by")
        for gain, name in amounts.GAINS:
            if gain not in hidden:
                rows.append(_row("  " + name, [amounts.usd(each.get("saved_by_usd", {}).get(gain, 0.0)) for each in scopes]))
    rows.append(_row("Cost", [amounts.usd(each.get("cost_usd", 0.0)) for each in scopes]))
    if details:
        for cause, name in amounts.CAUSES:
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
    for part, name, known in amounts.COMPACTION_PARTS:
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
            rows.append(_row("  " + tier, [f"{count:,} {text.tokens(size):>6}" for count, size in counts]))
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
        counts = f"{text.counted(each.results, 'result')}, {each.items_expired:,} expired, {each.false_expirations:,} false"
        lines.append(text.fitted(f"  {text.pad(text.clean(name) or 'main thread', 28)} {counts}"))
    return lines


# --- a card to show ---


SVG, MARKDOWN = ".svg", ".md"
MARK = "PopKit card"  # in every card: only a file that has it is replaced
_METHOD = "Counted request by request against the same session without PopKit, at the API's prices; its own cost is subtracted."
_WIDTH, _LEFT, _LINE = 560, 28, 24
_FONT = "ui-sans-serif, system-ui, sans-serif"


def _card_rows(ledger: LedgerFigures) -> list[tuple[str, str]]:
    """Return the quantities as (name, words)."""
    if not ledger:
        return []
    return [
        ("Kept out of the context", f"{amounts.kept_out(ledger)} tokens"),
        ("Cleared from it", f"{amounts.tokens(ledger['cleared_tokens'])} tokens"),
        ("What PopKit cost", "unknown" if ledger["cost_usd"] is None else amounts.usd(ledger["cost_usd"])),
    ]


def card(kind: str, ledger: LedgerFigures, worth: Mapping[str, Figures], sessions: int, day: str, dated: str) -> str:
    """Return a card of this kind, SVG or MARKDOWN. `ledger`: the figures since PopKit was installed, `worth`: by period · `day`: today's,
    such as 2026-10-01 · `dated`: the month of the prices. Negative amounts are shown, too."""
    installed = worth["installed"]
    is_known = installed["net_usd"] is not None
    net = f"Net {amounts.usd(installed['net_usd'], True)}" if is_known else "Net unknown"
    net = net if figures.is_anything(installed) else "Nothing saved and nothing cost yet"
    head = f"{text.counted(sessions, 'session')} since PopKit was installed, as of {day}"
    method = _METHOD + (f" Prices of {dated}." if dated else "")
    if installed["unpriced"]:
        method += " Requests to a model without a known price are not in the money."
    return (_svg if kind == SVG else _markdown)(head, net, _card_rows(ledger), method)


def _markdown(head: str, net: str, rows: list[tuple[str, str]], method: str) -> str:
    lines = [f"<!-- {MARK} -->", f"**PopKit: {net[0].lower() + net[1:]}** ({head})", ""]
    if rows:
        lines += ["| | |", "|---|--:|", *(f"| {name} | {words} |" for name, words in rows), ""]
    return "\n".join([*lines, method, ""])


def _svg(head: str, net: str, rows: list[tuple[str, str]], method: str) -> str:
    from html import escape

    body = [_svg_text(_LEFT, 40, 15, "#5b6472", escape(f"PopKit · {head}")), _svg_text(_LEFT, 86, 34, "#16202c", escape(net), 700)]
    at = 124
    for name, words in rows:
        body.append(_svg_text(_LEFT, at, 15, "#5b6472", escape(name)))
        body.append(_svg_text(_WIDTH - _LEFT, at, 15, "#16202c", escape(words), anchor="end"))
        at += _LINE
    at += 8
    for line in text.wrapped(method, 88):
        body.append(_svg_text(_LEFT, at, 11, "#7b8494", escape(line)))
        at += 16
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{at}" viewBox="0 0 {_WIDTH} {at}" role="img">',
            f"<title>{MARK}: {escape(net)}, {escape(head)}</title>",
            f'<rect x="0.5" y="0.5" width="{_WIDTH - 1}" height="{at - 1}" rx="10" fill="#ffffff" stroke="#d6dbe3"/>',
            *body,
            "</svg>",
            "",
        ]
    )


def _svg_text(x: int, y: int, size: int, color: str, words: str, weight: int = 400, anchor: str = "start") -> str:
    style = f'font-family="{_FONT}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" fill="{color}"'
    return f'<text x="{x}" y="{y}" {style}>{words}</text>'


def written_lines(path: str) -> list[text.Line]:
    """Return the lines that say where a card was written."""
    return ["", *text.wrap(f"The card is in {text.clean(path)}.")]
