"""What people read of lost caches: how much was written again, why, and what would prevent it. Data in, lines out. Pure."""

from __future__ import annotations

from hooks.utils import text
from hooks.utils.policy import lost_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# cause -> (what happened, what would prevent it; "" for nothing that a person could do)
CAUSES = {
    lost_cache.PAUSE: (
        "A pause longer than the cache lives",
        "/popkit warm on bridges short pauses; /popkit cold on makes what is written again smaller.",
    ),
    lost_cache.EARLY: ("Gone within its hour, after a pause", "The cache had time left. Nobody but the provider knows why it was gone."),
    lost_cache.COMPACTION: ("A compaction", "What stands after it is written once. That is the point of it."),
    lost_cache.REWIND: ("You went back to an earlier message", ""),
    lost_cache.CLEARED: ("Results left the prompt", "Claude Code or the provider cleared them: popkit native show."),
    lost_cache.MODEL: ("The model changed", "Each model has a cache of its own: change it at a conversation's beginning."),
    lost_cache.EFFORT: ("The effort changed", "Change it at a conversation's beginning."),
    lost_cache.TOOLS: ("Tools or servers came or went", "A server that comes and goes costs the whole prompt each time."),
    lost_cache.ERROR: ("A request failed and was sent again", ""),
    lost_cache.DATE: ("The day changed", "The prompt holds the date."),
    lost_cache.THINKING: ("The model left its earlier thinking out", "Sonnet 4.5 and older ones do so at each prompt."),
    lost_cache.COMMAND: ("A slash command", ""),
    lost_cache.INTERRUPTION: ("You interrupted Claude", ""),
    lost_cache.LOOK_BACK: ("More was added than the cache looks back", "20 positions: many small results at once."),
    lost_cache.UNKNOWN: ("No cause is on record", ""),
}  # fmt: skip
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
        words, advice = CAUSES[row["cause"]]
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
