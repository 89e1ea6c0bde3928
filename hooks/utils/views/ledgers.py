"""The four quantities (policy/figures.py) as a person reads them: kept out and cleared in tokens, cost and net in money. Pure.

Money is what the API takes, which a subscription does not pay: it is said to be API-equivalent.
"""

from __future__ import annotations

from .. import text
from ..policy import figures
from . import limits

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
    ("warming", "keeping warm"),
    ("memory", "memory"),
)
GAINS = (("kept_out", "smaller results"), ("kept_warm", "a warm cache"), ("cleared", "clears"), ("memory", "memory"))
_PERIODS = (("yesterday", "Since yesterday", "1 day"), ("week", "Last 7 days", "7 days"), ("installed", "Since installed", "All"))
_NAME = 16  # columns before the periods
_LEAST = 16  # columns of a period with its whole title
_NO_MONEY = "-"
_NO_PRICE = "no price is known"
_WHOLE = 1_000_000  # from here on a number is shown with three figures


def in_words(found: LedgerFigures) -> str:
    """Return the figures of a session's ledger in a sentence; they are not empty."""
    parts = []
    if found["kept_out_tokens"]:
        parts.append(f"kept out {text.long_tokens(found['kept_out_tokens'])}")
    if found["cleared_tokens"]:
        parts.append(f"cleared {found['cleared_tokens']:,} tokens")
    if found["pending_tokens"]:
        parts.append(f"{text.long_tokens(found['pending_tokens'])} cleared, not counted until a request shows it")
    if found["kept_warm"]:
        parts.append(f"cache kept warm {found['kept_warm']:,} times" if found["kept_warm"] > 1 else "cache kept warm once")
    if found["spared"]:
        parts.append(f"memory spared ~{text.counted(found['spared'], 'look-up')}")
    if found["cost_usd"] or found["saved_usd"] or found["unpriced"]:
        parts += _money(found)
    parts += filter(None, [limits.net(found.get("share"))])
    return "This session: " + (", ".join(parts) or "nothing kept out or cleared")


def _money(found: Figures) -> list[str]:
    if found["cost_usd"] is None:
        return [f"cost and net unknown ({_NO_PRICE} for its model)"]
    part = " (without requests whose price is not known)" if found["unpriced"] else ""
    return [f"cost {usd(found['cost_usd'])}", f"net {usd(found['net_usd'], True)}{part}"]


def headline(worth: Mapping[str, Figures]) -> str:
    """Return the one number: the net since PopKit was installed."""
    installed = worth["installed"]
    if not figures.is_anything(installed):
        return "Net: PopKit has saved and cost nothing yet"
    if installed["net_usd"] is None:
        return f"Net: {_NO_PRICE} for the models that were used"
    return f"Net {usd(installed['net_usd'], True)} since installed (API-equivalent)"


def table(worth: Mapping[str, Figures]) -> list[text.Line]:
    """Return a row for each quantity, and for each way to save; a column for each period. The money adds up: saved, less the cost, is the
    net. Memory, which is off unless somebody wants it, has a row where it spared anything."""
    return [lambda width: _table(worth, max(8, (width - _NAME) // len(_PERIODS)))]


def _table(worth: Mapping[str, Figures], columns: int) -> list[str]:
    titles = [title if columns >= _LEAST else short for _, title, short in _PERIODS]
    periods = [worth[name] for name, _, _ in _PERIODS]
    rows = [
        ("Kept out", [_fitting(kept_out(each), each["kept_out_tokens"], columns) for each in periods]),
        ("Cleared", [_fitting(tokens(each["cleared_tokens"]), each["cleared_tokens"], columns) for each in periods]),
        ("Saved by", [""] * len(periods)),
    ]
    for gain, name in GAINS:
        if gain != "memory" or any(each["saved_by_usd"][gain] for each in periods):
            rows.append((" " + name, [usd(each["saved_by_usd"][gain]) for each in periods]))
    rows.append(("Cost", [usd(each["cost_usd"]) for each in periods]))
    rows.append(("Net", [usd(each["net_usd"], True) for each in periods]))
    named = [(f"{'':<{_NAME}}", titles), *((f"{name:<{_NAME}}", cells) for name, cells in rows)]
    return [(name + "".join(f"{cell:>{columns}}" for cell in cells)).rstrip() for name, cells in named]


def notes(worth: Mapping[str, Figures], dated: str) -> list[text.Line]:
    """Return what the tokens and the money of the table are; `dated`: the month of the prices, "" where it is not known."""
    when = f" of {text.cut(text.clean(dated), 20)}" if dated else ""
    words = f"Kept out and cleared are tokens, all else is API-equivalent money: at the API's prices{when}, also where a subscription pays."
    if worth["installed"]["unpriced"]:
        words += " Requests to a model whose price is not known are not in the money."
    return text.wrap(words)


def uncounted_note(sessions: int, more: str = "Ask again to have more in it.") -> list[text.Line]:
    """Return the note that so many sessions went on since they were counted. `more`: how to count more of them."""
    return text.wrap(f"Not in it yet: what {text.counted(sessions, 'session')} did lately. {more}")


def usd(dollars: float | None, signed: bool = False) -> str:
    """Return $12.34, with its sign where it is a net; "-" where no price is known."""
    if dollars is None:
        return _NO_MONEY
    words = _usd(dollars)
    return "+" + words if signed and dollars > 0 and words != "$0.00" else words


def tokens(number: float) -> str:
    """Return 12,345; from a million on three figures."""
    number = round(number)
    return _short(number) if abs(number) >= _WHOLE else f"{number:,}"


def kept_out(found: Figures) -> str:
    """Return the tokens that were kept out, as an estimate."""
    return text.estimate(found["kept_out_tokens"]) if found["kept_out_tokens"] else "0"


def _fitting(words: str, number: float, columns: int) -> str:
    if len(words) < columns:
        return words
    return ("~" if words.startswith("~") else "") + _short(number)


def _short(amount: float) -> str:
    """Return 12k, -1.23M."""
    sign = "-" if amount < 0 else ""
    amount = abs(amount)
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if amount >= size * 0.9995:
            return f"{sign}{_figures(amount / size)}{unit}"
    return f"{sign}{round(amount)}"


def _figures(number: float) -> str:
    """Return three figures, without an exponent."""
    return f"{number:.0f}" if number >= 99.95 else f"{number:.1f}" if number >= 9.995 else f"{number:.2f}"


def _usd(dollars: float) -> str:
    """Return at most seven columns: $12.34, -$0.003, -$123, $12.3k, $0.00."""
    sign, amount = "-" if dollars < 0 else "", abs(dollars)
    if amount >= 9_999.5:
        return f"{sign}${_short(amount)}"
    if amount >= 99.995:
        return f"{sign}${amount:,.0f}"
    if amount >= 0.0095:
        return f"{sign}${amount:.2f}"
    return f"{sign}${amount:.3f}" if amount >= 0.0005 else "$0.00"
