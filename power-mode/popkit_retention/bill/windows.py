"""What took how much of the tokens that a limit's window saw, by use, by what they were for and by session. From digests. Pure."""

from __future__ import annotations

from hooks.utils.policy.lost_cache import PAUSE

from .sums import SLOT_S, kind_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict

    from .digests import Digest
    from .sums import Row

    class Tokens(TypedDict):
        """Tokens by how a request used them."""

        plain: int
        read: int
        written: int
        output: int

    class Part(TypedDict):
        """What one session used, its main thread or all its `subagents` together; `share` of all `tokens`."""

        session: str
        cwd: str
        subagents: bool
        used: Tokens
        tokens: int
        share: float

    class Took(TypedDict):
        used: Tokens
        tokens: int
        parts: list[Part]
        # name of SOURCES -> tokens; their sum is `tokens`
        sources: dict[str, int]
        # Of what the conversation was made, as `kinds.rows` has it; their tokens add up to its.
        kinds: list[Row]


# All that subagents used; of main threads what they wrote, what was written to the cache again after a pause and for any other cause, what
# stood before the first word, and all else of their prompts.
SOURCES = ("conversation", "standing", "pauses", "lost", "output", "subagents")


def took(digests: Iterable[Digest], since: float) -> Took:
    """Return what sessions used since a time (seconds, to ten minutes): `used` and `tokens` in all, and the `parts`, the largest first."""
    parts: dict[tuple[str, bool], Part] = {}
    whole = _none()
    sources = dict.fromkeys(SOURCES, 0)
    by_kind: dict[str, int] = {}
    for digest in digests:
        session, agent, _ = digest["session"].partition("/")
        if not agent:
            for loss in digest["losses"]:
                if int(loss["at"]) // SLOT_S * SLOT_S + SLOT_S > since:
                    sources["pauses" if loss["cause"] == PAUSE else "lost"] += loss["tokens"]
        for (at, *counts, stands), row in zip(digest["by_time"], digest["kinds_by_time"]):
            if at + SLOT_S <= since:
                continue
            part = parts.setdefault(
                (session, bool(agent)),
                {"session": session, "cwd": digest["cwd"], "subagents": bool(agent), "used": _none(), "tokens": 0, "share": 0.0},
            )
            part["tokens"] += sum(counts)
            sources["standing"] += 0 if agent else stands
            for kind, count in () if agent else row.items():
                by_kind[kind] = by_kind.get(kind, 0) + count
            for sums in (part["used"], whole):
                _add(sums, counts)
    tokens = sum(part["tokens"] for part in parts.values())
    for part in parts.values():
        part["share"] = part["tokens"] / tokens if tokens else 0.0
    sources["subagents"] = sum(part["tokens"] for part in parts.values() if part["subagents"])
    sources["output"] = sum(part["used"]["output"] for part in parts.values() if not part["subagents"])
    sources["conversation"] = sum(by_kind.values())
    return {
        "used": whole,
        "tokens": tokens,
        "sources": sources,
        "kinds": kind_rows(by_kind),
        "parts": sorted(parts.values(), key=lambda part: (-part["tokens"], part["session"], part["subagents"])),
    }


def _none() -> Tokens:
    return {"plain": 0, "read": 0, "written": 0, "output": 0}


def _add(sums: Tokens, counts: list[int]) -> None:
    plain, read, written, output = counts
    sums["plain"] += plain
    sums["read"] += read
    sums["written"] += written
    sums["output"] += output
