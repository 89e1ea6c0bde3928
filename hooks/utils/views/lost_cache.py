"""What people read of the causes of lost caches, and the line that says one when it happens. Data in, text out. Pure."""

from __future__ import annotations

from .. import text
from ..hosts import CLAUDE_CODE
from ..policy import lost_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..policy.lost_cache import Loss

# cause -> (what happened, what would prevent it; "" for nothing that a person could do)
CAUSES = {
    lost_cache.PAUSE: (
        "A pause longer than the cache lives",
        "/popkit warm on bridges short pauses; /popkit cold on makes what is written again smaller.",
    ),
    lost_cache.EARLY: ("The cache was gone before its time", "Nothing on record explains it. Only the provider knows why."),
    lost_cache.COMPACTION: ("A compaction", "What stands after it is written once. That is the point of it."),
    lost_cache.REWIND: ("You went back to an earlier message", ""),
    lost_cache.CLEARED: ("Results left the prompt", "Claude Code or the provider cleared them: popkit native show."),
    lost_cache.MODEL: ("The model changed", "Each model has a cache of its own: change it at a conversation's beginning."),
    lost_cache.EFFORT: ("The effort changed", "Change it at a conversation's beginning."),
    lost_cache.TOOLS: ("Tools or servers came or went", "A server that comes and goes costs the whole prompt each time."),
    lost_cache.ERROR: ("A request failed and was sent again", ""),
    lost_cache.DATE: ("The day changed", "In older versions of Claude Code the prompt begins with the date."),
    lost_cache.SYSTEM: ("The system prompt changed", "Settings, servers and mods add to it: change them between conversations."),
    lost_cache.MESSAGES: ("Earlier messages were sent differently", "Nothing that you did is on record."),
    lost_cache.THINKING: ("The model left its earlier thinking out", "Sonnet 4.5 and older do so at each prompt, unless asked not to."),
    lost_cache.COMMAND: ("A slash command", ""),
    lost_cache.INTERRUPTION: ("You interrupted the answer", ""),
    lost_cache.LOOK_BACK: ("More was added than the cache looks back", "It looks back 20 blocks: add fewer at once."),
    lost_cache.UNKNOWN: ("No cause is on record", ""),
}  # fmt: skip
_OF_CLAUDE_CODE = (lost_cache.PAUSE, lost_cache.CLEARED, lost_cache.DATE)  # whose advice holds there alone


def said_of(cause: str, hosts: Sequence[str]) -> tuple[str, str]:
    """Return what happened, and what would prevent it in sessions of these hosts; "" for nothing that a person could do there."""
    words, advice = CAUSES[cause]
    return words, "" if cause in _OF_CLAUDE_CODE and CLAUDE_CODE not in hosts else advice


def notice(priced: Sequence[tuple[Loss, float, bool]]) -> str:
    """Return one line for losses, with what each cost in dollars and whether it is a subagent's; "" for none."""
    if not priced:
        return ""
    head = "Cache miss" if len(priced) == 1 else text.counted(len(priced), "cache miss")
    tokens, usd = sum(loss.tokens for loss, _, _ in priced), sum(usd for _, usd, _ in priced)
    causes = dict.fromkeys(_cause(loss, in_subagent) for loss, _, in_subagent in priced)
    return f"{head}: {text.short_tokens(tokens)} written again, ${usd:,.2f} ({'; '.join(causes)})"


def _cause(loss: Loss, in_subagent: bool) -> str:
    """Return what happened, as part of a sentence."""
    where = "in a subagent, " if in_subagent else ""
    if loss.cause == lost_cache.PAUSE:
        away = loss.spoke and not in_subagent
        return f"you were away {text.span(loss.pause_s)}" if away else f"{where}{text.span(loss.pause_s)} went by"
    what = CAUSES[loss.cause][0]
    said = where + what[0].lower() + what[1:]
    return f"{said}: {text.clean(loss.detail)}" if loss.detail else said
