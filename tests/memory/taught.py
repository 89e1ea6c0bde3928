"""A session in a shop's repository, and what memory learns from it."""

from __future__ import annotations

from popkit_retention.core.io.repository import Repository
from popkit_retention.memory import extraction
from tests.hosts.lines import Lines

SHOP = Repository("shop-1", "/shop", "shop")
SECRET = "sk-ant-api03-" + "Ab1" * 20


class Session(Lines):
    """A session in the folder /shop."""

    def add(self, kind: str, parent: str | None = "", **fields) -> str:
        minute, second = divmod(len(self.entries), 60)
        return super().add(kind, parent, **{"timestamp": f"2026-01-05T10:{minute % 60:02d}:{second:02d}.000Z", **fields})

    def read(self, path: str, text: str) -> None:
        id = f"t{len(self.entries)}"
        self.use(id, "Read", {"file_path": path})
        self.result(id, text)

    def edit(self, path: str, new: str) -> None:
        id = f"t{len(self.entries)}"
        self.use(id, "Edit", {"file_path": path, "old_string": "x", "new_string": new})
        self.result(id, "ok")

    def run(self, command: str, output: str = "", error: bool = False, **fields) -> None:
        self.bash(f"t{len(self.entries)}", command, output, error, **fields)


def taught(session: Session, tmp_path, kind: str = "") -> list[str]:
    """The texts that the session teaches, or those of one kind."""
    lesson = extraction.lesson(session.write(tmp_path / "s.jsonl"), SHOP)
    return [each.text for each in lesson.observed if not kind or each.kind == kind]


def observed(session: Session, tmp_path, text: str):
    """What the session teaches with this text."""
    lesson = extraction.lesson(session.write(tmp_path / "s.jsonl"), SHOP)
    return next(each for each in lesson.observed if each.text == text)


def gone(session: Session, tmp_path):
    """What the session has shown to be gone, as (kind, text)."""
    return extraction.lesson(session.write(tmp_path / "s.jsonl"), SHOP).missing
