"""`warm`: whether the prompt cache is kept warm while the user is away, what that costs, and what it would have been worth. Words and data;
what is decided stands in policy/warming.py.

The data: `on`, `from` (session or configuration) · `model`, `lifetime_s`, `every_s`, `prompt_tokens` · `one`: what one request costs,
`bridged`: what the request after a break then costs less, each {`tokens` (of input, that cost as much), `usd` (null where the price is not
known)} ·
`most`: requests in a row that are worth it and allowed · `limits`: {`requests` in a row, `usd` a session} · `past`: {`sessions`, `breaks`,
`bridged`, `requests`, `paid`, `saved`} · `sent`: {`requests`, `in_a_row`, `usd`} of this session, `last`: journal entry or null ·
`next_s`: seconds, null for none · `ended`: why nothing is sent, "" where that is not so; `about` what.
"""

from __future__ import annotations

from ..edges import home
from ..policy import warming
from ..state import breaks
from ..state.warmth import Warmth
from . import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..state.site import Site

_LABEL = 10
_PRICES = "Dollars are at the prices of the API. With a subscription these requests count toward its limits."
_ENDED = {
    warming.OFF: "it is off",
    warming.NO_REQUEST: "nothing has been sent in this session yet",
    warming.UNPRICED: "the table of models does not say what this model costs",
    warming.TOO_DEAR: "one more would cost more than it is likely to save",
    warming.IN_A_ROW: "so many in a row are allowed (keep_warm_requests)",
    warming.DOLLARS: "so much is allowed in a session (keep_warm_usd)",
    warming.COLD: "the cache had gone cold",
    warming.MODEL: "you have changed the model",
    warming.RATE_LIMIT: "a limit of your plan is nearly used up",
    warming.MISS: "the last one did not find the cache",
    warming.ERROR: "the last one failed",
}
# How long after its time a request is still taken to come.
_LATE_S = 30


def look(site: Site, transcript_path: str, now: float) -> dict[str, Any]:
    """The data, see above."""
    found = Warmth(site, transcript_path)
    following, past = found.following(now), found.past()
    at = found.facts.get("next")
    coming = at if found.on and isinstance(at, (int, float)) and at > now - _LATE_S else None

    def costs(units: float) -> dict[str, Any]:
        return {"tokens": round(units), "usd": None if found.usd is None else round(units * found.usd, 6)}

    return {
        "on": found.on,
        "from": "session" if found.from_session else "configuration",
        "model": found.model.id,
        "lifetime_s": found.prices.ttl_s,
        "every_s": round(warming.interval_s(found.prices.ttl_s)),
        "prompt_tokens": found.prompt,
        "one": costs(warming.price(found.prompt, found.prices)),
        "bridged": costs((found.prices.write - found.prices.read) * found.prompt),
        "most": _most(found),
        "limits": {"requests": found.most_in_a_row, "usd": found.most_usd},
        "past": {
            "sessions": found.own.sessions, "breaks": past.breaks, "bridged": past.bridged, "requests": past.sent,
            "paid": costs(past.paid), "saved": costs(past.saved),
        },
        "sent": {"requests": len(found.sent), "in_a_row": found.in_a_row, "usd": round(found.spent, 6)},
        "last": found.sent[-1] if found.sent else None,
        "next_s": None if coming is None else max(0, round(coming - now)),
        "ended": "" if coming is not None or not found.on else str(found.facts.get("ended") or following.why),
        "about": str(found.facts.get("about") or ""),
    }  # fmt: skip


def _most(found: Warmth) -> int:
    """How many in a row are worth it and allowed, whether it is on or not."""
    if not found.prices.known or found.usd is None:
        return 0
    row = warming.Row(found.prompt, found.prices, found.usd, 0.0, 0, found.spent)
    limit = min(found.most_in_a_row, row.affordable(found.most_usd))
    return warming.most(found.breaks, found.prompt, found.prices, limit) if limit else 0


def learn(site: Site, now: float) -> None:
    """Lets the past be known before it is told of; what cannot be kept is told of as it was."""
    if breaks.own(site.home).is_old(now):
        try:
            breaks.learn(site.environ, site.home, now)
        except (OSError, home.NoHome):
            return


# --- words -----------------------------------------------------------------------------------------------------------------------


def pane_line(found: dict[str, Any]) -> str:
    """One line for the pane."""
    if not found["on"]:
        return "Kept warm: off"
    row = found["sent"]["in_a_row"]
    line = f"Kept warm: on, {row} of at most {max(found['most'], row)} sent"
    if found["next_s"] is not None:
        return f"{line}; next in {text.countdown(found['next_s'])}"
    return line + (f"; {_ended(found)}" if found["ended"] else "")


