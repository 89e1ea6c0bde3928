"""The use of a window of the plan's limits. Pure."""

from __future__ import annotations

from popkit_retention.core.policy.kind_rows import kind_rows
from popkit_retention.core.policy.lost_cache import PAUSE

from .costs import usd_of
from .sums import _PRICED, SLOT_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from popkit_retention.core.policy.models import Models
    from popkit_retention.core.views.shapes import Consumption, Part

    from .records import Digest


# The usage of subagents; of main threads their output, the tokens written to the cache again after a pause and for any other cause, those
# before the first word, and the rest of their prompts.
SOURCES = ("conversation", "standing", "pauses", "lost", "output", "subagents")

_USES = ("plain", "read", "written", "output")


def took(digests: Iterable[Digest], since: float, models: Models) -> Consumption:
    """Return the usage of sessions since a time (seconds, to ten minutes), its parts with the most expensive first."""
    parts: dict[tuple[str, bool], Part] = {}
    whole = dict.fromkeys(_USES, 0)
    sources = dict.fromkeys(SOURCES, 0)
    by_kind: dict[str, int] = {}
    unpriced = 0
    for digest in digests:
        session, agent, _ = digest["session"].partition("/")
        if not agent:
            for loss in digest["losses"]:
                if int(loss["at"]) // SLOT_S * SLOT_S + SLOT_S > since:
                    sources["pauses" if loss["cause"] == PAUSE else "lost"] += loss["tokens"]
        for (at, *counts, before), row in zip(digest["by_time"], digest["kinds_by_time"]):
            if at + SLOT_S <= since:
                continue
            part = parts.setdefault((session, bool(agent)), {
                "session": session, "cwd": digest["cwd"], "subagents": bool(agent), "used": dict.fromkeys(_USES, 0), "tokens": 0,
                "usd": None, "share": None,
            })  # fmt: skip
            part["tokens"] += sum(counts)
            sources["standing"] += 0 if agent else before
            for kind, count in () if agent else row.items():
                by_kind[kind] = by_kind.get(kind, 0) + count
            for sums in (part["used"], whole):
                for name, count in zip(_USES, counts):
                    sums[name] += count
        for at, *priced in digest["by_price"]:
            if at + SLOT_S > since:
                paid = usd_of(dict(zip(_PRICED, priced)), models)
                part = parts[session, bool(agent)]
                part["usd"] = (part["usd"] or 0.0) + sum(paid.values()) if paid else part["usd"]
                unpriced += 0 if paid else sum(priced[2:])
    usd = sum(part["usd"] or 0.0 for part in parts.values())
    for part in parts.values():
        part["share"] = part["usd"] / usd if usd and part["usd"] is not None else None
    sources["subagents"] = sum(part["tokens"] for part in parts.values() if part["subagents"])
    sources["output"] = sum(part["used"]["output"] for part in parts.values() if not part["subagents"])
    sources["conversation"] = sum(by_kind.values())
    return {
        "used": whole,
        "tokens": sum(part["tokens"] for part in parts.values()),
        "usd": usd,
        "unpriced": unpriced,
        "sources": sources,
        "kinds": kind_rows(by_kind),
        "parts": sorted(parts.values(), key=lambda part: (-(part["usd"] or 0.0), -part["tokens"], part["session"], part["subagents"])),
    }
