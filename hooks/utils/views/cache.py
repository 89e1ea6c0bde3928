"""What people read of the prompt cache: whether it is kept warm and what that costs, whether the conversation compacts once it is cold, why
it was lost. Data in, lines out. Pure."""

from __future__ import annotations

from .. import text
from ..hosts import CLAUDE_CODE
from ..policy import lost_cache, warming
from ..reclaim import cold_compaction as cold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..policy.lost_cache import Loss
    from .shapes import CompactsCold, Costs, KeptWarm

_PRICES = "Dollars are at the prices of the API. With a subscription these requests count toward its limits."
_ENDED = {
    warming.OFF: "it is off",
    warming.NO_REQUEST: "nothing has been sent in this session yet",
    warming.UNPRICED: "the table of models does not say what this model costs",
    warming.HOUR: "the cache of this session lasts an hour, and keeping that warm costs more than it saves",
    warming.KEPT: "the provider keeps this model's cache for half an hour or longer by itself: what pays is the door and compactions",
    warming.HOST: "OpenCode lets no plugin send a request over the cached prompt: what pays is the door and compactions",
    warming.TOO_DEAR: "these requests have cost a fifth of the prompt, and more would hardly pay",
    warming.IN_A_ROW: "the limit of requests in a row is reached (keep_warm_requests)",
    warming.DOLLARS: "the limit of a session is reached (keep_warm_usd)",
    warming.COLD: "the cache had gone cold",
    warming.CLOCK: "the clock was set, so the cache may no longer be warm",
    warming.LOST: "the last one was not answered, so the cache may no longer be warm",
    warming.MODEL: "you have changed the model",
    warming.RATE_LIMIT: "a limit of your plan is nearly used up",
    warming.MISS: "the last one did not find the cache",
    warming.ERROR: "the last one failed",
}
_COLD = {
    cold.ON: "on. Between turns, once the prompt cache is cold and it pays, the least needed results leave: no model, a receipt, undo",
    cold.OFF: "off. Nothing leaves the conversation by itself",
    cold.ASK: "not decided yet. The pane asks the first time it would have paid",
}


def pane_line(warmth: KeptWarm) -> str:
    """Return the line of the pane."""
    if not warmth["on"]:
        return "Kept warm: off"
    if warmth["refused"]:
        return f"Kept warm: on, but nothing is sent: {_ended(warmth)}"
    row = warmth["sent"]["in_a_row"]
    line = f"Kept warm: on, {row} of at most {max(warmth['most'], row)} sent"
    if warmth["next_s"] is not None:
        return f"{line}; next in {text.countdown(warmth['next_s'])}"
    return line + (f"; {_ended(warmth)}" if warmth["ended"] else "")


def sum_lines(warmth: KeptWarm) -> list[text.Line]:
    """Return its past worth, its cost and its saving, for the decision."""
    return [line for label, words in topics(warmth) for line in text.pair(label, words)]


def topics(warmth: KeptWarm) -> list[tuple[str, str]]:
    """Return the same as (topic, words); of this session nothing before its first request."""
    allowed = f"{warmth['limits']['requests']} in a row, {_money(warmth['limits']['usd'])} a session"
    now = [] if warmth["refused"] or not warmth["prompt_tokens"] else _now(warmth)
    return [("Past", _past(warmth)), *now, ("Limits", allowed)]


def _now(warmth: KeptWarm) -> list[tuple[str, str]]:
    one, bridged, every = warmth["one"], warmth["bridged"], text.countdown(warmth["every_s"])
    nothing = _ENDED[warming.UNPRICED] if one["usd"] is None else "a session may not spend that much (keep_warm_usd)"
    many = f"at most {warmth['most']}, one every {every}" if warmth["most"] else f"nothing is sent: {nothing}"
    read = f"to read {text.tokens(warmth['prompt_tokens'])} from the cache"
    saved = f"{text.short_tokens(bridged['tokens'])} of input{_dollars(bridged)}"
    return [
        ("One", f"{text.short_tokens(one['tokens'])} of input{_dollars(one)}, {read}"),
        ("Saves", f"{saved}, where you come back while it is warm"),
        ("In a row", many),
    ]


def why_refused(warmth: KeptWarm, is_sure: bool) -> str:
    """Return why `warm on` does not switch it on; "" where it does."""
    if warmth["refused"]:
        return "The prompt cache is not kept warm here: " + _ENDED[warmth["refused"]] + "."
    if has_lost(warmth) and not is_sure:
        return f"The prompt cache is not kept warm yet, because in your own sessions that would have lost money: {_past(warmth)}."
    return ""


def has_lost(warmth: KeptWarm) -> bool:
    """Return whether it would have cost more than it saved in the user's own sessions."""
    return warmth["past"]["paid_usd"] > warmth["past"]["saved_usd"]


def on_lines(warmth: KeptWarm, command: str) -> list[text.Line]:
    """Return the answer to `warm on`."""
    return [
        *text.title("The prompt cache is kept warm from now on"),
        *sum_lines(warmth),
        "",
        *text.wrap(
            "While you are away, shortly before the cache would expire, the last request goes out again with one short line. Its answer "
            "is discarded and does not enter the conversation. Anything that you send stops this. If the cache turns out to last an hour, "
            "nothing is sent. It needs Claude Code 2.1.326 or later."
        ),
        *text.wrap(f"{command} warm off stops it. {_PRICES}"),
    ]


