"""Store the tools that the sessions of a project hide or defer.

The file lies beside the breakdown of the project's prompts. One that cannot be used counts as empty.
"""

from __future__ import annotations

from ..io import files
from ..io.codec import as_object, dumps, number, text_in_field, whole
from ..io.system import join, parent_of
from .journal import LATEST
from .prompt_breakdowns import BREAKDOWNS, READ_BYTES, load_breakdown, path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypedDict

    class HiddenTool(TypedDict, total=False):
        """A tool or server that is hidden since `at` (seconds), or deferred: Claude finds it when it looks for a tool."""

        name: str
        tokens: int
        at: float
        defer: bool


_SERVER_ENDS = "__"


def project_of(popkit_home: str, folder: str) -> str:
    """Return the project that a folder belongs to: the nearest one at or above it of which anything is kept, else the folder."""
    here = folder
    while here:
        if load_breakdown(popkit_home, here) or hidden(popkit_home, here):
            return here
        here = parent_of(here)
    return folder


def hidden(popkit_home: str, project: str) -> dict[str, HiddenTool]:
    """Return what sessions of a project hide or defer, by the name of the tool, or how those of a server begin (it ends in `__`)."""
    rows = as_object(files.read_object(path_of(popkit_home, project, "hidden"), READ_BYTES).get("hidden"))
    return {key: _tool(key, row) for key, row in rows.items() if isinstance(row, dict)}


def _tool(key: str, row: dict[str, Any]) -> HiddenTool:
    tokens, at = whole(row.get("tokens"), LATEST) or 0, number(row.get("at"), LATEST) or 0.0
    tool: HiddenTool = {"name": text_in_field(row, "name") or key, "tokens": tokens, "at": at}
    return {**tool, "defer": True} if row.get("defer") else tool


def hide(popkit_home: str, project: str, key: str, row: HiddenTool | None) -> None:
    """Hide or defer a tool or the tools of a server, or no longer (None). OSError where that cannot be kept."""
    files.make_private_folder(join(popkit_home, BREAKDOWNS))
    path = path_of(popkit_home, project, "hidden")
    with files.lock_of(path):
        rows = {name: known for name, known in hidden(popkit_home, project).items() if name != key}
        files.replace_text(path, dumps({"project": project, "hidden": {**rows, **({key: row} if row else {})}}))


def server_key(server: str, tool: str) -> str:
    """Return the beginning of the names of all tools of an MCP server, by its name and one of them; "" where it is unclear."""
    begins = "mcp__" + "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "_" for char in server) + _SERVER_ENDS
    return begins if tool.startswith(begins) else ""


def parted(rows: Mapping[str, HiddenTool]) -> tuple[list[str], list[str]]:
    """Return (keys of hidden rows, keys of deferred ones)."""
    return [key for key, row in rows.items() if not row.get("defer")], [key for key, row in rows.items() if row.get("defer")]


def is_among(tool: str, keys: Iterable[str]) -> bool:
    """Return whether a tool is among these, itself or with its server; the mod goes by the same rule."""
    return any(tool == key or (key.endswith(_SERVER_ENDS) and tool.startswith(key)) for key in keys)
