"""What conversations were made of, by kind, in tokens by what they cost and by time: sums of what each request shows. Pure.

What stands before the first word is in none of it. What was lost to the cache counts as read here, as it does there: what writing it again
cost beyond reading is of no kind. Sums are whole tokens that add up, shared out as the shares of the requests are.
"""

from __future__ import annotations

from itertools import accumulate

from hooks.utils.policy.composition import OTHER, RESULT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from hooks.utils.policy.composition import Shares

    from .digests import Used

    Row = dict[str, Any]

# Conversations that an earlier version has read, whose transcripts are gone: nothing says what they were made of.
UNTOLD = "untold"
_SERVER = "mcp__"


def columns(used: Used) -> list[int]:
    """Return the tokens of conversations in sums of requests: [plain, read, written for five minutes, for an hour]."""
    plain, read, short, hour = used["stands"]
    lost_short, lost_hour = (sum(lost) for lost in zip(used["pauses"], used["lost"]))
    return [
        used["plain"] - plain, used["read"] - read + lost_short + lost_hour, used["write_5m"] - short - lost_short,
        used["write_1h"] - hour - lost_hour,
    ]  # fmt: skip


def add(sums: dict[str, list[float]], shares: Shares | None, hour: bool) -> None:
    """Add the shares of a request, which writes for an hour or for five minutes, to sums by kind, of such columns."""
    for kind, (plain, read, written, _) in (shares or {}).items():
        row = sums.setdefault(kind, [0.0, 0.0, 0.0, 0.0])
        row[0] += plain
        row[1] += read
        row[2 + hour] += written


def add_kept(sums: dict[str, list[float]], shares: Shares | None) -> None:
    """Add the shares of a request to sums by kind, of one column: without what was lost."""
    for kind, (_, _, _, kept) in (shares or {}).items():
        sums.setdefault(kind, [0.0])[0] += kept


def shared(sums: Mapping[str, Sequence[float]], totals: Sequence[int]) -> dict[str, list[int]]:
    """Return totals, one of each column, by kind: whole tokens that add up to them. What nobody has a share of is OTHER."""
    found = {kind: [0] * len(totals) for kind in [*sums, OTHER]}
    for column, total in enumerate(totals):
        weights = [max(0.0, row[column]) for row in sums.values()]
        for kind, tokens in zip(sums, shared_out(total, weights)):
            found[kind][column] = tokens
        if not any(weights):
            found[OTHER][column] = total
    return {kind: row for kind, row in found.items() if any(row)}


def shared_out(total: int, weights: Sequence[float]) -> list[int]:
    """Return a total in parts as these weights are; they add up to it."""
    sums = list(accumulate(weights))
    ends = [round(total * sum / sums[-1]) if sums[-1] else 0 for sum in sums]
    return [end - begin for begin, end in zip([0, *ends], ends)]


def rows(tokens: Mapping[str, int], usd: Mapping[str, float] | None = None, calls: Mapping[str, list[float]] | None = None) -> list[Row]:
    """Return what conversations were made of as rows {kind, name, tokens, parts}, the dearest first, with `usd` and `used` where these are
    given. `kind`: one of policy/composition.py, UNTOLD, `result` of the tool of this `name`, or `server` for the tools of an MCP server,
    which are its `parts` · `tokens`: over all requests · `used`: [times, when last] of calls, None for what is no result."""
    found: list[Row] = []
    servers: dict[str, list[Row]] = {}
    for kind, count in tokens.items():
        is_result, name = kind.startswith(RESULT), kind.removeprefix(RESULT)
        row: Row = {"kind": kind, "name": "", "tokens": count, "parts": []}
        if is_result:
            row.update(kind="result", name=name)
        if usd is not None:
            row["usd"] = usd.get(kind, 0.0)
        if calls is not None:
            row["used"] = calls.get(name, [0, 0.0]) if is_result and name else None
        server = name.split("__")[1] if name.startswith(_SERVER) and name.count("__") > 1 else ""
        (servers.setdefault(server, []) if server else found).append(row)
    found += [_server(name, sorted(parts, key=_dearest)) for name, parts in servers.items()]
    return sorted(found, key=_dearest)


def _server(name: str, parts: list[Row]) -> Row:
    row: Row = {"kind": "server", "name": name, "parts": parts}
    row.update((column, sum(part[column] for part in parts)) for column in ("tokens", "usd") if column in parts[0])
    if "used" in parts[0]:
        row["used"] = [sum(part["used"][0] for part in parts), max(part["used"][1] for part in parts)]
    return row


def _dearest(row: Row) -> tuple[float, int, str]:
    return -row.get("usd", 0.0), -row["tokens"], row["name"]
