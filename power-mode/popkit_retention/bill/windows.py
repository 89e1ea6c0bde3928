"""What took how much of the tokens that a limit's window saw, from digests. Pure."""

from __future__ import annotations

from .digests import SLOT_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict

    from .digests import Digest

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


def took(digests: Iterable[Digest], since: float) -> Took:
    """Return what sessions used since a time (seconds, to ten minutes): `used` and `tokens` in all, and the `parts`, the largest first."""
    parts: dict[tuple[str, bool], Part] = {}
    whole = _none()
    for digest in digests:
        session, agent, _ = digest["session"].partition("/")
        for at, *counts in digest["by_time"]:
            if at + SLOT_S <= since:
                continue
            part = parts.setdefault(
                (session, bool(agent)),
                {"session": session, "cwd": digest["cwd"], "subagents": bool(agent), "used": _none(), "tokens": 0, "share": 0.0},
            )
            part["tokens"] += sum(counts)
            for sums in (part["used"], whole):
                _add(sums, counts)
    tokens = sum(part["tokens"] for part in parts.values())
    for part in parts.values():
        part["share"] = part["tokens"] / tokens if tokens else 0.0
    return {
        "used": whole,
        "tokens": tokens,
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
