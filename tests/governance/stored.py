"""A small domain in memory, for the laws that hold over every domain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from popkit_retention.core.retention_kit.holds import ITEM, PROJECT, SESSION, Hold
from popkit_retention.core.retention_kit.marks import Mark
from popkit_retention.governance.domains import Content, Description
from popkit_retention.governance.domains.rules import ON_HOLD, PINNED, Resource

NOW = 1_795_390_200.0  # 2026-11-22T23:30:00Z
DAY = 86_400.0


@dataclass
class Thing:
    """Something that the domain keeps."""

    data: bytes = b"data"
    at: float = NOW - 100 * DAY
    source_type: str = "context"
    session: str = "session-1"
    project: str = "shop"
    pinned: bool = False
    placeholders: list[str] = field(default_factory=list)


class KeptDomain:
    """Things in a dictionary, by id."""

    def __init__(self, things: dict[str, Thing] | None = None, name: str = "rag") -> None:
        self.name = name
        self.things = things or {}
        self.marks: dict[str, Mark] = {}
        self.kept_holds: dict[str, Hold] = {}
        self.compacted = 0
        self.refuses: set[str] = set()  # what somebody has just touched
        self.copies: set[str] = set()  # of things, which go with them

    def resources(
        self, now: float, project: str | None = None, ids: Sequence[str] | None = None, without: Collection[str] = ()
    ) -> Iterator[Resource]:
        for id in list(self.things) if ids is None else ids:
            thing = self.things.get(id)
            if thing and project in (None, thing.project) and thing.project not in without:
                vetoes = (ON_HOLD,) * self._is_held(id, now) + (PINNED,) * thing.pinned
                yield Resource(id, thing.at, thing.source_type, (thing.session,), vetoes=vetoes)

    def _is_held(self, id: str, now: float) -> bool:
        thing = self.things[id]
        about = {(ITEM, id), (SESSION, thing.session), (PROJECT, thing.project)}
        return any((hold.scope, hold.target) in about and hold.in_force(now) for hold in self.kept_holds.values())

    def matching_ids(self, word: str, project: str | None = None) -> list[str]:
        return [word] if word in self.things else sorted(id for id in self.things if id.startswith(word))[:5]

    def describe(self, ids: Sequence[str]) -> dict[str, Description]:
        present = {id: self.things[id] for id in ids if id in self.things}
        return {
            id: Description(id, f"Thing {id}", thing.project, thing.session, len(thing.data), "It is kept.")
            for id, thing in present.items()
        }

    def placeholders(self, ids: Sequence[str]) -> dict[str, list[str]]:
        return {id: self.things[id].placeholders for id in ids if id in self.things and self.things[id].placeholders}

    def holds(self) -> list[Hold]:
        return list(self.kept_holds.values())

    def add_hold(self, hold: Hold) -> None:
        self.kept_holds.setdefault(hold.id, hold)

    def release_hold(self, id: str, at: float) -> bool:
        hold = self.kept_holds[id]
        self.kept_holds[id] = hold.released(at)
        return hold.in_force(at)

    def marked(self) -> dict[str, Mark]:
        return dict(self.marks)

    def mark(self, ids: Sequence[str], at: float, by: str) -> list[str]:
        new = [id for id in ids if id in self.things and id not in self.marks and not self._is_held(id, at)]
        self.marks.update({id: Mark(id, at, by) for id in new})
        return new

    def unmark(self, ids: Sequence[str]) -> list[str]:
        return [id for id in ids if self.marks.pop(id, None)]

    def delete(self, ids: Sequence[str], now: float) -> list[str]:
        present = [id for id in ids if id in self.marks and id in self.things and id not in self.refuses]
        gone = [id for id in present if not self._is_held(id, now) and not self.things[id].pinned]
        for id in gone:
            del self.things[id], self.marks[id]
        self.copies -= {id for id in ids if id not in self.things}
        return gone

    def contents(self, ids: Sequence[str]) -> Iterator[Content]:
        for id in ids:
            if id in self.things:
                thing = self.things[id]
                yield Content(id, thing.data, {"session": thing.session, "project": thing.project, "source_type": thing.source_type})

    def put_back(self, contents: Iterable[Content], now: float) -> list[str]:
        back = []
        for content in contents:
            if content.id not in self.things:
                self.things[content.id] = Thing(content.data, now, **content.about)
                back.append(content.id)
        return back

    def compact(self) -> bool:
        self.compacted += 1
        return True

    def close(self) -> None:
        pass
