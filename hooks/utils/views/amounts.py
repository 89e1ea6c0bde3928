"""Amounts of tokens or money as people read them. Pure.

Money is what the API takes, which a subscription does not pay: it is said to be API-equivalent.
"""

from __future__ import annotations

from .. import units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..policy.shapes import Figures

_NO_MONEY = "-"
_WHOLE = 1_000_000  # from here on a number is shown with three figures


def usd(dollars: float | None, signed: bool = False) -> str:
    """Return $12.34, with its sign where it is a net; "-" where no price is known."""
    if dollars is None:
        return _NO_MONEY
    words = _dollars(dollars)
    return "+" + words if signed and dollars > 0 and words != "$0.00" else words


def tokens(number: float) -> str:
    """Return 12,345; from a million on three figures."""
    number = round(number)
    return short(number) if abs(number) >= _WHOLE else f"{number:,}"


def kept_out(figures: Figures) -> str:
    """Return the tokens that were kept out, as an estimate."""
    return units.estimate(figures["kept_out_tokens"]) if figures["kept_out_tokens"] else "0"


def short(amount: float) -> str:
    """Return 12k, -1.23M."""
    sign = "-" if amount < 0 else ""
    amount = abs(amount)
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if amount >= size * 0.9995:
            return f"{sign}{_three_figures(amount / size)}{unit}"
    return f"{sign}{round(amount)}"


def _three_figures(number: float) -> str:
    """Return three figures, without an exponent."""
    return f"{number:.0f}" if number >= 99.95 else f"{number:.1f}" if number >= 9.995 else f"{number:.2f}"


def _dollars(dollars: float) -> str:
    """Return at most seven columns: $12.34, -$0.003, -$123, $12.3k, $0.00."""
    sign, amount = "-" if dollars < 0 else "", abs(dollars)
    if amount >= 9_999.5:
        return f"{sign}${short(amount)}"
    if amount >= 99.995:
        return f"{sign}${amount:,.0f}"
    if amount >= 0.0095:
        return f"{sign}${amount:.2f}"
    return f"{sign}${amount:.3f}" if amount >= 0.0005 else "$0.00"
