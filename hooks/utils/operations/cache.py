"""The prompt cache as data: whether it is kept warm (`warm`), whether the conversation compacts once it is cold (`cold`). policy/warming.py
and reclaim/cold_compaction.py decide."""

from __future__ import annotations

from ..io import home
from ..policy import economics, limit_weights, warming
from ..reclaim import cold_compaction
from ..state import client_reports, warmth
from ..state.warmth import Warmth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..reclaim.outlook import Outlook
    from ..state.live import Site
    from ..views.shapes import CompactsCold, Costs, KeptWarm

# Seconds after its time for which a request is still expected.
_LATE_S = 30


def kept_warm(site: Site, transcript_path: str, now: float) -> KeptWarm:
    """Return whether and how it is kept warm."""
    found = Warmth(site, transcript_path)
    following, past = found.following(now), found.past()
    at = found.facts.get("next")
    coming = at if found.on and isinstance(at, (int, float)) and at > now - _LATE_S else None

    weights = client_reports.weights(site.home, now)
    write = economics.write_kind(found.prices.ttl_s)

    def costs(units: float, amounts: dict[str, float]) -> Costs:
        usd = None if found.usd is None else round(units * found.usd, 6)
        return {"tokens": round(units), "usd": usd, "share": limit_weights.share(weights, found.model.id, amounts)}

    return {
        "on": found.on,
        "from": "session" if found.from_session else "configuration",
        "refused": found.refused,
        "model": found.model.id,
        "lifetime_s": found.prices.ttl_s,
        "every_s": round(warming.interval_s(found.prices.ttl_s)),
        "prompt_tokens": found.prompt,
        "one": costs(warming.price(found.prompt, found.prices), {"read": found.prompt}),
        "bridged": costs((found.prices.write - found.prices.read) * found.prompt, {write: found.prompt, "read": -found.prompt}),
        "most": _most(found),
        "limits": {"requests": found.most_in_a_row, "usd": found.most_usd},
        "past": {
            "known": found.learnt.at > 0, "sessions": found.learnt.sessions, "hour": found.learnt.hour, "breaks": past.breaks,
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
    """Return how many in a row are allowed, whether it is on or not."""
    if not found.prices.known or found.usd is None:
        return 0
    row = warming.Row(found.prompt, found.prices, found.usd, 0.0, 0, found.spent)
    return warming.most(found.prices, min(found.most_in_a_row, row.affordable(found.most_usd)))


def learn(site: Site, now: float) -> None:
    """Learn the breaks of past sessions before they are shown, if that is due; where they cannot be kept, the old ones remain."""
    if warmth.read_breaks(site.home).is_old(now):
        try:
            warmth.learn_breaks(site.environ, site.home, now)
        except (OSError, home.NoHome):
            return


def compacts_cold(site: Site, seen: Outlook) -> CompactsCold:
    """Return whether and what compacting with a cold cache would take."""
    conversation = seen.made.conversation if seen.made is not None else None
    found = cold_compaction.prospect(site, conversation, seen.at) if conversation is not None else None
    setting, is_cold = cold_compaction.setting(site), found is not None
    if found is None or not found.pays or conversation is None:
        return {"setting": setting, "is_cold": is_cold, "tokens": 0, "usd": None, "share": None, "least": 0}
    tokens, usd = cold_compaction.worth_of(found, conversation)
    share = limit_weights.share_of_clear(client_reports.weights(site.home, seen.at), found.sum, found.thinking_tokens)
    usd = None if usd is None else round(usd, 4)
    return {"setting": setting, "is_cold": is_cold, "tokens": tokens, "usd": usd, "share": share, "least": round(found.least)}
