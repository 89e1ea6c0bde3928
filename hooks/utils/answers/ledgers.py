"""A ledger as a person reads it: what was really saved, what it was charged, what is left, in tokens and money. Pure.

Tokens are those of plain input that cost as much. Money is what the API takes for them, which a subscription does not pay: it is said to be
API-equivalent.
"""

from __future__ import annotations

from . import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Each with what people call it.
CAUSES = (
    ("charged_rewrite", "cache rewrites"),
    ("charged_restores", "restores"),
    ("charged_refetches", "fetched again"),
    ("charged_advice", "our own text"),
    ("charged_warming", "keeping warm"),
    ("charged_memory", "memory"),
)
GAINS = (("kept_out", "did not enter"), ("kept_warm", "kept warm"), ("cleared", "cleared"), ("memory", "by memory"))
_PERIODS = (("yesterday", "Since yesterday"), ("week", "Last 7 days"), ("installed", "Since installed"))
_ROWS = (*GAINS, ("charged", "cost"), ("net", "net"))
_NAME = 14  # columns before the periods
_LEAST, _MONEY = 15, 8  # columns of a period, and of the money in it
_NO_MONEY = "-"
_WHOLE = 1_000_000  # from here on a number is said to three figures


def in_words(ledger: dict) -> str:
    """A ledger in a sentence; it is not empty."""
    kept_out, kept_warm, spared = (ledger.get(name, 0) for name in ("kept_out_tokens", "kept_warm", "spared"))
    said = []
    if ledger["confirmed"]:
        said.append(f"{ledger['reclaimed_tokens']:,} tokens measured")
    elif ledger["clears"] or not (kept_out or kept_warm or spared):
        said.append("nothing measured yet")
    if ledger["pending_tokens"]:
        said.append(f"{text.long_tokens(ledger['pending_tokens'])} not confirmed until the session is loaded again")
    if kept_out:
        said.append(f"{text.long_tokens(kept_out)} did not enter")
    if kept_warm:
        said.append(f"kept warm {kept_warm:,} times" if kept_warm > 1 else "kept warm once")
    if spared:
        said.append(f"memory spared ~{text.counted(spared, 'look-up')}")
    sentence = ("Reclaimed: " if ledger["clears"] else "Saved: ") + ", ".join(said)
    if not (ledger["confirmed"] or round(ledger["saved"]) or round(ledger["charged"])):
        return sentence
    return f"{sentence}; net {net(ledger['net'])} ({spent(ledger)})"


def net(units: float) -> str:
    """Units as the input tokens that they are worth, with their sign."""
    return f"{'-' if units < 0 else '+'}{abs(round(units)):,} input tokens"


def spent(ledger: dict) -> str:
    """What was saved, and charged for what."""
    charges = [f"{round(ledger[key]):,} {name}" for key, name in CAUSES if round(ledger.get(key, 0))]
    return f"{round(ledger['saved']):,} saved, " + (" + ".join(charges) + " charged" if charges else "nothing charged")


def headline(worth: dict[str, Any]) -> str:
    """The one number: the net since PopKit was installed."""
    installed = worth["installed"]
    if not any(installed["tokens"].values()):
        return "Net: nothing has been saved or charged yet"
    money = usd_of(installed, "net")
    return f"Net {net(installed['tokens']['net'])} since installed" + (f", {money} API-equivalent" if money != _NO_MONEY else "")


def table(worth: dict[str, Any]) -> list[str]:
    """A row for each way to save, the cost and the net, a column for each period: tokens and money. The rows add up. Memory, which is off
    unless somebody wants it, has a row where it spared anything."""
    columns = max(_LEAST, (text.WIDTH - _NAME) // len(_PERIODS))
    titles = [title if columns > len(title) else title.rpartition(" ")[2].capitalize() for _, title in _PERIODS]
    lines = [" " * _NAME + "".join(f"{title:>{columns}}" for title in titles)]
    for row, name in _ROWS:
        if row == "memory" and not any(worth[period]["tokens"][row] for period, _ in _PERIODS):
            continue
        cells = [_cell(worth[period], row, columns) for period, _ in _PERIODS]
        lines.append(f"{name.capitalize():<{_NAME}}" + "".join(cells))
    return lines


def notes(worth: dict[str, Any], dated: str) -> list[str]:
    """What has to be said of the table: whose tokens and money these are; `dated`: the month of the prices, "" where it is not known."""
    when = f" of {text.cut(text.clean(dated), 20)}" if dated else ""
    said = f"A token is what a plain input token costs. Money is API-equivalent: at the API's prices{when}, also where a subscription pays."
    unpriced = worth["installed"]["unpriced"]
    if unpriced:
        said += f" No price is known for {_signed(unpriced, False)} of the tokens: they are not in the money."
    return text.wrap(said)


def lacking(sessions: int, more: str = "Ask again to have more in it.") -> list[str]:
    """What has to be said where so many sessions went on since they were reckoned. `more`: how more of it comes."""
    return text.wrap(f"Not in it yet: what {text.counted(sessions, 'session')} did lately. {more}")


def usd_of(period: dict[str, Any], row: str) -> str:
    """The money of a row of a period; "-" where no price is known for any of it."""
    tokens, usd = period["tokens"][row], period["usd"][row]
    if tokens and not usd and period["unpriced"]:
        return _NO_MONEY
    return _usd(-usd if row == "charged" else usd)


def _cell(period: dict[str, Any], row: str, columns: int) -> str:
    amount = -period["tokens"][row] if row == "charged" else period["tokens"][row]
    money = usd_of(period, row)
    room = columns - _MONEY
    tokens = _signed(amount, row == "net")
    if len(tokens) >= room:
        tokens = _short(amount, row == "net")
    return f"{tokens:>{room}}{money:>{_MONEY}}"


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
