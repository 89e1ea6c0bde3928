"""What people read of the prompt cache: whether it is kept warm and what that costs, whether the conversation compacts once it is cold, why
it was lost. Data in, lines out. Pure."""

from __future__ import annotations

from .. import text
from ..hosts import CLAUDE_CODE
from ..policy import lost_cache, warming
from ..reclaim import cold_compaction as cold
from . import amounts

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
    warming.TOO_DEAR: "the row has cost a fifth of the prompt, and more would hardly pay",
    warming.IN_A_ROW: "so many in a row are allowed (keep_warm_requests)",
    warming.DOLLARS: "so much is allowed in a session (keep_warm_usd)",
    warming.COLD: "the cache had gone cold",
    warming.CLOCK: "the clock was set, so nobody knows whether the cache is still warm",
    warming.LOST: "the last one was not answered, so nobody knows whether the cache is still warm",
    warming.MODEL: "you have changed the model",
    warming.RATE_LIMIT: "a limit of your plan is nearly used up",
    warming.MISS: "the last one did not find the cache",
    warming.ERROR: "the last one failed",
}
_COLD = {
    cold.ON: "on. Between turns, once the prompt cache is cold and it pays, what is needed least leaves: no model, a receipt, undo",
    cold.OFF: "off. Nothing leaves the conversation by itself",
    cold.ASK: "not decided yet. The pane asks the first time it would have paid",
}


def pane_line(found: KeptWarm) -> str:
    """Return the line of the pane."""
    if not found["on"]:
        return "Kept warm: off"
    if found["refused"]:
        return f"Kept warm: on, but nothing is sent: {_ended(found)}"
    row = found["sent"]["in_a_row"]
    line = f"Kept warm: on, {row} of at most {max(found['most'], row)} sent"
    if found["next_s"] is not None:
        return f"{line}; next in {text.countdown(found['next_s'])}"
    return line + (f"; {_ended(found)}" if found["ended"] else "")


def sum_lines(found: KeptWarm) -> list[text.Line]:
    """Return what it would have been worth, what it costs and what it would save, for the decision."""
    return [line for label, words in topics(found) for line in text.pair(label, words)]


def topics(found: KeptWarm) -> list[tuple[str, str]]:
    """Return the same as (topic, words); of this session nothing before its first request."""
    allowed = f"{found['limits']['requests']} in a row, {_money(found['limits']['usd'])} a session"
    now = [] if found["refused"] or not found["prompt_tokens"] else _now(found)
    return [("Past", _past(found)), *now, ("Limits", allowed)]


def _now(found: KeptWarm) -> list[tuple[str, str]]:
    one, bridged, every = found["one"], found["bridged"], text.countdown(found["every_s"])
    nothing = _ENDED[warming.UNPRICED] if one["usd"] is None else "so much is not allowed in a session (keep_warm_usd)"
    many = f"at most {found['most']}, one every {every}" if found["most"] else f"nothing is sent: {nothing}"
    read = f"to read {text.tokens(found['prompt_tokens'])} from the cache"
    saved = f"{text.short_tokens(bridged['tokens'])} of input{_dollars(bridged)}{amounts.share(bridged['share'], ', ')}"
    return [
        ("One", f"{text.short_tokens(one['tokens'])} of input{_dollars(one)}{amounts.share(one['share'], ', ')}, {read}"),
        ("Saves", f"{saved}, where you come back while it is warm"),
        ("In a row", many),
    ]


def why_refused(found: KeptWarm, is_sure: bool) -> str:
    """Return why `warm on` does not switch it on; "" where it does."""
    if found["refused"]:
        return "The prompt cache is not kept warm here: " + _ENDED[found["refused"]] + "."
    if has_lost(found) and not is_sure:
        return f"The prompt cache is not kept warm yet, because in your own sessions that would have lost money: {_past(found)}."
    return ""


