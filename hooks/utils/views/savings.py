"""The text on the balance of retention (policy/figures.py). Data in, words out. Pure."""

from __future__ import annotations

from .. import text, units
from .amounts import kept_out, short, tokens, usd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..policy.shapes import Figures, LedgerFigures

# The causes of costs and of savings -> what people call them.
CAUSES = (
    ("rewrite", "cache rewrites"),
    ("restores", "restores"),
    ("refetches", "fetched again"),
    ("advice", "our own text"),
    ("memory", "memory"),
    ("compactions", "compactions"),
)
GAINS = (("kept_out", "smaller results"), ("cleared", "clears"), ("memory", "memory"), ("compactions", "compactions"))
RARE = ("memory", "compactions")  # of both: shown where there is anything
# What compactions are worth beside those of Claude Code, by part (policy/ledger.py) -> what people call it, and how it is known.
COMPACTION_PARTS = (
    ("request", "requests", "measured"),
    ("summary", "summaries", "assumed"),
    ("writes", "writing", "ours measured"),
    ("carries", "carrying", "ours measured"),
)
_PERIODS = (("yesterday", "Since yesterday", "1 day"), ("week", "Last 7 days", "7 days"), ("installed", "Since installed", "All"))
_NAME = 16  # columns before the periods
_LEAST = 16  # columns of a period with its whole title
_NO_PRICE = "no price is known"


def ledger_in_words(figures: LedgerFigures) -> str:
    """Return the figures of a session's ledger in a sentence; they are not empty."""
    parts = []
    if figures["kept_out_tokens"]:
        parts.append(f"kept out {units.long_tokens(figures['kept_out_tokens'])}")
    if figures["cleared_tokens"]:
        parts.append(f"cleared {figures['cleared_tokens']:,} tokens")
    if figures["pending_tokens"]:
        parts.append(f"{units.long_tokens(figures['pending_tokens'])} cleared, not counted until a request shows it")
    if figures["spared"]:
        parts.append(f"memory spared ~{units.counted(figures['spared'], 'look-up')}")
    if figures["cost_usd"] or figures["saved_usd"] or figures["unpriced"]:
        parts += _money(figures)
    return "This session: " + (", ".join(parts) or "nothing kept out or cleared")


def _money(figures: Figures) -> list[str]:
    if figures["cost_usd"] is None:
        return [f"cost and net unknown ({_NO_PRICE} for its model)"]
    part = " (without requests whose price is not known)" if figures["unpriced"] else ""
    return [f"cost {usd(figures['cost_usd'])}", f"net {usd(figures['net_usd'], True)}{part}"]


def headline(worth: Mapping[str, Figures]) -> str:
    """Return the one number: the net since PopKit was installed."""
    from ..policy import figures

    installed = worth["installed"]
    if not figures.is_anything(installed):
        return "Net: PopKit has saved and cost nothing yet"
    if installed["net_usd"] is None:
        return f"Net: {_NO_PRICE} for the models that were used"
    return f"Net {usd(installed['net_usd'], True)} since installed (API-equivalent)"


def ledger_table(worth: Mapping[str, Figures]) -> list[text.Line]:
    """Return a row for each quantity, and for each way to save; a column for each period. The money adds up: saved, less the cost, is the
    net. Memory, which is off by default, and compactions have a row where they spared anything."""
    return [lambda width: _ledger_rows(worth, max(8, (width - _NAME) // len(_PERIODS)))]


def _ledger_rows(worth: Mapping[str, Figures], columns: int) -> list[str]:
    titles = [title if columns >= _LEAST else short for _, title, short in _PERIODS]
    periods = [worth[name] for name, _, _ in _PERIODS]
    rows = [
        ("Kept out", [_fitting(kept_out(each), each["kept_out_tokens"], columns) for each in periods]),
        ("Cleared", [_fitting(tokens(each["cleared_tokens"]), each["cleared_tokens"], columns) for each in periods]),
        ("Saved by", [""] * len(periods)),
    ]
    for gain, name in GAINS:
        if gain not in RARE or any(each["saved_by_usd"].get(gain) for each in periods):
            rows.append((" " + name, [usd(each["saved_by_usd"][gain]) for each in periods]))
    rows.append(("Cost", [usd(each["cost_usd"]) for each in periods]))
    rows.append(("Net", [usd(each["net_usd"], True) for each in periods]))
    named = [(f"{'':<{_NAME}}", titles), *((f"{name:<{_NAME}}", cells) for name, cells in rows)]
    return [(name + "".join(f"{cell:>{columns}}" for cell in cells)).rstrip() for name, cells in named]


def ledger_notes(worth: Mapping[str, Figures], dated: str) -> list[text.Line]:
    """Return the notes on the tokens and the money of the table; `dated`: the month of the prices, "" where it is not known."""
    when = f" of {text.cut(text.clean(dated), 20)}" if dated else ""
    words = (
        f"Kept out and cleared are tokens. Everything else is API-equivalent money, at the API's prices{when}, even if a subscription pays."
    )
    if worth["installed"]["unpriced"]:
        words += " Requests to a model whose price is not known are not in the money."
    return text.wrap(words)


def uncounted_note(sessions: int, more: str = "Ask again to include more.") -> list[text.Line]:
    """Return the note on the number of sessions that went on since they were counted. `more`: how to count more of them."""
    return text.wrap(f"Not included yet: what {units.counted(sessions, 'session')} did lately. {more}")


def _fitting(words: str, number: float, columns: int) -> str:
    if len(words) < columns:
        return words
    return ("~" if words.startswith("~") else "") + short(number)