def off_lines(warmth: KeptWarm) -> list[text.Line]:
    """Return the answer to `warm off`."""
    return ["", *text.wrap("The prompt cache is not kept warm in this session." + _so_far(warmth))]


def show_lines(warmth: KeptWarm, command: str) -> list[text.Line]:
    """Return the answer to `warm show`."""
    whose = ", as you chose for this session" if warmth["from"] == "session" else ", by your configuration" if warmth["on"] else ""
    lines = [*text.title("Keeping the prompt cache warm"), *text.pair("State", ("on" if warmth["on"] else "off") + whose)]
    sent = warmth["sent"]
    lines += text.pair("Sent", f"{text.counted(sent['requests'], 'request')} in this session, {_money(sent['usd'])}")
    if warmth["last"] is not None:
        last = warmth["last"]
        lines += text.pair("Last", f"read {text.tokens(last['read'])} of {text.short_tokens(last['prompt'])}, answered {last['output']:,}")
    if warmth["next_s"] is not None:
        lines += text.pair("Next", f"in {text.countdown(warmth['next_s'])}")
    elif warmth["ended"]:
        lines += text.pair("Ended", _ended(warmth))
    lines += sum_lines(warmth)
    if warmth["refused"]:
        return [*lines, *([] if warmth["on"] else text.pair("Refused", _ENDED[warmth["refused"]]))]
    switch = "off stops it" if warmth["on"] else "on starts it for this session"
    return [*lines, "", *text.wrap(f"{command} warm {switch}. {_PRICES}")]


def _past(warmth: KeptWarm) -> str:
    past = warmth["past"]
    if not past["known"]:
        return "your sessions have not been analysed yet; warm show does that"
    if not past["sessions"]:
        return "none of your sessions is known yet, so its worth cannot be estimated"
    sessions = f"your last {past['sessions']:,} sessions" if past["sessions"] > 1 else "your last session"
    if past["hour"] == past["sessions"]:
        return f"in {sessions} the cache lasts an hour, so nothing would have been sent"
    hour = f" In {past['hour']:,} of them the cache lasts an hour, so nothing would have been sent there." if past["hour"] else ""
    if not past["requests"]:
        return f"in {sessions} nothing would have been sent.{hour}".removesuffix(".")
    paid, saved = past["paid_usd"], past["saved_usd"]
    net = f"{_money(abs(saved - paid))} {'saved' if saved >= paid else 'lost'} on balance"
    sent = f"in {sessions} {text.counted(past['requests'], 'request')} would have cost {_money(paid)} and saved {_money(saved)}: {net}."
    came = f" You came back in time in {past['bridged']:,} of {text.counted(past['breaks'], 'break')}."
    return (sent + came + hour).removesuffix(".")


def _ended(warmth: KeptWarm) -> str:
    about = f" ({text.clean(warmth['about'])})" if warmth["about"] else ""
    return _ENDED.get(warmth["ended"], text.clean(warmth["ended"])) + about


def _so_far(warmth: KeptWarm) -> str:
    sent = warmth["sent"]
    return f" So far {text.counted(sent['requests'], 'request')} kept it warm, for {_money(sent['usd'])}." if sent["requests"] else ""


def _dollars(sum: Costs) -> str:
    return "" if sum["usd"] is None else f" ({_money(sum['usd'])})"


def _money(usd: float) -> str:
    return f"${usd:.2f}" if usd >= 0.1 or not usd else f"${usd:.2g}"


# --- once it is cold -----------------------------------------------------------------------------------------------------------------


def cold_lines(current: CompactsCold, command: str) -> list[text.Line]:
    """Return the answer to `cold`."""
    shown = text.title("Compacting when the cache is cold")
    shown += text.wrap(f"It is {_COLD[current['setting']]}.")
    if current["tokens"]:
        shown += text.wrap(f"Now {cold_sum(current)} would leave.")
    other = "off" if current["setting"] == cold.ON else "on"
    return [*shown, "", *text.wrap(f"To change that: {command} cold {other}")]


def cold_sum(current: CompactsCold) -> str:
    """Return `~12,300 tokens, worth about $0.11,`."""
    return text.long_tokens(current["tokens"]) + (f", worth about ${current['usd']:.2f}," if current["usd"] is not None else "")


def cold_question(current: CompactsCold) -> str:
    """Return the question of the pane, in a line; "" where there is nothing to ask."""
    if current["setting"] != cold.ASK or not current["tokens"]:
        return ""
    return (
        f"the cache is cold: a compaction without a model would remove {cold_sum(current)} from the least needed calls and results. Let"
        " that happen by itself whenever it pays?"
    )


# --- why a cache was lost -------------------------------------------------------------------------------------------------------


# cause -> (what happened, what would prevent it; "" for nothing that a person could do)
CAUSES = {
    lost_cache.PAUSE: (
        "A pause longer than the cache lives",
        "/popkit warm on bridges short pauses; /popkit cold on makes what is written again smaller.",
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
    words = where + what[0].lower() + what[1:]
    return f"{words}: {text.clean(loss.detail)}" if loss.detail else words
