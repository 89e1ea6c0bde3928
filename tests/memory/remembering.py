"""Memories over stores of every kind, and a clock that stands where a test puts it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from popkit_retention.memory.items import COMMAND, ERROR, NAME, NOTE, PATH, Item
from popkit_retention.memory.lessons import Lesson, Observation, Showing
from popkit_retention.memory.memory import Memory
from popkit_retention.memory.stores.protocol import Store

NOW = 1_800_000_000.0
HOUR, DAY = 3600.0, 86_400.0
PROJECT = "shop-0123456789ab"


@dataclass
class Remembering:
    """A Memory whose time is `now`."""

    store: Store
    project: str = PROJECT
    now: float = NOW
    memory: Memory = field(init=False)

    def __post_init__(self) -> None:
        self.memory = Memory(self.store, self.project, lambda: self.now)

    def after(self, seconds: float) -> Memory:
        """The same memory, later."""
        self.now += seconds
        return self.memory

    def item(self, id: str) -> Item:
        (item,) = self.store.get([id])
        return item

    def keep(self, id: str, at: float | None = None, **fields: Any) -> Item:
        """An item as a store holds it since a time, by default now, whatever rules would have made of it."""
        times = dict.fromkeys(("created_at", "last_accessed", "tier_since"), self.now if at is None else at)
        self.store.add([Item(**{"id": id, "text": "the text of " + id, "project": self.project, "source": "session", **times, **fields})])
        return self.item(id)


def lesson(
    session: str,
    *observed: Observation,
    at: float = NOW,
    unaided: tuple[str, ...] = (),
    project: str = PROJECT,
    shown: tuple[Showing, ...] = (),
) -> Lesson:
    return Lesson(session, project, at - HOUR, at, observed, unaided, lookups=4, lookup_tokens=2_000, shown=shown)


def wrote(text: str, writes: int = 1, at: float = NOW, kind: str = PATH, **details: object) -> Observation:
    return Observation(kind, text, writes, at, details)


KINDS = (PATH, NAME, COMMAND, ERROR, NOTE)
