"""The text on the causes of lost prompt caches. Data in, words out. Pure."""

from __future__ import annotations

from .. import text, units
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
        "popkit bill says which lifetime of the cache pays; /popkit auto on makes what is written again smaller.",
    ),
    lost_cache.EARLY: ("The cache was gone before its time", "Nothing on record explains it. Only the provider knows why."),
    lost_cache.COMPACTION: ("A compaction", "The shorter conversation is written once. That is its purpose."),
    lost_cache.REWIND: ("You went back to an earlier message", "Saying what to change, instead of going back, leaves the cache as it is."),
    lost_cache.CLEARED: ("Results left the prompt", "Claude Code or the provider cleared them."),
    lost_cache.MODEL: ("The model changed", "Each model has a cache of its own: change models at the start of a conversation."),
    lost_cache.EFFORT: ("The effort changed", "Change it at the start of a conversation."),
    lost_cache.TOOLS: ("Tools or servers came or went", "A server that comes and goes costs the whole prompt each time."),
    lost_cache.ERROR: ("A request failed and was sent again", "You cannot prevent it."),
    lost_cache.DATE: ("The day changed", "In older versions of Claude Code the prompt begins with the date."),
    lost_cache.SYSTEM: ("The system prompt changed", "Settings, servers and mods add to it: change them between conversations."),
    lost_cache.MESSAGES: ("Earlier messages were sent differently", "The record shows nothing that you did."),
    lost_cache.THINKING: ("The model left its earlier thinking out", "Sonnet 4.5 and older do so at each prompt, unless asked not to."),
    lost_cache.COMMAND: ("A slash command", "Current versions of Claude Code leave what was sent as it was: update."),
    lost_cache.INTERRUPTION: ("You interrupted the answer", "Current versions of Claude Code leave what was sent as it was: update."),
    lost_cache.LOOK_BACK: ("More was added than the cache looks back", "It looks back 20 blocks: add fewer at once."),
    lost_cache.UNKNOWN: ("No cause is on record", "Neither the transcript nor the provider says why."),
}  # fmt: skip
_OF_CLAUDE_CODE = (
    lost_cache.PAUSE,
    lost_cache.CLEARED,
    lost_cache.DATE,
    lost_cache.COMMAND,
    lost_cache.INTERRUPTION,
)  # whose advice holds there alone


def cause_in_words(cause: str, hosts: Sequence[str]) -> tuple[str, str]:
    """Return (the cause in words, the advice against it in sessions of these hosts; "" where a person can do nothing there)."""
    words, advice = CAUSES[cause]
    return words, "" if cause in _OF_CLAUDE_CODE and CLAUDE_CODE not in hosts else advice


def notice(priced: Sequence[tuple[Loss, float, bool]]) -> str:
    """Return one line for losses, with what each cost in dollars and whether it is a subagent's; "" for none."""
    if not priced:
        return ""
    head = "Cache miss" if len(priced) == 1 else units.counted(len(priced), "cache miss")
    tokens, usd = sum(loss.tokens for loss, _, _ in priced), sum(usd for _, usd, _ in priced)
    causes = dict.fromkeys(_cause(loss, in_subagent) for loss, _, in_subagent in priced)
    return f"{head}: {units.short_tokens(tokens)} written again, ${usd:,.2f} ({'; '.join(causes)})"


def _cause(loss: Loss, in_subagent: bool) -> str:
    """Return what happened, as part of a sentence."""
    where = "in a subagent, " if in_subagent else ""
    if loss.cause == lost_cache.PAUSE:
        away = loss.spoke and not in_subagent
        return f"you were away {units.span(loss.pause_s)}" if away else f"{where}{units.span(loss.pause_s)} went by"
    what = CAUSES[loss.cause][0]
    words = where + what[0].lower() + what[1:]
    return f"{words}: {text.clean(loss.detail)}" if loss.detail else words
