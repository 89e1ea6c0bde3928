"""`stats`: what retention did in this session, this project and everywhere. Metrics in, data and lines out. Pure."""

from __future__ import annotations

from ..policy.tiers import TIERS
from . import ledgers, text

_NAME, _COLUMN = 28, 14
_SCOPES = (("session", "this session"), ("project", "this project"), ("all", "everywhere"))


def stats_lines(found: dict, details: bool = False) -> list[str]:
    """The lines of `stats`, from {`session`, `project`, `all`: metrics as dicts, `contexts`: name -> metrics, `worth`: as
    efficiency_tracker.worth tells it of `all`, `prices_dated`: the month of the prices, `behind`: sessions that went on since they were
    reckoned}."""
    lines = [*text.title("Retention efficiency"), *text.wrap(ledgers.headline(found["worth"]), indent="  "), ""]
    if found["all"]["ledger"]:
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
    lines.append(_row("Tokens reclaimed", [f"{found[scope]['tokens_reclaimed']:,}" for scope, _ in _SCOPES]))
    lines += _ledger_rows(found, details)
    lines += [
        "",
        *text.wrap("Tokens count as reclaimed once a request shows that they are gone. Saved, charged and net are in input tokens."),
    ]
    lines += text.wrap("A false expiration is a result that expired and was then fetched again unchanged, or restored. ~ marks estimates.")
    return lines + (_contexts(found["contexts"]) if details else [])


_ROWS = (
    ("  did not enter (estimate)", "kept_out_tokens"),
    ("  clears confirmed", "confirmed"),
    ("  tokens not confirmed yet", "pending_tokens"),
    ("  saved", "saved"),
    ("  saved: did not enter", "saved_kept_out"),
    ("  saved: kept warm", "saved_kept_warm"),
    ("  saved: cleared", "saved_cleared"),
    ("  saved: memory (estimate)", "saved_memory"),
    ("  charged", "charged"),
    ("  charged: cache rewrites", "charged_rewrite"),
    ("  charged: restores", "charged_restores"),
    ("  charged: fetched again", "charged_refetches"),
    ("  charged: our own text", "charged_advice"),
    ("  charged: keeping warm", "charged_warming"),
    ("  charged: memory", "charged_memory"),
    ("  net: memory", "net_memory"),
    ("  net", "net"),
)
# What is shown without --details.
_MAIN = ("confirmed", "pending_tokens", "saved", "charged", "net_memory", "net")
_OF_MEMORY = ("saved_memory", "charged_memory", "net_memory")


def _ledger_rows(found: dict, details: bool) -> list:
    told = [_with_net_of_memory(found[scope]["ledger"]) for scope, _ in _SCOPES]
    if not any(told):
        return []
    remembers = any(ledger.get("memory_tokens") for ledger in told)
    rows = [(name, key) for name, key in _ROWS if (details or key in _MAIN) and (remembers or key not in _OF_MEMORY)]
    return [_row(name, [f"{round(ledger.get(key, 0)):,}" for ledger in told]) for name, key in rows]


def _with_net_of_memory(ledger: dict) -> dict:
    return {**ledger, "net_memory": ledger.get("saved_memory", 0) - ledger.get("charged_memory", 0)} if ledger else ledger


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
