"""`stats`: what retention did in this session, this project and everywhere. Metrics in, data and lines out. Pure."""

from __future__ import annotations

from .. import text
from ..policy.tiers import TIERS
from . import ledgers

_NAME, _COLUMN = 28, 14
_SCOPES = (("session", "this session"), ("project", "this project"), ("all", "everywhere"))


def stats_lines(found: dict, details: bool = False) -> list[str]:
    """The lines of `stats`, from {`session`, `project`, `all`: metrics as dicts, `contexts`: name -> metrics, `worth`: as
    efficiency_tracker.worth tells it of `all`, `prices_dated`: the month of the prices, `behind`: sessions that went on since they were
    reckoned}."""
    lines = [*text.title("Retention efficiency"), *text.wrap(ledgers.headline(found["worth"]), indent="  "), ""]
    if found["all"]["figures"]:
        lines += [*ledgers.table(found["worth"]), "", *ledgers.notes(found["worth"], found["prices_dated"]), ""]
    if found["behind"]:
        lines += [*ledgers.lacking(found["behind"]), ""]
    lines.append(_row("", [title for _, title in _SCOPES]))
    for name, key in (("Sessions", "sessions"), ("Contexts", "contexts"), ("Tool results", "results")):
        lines.append(_row(name, [f"{found[scope][key]:,}" for scope, _ in _SCOPES]))
    if details:
        lines += _tier_rows(found, "tier_distribution", "results_tokens")
    lines.append(_row("Expired", [f"{found[scope]['items_expired']:,}" for scope, _ in _SCOPES]))
    if details:
        lines += _tier_rows(found, "expired_by_tier", "expired_tokens_by_tier")
    lines.append(_row("Superseded by newer results", [f"{found[scope]['supersession_events']:,}" for scope, _ in _SCOPES]))
    lines.append(_row("False expirations", [_false(found[scope]) for scope, _ in _SCOPES]))
    lines += _false_rows(found)
    lines.append(_row("Removed by compactions", [f"{found[scope]['compacted']:,}" for scope, _ in _SCOPES]))
    lines += _figure_rows(found, details)
    lines += ["", *text.wrap("Tokens count as cleared once a request shows that they are gone. Money is API-equivalent.")]
    lines += text.wrap("A false expiration is a result that expired and was then fetched again unchanged, or restored. ~ marks estimates.")
    return lines + (_contexts(found["contexts"]) if details else [])


# (name, figure): what is shown without --details, and what with it.
_TOKENS = (
    ("Kept out, tokens", "kept_out_tokens"),
    ("Cleared, tokens", "cleared_tokens"),
    ("  not confirmed yet", "pending_tokens"),
)
_COUNTED = (("  clears", "clears"), ("  clears confirmed", "confirmed"))


def _figure_rows(found: dict, details: bool) -> list:
    told = [found[scope]["figures"] for scope, _ in _SCOPES]
    if not any(told):
        return [_row(name, ["0"] * len(told)) for name, _ in _TOKENS[:2]]
    rows = [_row(name, [_tokens(each, key) for each in told]) for name, key in (*_TOKENS, *(_COUNTED if details else ()))]
    remembers = any(each.get("memory_tokens") for each in told)
    if details:
        rows.append("Saved by")
        rows += [
            _row("  " + name, [_usd(each, "saved_by_usd", gain) for each in told])
            for gain, name in ledgers.GAINS
            if remembers or gain != "memory"
        ]
    rows.append(_row("Cost", [_usd(each, "cost_usd") for each in told]))
    if details:
        rows += [
            _row("  " + name, [_usd(each, "cost_by_usd", cause) for each in told])
            for cause, name in ledgers.CAUSES
            if remembers or cause != "memory"
        ]
    if remembers:
        rows.append(_row("Net of memory", [_net_of_memory(each) for each in told]))
    return [*rows, _row("Net", [_usd(each, "net_usd") for each in told])]


def _tokens(figures: dict, name: str) -> str:
    if not figures or name == "kept_out_tokens":
        return ledgers.kept_out(figures) if figures else "0"
    return ledgers.tokens(figures[name])


def _usd(figures: dict, name: str, of: str = "") -> str:
    found = figures.get(name, {} if of else 0.0)
    return ledgers.usd(found.get(of, 0.0) if of else found, name == "net_usd")


def _net_of_memory(figures: dict) -> str:
    if not figures or figures["cost_usd"] is None:
        return _usd(figures, "cost_usd")
    return ledgers.usd(figures["saved_by_usd"]["memory"] - figures["cost_by_usd"]["memory"], True)


def _row(name: str, cells: list) -> str:
    return (f"{name:<{_NAME}}" + "".join(f"{text.cut(cell, _COLUMN - 1):>{_COLUMN}}" for cell in cells)).rstrip()


def _tier_rows(found: dict, items: str, tokens: str) -> list:
    rows = []
    for tier in TIERS:
        counts = [(found[scope][items].get(tier, 0), found[scope][tokens].get(tier, 0)) for scope, _ in _SCOPES]
        if any(count for count, _ in counts):
            rows.append(_row("  " + tier, [f"{count:,} {text.tokens(size):>6}" for count, size in counts]))
    return rows


def _false_rows(found: dict) -> list:
    """By tier: it tells whose lifetime is too short."""
    counts = {tier: [found[scope]["false_expirations_by_tier"].get(tier, 0) for scope, _ in _SCOPES] for tier in TIERS}
    return [_row("  " + tier, [f"{count:,}" for count in row]) for tier, row in counts.items() if any(row)]


def _false(metrics: dict) -> str:
    expired, false = metrics["items_expired"], metrics["false_expirations"]
    return f"{false:,} ({false / expired:.1%})" if expired else f"{false:,}"


def _contexts(contexts: dict) -> list:
    if not contexts:
        return []
    lines = ["", "Contexts of this session:"]
    for name, metrics in contexts.items():
        said = f"{text.counted(metrics['results'], 'result')}, {metrics['items_expired']:,} expired, {metrics['false_expirations']:,} false"
        lines.append(text.cut(f"  {text.pad(text.clean(name) or 'main thread', 28)} {said}", text.WIDTH))
    return lines
