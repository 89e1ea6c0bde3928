"""Store the client's estimate of what a project's prompts hold before the user's first word.

The helper writes the files; no hook does. One that cannot be used counts as empty. What of a breakdown is not understood is listed in
`missing`; one that says nothing leaves the previous one in place, with a `problem`.
"""

from __future__ import annotations

from ..io import files
from ..io.codec import as_list, as_object, as_objects, as_text, dumps, number
from ..io.storage import Storage
from ..io.system import join, os, sha256
from ..policy.composition import ADDED, CALLED, OTHER, RESULT, SAID, WROTE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BREAKDOWNS = "standing"
STORAGE = (Storage("contents of prompts", {BREAKDOWNS: r"[0-9a-f]{32}\.(breakdown|hidden)\.json"}),)
_MOST_ITEMS = 1_000  # items of a list
_LONGEST_NAME = 300  # characters of a name
_MOST_TOKENS = 10**8
_KEPT_S = 365 * 86_400
READ_BYTES = 4 * 1024 * 1024
# List of the breakdown -> (its name here, key of an item -> key here).
_LISTS = {
    "memoryFiles": ("memory", {"path": "name", "type": "source"}),
    "mcpTools": ("tools", {"name": "name", "serverName": "server"}),
    "agents": ("agents", {"agentType": "name", "source": "source"}),
}
# Key of the breakdown of messages -> what that is in a conversation.
_SUMS = {
    "toolCallTokens": CALLED, "attachmentTokens": ADDED, "assistantMessageTokens": WROTE, "userMessageTokens": SAID,
    "unattributedTokens": OTHER,
}  # fmt: skip
# Attachments that the client counts in another category.
_NO_MESSAGES = ("prompt_snapshot", "skill_listing")


def parsed_breakdown(breakdown: object) -> dict[str, Any]:
    """Return the client's breakdown as `categories` [{name, tokens, kind}], `memory`, `tools`, `agents`, `skills` [{name, tokens, …}],
    `commands` (tokens), `messages` {kind of policy/composition.py: tokens}, {} where the client does not itemise them, `model`, and
    `missing`: what of it was absent or not understood. ValueError where it says nothing of the window."""
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
    parsed["messages"] = _messages(breakdown.get("messageBreakdown"))
    parsed["missing"] = missing
    return parsed


def _messages(told: object) -> dict[str, int]:
    if not isinstance(told, dict):
        return {}
    sums = {kind: _tokens(told.get(key)) or 0 for key, kind in _SUMS.items()}
    sums[ADDED] += _tokens(told.get("redirectedContextTokens")) or 0
    for name, tokens in _named(told.get("attachmentsByType"), "tokens"):
        sums[ADDED] -= tokens if name in _NO_MESSAGES else 0
    for name, tokens in _named(told.get("toolCallsByType"), "resultTokens"):
        sums[RESULT + name] = tokens
    return {kind: tokens for kind, tokens in sums.items() if tokens > 0}


def _named(listed: object, key: str) -> list[tuple[str, int]]:
    return [(_name(item.get("name")), _tokens(item.get(key)) or 0) for item in as_objects(as_list(listed)[:_MOST_ITEMS])]


def _items(holder: object, name: str, keys: dict[str, str], missing: list[str]) -> list[dict[str, Any]]:
    listed = as_object(holder).get(name)
    if not isinstance(listed, list):
        missing.append(name)
        return []
    rows: list[dict[str, Any]] = []
    for item in listed[:_MOST_ITEMS]:
        item = as_object(item)
        row = {here: _name(item.get(key)) for key, here in keys.items()}
        tokens = _tokens(item.get("tokens"))
        if tokens is None or not row["name"]:
            missing.append(name)
            continue
        rows.append({**row, "tokens": tokens, **({"loaded": item.get("isLoaded") is True} if name == "mcpTools" else {})})
    if len(listed) > _MOST_ITEMS:
        missing.append(name)
    return rows


def _name(value: object) -> str:
    return as_text(value)[:_LONGEST_NAME]


def _tokens(value: object) -> int | None:
    tokens = number(value, _MOST_TOKENS)
    return None if tokens is None else round(tokens)


def keep_breakdown(popkit_home: str, project: str, session: str, breakdown: object, at: float) -> None:
    """Store a breakdown that the client gave for a session; one that cannot be understood is noted beside the previous one. OSError where
    it cannot be kept."""
    if not project:
        return
    path = path_of(popkit_home, project, "breakdown")
    try:
        record = {**parsed_breakdown(breakdown), "project": project, "session": session, "at": at}
    except ValueError as error:
        record = {**(files.read_object(path, READ_BYTES) or {"project": project}), "problem": {"why": str(error), "at": at}}
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
        except OSError:
            pass  # another session was faster


def load_breakdown(popkit_home: str, project: str) -> dict[str, Any]:
    """Return the breakdown that `keep_breakdown` stored; {} where there is none that can be read."""
    return files.read_object(path_of(popkit_home, project, "breakdown"), READ_BYTES)


def counted_messages(breakdown: dict[str, Any], session: str, since: float) -> dict[str, int]:
    """Return the `messages` of a breakdown if it is of this session, and of `since` (seconds) or later; else {}."""
    is_of_session = breakdown.get("session") == session and (breakdown.get("at") or 0.0) >= since
    return (breakdown.get("messages") or {}) if is_of_session else {}


def path_of(popkit_home: str, project: str, suffix: str) -> str:
    return join(popkit_home, BREAKDOWNS, f"{sha256(project.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.{suffix}.json")
