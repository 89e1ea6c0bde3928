"""What people read of lost caches: how much was written again, why, and what would prevent it. Data in, lines out. Pure."""

from __future__ import annotations

from hooks.utils import text
from hooks.utils.views.lost_cache import said_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ASIDE = 26  # columns before the words of a row


def lines_of(found: dict[str, Any], period: str, dated: str) -> list[text.Line]:
    """Return the table of causes, the dearest first. `period`: what it covers, in words; `dated`: the month of the prices."""
    lines = text.title("Cache misses")
    lost = found["lost"]
    whole = f"{text.counted(found['sessions'], 'conversation')}, {text.counted(found['requests'], 'request')}"
    lines += text.pair("Covers", f"{period}: {whole}, {_money(found, 'request')}")
    if not lost["times"]:
        return [*lines, "", *text.wrap("No request wrote what the one before had left in the cache.")]
    share = f", {lost['usd'] / found['usd']:.0%} of that" if found["usd"] else ""
    again = f"{text.long_tokens(lost['tokens'])} were written again in {text.counted(lost['times'], 'request')}"
    lines += text.pair("Lost", f"{again}: {_money(lost, 'request')}{share}")
    lines += ["", _row("times", "tokens", "dollars", "why")]
    for row in found["causes"]:
        words, advice = said_of(row["cause"], found["hosts"])
        details = "; ".join(text.clean(detail) + (f" ({times})" if times > 1 else "") for detail, times in row["details"])
        usd = "unknown" if row["unpriced"] == row["times"] else f"{row['usd']:,.2f}"
        tokens = text.short_tokens(row["tokens"]).removesuffix(" tokens").lstrip("~")
        lines.append(_row(f"{row['times']:,}", tokens, usd, f"{words}: {details}" if details else words))
        if advice:
            lines.append(_row("", "", "", advice))
    at = f" of {dated}" if dated else ""
    note = f"Dollars are what writing cost beyond reading, at the prices of the API{at}. A subscription counts it toward its limits."
    return [*lines, "", *text.wrap(note)]


def _row(times: str, tokens: str, usd: str, words: str) -> text.Line:
    head = f"{times:>6}{tokens:>8}{usd:>10}  "

    def lines(columns: int) -> list[str]:
        first, *rest = text.wrapped(words, max(10, columns - _ASIDE))
        return [head + first, *(" " * _ASIDE + line for line in rest)]

    return lines


def _money(sums: dict[str, Any], noun: str) -> str:
    if sums["unpriced"] and not sums["usd"]:
        return "of models whose price is not known"
    more = f", and {text.counted(sums['unpriced'], noun)} of models without a known price" if sums["unpriced"] else ""
    return f"${sums['usd']:,.2f}{more}"
