"""A memory whose store a domain of governance rules."""

from __future__ import annotations

from pathlib import Path

from popkit_retention.core.retention_kit.holds import Hold
from popkit_retention.governance.domains.memory import MemoryDomain
from popkit_retention.governance.domains.rules import Resource
from popkit_retention.memory.items import Item
from tests.memory.remembering import DAY, NOW, Remembering

OLD = NOW - 60 * DAY


class Governed(Remembering):
    """A memory, and the domain over its store."""

    def of(self, home: Path) -> Governed:
        self.home = home
        self.domain = MemoryDomain({"POPKIT_HOME": str(home)}, lambda: self.now, self.store)
        return self

    def old(self, id: str, **fields: object) -> Item:
        return self.keep(id, OLD, **fields)

    def resource(self, id: str) -> Resource:
        (only,) = self.domain.resources(self.now, ids=[id])
        return only


def hold(scope: str, target: str, id: str = "h1", until: float | None = None) -> Hold:
    return Hold(id, scope, target, "alice", "audit", NOW, until)
