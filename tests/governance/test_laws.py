"""Governance agrees with a naive model, in whatever order its operations come."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from popkit_retention.core.retention_kit.holds import ITEM, SESSION, Hold
from tests.examples import examples
from tests.governance.collectors import Workspace
from tests.governance.stocks import SESSIONS, STOCKS
from tests.governance.stored import DAY, NOW

TYPES = ("context", "action", "thought")


class Model:
    """What should be there: id -> when it came to be, its type, its session; marks; holds; what was deleted, how often."""

    def __init__(self) -> None:
        self.days, self.types, self.limit = 30, TYPES, 5000
        self.things: dict[str, tuple[float, str, str]] = {}
        self.marks: dict[str, float] = {}
        self.holds: list[Hold] = []
        self.deleted: Counter[str] = Counter()
        self.archives: dict[str, dict[str, tuple[str, str]]] = {}

    def lets_go(self, id: str, now: float) -> bool:
        at, source_type, session = self.things[id]
        held = any(hold.target in (id, session) and hold.in_force(now) for hold in self.holds)
        return not held and at <= now - self.days * DAY and source_type in self.types

    def collect(self, now: float) -> None:
        taken = 0
        for id, (at, *_) in sorted(self.things.items(), key=lambda each: (each[1][0], each[0])):
            if not self.lets_go(id, now) or at > self.marks.get(id, at):
                self.marks.pop(id, None)
            if not self.lets_go(id, now) or now - self.marks.get(id, 0.0) < DAY or taken == self.limit:
                continue
            taken += 1
            if id not in self.marks:
                self.marks[id] = now
            else:
                del self.things[id], self.marks[id]
                self.deleted[id] += 1

    def restore(self, archive_id: str, now: float) -> list[str]:
        missing = [id for id in self.archives[archive_id] if id not in self.things]
        self.things.update({id: (now, *self.archives[archive_id][id]) for id in missing})
        return missing


class Governing(RuleBasedStateMachine):
    """A domain and the model of it."""

    kind = "kept"

    @initialize()
    def begin(self) -> None:
        self.now, self.added = NOW, 0
        self.home = Path(tempfile.mkdtemp())
        self.stock = STOCKS[self.kind](self.home, lambda: self.now)
        self.workspace, self.model = Workspace(self.home, self.stock.domain), Model()
        self.contents: dict[str, bytes] = {}

    def teardown(self) -> None:
        if hasattr(self, "workspace"):
            assert self.workspace.log.verify() == []
            assert self.stock.problems() == []
            self.workspace.log.close()
            self.stock.close()
            shutil.rmtree(self.home)

    @rule(days=st.integers(0, 60), source_type=st.sampled_from(TYPES), session=st.sampled_from(SESSIONS), count=st.integers(1, 4))
    def add(self, days: int, source_type: str, session: str, count: int) -> None:
        for _ in range(count):
            self.added += 1
            id = self.stock.add(self.added, self.now - days * DAY, source_type, session)
            self.model.things[id] = (self.now - days * DAY, source_type, session)

    @rule(data=st.data())
    def touch(self, data: st.DataObject) -> None:
        if self.model.things:
            id = data.draw(st.sampled_from(sorted(self.model.things)))
            self.stock.touch(id, self.now)
            self.model.things[id] = (self.now, *self.model.things[id][1:])

    @rule(days=st.integers(1, 50), types=st.sets(st.sampled_from(TYPES), min_size=1), limit=st.integers(1, 9))
    def configure(self, days: int, types: set[str], limit: int) -> None:
        self.workspace.configure(older_than_days=days, source_types=tuple(types), limit=limit)
        self.model.days, self.model.types, self.model.limit = days, tuple(types), limit

    @rule(data=st.data(), hours=st.none() | st.integers(1, 60))
    def hold(self, data: st.DataObject, hours: int | None) -> None:
        target = data.draw(st.sampled_from([*SESSIONS, *sorted(self.model.things)]))
        scope = SESSION if target in SESSIONS else ITEM
        until = None if hours is None else self.now + hours * 3600
        hold = Hold(f"h{len(self.stock.domain.holds())}", scope, target, "Ada", "the audit", self.now, until)
        self.stock.domain.add_hold(hold)
        self.model.holds.append(hold)

    @rule()
    def release_all(self) -> None:
        for hold in self.model.holds:
            if hold.in_force(self.now):
                assert self.stock.domain.release_hold(hold.id, self.now)
        self.model.holds.clear()

    @rule()
    def collect(self) -> None:
        before = self.stock.domain.marked()
        done = self.workspace.gc(self.now)
        for each in done.deletes:
            assert before[each.id].at <= self.now - DAY, "marked for a day"
            assert self.model.lets_go(each.id, self.now), "no hold, no other policy, not too young"
        self.model.collect(self.now)

    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        chosen = data.draw(st.lists(st.sampled_from(sorted(self.model.marks)), unique=True)) if self.model.marks else []
        undone = self.workspace.undo(*chosen, now=self.now)
        assert sorted(undone) == sorted(chosen or self.model.marks)
        for id in undone:
            del self.model.marks[id]
            assert id in self.model.things

    @rule(data=st.data())
    def archive(self, data: st.DataObject) -> None:
        if self.model.things:
            chosen = data.draw(st.lists(st.sampled_from(sorted(self.model.things)), unique=True, min_size=1))
            manifest = self.workspace.archive(*chosen, now=self.now)
            self.model.archives[manifest.archive_id] = {id: self.model.things[id][1:] for id in chosen}
            self.contents.update({content.id: content.data for content in self.stock.domain.contents(chosen)})

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        if self.model.archives:
            archive_id = data.draw(st.sampled_from(sorted(self.model.archives)))
            before = {content.id: content.data for content in self.stock.domain.contents(list(self.model.things))}
            done = self.workspace.restore(archive_id, self.now)
            assert sorted(done.restored) == sorted(self.model.restore(archive_id, self.now))
            after = {content.id: content.data for content in self.stock.domain.contents(list(self.model.things))}
            assert after == {**{id: self.contents[id] for id in done.restored}, **before}, "byte for byte"

    @rule(hours=st.integers(1, 60))
    def wait(self, hours: int) -> None:
        self.now += hours * 3600

    @invariant()
    def it_is_as_the_model_says(self) -> None:
        if not hasattr(self, "workspace"):
            return
        assert {resource.id: resource.created_at for resource in self.stock.domain.resources(self.now)} == {
            id: at for id, (at, *_) in self.model.things.items()
        }
        assert {id: mark.at for id, mark in self.stock.domain.marked().items()} == self.model.marks
        assert Counter(id for ids in self.workspace.logged("deleted") for id in ids) == self.model.deleted, "every deletion is logged once"
        assert self.workspace.verify() == []
        assert self.workspace.log.unfinished() == []


@pytest.mark.parametrize("kind", STOCKS)
def test_governing_does_what_the_model_does(kind: str):
    machine = type(f"Governing{kind.title()}", (Governing,), {"kind": kind})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples(8, 300), stateful_step_count=examples(25, 50), deadline=None)
    )
