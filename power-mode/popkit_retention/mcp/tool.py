"""The row of a tool, as features list them in TOOLS."""

from __future__ import annotations

from typing import Any, NamedTuple

from popkit_retention.core.operation_tables import DESTROYS, READS

from .schema_words import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .call import ToolCall
    from .revisions import Dialect
    from .schema_words import Schema

ALL = "all"
_PROJECT = words("here", ALL, about="all: every project, not only this one")


class Tool(NamedTuple):
    """A tool. `does`: its function · `effect`: that of its operation · `again`: repeating a call has no further effect · `wide`: it can
    cover all projects, where the user allows that."""

    name: str
    does: Callable[[ToolCall], dict[str, object]]
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
