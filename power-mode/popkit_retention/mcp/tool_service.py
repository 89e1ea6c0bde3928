"""The service that runs the tools of all features. It checks the arguments; its errors say what to do, its answers are data and text."""

from __future__ import annotations

import json
import os
import sqlite3
from importlib import import_module
from typing import Any

from .. import features
from .call import ToolCall, ToolError
from .schema_check import wrong
from .server import Cancelled
from .tool import ALL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .revisions import Dialect
    from .server import Progress
    from .tool import Tool

HOOK = "mcp"  # in the log of failures
INSTRUCTIONS = "What was cleared from this conversation is kept: find it with context_search, read it with context_restore."


def table() -> dict[str, Tool]:
    """Return the tools of all features that are there, by name."""
    return {tool.name: tool for module in _modules() for tool in module.TOOLS}


def _modules() -> list[Any]:
    return [import_module(feature.tools) for feature in features.whole() if feature.tools]


class Tools:
    """The tools for one client. The project is that of CLAUDE_PROJECT_DIR, else of the working folder."""

    instructions = INSTRUCTIONS

    def __init__(self, environ: Mapping[str, str], folder: str = "") -> None:
        self._environ = environ
        self._folder = folder or environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
        self._table = table()

    def listed(self, dialect: Dialect) -> list[dict[str, object]]:
        allowed = ToolCall(self._environ, self._folder).all_projects
        return [tool.listed(dialect, allowed) for tool in self._table.values()]

    def knows(self, name: str) -> bool:
        return name in self._table

    def call(self, name: str, arguments: dict[str, object], dialect: Dialect, progress: Progress) -> dict[str, object]:
        """Return the result of a call. An error is a result, too, with a message for the model; only Cancelled is raised."""
        try:
            data = self._answer(self._table[name], arguments, progress)
            text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except Cancelled:
            raise
        except Exception as error:  # noqa: BLE001  a fault of ours must not end the server: it is logged, and the model gets a message
            return _failed(self._message(name, error))
        result: dict[str, object] = {"content": [{"type": "text", "text": text}]}
        if dialect.structured:
            result["structuredContent"] = data
        return result

    def _answer(self, tool: Tool, arguments: dict[str, object], progress: Progress) -> dict[str, object]:
        accepted = dict(arguments)
        wide = tool.wide and accepted.pop("project", "here") == ALL
        mistake = wrong(tool.takes, accepted if tool.wide else arguments)
        if mistake:
            raise ToolError(mistake)
        call = ToolCall(self._environ, self._folder, accepted, progress, wide)
        if wide and not call.all_projects:
            raise ToolError(
                'arguments.project: the user has not allowed other projects. Omit it; {"mcp": {"all_projects": true}} in the user\'s '
                "own retention-config.json would allow it"
            )
        return tool.does(call)

    def _message(self, name: str, error: Exception) -> str:
        message = _advice(error)
        if message:
            return message
        from popkit_retention.core.io import hook_log

        hook_log.log_failure(self._environ, HOOK, error)
        return f"{name} failed inside PopKit ({type(error).__name__}). Nothing more can be done here; `popkit doctor` tells the user more."


def _advice(error: Exception) -> str:
    """Return the message for an error that the caller or the user can fix; "" for a fault of ours."""
    from popkit_retention.core.io.files import LockTimeout
    from popkit_retention.core.io.home import NoHome
    from popkit_retention.core.io.sqlite_file import StoreError
    from popkit_retention.core.reclaim import access, restoring

    for module in _modules():
        advice = getattr(module, "advice", None)  # of a feature whose tools have errors of their own
        if advice is not None and (message := advice(error)):
            return str(message)
    if isinstance(error, (ToolError, NoHome, LockTimeout, access.ClearRefused, restoring.ContentNotFound, StoreError)):
        return str(error)
    if isinstance(error, sqlite3.Error):
        return f"the store cannot be used now: {error}. Try again; `popkit doctor` tells the user more"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
    return ""


def _failed(message: str) -> dict[str, object]:
    return {"content": [{"type": "text", "text": message}], "isError": True}
