"""Domains that tests fill: each keeps what it is given under an id of its own making, with an age, a type and a session."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from popkit_retention.core import archive
from popkit_retention.core.archive import marks
from popkit_retention.core.archive.verification import verify
from popkit_retention.governance.domains import Domain
from popkit_retention.governance.domains.memory import MemoryDomain
from popkit_retention.governance.domains.rag import RagDomain
from popkit_retention.memory.items import COMMAND, NOTE, PATH, Item
from popkit_retention.memory.stores.sqlite import SqliteStore
from tests.governance.stored import KeptDomain, Thing

PROJECT = "/home/dev/shop"
SESSIONS = ("session-1", "session-2")


class Stock(Protocol):
    """What a test does with a domain beside governing it."""

    domain: Domain

    def add(self, number: int, at: float, source_type: str, session: str) -> str:
        """Keeps something since a time; its id."""
        ...

    def touch(self, id: str, at: float) -> None:
        """Asks for it at a time: its age counts from then."""

    def problems(self) -> list[str]:
        """What the store itself says is wrong with it."""
        ...

    def close(self) -> None:
        """Lets go of the store."""


class Kept:
    """The domain in memory."""

    def __init__(self, home: Path, now: Callable[[], float]) -> None:
        self.domain = KeptDomain()

    def add(self, number: int, at: float, source_type: str, session: str) -> str:
        self.domain.things[f"thing{number:04}"] = Thing(b"value = %d\n" % number * 20, at, source_type, session, PROJECT)
        return f"thing{number:04}"

    def touch(self, id: str, at: float) -> None:
        self.domain.things[id].at = at

    def problems(self) -> list[str]:
        return []

    def close(self) -> None:
        pass


class Memory:
    """The long-term memory in its file."""

    _KINDS = {"context": PATH, "action": COMMAND, "thought": NOTE}  # noqa: RUF012

    def __init__(self, home: Path, now: Callable[[], float]) -> None:
        home.mkdir(exist_ok=True)
        self.store = SqliteStore(str(home / "memory.sqlite"))
        self.domain = MemoryDomain({"POPKIT_HOME": str(home)}, now)

    def add(self, number: int, at: float, source_type: str, session: str) -> str:
        kind, id = self._KINDS[source_type], f"m{number:011x}"
        self.store.add([Item(id, f"value = {number}", PROJECT, kind, episode=session, created_at=at, last_accessed=at, tier_since=at)])
        return id

    def touch(self, id: str, at: float) -> None:
        self.store.access([id], at)

    def problems(self) -> list[str]:
        return self.store.verify()

    def close(self) -> None:
        self.domain.close()
        self.store.close()


class Rag:
    """The archive of contents that left contexts."""

    _TYPES = {"context": "read", "action": "run", "thought": "thinking"}  # noqa: RUF012

    def __init__(self, home: Path, now: Callable[[], float]) -> None:
        home.mkdir(exist_ok=True)
        self.db = archive.open_archive(str(home / "archive.sqlite"))
        self.domain = RagDomain({"POPKIT_HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / "claude")}, now)

    def add(self, number: int, at: float, source_type: str, session: str) -> str:
        content = json.dumps(f"value = {number}\n" * 20)
        record = archive.NewRecord(f"toolu_{number:04}", self._TYPES[source_type], f"call {number}", content)
        return archive.add_records(self.db, archive.Chain(session, session, project=PROJECT), [record], now=at)[0]

    def touch(self, id: str, at: float) -> None:
        # As if it had gone and come back: nothing else makes a content young again.
        self.db.execute("INSERT OR REPLACE INTO brought_back VALUES (?, ?)", (id, at))

    def problems(self) -> list[str]:
        return [f"{problem.id} {problem.what}" for problem in verify(self.db).broken] + marks.problems(self.db)

    def close(self) -> None:
        self.domain.close()
        self.db.close()


STOCKS = {"kept": Kept, "memory": Memory, "rag": Rag}
