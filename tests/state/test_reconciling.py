"""Contexts are reconciled with their transcripts: what happens meanwhile is not written over, and the ledger of a session that ends knows
all of its requests."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType

import pytest

from popkit_retention.core import retention_tracker
from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.io import files
from popkit_retention.core.policy.calls import Call, Outcome
from popkit_retention.core.policy.context import shared_facts
from popkit_retention.core.state import journal, noting, pending, reconciling, store
from popkit_retention.core.state.rebuild import rebuild
from popkit_retention.core.state.site import Site
from popkit_retention.core.state.stored_contexts import stored_state
from tests.hooks import payloads, processes, sessions
from tests.patience import HANG_S
from tests.state.test_noting import WORK, Edited
from tests.views.written import Written

# The largest transcript that a hook has time for.
REBUILD_BYTES = 16 << 20


def _times_rebuilt(work: Callable[[], object]) -> int:
    """How often a transcript is read from its beginning."""
    times = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal times
        times += event == "call" and frame.f_code is rebuild.__code__

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return times


def test_while_a_result_is_awaited_the_transcript_is_reread_only_where_it_changed(tmp_path: Path):
    kept = Edited(tmp_path, *WORK)
    path, at = str(kept.day.transcript), kept.at + 1
    site = Site({**kept.site.environ, "POPKIT_CLOCK": str(at)}, kept.site.session_id, kept.site.project)
    assert _times_rebuilt(lambda: reconciling.reconcile(site, path)) == 1
    call = Call("toolu_late", TOOLS.of("Bash"), {"command": "ls"}, Outcome(chars=9), at, str(kept.day.project))
    retention_tracker.add_call(site, site.paths(), path, call, False)
    assert _times_rebuilt(lambda: reconciling.reconcile(site, path)) == 1
    assert "toolu_late" in store.load(site.paths()).state.live, "what a hook has seen is not taken back"


# --- nobody is kept waiting -----------------------------------------------------------------------------------------------------------


class Meanwhile(Site):
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


def test_a_call_that_completes_while_a_transcript_is_read_gets_the_lock_and_is_kept(session: Session):
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
    other = Site(session.home.env(), session.day.session_id)
    pin = [{"event": "pin", "target": first, "at": session.day.now + 60}]
    session.site.happens = lambda: noting.note(other, other.paths(), pin)
    rebuilt = reconciling.reconcile(session.site, str(session.day.transcript))
    assert first in rebuilt.state.pins
    assert first in session.state().pins


def test_what_is_made_while_nobody_interferes_is_saved(session: Session):
    rebuilt = reconciling.reconcile(session.site, str(session.day.transcript))
    assert shared_facts(session.state()) == shared_facts(rebuilt.state)
    assert session.missed() == []


# --- ledgers --------------------------------------------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[2]


def _hook(name: str, written: Written, home: Path, **more: str) -> None:
    payload = {"session_id": written.session, "transcript_path": str(written.path), "cwd": written.project, **more}
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home.parent), "POPKIT_HOME": str(home), "POPKIT_CLOCK": str(written.now)}
    env["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
    command = [sys.executable, "-S", "-E", str(ROOT / "hooks" / f"{name}.py")]
    done = subprocess.run(command, env=env, input=json.dumps(payload).encode(), capture_output=True, timeout=HANG_S, check=False)
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize("booked", [True, False])
def test_at_its_end_what_was_booked_is_settled(tmp_path: Path, booked: bool) -> None:
    written, home = Written(tmp_path / "p"), tmp_path / "popkit"
    written.say("go")
    id = written.grep("one")
    _hook("session-start", written, home, source="startup", hook_event_name="SessionStart")
    if booked:
        entry = journal.entered(id, [], "abcd2345", 9_000, 1_000, 300, ["noise"], written.now - 1)
        store.journal(written.site(home).paths(), entry)
    written.grep("two")
    written.ends()
    _hook("session-end", written, home, reason="prompt_input_exit", hook_event_name="SessionEnd")
    counts = stored_state(written.site(home).paths()).counts
    if booked:
        assert counts.settled == written.path.stat().st_size
        assert counts.ledger["saved_kept_out"] > 0
        assert counts.days
    else:
        assert counts.ledger == counts.days == {}


# --- alone ----------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path: Path) -> Written:
    written = Written(tmp_path / "p")
    written.say("go")
    written.read("a.py")
    written.bash("npm test")
    written.ends()
    return written


def _site(written: Written, tmp_path: Path, later: float = 60.0, kind: type[Site] = Site) -> Site:
    return kind({"POPKIT_HOME": str(tmp_path / "home"), "POPKIT_CLOCK": repr(written.now + later)}, written.session, written.project)


@pytest.mark.parametrize(
    ("epoch", "since", "known_at", "lags"),
    [
        (0, 0.0, None, False), (1, 4.9, None, True), (1, 5.0, None, False), (0, 0.0, 4.9, True), (0, 0.0, 5.0, False),
        (0, 9.0, 0.0, True), (-1, 0.0, None, False),
    ],
)  # fmt: skip
def test_a_transcript_lags_for_five_seconds_behind_what_hooks_saw(
    written: Written, tmp_path: Path, epoch: int, since: float, known_at: float | None, lags: bool
):
    site, now = _site(written, tmp_path), written.now + 100
    fresh = reconciling.rebuilt(site, site.paths(), str(written.path))
    known = reconciling.rebuilt(site, site.paths(), str(written.path)).state
    known.epoch, known.at = epoch, now - since
    for result in known.live.values():
        result.at = now
    if known_at is not None:
        known.live["new"] = next(iter(known.live.values()))
        known.live["new"].id, known.live["new"].at = "new", now - known_at
    assert reconciling.lags_behind(fresh, known, now) == lags


def test_a_state_that_hooks_are_ahead_with_is_waited_for_as_often_as_somebody_says(
    written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    site, paths, path = _site(written, tmp_path, 1.0), _site(written, tmp_path).paths(), str(written.path)
    assert reconciling.refreshed(site, paths, path, 0)[1]
    with paths.locked():
        stored = store.load(paths)
        stored.state.epoch, stored.state.at = 1, written.now
        store.save(paths, stored)
    for patience in (0, 1, 2):
        began = time.monotonic()
        fresh, saved = reconciling.refreshed(site, paths, path, patience)
        assert (saved, fresh.state.epoch) == (False, 0)
        assert 0.09 * patience <= time.monotonic() - began < HANG_S
    monkeypatch.setattr(files.patience, "left_s", 0.01)
    assert not reconciling.rebuild_if_small(site, paths, path)
    assert files.patience.left_s == 0.01, "a hook does not wait"
    assert not reconciling.refreshed(site, paths, path, 9)[1]
    assert files.patience.left_s == 0, "a hook has no more time than that for all that it waits for"
    monkeypatch.undo()
    assert store.load(paths).state.epoch == 1
    assert reconciling.refreshed(_site(written, tmp_path, 60.0), paths, path, 0)[1], "what does not come is not waited for"
    assert store.load(paths).state.epoch == 0


class Busy(Site):
    """A site at which something is written whenever a transcript is read."""

    def rules_for(self, profile: object):
        store.journal(self.paths(), journal.pinned("x", 1.0))
        return super().rules_for(profile)


@pytest.mark.parametrize(("size", "times"), [(0, 3), (REBUILD_BYTES + 1, 1)])
def test_a_small_transcript_is_read_again_twice_while_others_write(written: Written, tmp_path: Path, size: int, times: int):
    site = _site(written, tmp_path, kind=Busy)
    if size:
        with written.path.open("r+b") as file:
            file.truncate(size)
    saved: list[bool] = []
    assert _times_rebuilt(lambda: saved.append(reconciling.refreshed(site, site.paths(), str(written.path), 0)[1])) == times
    assert saved == [False]
    assert not Path(site.paths().state).exists()


def test_a_hook_rebuilds_what_it_has_time_for(written: Written, tmp_path: Path):
    site = _site(written, tmp_path)
    for path in ("", str(tmp_path / "none"), str(tmp_path)):
        assert not reconciling.rebuild_if_small(site, site.paths(), path)
    assert not Path(site.paths().state).exists()
    assert reconciling.rebuild_if_small(site, site.paths(), str(written.path))
    assert list(store.load(site.paths()).state.live) == ["toolu_01Read", "toolu_02Bash"]
    with written.path.open("r+b") as file:
        file.truncate(REBUILD_BYTES + 1)
    assert not reconciling.rebuild_if_small(site, site.paths(), str(written.path))


def test_a_corrupt_state_makes_way_for_what_is_rebuilt(written: Written, tmp_path: Path):
    paths = _site(written, tmp_path).paths()
    Path(paths.folder).mkdir(parents=True)
    Path(paths.state).write_text("[")
    assert reconciling.rebuild_if_small(_site(written, tmp_path), paths, str(written.path))
    assert Path(paths.state + ".corrupt").read_text() == "["
    assert len(store.load(paths).state.live) == 2


def test_what_hooks_have_noted_meanwhile_is_settled_once(written: Written, tmp_path: Path):
    site, pin = _site(written, tmp_path), journal.pinned("toolu_01Read", written.now)
    pending.note(site.paths(), None, 0.0, [pin])
    for _ in range(2):
        assert reconciling.rebuild_if_small(site, site.paths(), str(written.path))
        assert (files.spilled(site.paths().state), journal.read(site.paths())) == ([], [pin])


def test_a_context_that_another_is_at_work_in_is_rebuilt_and_not_saved(written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    site = _site(written, tmp_path)
    with site.paths().locked(), ThreadPoolExecutor(1) as other:
        monkeypatch.setattr(files.patience, "left_s", 0.0)
        fresh, saved = other.submit(reconciling.refreshed, site, site.paths(), str(written.path), 0).result(HANG_S)
    assert (len(fresh.state.live), saved, store.load(site.paths())) == (2, False, None)


def test_where_the_host_compacts_by_itself_is_kept_with_the_session(written: Written, tmp_path: Path):
    written.compact("auto")
    site = _site(written, tmp_path)
    size = written.tokens
    fresh = reconciling.rebuilt(site, site.paths(), str(written.path))
    reconciling.remember_size(site, site.paths("a1"), fresh)
    assert site.session.compacted_tokens is None
    for _ in range(2):
        reconciling.remember_size(site, site.paths(), fresh)
        assert site.session.compacted_tokens == size
    path = Path(site.paths().folder) / "session.json"
    os.utime(path, (1.0, 1.0))
    reconciling.remember_size(site, site.paths(), fresh)
    assert path.stat().st_mtime == 1.0, "what is known is not written again"
    assert reconciling.rebuild_if_small(_site(written, tmp_path / "other"), site.paths(), str(written.path))
    assert _site(written, tmp_path / "other").session.compacted_tokens == size
    plain = Written(tmp_path / "q")
    plain.say("go")
    assert reconciling.rebuild_if_small(site, site.paths(), str(plain.path))
    assert site.session.compacted_tokens == size


def test_without_a_journal_that_can_be_read_the_transcript_has_to_do(written: Written, tmp_path: Path):
    site = _site(written, tmp_path)
    store.journal(site.paths(), journal.pinned("toolu_01Read", written.now))
    assert reconciling.rebuilt(site, site.paths(), str(written.path)).state.pins == ["toolu_01Read"]
    Path(site.paths().journal).unlink()
    Path(site.paths().journal).mkdir()
    fresh = reconciling.rebuilt(site, site.paths(), str(written.path))
    assert (fresh.state.pins, len(fresh.state.live)) == ([], 2)


def test_a_subagent_s_journal_begins_with_the_profiles_of_the_session(written: Written, tmp_path: Path):
    site = _site(written, tmp_path)
    for entry in (journal.pinned("x", 1.0), journal.profile_chosen("spec", 2.0)):
        store.journal(site.paths(), entry)
    agent = site.paths("a1")
    store.journal(agent, journal.pinned("y", 1.5))
    pending.note(agent, None, 0.0, [journal.pinned("z", 3.0)])
    assert [entry["target"] for entry in reconciling.journal_of(site, agent)] == ["spec", "y", "z"]
    assert [entry["target"] for entry in reconciling.journal_of(site, site.paths())] == ["x", "spec"]


def test_an_answer_is_of_now_and_what_is_saved_of_the_transcript(written: Written, tmp_path: Path):
    written.call("Glob", {"pattern": "*.py"}, "a.py")
    site = _site(written, tmp_path)
    site.remember(profile=None)
    store.journal(site.paths(), journal.profile_chosen("aggressive", written.now))
    plain = reconciling.reconcile(site, str(written.path))
    told = reconciling.reconcile(site, str(written.path), now=written.now + 1e6)
    assert len(told.state.live) < len(plain.state.live)
    assert list(store.load(site.paths()).state.live) == list(plain.state.live)
