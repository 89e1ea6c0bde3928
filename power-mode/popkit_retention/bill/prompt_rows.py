"""The rows of what each prompt of a project contains before the first word. Pure."""

from __future__ import annotations

from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.state.hidden_tools import is_among, parted, server_key

from .kind_sums import shared_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from popkit_retention.core.state.hidden_tools import HiddenTool
    from popkit_retention.core.views.shapes import PromptRow

    from .records import Digest


# Rows of the client's breakdown that are divided here. Other rows stay as they are; Messages came after the first word.
_TOOLS, _MEMORY, _AGENTS, _SKILLS, _MESSAGES = "MCP tools", "Memory files", "Custom agents", "Skills", "Messages"


def rows_of(breakdown: Mapping[str, Any], hooks: int, hidden: Mapping[str, HiddenTool], calls: Mapping[str, list[float]],
            read: Callable[[str], str | None]) -> list[PromptRow]:  # fmt: skip
    """Return what prompts contain before the first word, the largest first. `hooks`: tokens that hooks add · `calls`: as `calls_of` returns
    them · `read` returns the text of a file, None where it cannot be read."""
    rows: list[PromptRow] = []
    removed, deferred = parted(hidden)
    for category in breakdown.get("categories", ()):
        name, tokens = category["name"], category["tokens"]
        if category["kind"] != "used" or name == _MESSAGES:
            continue
        if name == _TOOLS:
            tools = _tools(breakdown["tools"], tokens, calls)
            tokens -= sum(row["tokens"] for row in tools if is_among(row["name"], hidden))  # the client may not have reported this yet
            items = _servers(_on_demand(row, deferred) for row in tools if not is_among(row["name"], removed))
        elif name == _MEMORY:
            items = [
                {**_row("memory", item["name"], item["tokens"], parts=_sections(item, read)), "source": item["source"]}
                for item in breakdown["memory"]
            ]
        elif name == _SKILLS:
            items = _group("skills", name, breakdown["skills"], "skill", calls)
        elif name == _AGENTS:
            items = _group("agents", name, breakdown["agents"], "agent", calls)
        else:
            items = [_row("client", name, tokens)]
        rest = tokens - sum(row["tokens"] for row in items)
        rows += items + ([_row("client", f"{name}, not itemised", rest)] if rest > 0 else [])
    if not any(category["name"] == _TOOLS and category["kind"] == "used" for category in breakdown.get("categories", ())):
        rows += _servers(row for row in _tools(breakdown.get("tools", []), 0, calls) if not is_among(row["name"], removed))
    if hooks:
        rows.append(_row("hooks", "Texts of hooks", hooks))
    return sorted(rows, key=lambda row: (-row["tokens"], row["name"]))


def _row(
    kind: str, name: str, tokens: int, used: list[float] | None = None, parts: list[PromptRow] | None = None,
) -> PromptRow:  # fmt: skip
    return {"kind": kind, "name": name, "tokens": tokens, "used": used, "parts": parts or [], "deferred": False}


def _tools(tools: list[dict[str, Any]], tokens: int, calls: Mapping[str, list[float]]) -> list[PromptRow]:
    """Return a row for each MCP tool, with its `server`. The client says of a tool whether its schema is loaded, except where it loads all
    of them: then the `tokens` of the category are those of all tools."""
    everything = 0 < sum(tool["tokens"] for tool in tools) <= tokens
    rows: list[PromptRow] = []
    for tool in tools:
        loaded = everything or (tokens > 0 and tool["loaded"])
        rows.append({
            **_row("tool", tool["name"], tool["tokens"] if loaded else 0, _used(calls, tool["name"])), "key": tool["name"],
            "server": tool["server"], "deferred": not loaded, "on_demand": 0 if loaded else tool["tokens"],
        })  # fmt: skip
    return rows


def _on_demand(row: PromptRow, deferred: Sequence[str]) -> PromptRow:
    """Return the row of a tool as it will be in the next session, if we defer it."""
    if not is_among(row["name"], deferred):
        return row
    return {**row, "tokens": 0, "deferred": True, "on_demand": row["on_demand"] or row["tokens"]}


