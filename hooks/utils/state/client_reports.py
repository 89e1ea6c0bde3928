"""Keep what the client reports, in small files of our folder: how full the windows of the plan's limits were over time; the contents of
each prompt before the user's first word, by project, as the client estimates them, with the tools that a project's sessions hide.

The helper writes them; no hook does. A file that cannot be used counts as empty. The parts of the breakdown of
a prompt that are not understood are listed in `missing`; one that says nothing leaves the previous one in place, with a `problem`.
"""

from __future__ import annotations

from ..hosts.claude_code import seconds_of
from ..io import files
from ..io.codec import dumps, loads, number
from ..io.storage import LOGS, Storage
from ..io.system import join, os, parent_of, sha256
from ..policy.limits import KINDS, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

LIMITS_FILE = "limits.json"
MOST_READINGS = 2_000
MOST_BYTES = 512 * 1024
# An unchanged figure is kept again after this long, so that a pause is distinct from missing readings.
EVERY_S = 300.0
_WAIT_S = 1.0
_MOST_PERCENT = 100_000.0
_LATEST = 10.0**11
BREAKDOWNS = "standing"
STORAGE = (
    Storage(LOGS, {"": r"(limits|limit-weights)\.json"}),  # earlier versions kept weights of tokens
    Storage("contents of prompts", {BREAKDOWNS: r"[0-9a-f]{32}\.(breakdown|hidden)\.json"}),
)
_MOST_ITEMS = 1_000  # items of a list
_LONGEST_NAME = 300  # characters of a name
_MOST_TOKENS = 10**8
_KEPT_S = 365 * 86_400
_READ_BYTES = 4 * 1024 * 1024
# List of the breakdown -> (its name here, key of an item -> key here).
_LISTS = {
    "memoryFiles": ("memory", {"path": "name", "type": "source"}),
    "mcpTools": ("tools", {"name": "name", "serverName": "server"}),
    "agents": ("agents", {"agentType": "name", "source": "source"}),
}
_SERVER_ENDS = "__"


# --- the windows of the limits ---


def readings(popkit_home: str) -> list[Reading]:
    """Return the stored readings, oldest first; [] for none, or where the file is corrupt."""
    try:
        value = loads(files.read_text(join(popkit_home, LIMITS_FILE), MOST_BYTES + 1) or "[]")
    except (OSError, ValueError):
        return []
    parsed = [_kept_reading(row) for row in value] if isinstance(value, list) else []
    return [reading for reading in parsed if reading is not None]


def note_limits(popkit_home: str, limits: object, now: float, fresh: bool) -> None:
    """Keep what the client reports: [{`kind`, `percentUsed`, `resetsAt`}]. Anything else is ignored. `fresh`: an answer has just come. An
    idle session repeats the figures of its last answer, so a lower one than another session has seen since is not kept. OSError where the
    file cannot be written."""
    reported = [_reported(limit, now) for limit in limits] if isinstance(limits, list) else []
    new = [reading for reading in reported if reading is not None and reading.holds(now)]
    if not new:
        return
    files.make_private_folder(popkit_home)
    path = join(popkit_home, LIMITS_FILE)
    with files.Lock(path + ".lock", _WAIT_S):
        known = readings(popkit_home)
        newest = {reading.kind: reading for reading in known}
        added = [reading for reading in new if _is_news(reading, newest.get(reading.kind), fresh)]
        if added:
            rows = [[each.kind, each.at, each.percent, each.resets_at] for each in [*known, *added][-MOST_READINGS:]]
            files.replace_text(path, dumps(rows))


def _is_news(reading: Reading, before: Reading | None, fresh: bool) -> bool:
    if before is None:
        return True
    if not reading.is_of(before):
        return fresh or reading.resets_at > before.resets_at or not before.holds(reading.at)
    if reading.percent < before.percent:
        return fresh
    return reading.percent > before.percent or reading.at - before.at >= EVERY_S


def _reported(limit: object, now: float) -> Reading | None:
    if not isinstance(limit, dict):
        return None
    return _reading(limit.get("kind"), now, limit.get("percentUsed"), seconds_of(limit.get("resetsAt")))


def _kept_reading(row: object) -> Reading | None:
    return _reading(*row) if isinstance(row, list) and len(row) == 4 else None


def _reading(kind: Any, at: Any, percent: Any, resets_at: Any) -> Reading | None:
    at, percent, resets_at = number(at, _LATEST), number(percent, _MOST_PERCENT), number(resets_at, _LATEST)
    if kind not in KINDS or at is None or percent is None or resets_at is None:
        return None
    return Reading(kind, at, percent, resets_at)


# --- the breakdown of a prompt ---


def parsed_breakdown(breakdown: object) -> dict[str, Any]:
    """Return the client's breakdown as `categories` [{name, tokens, kind}], `memory`, `tools`, `agents`, `skills` [{name, tokens, …}],
    `commands` (tokens), `model`, and `missing`: what of it was absent or not understood. ValueError where it says nothing of the window."""
    if not isinstance(breakdown, dict):
        raise ValueError("it is empty")
    missing: list[str] = []
    parsed: dict[str, Any] = {"model": _name(breakdown.get("model"))}
    parsed["categories"] = _items(breakdown, "categories", {"name": "name", "kind": "kind"}, missing)
    if not any(row["kind"] == "used" for row in parsed["categories"]):
        raise ValueError("it has no categories in use")
    for name, (here, keys) in _LISTS.items():
        parsed[here] = _items(breakdown, name, keys, missing)
    skills, commands = breakdown.get("skills"), breakdown.get("slashCommands")
    # Both are absent where there are none.
    parsed["skills"] = [] if skills is None else _items(skills, "skillFrontmatter", {"name": "name", "source": "source"}, missing)
    parsed["commands"] = _tokens(commands.get("tokens")) if isinstance(commands, dict) else 0
    parsed["missing"] = missing
    return parsed


