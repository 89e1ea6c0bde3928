"""The text of `popkit bill misses`: what lost caches cost. Data in, lines out. Pure."""

from __future__ import annotations

from popkit_retention.core import text, units
from popkit_retention.core.views.amounts import short
from popkit_retention.core.views.lost_caches import cause_in_words
from popkit_retention.core.views.paid_for import cost_of_requests

from ..views import beside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .records import Misses


def misses(sums: Misses, period: str, dated: str) -> list[text.Line]:
    """Return the table of causes, the most expensive first. `period`: what it covers, in words; `dated`: the month of the prices."""
    lines = text.title("Cache misses")
    lost = sums["lost"]
    conversations = units.counted(sums["sessions"], "conversation")
    lines += text.pair("Covers", f"{period}: {conversations}, {cost_of_requests(sums['requests'], sums['unpriced'], sums['usd'])}")
    if not sums["requests"]:
        return [*lines, "", *text.wrap("There was no request in this time.")]
    if not lost["times"]:
        return [*lines, "", *text.wrap("No request wrote again what the previous one had left in the cache.")]
    share = f", {units.percent(lost['usd'] / sums['usd'])} of that" if sums["usd"] else ""
    again = f"{units.long_tokens(lost['tokens'])} were written again in {cost_of_requests(lost['times'], lost['unpriced'], lost['usd'])}"
    lines += text.pair("Lost", f"{again}{share}")
    lines += ["", _cause("times", "tokens", "dollars", "why")]
    for row in sums["causes"]:
        words, advice = cause_in_words(row["cause"], sums["hosts"])
        details = "; ".join(text.clean(detail) + (f" ({times})" if times > 1 else "") for detail, times in row["details"])
        usd = "unknown" if row["unpriced"] == row["times"] else f"{row['usd']:,.2f}"
        lines.append(_cause(f"{row['times']:,}", short(row["tokens"]), usd, f"{words}: {details}" if details else words))
        if advice:
            lines.append(_cause("", "", "", advice))
    at = f" of {dated}" if dated else ""
    note = f"Dollars are what writing cost more than reading, at the prices of the API{at}. A subscription counts it toward its limits."
    return [*lines, "", *text.wrap(note)]


def _cause(times: str, tokens: str, usd: str, words: str) -> text.Line:
    return beside(f"{times:>6}{tokens:>8}{usd:>10}  ", words)
