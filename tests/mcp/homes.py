"""A home with an archive and memories of two projects, in one of which the tools are called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from popkit_retention.core import archive
from popkit_retention.core.state import memory as kept
from popkit_retention.mcp.revisions import dialect
from popkit_retention.mcp.tool_service import Tools
from popkit_retention.memory.memory import Memory
from popkit_retention.memory.place import Place as MemoryPlace

from .talking import environ_of

AT = 1_790_000_000.0
DIALECT = dialect("2025-11-25")


def silent(done: float, total: float | None = None) -> None:
    """Nobody wants to know."""


class Place:
    """The tools in the folder `shop`; `other` is another project."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.shop, self.other = folder, folder / "shop", folder / "other"
        for project in (self.shop, self.other):
            project.mkdir()
        self.environ = {**environ_of(folder), "POPKIT_CLOCK": repr(AT)}
        self.home = Path(self.environ["POPKIT_HOME"])
        self.home.mkdir(mode=0o700)
        self.tools = Tools(self.environ, str(self.shop))

    def __call__(self, name: str, **arguments: object) -> dict[str, Any]:
        """What a tool answers; its text is the same as its data."""
        answer = self.tools.call(name, arguments, DIALECT, silent)
        assert not answer.get("isError"), answer
        assert json.loads(answer["content"][0]["text"]) == answer["structuredContent"]
        return answer["structuredContent"]

    def mistake(self, name: str, **arguments: object) -> str:
        """What a tool says of a mistake."""
        answer = self.tools.call(name, arguments, DIALECT, silent)
        assert answer["isError"], answer
        assert "structuredContent" not in answer
        return answer["content"][0]["text"]

    def allow_all_projects(self) -> None:
        (self.home / "retention-config.json").write_text('{"retention": {"mcp": {"all_projects": true}}}')

    def clear_from(self, project: Path, label: str, content: str, session: str = "", at: float = AT) -> str:
        """Something left a context of a project; its handle."""
        session = session or "session-of-" + project.name
        db = archive.open_archive(str(self.home / "archive.sqlite"))
        record = archive.NewRecord("toolu_" + label, "read", label, json.dumps(content), subjects=[str(project / "file")], tokens=9)
        (handle,) = archive.add_records(db, archive.Chain(session, session, project=str(project)), [record], now=at)
        db.close()
        return handle

    def turn_memory_on(self, project: Path) -> None:
        kept.project_of(str(self.home), str(project)).turn_on(AT)

    def remember(self, project: Path, text: str) -> str:
        """The id of a new memory of a project."""
        memory = Memory.of(self.environ, str(project))
        item = memory.add(text)
        memory.close()
        return item.id

    def accept(self, project: Path, id: str) -> None:
        """The user says yes to what an agent has added."""
        with MemoryPlace(self.environ, str(project)) as opened:
            opened.memory.accept([id])
            opened.refresh()

    def document(self, project: Path) -> str:
        """The MEMORY.md that sessions are given."""
        return kept.project_of(str(self.home), str(project)).document()

    def marked(self, project: Path) -> dict[str, str]:
        """id -> who marked it."""
        memory = Memory.of(self.environ, str(project))
        marks = {item.id: item.marked_by for item in memory.list(marked=True, most=None)}
        memory.close()
        return marks