def _items(holder: object, name: str, keys: dict[str, str], missing: list[str]) -> list[dict[str, Any]]:
    listed = holder.get(name) if isinstance(holder, dict) else None
    if not isinstance(listed, list):
        missing.append(name)
        return []
    rows: list[dict[str, Any]] = []
    for item in listed[:_MOST_ITEMS]:
        row = {here: _name(item.get(key)) for key, here in keys.items()} if isinstance(item, dict) else {}
        tokens = _tokens(item.get("tokens")) if row else None
        if tokens is None or not row["name"]:
            missing.append(name)
            continue
        rows.append({**row, "tokens": tokens, **({"loaded": item.get("isLoaded") is True} if name == "mcpTools" else {})})
    if len(listed) > _MOST_ITEMS:
        missing.append(name)
    return rows


def _name(value: object) -> str:
    return value[:_LONGEST_NAME] if isinstance(value, str) else ""


def _tokens(value: object) -> int | None:
    tokens = number(value, _MOST_TOKENS)
    return None if tokens is None else round(tokens)


# --- files ---


def keep_breakdown(popkit_home: str, project: str, session: str, breakdown: object, at: float) -> None:
    """Store a breakdown that the client gave for a session; one that cannot be understood is noted beside the previous one. OSError where
    it cannot be kept."""
    if not project:
        return
    path = _path(popkit_home, project, "breakdown")
    try:
        record = {**parsed_breakdown(breakdown), "project": project, "session": session, "at": at}
    except ValueError as error:
        record = {**(files.read_object(path, _READ_BYTES) or {"project": project}), "problem": {"why": str(error), "at": at}}
    folder = join(popkit_home, BREAKDOWNS)
    files.make_private_folder(folder)
    files.replace_text(path, dumps(record))
    _sweep(folder, at - _KEPT_S)


def _sweep(folder: str, before: float) -> None:
    """Delete the breakdowns of projects that have not been used since a time (seconds)."""
    for name in files.names(folder):
        path = join(folder, name)
        try:
            if name.endswith(".breakdown.json") and os.lstat(path).st_mtime < before:
                os.unlink(path)
        except OSError:  # another session was faster
            continue


def load_breakdown(popkit_home: str, project: str) -> dict[str, Any]:
    """Return the breakdown that `keep_breakdown` stored; {} where there is none that can be read."""
    return files.read_object(_path(popkit_home, project, "breakdown"), _READ_BYTES)


def project_of(popkit_home: str, folder: str) -> str:
    """Return the project that a folder belongs to: the nearest one at or above it of which anything is kept, else the folder."""
    here = folder
    while True:
        if load_breakdown(popkit_home, here) or hidden(popkit_home, here):
            return here
        above = parent_of(here)
        if not above or above == here:
            return folder
        here = above


def hidden(popkit_home: str, project: str) -> dict[str, dict[str, Any]]:
    """Return what sessions of a project hide or defer: name of a tool, or how those of a server begin (it ends in `__`), -> {name, tokens,
    at}, with `defer` true where Claude still finds the tool when it looks for one."""
    rows = files.read_object(_path(popkit_home, project, "hidden"), _READ_BYTES).get("hidden")
    return {key: row for key, row in rows.items() if isinstance(row, dict)} if isinstance(rows, dict) else {}


def hide(popkit_home: str, project: str, key: str, row: dict[str, Any] | None) -> None:
    """Hide or defer a tool or the tools of a server, or no longer (None). OSError where that cannot be kept."""
    files.make_private_folder(join(popkit_home, BREAKDOWNS))
    path = _path(popkit_home, project, "hidden")
    with files.Lock(path + ".lock"):
        rows = {name: known for name, known in hidden(popkit_home, project).items() if name != key}
        files.replace_text(path, dumps({"project": project, "hidden": {**rows, **({key: row} if row else {})}}))


def server_key(server: str, tool: str) -> str:
    """Return the beginning of the names of all tools of an MCP server, by its name and one of them; "" where it is unclear."""
    begins = "mcp__" + "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "_" for char in server) + _SERVER_ENDS
    return begins if tool.startswith(begins) else ""


def parted(rows: Mapping[str, dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Return (keys of hidden rows, keys of deferred ones)."""
    return [key for key, row in rows.items() if not row.get("defer")], [key for key, row in rows.items() if row.get("defer")]


def is_among(tool: str, keys: Iterable[str]) -> bool:
    """Return whether a tool is among these, itself or with its server; the mod goes by the same rule."""
    return any(tool == key or (key.endswith(_SERVER_ENDS) and tool.startswith(key)) for key in keys)


def _path(popkit_home: str, project: str, what: str) -> str:
    return join(popkit_home, BREAKDOWNS, f"{sha256(project.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.{what}.json")
