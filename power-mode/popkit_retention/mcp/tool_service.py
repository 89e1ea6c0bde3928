"""Serve tools from one table: arguments are checked, errors say what to do, answers are data and text."""

from __future__ import annotations

import json
import os
import sqlite3
from typing import Any, NamedTuple

from hooks.utils.operation_tables import DESTROYS, READS

from ..governance import operations as retention
from ..memory import operations as memory
from . import schemas
from .call import ToolCall, ToolError
from .schema_check import wrong
from .schema_words import words
from .server import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .revisions import Dialect
    from .schema_words import Schema
    from .server import Progress

HOOK = "mcp"  # in the log of failures
INSTRUCTIONS = "What was cleared from this conversation is kept: find it with context_search, read it with context_restore."
_ALL = "all"
_PROJECT = words("here", _ALL, about="all: every project, not only this one")


class Tool(NamedTuple):
    """One tool, which is the function of its name in `tool_answers.py`. `effect`: that of its operation · `again`: repeating a call has no
    further effect · `wide`: it can cover all projects, where the user allows that."""

    name: str
    title: str
    about: str
    takes: Schema
    gives: Schema
    effect: str = READS
    again: bool = True
    wide: bool = False

    def listed(self, dialect: Dialect, all_projects: bool) -> dict[str, Any]:
        """Return the tool as tools/list has it."""
        takes = self.takes
        if self.wide and all_projects:
            takes = {**takes, "properties": {**takes["properties"], "project": _PROJECT}}
        entry = {"name": self.name, "description": self.about, "inputSchema": takes}
        if dialect.structured:
            entry |= {"title": self.title, "outputSchema": self.gives}
        if dialect.annotations:
            reads, destroys = self.effect == READS, self.effect == DESTROYS
            hints = {"readOnlyHint": reads, "destructiveHint": destroys, "idempotentHint": self.again, "openWorldHint": False}
            entry["annotations"] = {"title": self.title, **hints}
        return entry


TABLE = {
    tool.name: tool
    for tool in (
        Tool(
            "context_search", "Search what left the context",
            "Finds tool results that were cleared from the context, of this and earlier sessions of the project, by words in them.",
            schemas.SEARCH, schemas.SEARCHED, wide=True,
        ),
        Tool(
            "context_restore", "Read what left the context",
            "Returns the content of a cleared tool result by its handle, in pages.",
            schemas.RESTORE, schemas.RESTORED, wide=True,
        ),
        Tool(
            "context_status", "Context status",
            "Shows how full the context is, what is dead in it, and what a clear removes.",
            schemas.NOTHING, schemas.CONTEXT,
        ),
        Tool(
            "memory_search", "Search memory",
            "Finds what past sessions of the project have taught: files, commands, errors with fixes, notes.",
            schemas.RECALL, schemas.RECALLED, wide=True,
        ),
        Tool(
            "memory_add", "Add to memory",
            "Keeps a note for future sessions of the project, once the user accepts it. Secrets are masked. Memory must be on.",
            schemas.NOTE, schemas.NOTED, memory.MEMORY_ADD.effect, again=False,
        ),
        Tool(
            "memory_forget", "Forget",
            "Marks memories of the project for deletion after 24 hours; the user can undo it until then.",
            schemas.FORGET, schemas.FORGOTTEN, memory.MEMORY_FORGET.effect,
        ),
        Tool(
            "memory_status", "Memory status",
            "Shows what is remembered, and whether memory is on.",
            schemas.NOTHING, schemas.MEMORY,
        ),
        Tool(
            "retention_get", "Get retention policy",
            "Returns the retention policy of memory (long-term memory) or rag (the archive of cleared results).",
            schemas.DOMAIN_ONLY, schemas.POLICY,
        ),
        Tool(
            "retention_configure", "Set retention policy",
            "Changes the given keys of a retention policy. A change that keeps more applies at once; others wait for the user's"
                " approval. Values out of bounds are clamped: see adjusted.",
            schemas.CONFIGURE, schemas.CONFIGURED, retention.RETENTION_SET.effect,
        ),
        Tool(
            "retention_apply", "Apply retention policy",
            "Says which resources may be deleted (eligible) or not (protected), and why. Deletes nothing. Without"
                " resources: those stored for the project.",
            schemas.APPLY, schemas.APPLIED, wide=True,
        ),
        Tool(
            "retention_archive", "Archive resources",
            "Copies stored resources into an archive with checksums. Without resources: the eligible ones. Deletes nothing.",
            schemas.ARCHIVE, schemas.ARCHIVED, retention.RETENTION_ARCHIVE.effect, again=False, wide=True,
        ),
        Tool(
            "retention_policies", "Get both policies",
            "Deprecated: use retention_get. Returns both retention policies.",
            schemas.NOTHING, schemas.POLICIES,
        ),
    )
}  # fmt: skip


