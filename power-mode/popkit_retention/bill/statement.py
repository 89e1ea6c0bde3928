"""A project's bill: what each prompt contains before the first word, what that costs a month, when it was last used, what could be removed,
and what the whole was paid for. It is made from the client's breakdown, which is stored in our folder, and from digests and prices."""

from __future__ import annotations

import os

from hooks.utils.hosts import CLAUDE_CODE
from hooks.utils.io import files
from hooks.utils.policy.estimate import estimate_tokens
from hooks.utils.state import hidden_tools, limit_readings, prompt_breakdowns
from hooks.utils.state.hidden_tools import is_among, parted, server_key

from . import lifetimes
from .sums import kind_rows, shared_out, usd_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from hooks.utils.policy.models import Models

    from .records import Digest, Used

    Row = dict[str, Any]


MONTH_S = 30 * 86_400
# Removing what a project's sessions do not use is proposed only once there are so many of them.
LEAST_SESSIONS = 3
# A section is proposed as a skill from so many tokens on; the level of its heading, since level 1 is the title of a file.
LEAST_DRAFT, _DRAFTED = 300, 2
# Rows of the client's breakdown that this one divides; other rows stay as they are, and Messages came after the first word.
_TOOLS, _MEMORY, _AGENTS, _SKILLS, _MESSAGES = "MCP tools", "Memory files", "Custom agents", "Skills", "Messages"
# What a bill consists of, in the order in which it is shown. Together they are the whole.
PARTS = ("standing", "conversation", "pauses", "lost", "output")


# --- before the first word
# ----------------------------------------------------------------------------------------------------------------------


