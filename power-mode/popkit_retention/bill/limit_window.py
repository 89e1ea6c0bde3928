"""What used a window of the plan's limits. Pure."""

from __future__ import annotations

from popkit_retention.core.policy.kind_rows import kind_rows
from popkit_retention.core.policy.lost_cache import PAUSE

from .costs import usd_of
from .sums import _PRICED, SLOT_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict

    from popkit_retention.core.policy.models import Models

    from .records import Digest, Row

    class Tokens(TypedDict):
        """Tokens by how requests used them."""

        plain: int
        read: int
        written: int
        output: int

    class Part(TypedDict):
        """The usage of one session, by its main thread or by all its `subagents` together; `usd`: the price of its tokens, and the `share`
        of all dollars that this is; both None where no price is known."""

        session: str
        cwd: str
        subagents: bool
        used: Tokens
        tokens: int
        usd: float | None
        share: float | None

    class Consumption(TypedDict):
        used: Tokens
        tokens: int
        usd: float
        unpriced: int  # tokens of models without a known price
        parts: list[Part]
        # name of SOURCES -> tokens; their sum is `tokens`
        sources: dict[str, int]
        # What the conversations were made of, as rows of `kind_rows`, whose tokens add up to those of the conversation.
        kinds: list[Row]

    class WindowUse(TypedDict):
        """How full a window of the plan is (`percent`, as read `at`), its pace, when it will be full, when it resets, when it `began` (None
        where the reading does not tell), and what `took` it; times in seconds."""

        kind: str
        percent: float
        at: float
        percent_per_hour: float | None
        full_at: float | None
        resets_at: float | None
        began: float | None
        took: Consumption | None

    class PlanLimits(TypedDict):
        """The windows of the plan that run; `prices_of`: the month of the prices, "" where none is known."""

        last_reading_at: float | None
        prices_of: str
        windows: list[WindowUse]


# The usage of subagents; of main threads their output, the tokens written to the cache again after a pause and for any other cause, those
# before the first word, and the rest of their prompts.
SOURCES = ("conversation", "standing", "pauses", "lost", "output", "subagents")


def took(digests: Iterable[Digest], since: float, models: Models) -> Consumption:
    """Return the usage of sessions since a time (seconds, to ten minutes): `used` and `tokens` in all, their price, and the `parts`, the
    most expensive first."""
    parts: dict[tuple[str, bool], Part] = {}
    whole = _no_tokens()
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
            part = parts.setdefault((session, bool(agent)), _no_part(session, digest["cwd"], bool(agent)))
            part["tokens"] += sum(counts)
            sources["standing"] += 0 if agent else before
            for kind, count in () if agent else row.items():
                by_kind[kind] = by_kind.get(kind, 0) + count
            for sums in (part["used"], whole):
                _add(sums, counts)
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


def _no_part(session: str, cwd: str, subagents: bool) -> Part:
    return {"session": session, "cwd": cwd, "subagents": subagents, "used": _no_tokens(), "tokens": 0, "usd": None, "share": None}


def _no_tokens() -> Tokens:
    return {"plain": 0, "read": 0, "written": 0, "output": 0}


def _add(sums: Tokens, counts: list[int]) -> None:
    plain, read, written, output = counts
    sums["plain"] += plain
    sums["read"] += read
    sums["written"] += written
    sums["output"] += output
