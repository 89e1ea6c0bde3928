"""The prompt cache: whether it is kept warm (`warm`), whether the conversation compacts once it is cold (`cold`), as data. What is decided
stands in policy/warming.py and reclaim/cold.py.

Of `warm`: `on`, `from` (session or configuration), `refused` (why it cannot be switched on, "" where it can) · `model`, `lifetime_s`,
`every_s`, `prompt_tokens` · `one`: what one request costs, `bridged`: what the request after a break then costs less, each {`tokens` (of
input, that cost as much), `usd` (null where the price is not known)} · `most`: requests in a row that are allowed · `limits`: {`requests`
in a row, `usd` a session} · `past`: {`known` (whether anybody has looked), `sessions`, `hour` (how many of them have a cache that lasts an
hour), `breaks`, `bridged`, `requests`, `paid_usd`, `saved_usd`} · `sent`: {`requests`, `in_a_row`, `usd`} of this session, `last`: journal
entry or null · `next_s`: seconds, null for none · `ended`: why nothing is sent, "" where that is not so; `about` what.

Of `cold`: `setting` (on, off, ask) · `tokens` that would leave now, 0 for none, and what that is worth in dollars (`usd`, null where no
price is known) · `is_cold`: whether the cache is.
"""

from __future__ import annotations

from ..edges import home
from ..policy import warming
from ..reclaim import cold
from ..state import breaks
from ..state.warmth import Warmth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..reclaim.outlook import Outlook
    from ..state.site import Site

# How long after its time a request is still taken to come.
_LATE_S = 30


def kept_warm(site: Site, transcript_path: str, now: float) -> dict[str, Any]:
    """Return how keeping it warm stands, see above."""
    found = Warmth(site, transcript_path)
    following, past = found.following(now), found.past()
    at = found.facts.get("next")
    coming = at if found.on and isinstance(at, (int, float)) and at > now - _LATE_S else None

    def costs(units: float) -> dict[str, Any]:
        return {"tokens": round(units), "usd": None if found.usd is None else round(units * found.usd, 6)}

    return {
        "on": found.on,
        "from": "session" if found.from_session else "configuration",
        "refused": warming.HOUR if found.is_refused else "",
        "model": found.model.id,
        "lifetime_s": found.prices.ttl_s,
        "every_s": round(warming.interval_s(found.prices.ttl_s)),
        "prompt_tokens": found.prompt,
        "one": costs(warming.price(found.prompt, found.prices)),
        "bridged": costs((found.prices.write - found.prices.read) * found.prompt),
        "most": _most(found),
        "limits": {"requests": found.most_in_a_row, "usd": found.most_usd},
        "past": {
            "known": found.own.at > 0, "sessions": found.own.sessions, "hour": found.own.hour, "breaks": past.breaks,
            "bridged": past.bridged, "requests": past.sent,
            "paid_usd": round(past.paid, 4), "saved_usd": round(past.saved, 4),
        },
        "sent": {"requests": len(found.sent), "in_a_row": found.in_a_row, "usd": round(found.spent, 6)},
        "last": found.sent[-1] if found.sent else None,
        "next_s": None if coming is None else max(0, round(coming - now)),
        "ended": "" if coming is not None or not found.on else str(found.facts.get("ended") or following.why),
        "about": str(found.facts.get("about") or ""),
    }  # fmt: skip


def _most(found: Warmth) -> int:
    """How many in a row are allowed, whether it is on or not."""
    if not found.prices.known or found.usd is None:
        return 0
    row = warming.Row(found.prompt, found.prices, found.usd, 0.0, 0, found.spent)
    return warming.most(found.prices, min(found.most_in_a_row, row.affordable(found.most_usd)))


def learn(site: Site, now: float) -> None:
    """Lets the past be known before it is told of; what cannot be kept is told of as it was."""
    if breaks.own(site.home).is_old(now):
        try:
            breaks.learn(site.environ, site.home, now)
        except (OSError, home.NoHome):
            return


def compacts_cold(site: Site, seen: Outlook) -> dict[str, Any]:
    """Return how compacting with a cold cache stands, see above."""
    conversation = seen.made.conversation if seen.made is not None else None
    found = cold.prospect(site, conversation, seen.at) if conversation is not None else None
    data: dict[str, Any] = {"setting": cold.setting(site), "is_cold": found is not None, "tokens": 0, "usd": None, "ids": []}
    if found is not None and found.ids and conversation is not None:
        tokens, usd = cold.worth_of(found, conversation)
        data.update(tokens=tokens, usd=None if usd is None else round(usd, 4), ids=found.ids)
    return data