def has_lost(found: KeptWarm) -> bool:
    """Return whether it would have cost more than it saved in the user's own sessions."""
    return found["past"]["paid_usd"] > found["past"]["saved_usd"]


def on_lines(found: KeptWarm, command: str) -> list[text.Line]:
    """Return the answer to `warm on`."""
    return [
        *text.title("The prompt cache is kept warm from now on"),
        *sum_lines(found),
        "",
        *text.wrap(
            "While you are away, shortly before the cache would expire, the last request goes out again with one short line. Its answer "
            "is thrown away, and the conversation does not hold it. Anything that you send ends it. Where the cache turns out to last an "
            "hour, nothing is sent. It needs Claude Code 2.1.287 or later."
        ),
        *text.wrap(f"{command} warm off ends it. {_PRICES}"),
    ]


def off_lines(found: KeptWarm) -> list[text.Line]:
    """Return the answer to `warm off`."""
    return ["", *text.wrap("The prompt cache is not kept warm in this session." + _so_far(found))]


def show_lines(found: KeptWarm, command: str) -> list[text.Line]:
    """Return the answer to `warm show`."""
    whose = ", by your word in this session" if found["from"] == "session" else ", by your configuration" if found["on"] else ""
    lines = [*text.title("Keeping the prompt cache warm"), *text.pair("State", ("on" if found["on"] else "off") + whose)]
    sent = found["sent"]
    lines += text.pair("Sent", f"{text.counted(sent['requests'], 'request')} in this session, {_money(sent['usd'])}")
    if found["last"] is not None:
        last = found["last"]
        lines += text.pair("Last", f"read {text.tokens(last['read'])} of {text.short_tokens(last['prompt'])}, answered {last['output']:,}")
    if found["next_s"] is not None:
        lines += text.pair("Next", f"in {text.countdown(found['next_s'])}")
    elif found["ended"]:
        lines += text.pair("Ended", _ended(found))
    lines += sum_lines(found)
    if found["refused"]:
        return [*lines, *([] if found["on"] else text.pair("Refused", _ENDED[found["refused"]]))]
    switch = "off ends it" if found["on"] else "on begins it for this session"
    return [*lines, "", *text.wrap(f"{command} warm {switch}. {_PRICES}")]


def _past(found: KeptWarm) -> str:
    past = found["past"]
    if not past["known"]:
        return "nobody has looked at your sessions yet; warm show does"
    if not past["sessions"]:
        return "no session of yours is known yet, so nobody can say what it would have been worth"
    hour = f" In {past['hour']:,} of them the cache lasts an hour, so nothing would have been sent there." if past["hour"] else ""
    sessions = f"your last {past['sessions']:,} sessions" if past["sessions"] > 1 else "your last session"
    if not past["requests"]:
        return f"in {sessions} nothing would have been sent.{hour}".removesuffix(".")
    paid, saved = past["paid_usd"], past["saved_usd"]
    net = f"{_money(abs(saved - paid))} {'saved' if saved >= paid else 'lost'} on balance"
    sent = f"in {sessions} {text.counted(past['requests'], 'request')} would have cost {_money(paid)} and saved {_money(saved)}: {net}."
    came = f" You came back in time in {past['bridged']:,} of {text.counted(past['breaks'], 'break')}."
    return (sent + came + hour).removesuffix(".")


def _ended(found: KeptWarm) -> str:
    about = f" ({text.clean(found['about'])})" if found["about"] else ""
    return _ENDED.get(found["ended"], text.clean(found["ended"])) + about


def _so_far(found: KeptWarm) -> str:
    sent = found["sent"]
    return f" So far {text.counted(sent['requests'], 'request')} kept it so, for {_money(sent['usd'])}." if sent["requests"] else ""


def _dollars(sum: Costs) -> str:
    return "" if sum["usd"] is None else f" ({_money(sum['usd'])})"


def _money(usd: float) -> str:
    return f"${usd:.2f}" if usd >= 0.1 or not usd else f"${usd:.2g}"


