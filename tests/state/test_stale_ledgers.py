"""Ledgers of sessions that have gone on since: which are due, in which order they are settled, and how many wait."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from popkit_retention.core.hosts.transcripts import projects
from popkit_retention.core.policy.context import ContextState
from popkit_retention.core.state import journal, past, session, stale_ledgers, store, stored_contexts, sweeping
from popkit_retention.core.state.site import Site
from tests.policy.scenario import Scenario
from tests.views.written import BEGAN, Written

# What one call reads again.
SETTLED_BYTES = 32 << 20


class Shop:
    """Sessions of one project, with a state each and something booked."""

    def __init__(self, folder: Path):
        self.folder, self.home = folder, str(folder / "home")

    def session(self, id: str, booked: bool = True, agent_id: str = "", size: int = 0) -> Written:
        written = Written(self.folder / ("agents" if agent_id else "p"), id)
        if agent_id:
            written.path = Path(projects.transcript_of_agent(str(self.folder / "p" / f"{id}.jsonl"), agent_id))
            written.path.parent.mkdir(parents=True, exist_ok=True)
            written.path.write_text("")
        written.say("go")
        written.read("a.py")
        written.ends()
        if size:
            os.truncate(written.path, size)
        if not agent_id:
            session.update(self.home, id, transcript=str(written.path), project=written.project)
        paths = store.ContextFiles(self.home, id, agent_id)
        with paths.locked():
            store.save(paths, store.StoredState(ContextState(id, agent_id)))
        store.journal(paths, journal.advised(30, BEGAN) if booked else journal.pinned("x", BEGAN))
        return written

    def site(self, id: str = "now") -> Site:
        return Site({"POPKIT_HOME": self.home}, id, "/elsewhere")

    def settled(self, id: str, agent_id: str = "") -> bool:
        state = stored_contexts.stored_state(store.ContextFiles(self.home, id, agent_id))
        return state is not None and state.counts.settled > 0


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_every_context_with_a_booking_is_settled_once_its_transcript_has_gone_on(shop: Shop) -> None:
    one = shop.session("one")
    shop.session("two", booked=False)
    shop.session("one", agent_id="a1")
    assert stale_ledgers.catch_up(shop.site()) == 0
    assert [shop.settled("one"), shop.settled("one", "a1"), shop.settled("two")] == [True, True, False]
    state = Path(store.ContextFiles(shop.home, "one").state)
    before = state.stat().st_ino
    assert (stale_ledgers.catch_up(shop.site()), state.stat().st_ino) == (0, before), "nothing has come since"
    one.read("b.py")
    assert (stale_ledgers.catch_up(shop.site(), str(one.path)), state.stat().st_ino) == (0, before), "it was read just now"
    stale_ledgers.catch_up(shop.site())
    assert len(store.load(store.ContextFiles(shop.home, "one")).state.live) == 2


def test_the_smallest_are_settled_first_as_far_as_the_bytes_go_but_at_least_one(shop: Shop) -> None:
    for id, size in (("large", SETTLED_BYTES), ("larger", SETTLED_BYTES + 1), ("small", 0)):
        shop.session(id, size=size)
    assert stale_ledgers.catch_up(shop.site()) == 2
    assert [shop.settled(id) for id in ("small", "large", "larger")] == [True, False, False]
    assert stale_ledgers.catch_up(shop.site()) == 1
    assert [shop.settled(id) for id in ("small", "large", "larger")] == [True, True, False]


@pytest.mark.parametrize("too_many", [0, 1])
def test_the_bytes_go_as_far_as_they_go(shop: Shop, too_many: int) -> None:
    shop.session("fits", size=SETTLED_BYTES - shop.session("small").path.stat().st_size + too_many)
    main = shop.session("main", booked=False)
    small = shop.session("main", agent_id="a2").path.stat().st_size
    shop.session("main", agent_id="a1", size=SETTLED_BYTES - small + too_many)
    stale_ledgers.settle_agents(shop.site("main"), str(main.path))
    assert [shop.settled("main", agent_id) for agent_id in ("a1", "a2")] == [not too_many, True]
    assert stale_ledgers.catch_up(shop.site()) == 2 * too_many
    assert [shop.settled(id) for id in ("small", "fits")] == [True, not too_many]


@pytest.mark.parametrize("broken", ["no transcript", "another's state", "a corrupt state", "no state", "a folder of that name"])
def test_what_cannot_be_settled_is_passed_over(shop: Shop, broken: str) -> None:
    written = shop.session("a-broken")
    paths = store.ContextFiles(shop.home, "a-broken")
    if broken == "no transcript":
        written.path.unlink()
    elif broken == "a folder of that name":
        written.path.unlink()
        written.path.mkdir()
    elif broken == "another's state":
        with paths.locked():
            store.save(paths, store.StoredState(ContextState("another")))
    elif broken == "a corrupt state":
        Path(paths.state).write_text("[")
    else:
        Path(paths.state).unlink()
    shop.session("b")
    assert stale_ledgers.catch_up(shop.site()) == 0
    assert shop.settled("b")
    known = store.read_unlocked(paths)
    assert known is None or known.state.counts.settled == 0


def test_a_session_settles_its_subagents_that_have_gone_on(shop: Shop) -> None:
    main = shop.session("one")
    for agent_id, size in (("a1", 0), ("a2", SETTLED_BYTES), ("a3", 0)):
        shop.session("one", agent_id=agent_id, size=size)
    Path(store.ContextFiles(shop.home, "one", "a3").state).write_text("[")
    shop.session("two")
    stale_ledgers.settle_agents(shop.site("one"), str(main.path))
    assert [shop.settled("one", agent_id) for agent_id in ("a1", "a2")] == [True, False]
    assert not shop.settled("one")
    assert not shop.settled("two")
    for path in (f"{main.path}-none", str(main.path)):
        stale_ledgers.settle(shop.site("one"), path)
    assert shop.settled("one")


@pytest.mark.parametrize(
    ("entry", "due"),
    [
        (journal.advised(3, 1.0), True), (journal.remembered("x", 3, 1.0), True), (journal.cleared(["t"], 3, {}, 1.0), True),
        (journal.cleared_outside(["t"], 3, "", 1.0), True), (journal.undone(["t"], 3, 1.0), True), (journal.entered_whole("t", 1.0), True),
        (journal.pinned("clear", 1.0), False), (journal.restored("t", 1.0, 3), False), (journal.compacted("auto", 3, 1, [], 1.0), False),
    ],
)  # fmt: skip
def test_a_session_is_due_where_the_ledger_books_anything(shop: Shop, entry: journal.Entry, due: bool) -> None:
    written = shop.session("one", booked=False)
    assert not stale_ledgers.is_due(shop.site("one"), str(written.path))
    store.journal(shop.site("one").paths(), entry)
    assert stale_ledgers.is_due(shop.site("one"), str(written.path)) == due
    assert not stale_ledgers.is_due(shop.site("two"), str(written.path))
    assert not stale_ledgers.is_due(shop.site("one"), "")
    Path(shop.site("one").paths().journal).unlink()
    Path(shop.site("one").paths().journal).mkdir()
    assert not stale_ledgers.is_due(shop.site("one"), str(written.path))


# --- what is stored, and what is left of it ----------------------------------------------------------------------------------------------


def test_contexts_are_listed_the_newest_first_and_found_by_their_project(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "shop")
    for number, (id, agent_id) in enumerate((("one", ""), ("two", ""), ("one", "a1"))):
        (tmp_path / "shop" / "src").mkdir(parents=True, exist_ok=True)
        shop.session(id, agent_id=agent_id)
        os.utime(store.ContextFiles(shop.home, id, agent_id).state, (number, number))
    folder = Path(store.ContextFiles(shop.home, "one").folder)
    for name in ("other.state.json", "main.state.json.corrupt", "agent-x.journal.jsonl", "main.state.json.1.tmp"):
        (folder / name).touch()
    assert [(paths.session_id, paths.agent_id, at) for paths, at in stored_contexts.contexts(shop.home)] == [
        ("one", "a1", 2.0), ("two", "", 1.0), ("one", "", 0.0),
    ]  # fmt: skip
    session.update(shop.home, "one", project=str(tmp_path / "shop"))
    session.update(shop.home, "two", project=str(tmp_path / "shop" / "src"))

    def of(place: Path) -> list[tuple[str, str]]:
        return [(paths.session_id, paths.agent_id) for paths in stored_contexts.contexts_of_project(shop.home, str(place))]

    assert of(tmp_path / "shop") == of(tmp_path / "link") == [("one", "a1"), ("one", "")]
    assert of(tmp_path / "shop" / "src") == [("one", "a1"), ("two", ""), ("one", "")]
    assert of(tmp_path / "shop2") == of(tmp_path) == []
    session.update(shop.home, "two", project="/")
    assert of(tmp_path) == [("two", "")]


def test_what_has_expired_counts_by_the_calibration_of_the_session(shop: Shop) -> None:
    scenario = Scenario()
    scenario.read("a.py", text="word\n" * 200)
    scenario.read("b.py", text="word\n" * 100)
    scenario.edit("a.py")
    scenario.edit("b.py")
    tokens = [result.tokens for id, result in scenario.state.expired.items() if id in ("T1", "T2")]
    paths = store.ContextFiles(shop.home, "s")
    scenario.state.calibration = 1.25
    with paths.locked():
        store.save(paths, store.StoredState(scenario.state))
    known = stored_contexts.stored_state(paths)
    assert known is not None
    found = stored_contexts.expired_of(paths, known)
    others = sum(round(result.tokens * 1.25) for id, result in scenario.state.expired.items() if id not in ("T1", "T2"))
    assert found == {"items": len(scenario.state.expired), "tokens": sum(round(each * 1.25) for each in tokens) + others}
    Path(paths.state).write_text(json.dumps({**scenario.state.header(), "live": [7]}))
    with pytest.raises(ValueError, match="not a result row"):
        stored_contexts.stored_state(paths)


def test_the_counters_of_a_session_that_is_gone_are_kept_until_it_comes_back(shop: Shop) -> None:
    shop.session("one")
    shop.session("one", agent_id="a1")
    past.note_past(shop.home, "none")
    assert not Path(shop.home, past.PAST).exists()
    past.note_past(shop.home, "one")
    entry = json.loads(Path(shop.home, past.PAST).read_text())
    assert (entry["session"], [list(context) for context in entry["contexts"]]) == ("one", [["agent_id", "calibration", "counts"]] * 2)
    assert sorted(context["agent_id"] for context in entry["contexts"]) == ["", "a1"]
    assert (bool(entry["project"]), "/" in entry["project"]) == (True, False)
    assert past.past(shop.home) == [], "it is there"
    assert [stored.owns(shop.home, past.PAST) for stored in sweeping.STORAGE] == [False, False, True]
    later = {**entry, "session": "gone", "contexts": []}
    lines = [{**later, "contexts": [1]}, later, {"session": 7, "contexts": []}, {"session": "x"}, 7]
    Path(shop.home, past.PAST).write_text('{"cut\n' + "".join(json.dumps(line) + "\n" for line in (entry, *lines)) + '{"cut')
    assert past.past(shop.home) == [(entry["project"], [])], "the newest line of it counts"
    paths = store.ContextFiles(shop.home, "two")
    Path(paths.folder).mkdir()
    for text in ("[", "7"):
        Path(paths.state).write_text(text)
        before = Path(shop.home, past.PAST).read_text()
        past.note_past(shop.home, "two")
        assert Path(shop.home, past.PAST).read_text() == before
    Path(paths.state).unlink()
    Path(paths.state).symlink_to(paths.state)  # it cannot be opened: the session has to stay until it can
    with pytest.raises(OSError):  # noqa: PT011  which one is the system's
        past.note_past(shop.home, "two")
    Path(paths.state).unlink()
    Path(paths.state).write_text('{"index":1}')
    past.note_past(shop.home, "two")
    assert json.loads(Path(shop.home, past.PAST).read_text().splitlines()[-1]) == {
        "session": "two", "project": "", "contexts": [{"agent_id": None, "calibration": None, "counts": None}],
    }  # fmt: skip