def sum_lines(found: dict[str, Any]) -> list[str]:
    """What it costs and what it would be worth, for whoever decides."""
    if not found["prompt_tokens"]:
        return text.wrap("Nothing has been sent in this session yet, so there is no sum.")
    return [line for label, said in sums(found) for line in _row(label, said)]


def sums(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The same as (what it is about, what there is to say); nothing where nothing has been sent yet."""
    if not found["prompt_tokens"]:
        return []
    one, bridged, every = found["one"], found["bridged"], text.countdown(found["every_s"])
    many = f"at most {found['most']} in a row, one every {every}" if found["most"] else "nothing is sent: " + _too_dear(found)
    return [
        (
            "One",
            f"{text.short_tokens(one['tokens'])} of input{_dollars(one)}, to read {text.tokens(found['prompt_tokens'])} from the cache",
        ),
        ("Saves", f"{text.short_tokens(bridged['tokens'])} of input{_dollars(bridged)}, where you come back while it is warm"),
        ("Worth", many),
        ("Past", _past(found)),
        ("Limits", f"{found['limits']['requests']} in a row, {_money(found['limits']['usd'])} a session"),
    ]


def on_lines(found: dict[str, Any], command: str) -> list[str]:
    """What `warm on` answers."""
    return [
        *text.title("The prompt cache is kept warm from now on"),
        *sum_lines(found),
        "",
        *text.wrap(
            "While you are away, shortly before the cache would expire, the last request goes out again with one short line. Its answer "
            "is thrown away, and the conversation does not hold it. Anything that you send ends it. It needs a client that runs modules "
            "(2.1.287 or later)."
        ),
        *text.wrap(f"{command} warm off ends it. {_PRICES}"),
    ]


def off_lines(found: dict[str, Any]) -> list[str]:
    """What `warm off` answers."""
    return ["", *text.wrap("The prompt cache is not kept warm in this session." + _so_far(found))]


def show_lines(found: dict[str, Any], command: str) -> list[str]:
    """What `warm show` answers."""
    whose = ", by your word in this session" if found["from"] == "session" else ", by your configuration" if found["on"] else ""
    lines = [*text.title("Keeping the prompt cache warm"), *_row("State", ("on" if found["on"] else "off") + whose)]
    sent = found["sent"]
    lines += _row("Sent", f"{text.counted(sent['requests'], 'request')} in this session, {_money(sent['usd'])}")
    if found["last"] is not None:
        last = found["last"]
        lines += _row("Last", f"read {text.tokens(last['read'])} of {text.short_tokens(last['prompt'])}, answered {last['output']:,}")
    if found["next_s"] is not None:
        lines += _row("Next", f"in {text.countdown(found['next_s'])}")
    elif found["ended"]:
        lines += _row("Ended", _ended(found))
    lines += sum_lines(found)
    switch = "off ends it" if found["on"] else "on begins it for this session"
    return [*lines, "", *text.wrap(f"{command} warm {switch}. {_PRICES}")]


def _row(label: str, said: str) -> list[str]:
    first, *rest = text.wrap(said, text.WIDTH - _LABEL)
    return [f"{label:<{_LABEL}}" + first, *(" " * _LABEL + line for line in rest)]


def _past(found: dict[str, Any]) -> str:
    past = found["past"]
    if not past["breaks"]:
        return "no breaks of yours are known yet, so those of other users stand in for them"
    breaks = f"{text.counted(past['breaks'], 'break')} of yours in {text.counted(past['sessions'], 'session')}"
    if not past["requests"]:
        return f"{breaks}, none of which would have been bridged"
    paid, saved = past["paid"], past["saved"]
    return (
        f"of {breaks}, {past['bridged']:,} would have been bridged by {text.counted(past['requests'], 'request')}: "
        f"{text.short_tokens(paid['tokens'])} of input{_dollars(paid)} paid, {text.tokens(saved['tokens'])}{_dollars(saved)} saved"
    )


def _too_dear(found: dict[str, Any]) -> str:
    return _ENDED[warming.UNPRICED] if found["one"]["usd"] is None else "it would cost more than it is likely to save"


def _ended(found: dict[str, Any]) -> str:
    about = f" ({text.clean(found['about'])})" if found["about"] else ""
    return _ENDED.get(found["ended"], text.clean(found["ended"])) + about


def _so_far(found: dict[str, Any]) -> str:
    sent = found["sent"]
    return f" So far {text.counted(sent['requests'], 'request')} kept it so, for {_money(sent['usd'])}." if sent["requests"] else ""


def _dollars(sum: dict[str, Any]) -> str:
    return "" if sum["usd"] is None else f" ({_money(sum['usd'])})"


def _money(usd: float) -> str:
    return f"${usd:.2f}" if usd >= 0.1 or not usd else f"${usd:.2g}"