class Tools:
    """The tools for one client. The project is that of CLAUDE_PROJECT_DIR, else of the working folder."""

    instructions = INSTRUCTIONS

    def __init__(self, environ: Mapping[str, str], folder: str = "") -> None:
        self._environ = environ
        self._folder = folder or environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()

    def listed(self, dialect: Dialect) -> list[dict[str, Any]]:
        allowed = ToolCall(self._environ, self._folder).all_projects
        return [tool.listed(dialect, allowed) for tool in TABLE.values()]

    def knows(self, name: str) -> bool:
        return name in TABLE

    def call(self, name: str, arguments: dict[str, Any], dialect: Dialect, progress: Progress) -> dict[str, Any]:
        """Return the result of a call. An error is a result, too, with a message for the model; only Cancelled is raised."""
        try:
            data = self._answer(TABLE[name], arguments, progress)
            text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except Cancelled:
            raise
        except Exception as error:  # noqa: BLE001  a fault of ours must not end the server: it is logged, and the model gets a message
            return _failed(self._message(name, error))
        result: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
        if dialect.structured:
            result["structuredContent"] = data
        return result

    def _answer(self, tool: Tool, arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
        accepted = dict(arguments)
        wide = tool.wide and accepted.pop("project", "here") == _ALL
        mistake = wrong(tool.takes, accepted if tool.wide else arguments)
        if mistake:
            raise ToolError(mistake)
        call = ToolCall(self._environ, self._folder, accepted, progress, wide)
        if wide and not call.all_projects:
            raise ToolError(
                'arguments.project: the user has not allowed other projects. Omit it; {"mcp": {"all_projects": true}} in the user\'s '
                "own retention-config.json would allow it"
            )
        from . import tool_answers

        answer: dict[str, Any] = getattr(tool_answers, tool.name)(call)
        return answer

    def _message(self, name: str, error: Exception) -> str:
        message = _advice(error)
        if message:
            return message
        from hooks.utils.io import hook_log

        hook_log.log_failure(self._environ, HOOK, error)
        return f"{name} failed inside PopKit ({type(error).__name__}). Nothing more can be done here; `popkit doctor` tells the user more."


def _advice(error: Exception) -> str:
    """Return the message for an error that the caller or the user can fix; "" for a fault of ours."""
    from hooks.utils.io.files import LockTimeout
    from hooks.utils.io.home import NoHome
    from hooks.utils.io.sqlite_file import StoreError
    from hooks.utils.reclaim import access, restoring

    from ..governance import GovernanceError
    from ..memory.holds import OnHold
    from ..memory.items import BadItem
    from ..memory.memory import Busy, NotThere
    from ..memory.stores.protocol import DuplicateId, StoreUnavailable

    if isinstance(error, DuplicateId):
        return f"{error}: nothing was added"
    if isinstance(error, OnHold):
        return f"{error.what}. Nothing was changed. Only the user decides whether to release it: tell them, and leave it alone"
    if isinstance(error, (ToolError, GovernanceError, BadItem, NotThere, Busy, StoreUnavailable, NoHome, LockTimeout)):
        return str(error)
    if isinstance(error, (access.Refused, restoring.NotFound, StoreError)):
        return str(error)
    if isinstance(error, sqlite3.Error):
        return f"the store cannot be used now: {error}. Try again; `popkit doctor` tells the user more"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
    return ""


def _failed(message: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": message}], "isError": True}