# --- once it is cold -----------------------------------------------------------------------------------------------------------------


def cold_lines(found: CompactsCold, command: str) -> list[text.Line]:
    """Return the answer to `cold`."""
    shown = text.title("Compacting when the cache is cold")
    shown += text.wrap(f"It is {_COLD[found['setting']]}.")
    if found["tokens"]:
        shown += text.wrap(f"Now {cold_sum(found)} would leave.")
    other = "off" if found["setting"] == cold.ON else "on"
    return [*shown, "", *text.wrap(f"To change that: {command} cold {other}")]


def cold_sum(found: CompactsCold) -> str:
    """Return `~12,300 tokens, worth about $0.11,`."""
    share = amounts.gain(found["share"])
    worth = " and ".join(filter(None, [f"about ${found['usd']:.2f}" if found["usd"] is not None else "", share]))
    return text.long_tokens(found["tokens"]) + (f", worth {worth}," if worth else "")


def cold_question(found: CompactsCold) -> str:
    """Return the question of the pane, in a line; "" where there is nothing to ask."""
    if found["setting"] != cold.ASK or not found["tokens"]:
        return ""
    return f"the cache is cold: {cold_sum(found)} can leave before your next prompt. Let that happen by itself whenever it pays?"


# --- why a cache was lost -------------------------------------------------------------------------------------------------------


# cause -> (what happened, what would prevent it; "" for nothing that a person could do)
CAUSES = {
    lost_cache.PAUSE: (
        "A pause longer than the cache lives",
        "/popkit warm on bridges short pauses; /popkit cold on makes what is written again smaller.",
    ),
    lost_cache.EARLY: ("The cache was gone before its time", "Nothing on record explains it. Only the provider knows why."),
    lost_cache.COMPACTION: ("A compaction", "What stands after it is written once. That is the point of it."),
    lost_cache.REWIND: ("You went back to an earlier message", "Saying what to change, instead of going back, leaves the cache as it is."),
    lost_cache.CLEARED: ("Results left the prompt", "Claude Code or the provider cleared them: popkit native show."),
    lost_cache.MODEL: ("The model changed", "Each model has a cache of its own: change it at a conversation's beginning."),
    lost_cache.EFFORT: ("The effort changed", "Change it at a conversation's beginning."),
    lost_cache.TOOLS: ("Tools or servers came or went", "A server that comes and goes costs the whole prompt each time."),
    lost_cache.ERROR: ("A request failed and was sent again", "Nothing of yours prevents it."),
    lost_cache.DATE: ("The day changed", "In older versions of Claude Code the prompt begins with the date."),
    lost_cache.SYSTEM: ("The system prompt changed", "Settings, servers and mods add to it: change them between conversations."),
    lost_cache.MESSAGES: ("Earlier messages were sent differently", "Nothing that you did is on record."),
    lost_cache.THINKING: ("The model left its earlier thinking out", "Sonnet 4.5 and older do so at each prompt, unless asked not to."),
    lost_cache.COMMAND: ("A slash command", "Current versions of Claude Code leave what was sent as it was: update."),
    lost_cache.INTERRUPTION: ("You interrupted the answer", "Current versions of Claude Code leave what was sent as it was: update."),
    lost_cache.LOOK_BACK: ("More was added than the cache looks back", "It looks back 20 blocks: add fewer at once."),
    lost_cache.UNKNOWN: ("No cause is on record", "Neither the transcript nor the provider tells."),
}  # fmt: skip
_OF_CLAUDE_CODE = (
    lost_cache.PAUSE,
    lost_cache.CLEARED,
    lost_cache.DATE,
    lost_cache.COMMAND,
    lost_cache.INTERRUPTION,
)  # whose advice holds there alone


def cause_in_words(cause: str, hosts: Sequence[str]) -> tuple[str, str]:
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
    words = where + what[0].lower() + what[1:]
    return f"{words}: {text.clean(loss.detail)}" if loss.detail else words
