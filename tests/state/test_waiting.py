"""Transcripts are read while nobody is kept waiting, and what happens meanwhile is not written over."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from hooks.utils.policy.context import shared_facts
from hooks.utils.state import live, reconciling
from tests.hooks import payloads, processes, sessions


class Meanwhile(live.Site):
    """A site where something happens while a transcript is read: the rules are asked for in the middle of it."""

    __slots__ = ("happens",)

    def rules_for(self, profile: object):
        happens, self.happens = self.happens, None
        if happens is not None:
            happens()
        return super().rules_for(profile)


class Session:
    """A session of a few calls whose transcript is complete, and a site to reconcile it from."""

    def __init__(self, folder: Path):
        self.home = processes.Home(folder)
        self.day = sessions.Day(folder, random.Random(4))
        self.day.begin()
        for _ in range(4):
            self.day.call(*self.day.reading())
        self.day.run_tests()
        sessions.play(self.day.steps, self._run)
        self.site = Meanwhile(self.home.env(POPKIT_CLOCK=repr(self.day.now + 60)), self.day.session_id, str(self.day.project))
        self.site.happens = None

    def _run(self, payload: dict, at: float) -> None:
        assert processes.run_event(payload, self.home.env(POPKIT_CLOCK=repr(at))).silent

    def hook(self, payload: dict) -> None:
        common = {"session_id": self.day.session_id, "transcript_path": str(self.day.transcript)}
        assert processes.run_event({**payload, **common}, self.home.env(POPKIT_CLOCK=repr(self.day.now + 61))).silent

    def state(self):
        return self.home.state(self.day.session_id)

    def missed(self) -> list:
        return list(Path(self.home.paths(self.day.session_id).folder).glob("*.missed-*"))


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def test_a_call_that_completes_while_a_transcript_is_read_gets_the_lock_and_stays_known(session: Session):
    call = payloads.bash("npm run build", "built")
    missed = []

    def happens():
        session.hook(call)
        missed.extend(session.missed())

    session.site.happens = happens
    before = session.state().index
    reconciling.reconcile(session.site, str(session.day.transcript))
    assert missed == [], "the hook got the lock"
    assert session.state().index == before + 1
    assert call["tool_use_id"] in session.state().live


def test_a_pin_that_is_set_while_a_transcript_is_read_holds(session: Session):
    first = next(iter(session.state().live))
    other = live.Site(session.home.env(), session.day.session_id)
    pin = [{"event": "pin", "target": first, "at": session.day.now + 60}]
    session.site.happens = lambda: reconciling.note(other, other.paths(), pin)
    made = reconciling.reconcile(session.site, str(session.day.transcript))
    assert first in made.state.pins
    assert first in session.state().pins


def test_what_is_made_while_nobody_interferes_is_saved(session: Session):
    made = reconciling.reconcile(session.site, str(session.day.transcript))
    assert shared_facts(session.state()) == shared_facts(made.state)
    assert session.missed() == []
