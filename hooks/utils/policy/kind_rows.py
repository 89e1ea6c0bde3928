"""The rows that say what conversations were made of, by kind of content. Pure."""

from __future__ import annotations

from .composition import RESULT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .shapes import KindRow

_SERVER = "mcp__"


def kind_rows(
    tokens: Mapping[str, int], usd: Mapping[str, float] | None = None, calls: Mapping[str, list[float]] | None = None
) -> list[KindRow]:
    """Return what conversations were made of, the most expensive first, with `usd` and `used` where `usd` and `calls` are given."""
    rows: list[KindRow] = []
    servers: dict[str, list[KindRow]] = {}
    for kind, count in tokens.items():
        is_result, name = kind.startswith(RESULT), kind.removeprefix(RESULT)
        row: KindRow = {"kind": "result" if is_result else kind, "name": name if is_result else "", "tokens": count, "parts": []}
        if usd is not None:
            row["usd"] = usd.get(kind, 0.0)
        if calls is not None:
            row["used"] = calls.get(name, [0, 0.0]) if is_result and name else None
        server = name.split("__")[1] if name.startswith(_SERVER) and name.count("__") > 1 else ""
        (servers.setdefault(server, []) if server else rows).append(row)
    rows += [_server(name, sorted(parts, key=_dearest)) for name, parts in servers.items()]
    return sorted(rows, key=_dearest)


def _server(name: str, parts: list[KindRow]) -> KindRow:
    row: KindRow = {"kind": "server", "name": name, "parts": parts, "tokens": sum(part["tokens"] for part in parts)}
    if "usd" in parts[0]:
        row["usd"] = sum(part["usd"] for part in parts)
    uses = [used for part in parts if (used := part.get("used"))]
    if uses:
        row["used"] = [sum(times for times, _ in uses), max(at for _, at in uses)]
    return row


def _dearest(row: KindRow) -> tuple[float, int, str]:
    return -row.get("usd", 0.0), -row["tokens"], row["name"]
