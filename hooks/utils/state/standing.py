"""What stands in each prompt before the first word, by project, as the client has estimated it; and which tools a project's sessions hide.

Two small files for each project in our folder. The client's breakdown is taken as far as it can be understood: what could not be is listed
in `missing`, and one that tells nothing leaves the one before, with a `problem`.
"""

from __future__ import annotations

from ..io import files
from ..io.codec import dumps, loads
from ..io.storage import Storage
from ..io.system import join, os, parent_of, sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FOLDER = "standing"
STORAGE = (Storage("what stands in prompts", {FOLDER: r"[0-9a-f]{32}\.(breakdown|hidden)\.json"}),)
_MOST = 1_000  # items of a list
_LONGEST = 300  # characters of a name
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


def parsed(breakdown: object) -> dict[str, Any]:
    """Return the client's breakdown as `categories` [{name, tokens, kind}], `memory`, `tools`, `agents`, `skills` [{name, tokens, …}],
    `commands` (tokens), `model`, and `missing`: what of it was absent or not understood. ValueError where it says nothing of the window."""
    if not isinstance(breakdown, dict):
        raise ValueError("it is empty")
    missing: list[str] = []
    found: dict[str, Any] = {"model": _name(breakdown.get("model"))}
    found["categories"] = _items(breakdown, "categories", {"name": "name", "kind": "kind"}, missing)
    if not any(row["kind"] == "used" for row in found["categories"]):
        raise ValueError("it has no categories in use")
    for name, (here, keys) in _LISTS.items():
        found[here] = _items(breakdown, name, keys, missing)
    skills, commands = breakdown.get("skills"), breakdown.get("slashCommands")
    # Both are absent where there are none.
    found["skills"] = [] if skills is None else _items(skills, "skillFrontmatter", {"name": "name", "source": "source"}, missing)
    found["commands"] = _tokens(commands.get("tokens")) if isinstance(commands, dict) else 0
    found["missing"] = missing
    return found


def _items(holder: object, name: str, keys: dict[str, str], missing: list[str]) -> list[dict[str, Any]]:
    listed = holder.get(name) if isinstance(holder, dict) else None
    if not isinstance(listed, list):
        missing.append(name)
        return []
    rows: list[dict[str, Any]] = []
    for item in listed[:_MOST]:
        row = {here: _name(item.get(key)) for key, here in keys.items()} if isinstance(item, dict) else {}
        tokens = _tokens(item.get("tokens")) if row else None
        if tokens is None or not row["name"]:
            missing.append(name)
            continue
        rows.append({**row, "tokens": tokens, **({"loaded": item.get("isLoaded") is True} if name == "mcpTools" else {})})
    if len(listed) > _MOST:
        missing.append(name)
    return rows


def _name(value: object) -> str:
    return value[:_LONGEST] if isinstance(value, str) else ""


def _tokens(value: object) -> int | None:
    return round(value) if type(value) in (int, float) and 0 <= value < _MOST_TOKENS else None  # type: ignore[operator,call-overload]


# --- files -----------------------------------------------------------------------------------------------------------------------------


def keep(popkit_home: str, project: str, session: str, breakdown: object, at: float) -> None:
    """Keep a breakdown that the client gave for a session; one that cannot be understood is noted beside the one before. OSError where it
    cannot be kept."""
    if not project:
        return
    path = _path(popkit_home, project, "breakdown")
    try:
        record = {**parsed(breakdown), "project": project, "session": session, "at": at}
    except ValueError as error:
        record = {**(_read(path) or {"project": project}), "problem": {"why": str(error), "at": at}}
    folder = join(popkit_home, FOLDER)
    files.make_private_folder(folder)
    files.replace_text(path, dumps(record))
    _sweep(folder, at - _KEPT_S)


def _sweep(folder: str, before: float) -> None:
    """Delete breakdowns of projects in which nobody has worked since a time."""
    for name in files.names(folder):
        path = join(folder, name)
        try:
            if name.endswith(".breakdown.json") and os.lstat(path).st_mtime < before:
                os.unlink(path)
        except OSError:  # another session was faster
            continue


def load(popkit_home: str, project: str) -> dict[str, Any]:
    """Return what `keep` has kept; {} where there is nothing, or nothing that can be read."""
    return _read(_path(popkit_home, project, "breakdown"))


def project_of(popkit_home: str, folder: str) -> str:
    """Return the project that a folder belongs to: the nearest one at or above it of which anything is kept, else the folder."""
    here = folder
    while True:
        if load(popkit_home, here) or hidden(popkit_home, here):
            return here
        above = parent_of(here)
        if not above or above == here:
            return folder
        here = above


def hidden(popkit_home: str, project: str) -> dict[str, dict[str, Any]]:
    """Return what sessions of a project hide: name of a tool, or how those of a server begin (it ends in `__`), -> {name, tokens, at}."""
    rows = _read(_path(popkit_home, project, "hidden")).get("hidden")
    return {key: row for key, row in rows.items() if isinstance(row, dict)} if isinstance(rows, dict) else {}


def hide(popkit_home: str, project: str, key: str, row: dict[str, Any] | None) -> None:
    """Hide a tool or the tools of a server, or no longer (None). OSError where that cannot be kept."""
    files.make_private_folder(join(popkit_home, FOLDER))
    path = _path(popkit_home, project, "hidden")
    with files.Lock(path + ".lock"):
        rows = {name: known for name, known in hidden(popkit_home, project).items() if name != key}
        files.replace_text(path, dumps({"project": project, "hidden": {**rows, **({key: row} if row else {})}}))


def server_key(server: str, tool: str) -> str:
    """Return how the names of all tools of an MCP server begin, by its name and one of them; "" where that cannot be told."""
    begins = "mcp__" + "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "_" for char in server) + _SERVER_ENDS
    return begins if tool.startswith(begins) else ""


def is_hidden(tool: str, keys: Mapping[str, Any]) -> bool:
    """Return whether a tool is hidden, itself or with its server; the mod goes by the same rule."""
    return any(tool == key or (key.endswith(_SERVER_ENDS) and tool.startswith(key)) for key in keys)


def _path(popkit_home: str, project: str, what: str) -> str:
    return join(popkit_home, FOLDER, f"{sha256(project.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.{what}.json")


def _read(path: str) -> dict[str, Any]:
    try:
        value = loads(files.read_text(path, _READ_BYTES) or "{}")
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