def rows_of(breakdown: Mapping[str, Any], hooks: int, hidden: Mapping[str, Any], calls: Mapping[str, list[float]],
            read: Callable[[str], str | None]) -> list[Row]:  # fmt: skip
    """Return what prompts contain before the first word as rows {kind, name, tokens, deferred, used, parts}, the largest first. `tokens`:
    in each prompt, 0 for what is `deferred` (its size is `on_demand`) · `used`: [times, when last], None where use is not known · `parts`:
    rows of the same kind · `hooks`: tokens that hooks add · `calls`: as `calls_of` returns them · `read` gives the text of a file, None for
    none."""
    rows: list[Row] = []
    removed, deferred = parted(hidden)
    for category in breakdown.get("categories", ()):
        name, tokens = category["name"], category["tokens"]
        if category["kind"] != "used" or name == _MESSAGES:
            continue
        if name == _TOOLS:
            tools = _tools(breakdown["tools"], tokens, calls)
            tokens -= sum(row["tokens"] for row in tools if is_among(row["name"], hidden))  # the client may not know this yet
            items = _servers(_on_demand(row, deferred) for row in tools if not is_among(row["name"], removed))
        elif name == _MEMORY:
            items = [
                _row("memory", item["name"], item["tokens"], parts=_sections(item, read), source=item["source"])
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


def _row(kind: str, name: str, tokens: int, used: list[float] | None = None, parts: list[Row] | None = None, **more: Any) -> Row:
    return {"kind": kind, "name": name, "tokens": tokens, "used": used, "parts": parts or [], "deferred": False, **more}


def _tools(tools: list[dict[str, Any]], tokens: int, calls: Mapping[str, list[float]]) -> list[Row]:
    """Return a row for each MCP tool, with its `server`. The client says of a tool whether its schema is loaded, except where it loads all
    of them: then the `tokens` of the category are those of all tools."""
    everything = 0 < sum(tool["tokens"] for tool in tools) <= tokens
    rows: list[Row] = []
    for tool in tools:
        loaded = everything or (tokens > 0 and tool["loaded"])
        row = _row("tool", tool["name"], tool["tokens"] if loaded else 0, _used(calls, tool["name"]), key=tool["name"])
        rows.append({**row, "server": tool["server"], "deferred": not loaded, "on_demand": 0 if loaded else tool["tokens"]})
    return rows


def _on_demand(row: Row, deferred: Sequence[str]) -> Row:
    """Return the row of a tool as it will be in the next session, where we defer it."""
    if not is_among(row["name"], deferred):
        return row
    return {**row, "tokens": 0, "deferred": True, "on_demand": row["on_demand"] or row["tokens"]}


def _servers(tools: Iterable[Row]) -> list[Row]:
    servers: dict[str, list[Row]] = {}
    for tool in tools:
        servers.setdefault(tool["server"], []).append(tool)
    rows = []
    for name, parts in servers.items():
        parts.sort(key=lambda row: (-row["tokens"], row["name"]))
        row = _row("server", name, sum(part["tokens"] for part in parts), _together(parts), parts, key=server_key(name, parts[0]["name"]))
        row.update(deferred=all(part["deferred"] for part in parts), on_demand=sum(part["on_demand"] for part in parts))
        rows.append(row)
    return rows


def _group(kind: str, name: str, items: Iterable[dict[str, Any]], word: str, calls: Mapping[str, list[float]]) -> list[Row]:
    parts = [_row(word, item["name"], item["tokens"], _of_plugin(calls, word, item["name"])) for item in items]
    parts.sort(key=lambda row: (-row["tokens"], row["name"]))
    return [_row(kind, name, sum(row["tokens"] for row in parts), _together(parts), parts)] if parts else []


def _used(calls: Mapping[str, list[float]], name: str) -> list[float]:
    return calls.get(name, [0, 0.0])


def _of_plugin(calls: Mapping[str, list[float]], word: str, name: str) -> list[float]:
    """Return the use of a skill or agent; that of a plugin is called with or without the plugin's name."""
    return calls.get(f"{word} {name}") or _used(calls, f"{word} {name.rpartition(':')[2]}")


def _together(parts: list[Row]) -> list[float]:
    used = [part["used"] for part in parts]
    return [sum(times for times, _ in used), max((at for _, at in used), default=0.0)]


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
    """Return the first section with this heading, in any case, with its subsections; "" without one."""
    parts = sections(text)
    at = next((at for at, (level, heading, _) in enumerate(parts) if level and heading.lower() == wanted.strip().lower()), len(parts))
    end = next((behind for behind in range(at + 1, len(parts)) if parts[behind][0] <= parts[at][0]), len(parts))
    return "\n".join(body for _, _, body in parts[at:end])


def _sections(item: dict[str, Any], read: Callable[[str], str | None]) -> list[Row]:
    """Return the sections of a file, with the client's figure for it divided in proportion to their estimated sizes."""
    named = sections(read(item["name"]) or "")
    weights = [estimate_tokens(text, "markup") for _, _, text in named]
    shares = shared_out(item["tokens"], weights)
    return [
        _row("section", heading or "before the first heading", tokens, level=level) for (level, heading, _), tokens in zip(named, shares)
    ]


def calls_of(digests: Iterable[Digest]) -> dict[str, list[float]]:
    """Return name -> [times, when last] of all calls. A skill or agent of a plugin (`plugin:name`) counts under its own name, too."""
    calls: dict[str, list[float]] = {}
    for digest in digests:
        for name, (times, at) in digest["calls"].items():
            word, _, rest = name.partition(" ")
            short = f"{word} {rest.rpartition(':')[2]}" if rest else name
            for each in {name, short}:
                known = calls.setdefault(each, [0, 0.0])
                known[0] += times
                known[1] = max(known[1], at)
    return calls


# --- what it costs ---


def pace(digests: Iterable[Digest], models: Models, period_s: float) -> dict[str, Any]:
    """Return the cost of a token in each prompt at this pace: `usd` a month, `requests` a month, `unpriced`: how many of the
    requests have a model without a known price; and whether it `is_told`: some hours are no month's pace, and only requests are counted
    then. `digests`: of main threads, over a period in seconds."""
    usd, requests, unpriced = 0.0, 0, 0
    active = [digest for digest in digests if digest["used"]]
    for used in (used for digest in active for used in digest["used"]):
        model = models.model(used["model"])
        price, _ = model.usd(used["prompt"] + 1)
        requests += used["requests"]
        if price is None:
            unpriced += used["requests"]
            continue
        short, hour, plain = used["cold"]
        units = (used["requests"] - sum(used["cold"])) * model.read + short * model.write_5m + hour * model.write_1h + plain
        usd += units * price / 1e6
    covered_s = max((one["ended"] for one in active), default=0.0) - min((one["began"] for one in active), default=0.0)
    if active and covered_s < lifetimes.LEAST_DAYS * 86_400:
        return {"usd": 0.0, "requests": requests, "unpriced": unpriced, "is_told": False}
    scale = MONTH_S / period_s
    return {"usd": usd * scale, "requests": round(requests * scale), "unpriced": round(unpriced * scale), "is_told": True}


def whole(digests: Iterable[Digest], models: Models) -> dict[str, Any]:
    """Return what requests were paid for: `usd`, `parts` (name of PARTS -> dollars; their sum is `usd`), `kinds`: what the conversations
    were made of, as `kinds.rows` has it (their dollars are those of the conversation), `requests`, `sessions`, the names of their `hosts`,
    and `unpriced`: requests of models without a known price, whose dollars are in no sum."""
    parts = dict.fromkeys(PARTS, 0.0)
    usd_by_kind: dict[str, float] = {}
    tokens: dict[str, int] = {}
    requests = unpriced = sessions = 0
    everything = list(digests)
    hosts: set[str] = set()
    for digest in everything:
        sessions += bool(digest["used"])
        hosts.update([digest["host"]] if digest["used"] else ())
        for used in digest["used"]:
            requests += used["requests"]
            for kind, sums in used["kinds"].items():
                tokens[kind] = tokens.get(kind, 0) + sum(sums)
            paid = usd_of(used, models)
            if paid is None:
                unpriced += used["requests"]
                continue
            some = _divided(used, models)
            for kind, sums in used["kinds"].items():
                usd_by_kind[kind] = usd_by_kind.get(kind, 0.0) + _paid(sums, used, models)
            some["output"] = paid["output"]
            some["conversation"] = max(0.0, sum(paid.values()) - sum(some.values()))
            for name, usd in some.items():
                parts[name] += usd
    counts = {"requests": requests, "sessions": sessions, "hosts": sorted(hosts), "unpriced": unpriced}
    made_of = kind_rows(tokens, usd_by_kind, calls_of(everything))
    return {"usd": sum(parts.values()), "parts": parts, "kinds": made_of, **counts}


def _divided(used: Used, models: Models) -> dict[str, float]:
    (short_pauses, hour_pauses), (short_lost, hour_lost) = used["pauses"], used["lost"]
    return {
        "standing": _paid(used["stands"], used, models),
        "pauses": _paid([0, -short_pauses - hour_pauses, short_pauses, hour_pauses], used, models),
        "lost": _paid([0, -short_lost - hour_lost, short_lost, hour_lost], used, models),
    }


def _paid(tokens: Sequence[int], used: Used, models: Models) -> float:
    """Return the dollars of tokens that are plain, read, written for five minutes and for an hour."""
    model = models.model(used["model"])
    price, _ = model.usd(used["prompt"] + 1)
    units = sum(count * cost for count, cost in zip(tokens, (1.0, model.read, model.write_5m, model.write_1h)))
    return units * (price or 0.0) / 1e6


# --- what could be removed
# ---------------------------------------------------------------------------------------------------------------------


def proposals(rows: Iterable[Row], sessions: int) -> list[Row]:
    """Return the rows of servers that are in each prompt and were never used, and of such tools of other servers, the largest first.
    `sessions`: how many the project had in which they could have been used."""
    if sessions < LEAST_SESSIONS:
        return []
    unused: list[Row] = []
    for row in rows:
        if row["kind"] == "server":
            unused += [one for one in ([row] if not row["used"][0] else row["parts"]) if one["tokens"] and not one["used"][0]]
    return sorted(unused, key=lambda row: (-row["tokens"], row["name"]))


def drafts(rows: Iterable[Row], project: str) -> list[Row]:
    """Return the sections of memory files that could be skills as {name, file, tokens}, including what is below them, the largest first. A
    file of the `project` has its path in it. Whether sections are used is not known, so nothing is claimed about that."""
    candidates: list[Row] = []
    for file in rows:
        path = os.path.relpath(file["name"], project) if is_inside(file["name"], project) else file["name"]
        open_section: Row | None = None
        for part in file["parts"] if file["kind"] == "memory" else ():
            if part["level"] <= _DRAFTED:
                open_section = {"name": part["name"], "file": path, "tokens": 0} if part["level"] == _DRAFTED else None
                candidates += [open_section] if open_section else []
            if open_section:
                open_section["tokens"] += part["tokens"]
    return sorted((row for row in candidates if row["tokens"] >= LEAST_DRAFT), key=lambda row: (-row["tokens"], row["name"]))


def is_inside(folder: str, project: str) -> bool:
    """Return whether a folder is a project's or below it."""
    return folder == project or folder.startswith(project.rstrip(os.sep) + os.sep)


def is_main(digest: Digest) -> bool:
    """Return whether a digest is of a main thread."""
    return "/" not in digest["session"]


# --- the whole ---

_FILE_BYTES = 1_000_000


def cache_lifetime(digests: Iterable[Digest], models: Models, is_priced: bool, period_s: float) -> dict[str, Any]:
    """Return which lifetime of the prompt cache pays for the `main` threads and for `subagents` of Claude Code, as `lifetimes.compared`
    does; None for each without requests."""
    own = [digest for digest in digests if digest["host"] == CLAUDE_CODE]
    threads = {"main": [one for one in own if is_main(one)], "subagents": [one for one in own if not is_main(one)]}
    return {name: lifetimes.compared(some, models, is_priced, period_s) for name, some in threads.items()}


def bill_of(popkit_home: str, project: str, everything: list[Digest], since: float, now: float, models: Models) -> dict[str, Any]:
    """Return the bill of a project as data. `everything`: the digests of all sessions; `since`: of those that its sums cover. Whoever has a
    plan does not pay by the token: of the cache's lifetime only the share is told."""
    breakdown, hidden = prompt_breakdowns.load_breakdown(popkit_home, project), hidden_tools.hidden(popkit_home, project)
    folders = {digest["cwd"] for digest in everything if os.path.isabs(digest["cwd"])}  # those of another system are not
    inside = {cwd for cwd in folders if is_inside(os.path.realpath(cwd), project)}
    own = [digest for digest in everything if digest["cwd"] in inside]
    lately = [digest for digest in own if digest["ended"] >= since]
    mains = [digest for digest in lately if is_main(digest)]
    newest = max((digest for digest in own if is_main(digest) and digest["used"]), key=lambda one: one["ended"], default=None)
    used = calls_of(everything)
    rows = rows_of(breakdown, newest["hooks"] if newest else 0, hidden, used, text_of) if breakdown.get("categories") else []
    return {
        "project": project, "since": since, "rows": rows, "tokens": sum(row["tokens"] for row in rows),
        "estimated": {name: breakdown.get(name) for name in ("at", "session", "model", "missing", "problem")},
        "first_prompt": newest["standing"] if newest else None,
        "pace": pace(mains, models, max(86_400.0, now - since)), "whole": whole(lately, models),
        "cache_lifetime": cache_lifetime(lately, models, not limit_readings.readings(popkit_home), now - since),
        "proposals": proposals(rows, len(mains)), "drafts": drafts(rows, project),
        "hidden": hidden, "prices_of": models.dated,
    }  # fmt: skip


def text_of(path: str) -> str | None:
    """Return the text of a file; None where it cannot be read."""
    try:
        return files.read_text(path, _FILE_BYTES)
    except OSError:
        return None
