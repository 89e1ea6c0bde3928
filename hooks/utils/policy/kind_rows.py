"""The rows that say what conversations were made of, by kind of content. Pure."""

from __future__ import annotations

from .composition import RESULT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Row = dict[str, Any]

_SERVER = "mcp__"


def kind_rows(
    tokens: Mapping[str, int], usd: Mapping[str, float] | None = None, calls: Mapping[str, list[float]] | None = None
) -> list[Row]:
    """Return what conversations were made of as rows {kind, name, tokens, parts}, the most expensive first, with `usd` and `used` where
    `usd` and `calls` are given. `kind`: one of composition.py, `result` of the tool of this `name`, or `server` for the tools of an MCP
    server, which are its `parts` · `tokens`: over all requests · `used`: [times, when last] of calls, None for anything but results."""
    rows: list[Row] = []
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
        (servers.setdefault(server, []) if server else rows).append(row)
    rows += [_server(name, sorted(parts, key=_dearest)) for name, parts in servers.items()]
    return sorted(rows, key=_dearest)


def _server(name: str, parts: list[Row]) -> Row:
    row: Row = {"kind": "server", "name": name, "parts": parts}
    row.update((column, sum(part[column] for part in parts)) for column in ("tokens", "usd") if column in parts[0])
    if "used" in parts[0]:
        row["used"] = [sum(part["used"][0] for part in parts), max(part["used"][1] for part in parts)]
    return row


def _dearest(row: Row) -> tuple[float, int, str]:
    return -row.get("usd", 0.0), -row["tokens"], row["name"]
