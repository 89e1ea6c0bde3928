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

# What is paid for, and what is saved by, with what people call each.
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
_WHOLE = 1_000_000  # from here on a number is said to three figures


def in_words(found: LedgerFigures, scope: str = "This session") -> str:
    """The figures of a ledger in a sentence; they are not empty."""
    said = []
    if found["kept_out_tokens"]:
        said.append(f"kept out {text.long_tokens(found['kept_out_tokens'])}")
    if found["cleared_tokens"]:
        said.append(f"cleared {found['cleared_tokens']:,} tokens")
    if found["pending_tokens"]:
        said.append(f"{text.long_tokens(found['pending_tokens'])} cleared, not counted until a request shows it")
    if found["kept_warm"]:
        said.append(f"cache kept warm {found['kept_warm']:,} times" if found["kept_warm"] > 1 else "cache kept warm once")
    if found["spared"]:
        said.append(f"memory spared ~{text.counted(found['spared'], 'look-up')}")
    if found["cost_usd"] or found["saved_usd"] or found["unpriced"]:
        said += _money(found)
    said += filter(None, [limits.net(found.get("share"))])
    return f"{scope}: " + (", ".join(said) or "nothing kept out or cleared")


def _money(found: Figures) -> list[str]:
    if found["cost_usd"] is None:
        return [f"cost and net unknown ({_NO_PRICE} for its model)"]
    part = " (without requests whose price is not known)" if found["unpriced"] else ""
    return [f"cost {usd(found['cost_usd'])}", f"net {usd(found['net_usd'], True)}{part}"]


def headline(worth: Mapping[str, Figures]) -> str:
    """The one number: the net since PopKit was installed."""
    installed = worth["installed"]
    if not figures.is_anything(installed):
        return "Net: PopKit has saved and cost nothing yet"
    if installed["net_usd"] is None:
        return f"Net: {_NO_PRICE} for the models that were used"
    return f"Net {usd(installed['net_usd'], True)} since installed (API-equivalent)"


def table(worth: Mapping[str, Figures]) -> list[text.Line]:
    """A row for each quantity, and for each way to save; a column for each period. The money adds up: saved, less the cost, is the net.
    Memory, which is off unless somebody wants it, has a row where it spared anything."""
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
    """What has to be said of the table: what its tokens and its money are; `dated`: the month of the prices, "" where it is not known."""
    when = f" of {text.cut(text.clean(dated), 20)}" if dated else ""
    said = f"Kept out and cleared are tokens, all else is API-equivalent money: at the API's prices{when}, also where a subscription pays."
    if worth["installed"]["unpriced"]:
        said += " Requests to a model whose price is not known are not in the money."
    return text.wrap(said)


def lacking(sessions: int, more: str = "Ask again to have more in it.") -> list[text.Line]:
    """What has to be said where so many sessions went on since they were reckoned. `more`: how more of it comes."""
    return text.wrap(f"Not in it yet: what {text.counted(sessions, 'session')} did lately. {more}")


def usd(dollars: float | None, signed: bool = False) -> str:
    """$12.34, with its sign where it is a net; "-" where no price is known."""
    if dollars is None:
        return _NO_MONEY
    said = _usd(dollars)
    return "+" + said if signed and dollars > 0 and said != "$0.00" else said


def tokens(number: float) -> str:
    """12,345; from a million on to three figures."""
    return _signed(number, False)


def kept_out(found: Figures) -> str:
    """What figures say was kept out: an estimate."""
    return text.estimate(found["kept_out_tokens"]) if found["kept_out_tokens"] else "0"


def _fitting(said: str, number: float, columns: int) -> str:
    if len(said) < columns:
        return said
    return ("~" if said.startswith("~") else "") + _short(number, False)


def _signed(amount: float, plus: bool = True) -> str:
    """12,345, -12,345, and with `plus` +12,345; from a million on to three figures."""
    amount = round(amount)
    if abs(amount) >= _WHOLE:
        return _short(amount, plus)
    return f"{amount:+,}" if plus and amount else f"{amount:,}"


def _short(amount: float, plus: bool = True) -> str:
    """12k, -1.23M."""
    sign = "-" if amount < 0 else "+" if plus and amount else ""
    amount = abs(amount)
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if amount >= size * 0.9995:
            return f"{sign}{_figures(amount / size)}{unit}"
    return f"{sign}{round(amount)}"


def _figures(number: float) -> str:
    """Three figures, without an exponent."""
    return f"{number:.0f}" if number >= 99.95 else f"{number:.1f}" if number >= 9.995 else f"{number:.2f}"


def _usd(dollars: float) -> str:
    """In at most seven columns: $12.34, -$0.003, -$123, $12.3k, $0.00."""
    sign, amount = "-" if dollars < 0 else "", abs(dollars)
    if amount >= 9_999.5:
        return f"{sign}${_short(amount, False)}"
    if amount >= 99.995:
        return f"{sign}${amount:,.0f}"
    if amount >= 0.0095:
        return f"{sign}${amount:.2f}"
    return f"{sign}${amount:.3f}" if amount >= 0.0005 else "$0.00"