def _servers(tools: Iterable[PromptRow]) -> list[PromptRow]:
    servers: dict[str, list[PromptRow]] = {}
    for tool in tools:
        servers.setdefault(tool["server"], []).append(tool)
    rows: list[PromptRow] = []
    for name, parts in servers.items():
        parts.sort(key=lambda row: (-row["tokens"], row["name"]))
        rows.append({
            **_row("server", name, sum(part["tokens"] for part in parts), _together(parts), parts),
            "key": server_key(name, parts[0]["name"]), "deferred": all(part["deferred"] for part in parts),
            "on_demand": sum(part["on_demand"] for part in parts),
        })  # fmt: skip
    return rows


def _group(kind: str, name: str, items: Iterable[dict[str, Any]], word: str, calls: Mapping[str, list[float]]) -> list[PromptRow]:
    parts = [_row(word, item["name"], item["tokens"], _of_plugin(calls, word, item["name"])) for item in items]
    parts.sort(key=lambda row: (-row["tokens"], row["name"]))
    return [_row(kind, name, sum(row["tokens"] for row in parts), _together(parts), parts)] if parts else []


def _used(calls: Mapping[str, list[float]], name: str) -> list[float]:
    return calls.get(name, [0, 0.0])


def _of_plugin(calls: Mapping[str, list[float]], word: str, name: str) -> list[float]:
    """Return the use of a skill or agent; that of a plugin is called with or without the plugin's name."""
    return calls.get(f"{word} {name}") or _used(calls, f"{word} {name.rpartition(':')[2]}")


def _together(parts: list[PromptRow]) -> list[float]:
    uses = [used for part in parts if (used := part["used"])]
    return [sum(times for times, _ in uses), max((at for _, at in uses), default=0.0)]


def sections(text: str) -> list[tuple[int, str, str]]:
    """Return (level, heading, text with its heading) of the sections of a Markdown file, those below a section apart from it; (0, "") is
    the text before the first heading. Fenced blocks have no headings."""
    parts: list[tuple[int, str, list[str]]] = [(0, "", [])]
    fenced = False
    for line in text.splitlines():
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        if not fenced and line.startswith("#") and line.lstrip("#")[:1] == " ":
            parts.append((len(line) - len(line.lstrip("#")), line.lstrip("#").strip(), []))
        parts[-1][2].append(line)
    return [(level, heading, "\n".join(lines)) for level, heading, lines in parts if any(map(str.strip, lines))]


def section(text: str, wanted: str) -> str:
    """Return the first section with this heading, whatever its case, and what is below it; "" where there is none."""
    parts = sections(text)
    at = next((at for at, (level, heading, _) in enumerate(parts) if level and heading.lower() == wanted.strip().lower()), len(parts))
    end = next((behind for behind in range(at + 1, len(parts)) if parts[behind][0] <= parts[at][0]), len(parts))
    return "\n".join(body for _, _, body in parts[at:end])


def _sections(item: dict[str, Any], read: Callable[[str], str | None]) -> list[PromptRow]:
    """Return the sections of a file, with the client's figure for it divided in proportion to their estimated sizes."""
    named = sections(read(item["name"]) or "")
    weights = [estimate_tokens(text, "markup") for _, _, text in named]
    shares = shared_out(item["tokens"], weights)
    return [
        {**_row("section", heading or "before the first heading", tokens), "level": level}
        for (level, heading, _), tokens in zip(named, shares)
    ]


def calls_of(digests: Iterable[Digest]) -> dict[str, list[float]]:
    """Return name -> [times, when last] of all calls. A skill or agent of a plugin (`plugin:name`) counts under its own name, too."""
    calls: dict[str, list[float]] = {}
    for digest in digests:
        for name, (times, at) in digest["calls"].items():
            word, _, rest = name.partition(" ")
            short = f"{word} {rest.rpartition(':')[2]}" if rest else name
            for alias in {name, short}:
                known = calls.setdefault(alias, [0, 0.0])
                known[0] += times
                known[1] = max(known[1], at)
    return calls
