"""A state whose results rest as text decides as one that is read whole, and what a call costs does not grow with what lives."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from hypothesis import given, settings

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import engine, events
from popkit_retention.core.policy.context import ContextState, shared_facts
from popkit_retention.core.state import lazy_rows, store
from tests.policy.histories import Walk, histories
from tests.policy.scenario import Scenario

SESSION = "resting"


class Kept:
    """A context that is loaded for each event and saved after it; `rest_from` as in store.load."""

    def __init__(self, folder: Path, rest_from: int):
        self.paths = store.ContextFiles(str(folder), SESSION)
        self.rest_from = rest_from
        self.walk = Walk()
        with self.paths.locked():
            self.save(store.StoredState(self.walk.state))

    def save(self, stored: store.StoredState) -> None:
        store.save(self.paths, stored, self.walk.rules)

    def observe(self, event) -> list:
        with self.paths.locked():
            stored = store.load(self.paths, self.rest_from)
            if stored.rows is not None:
                stored.rows.open(stored.state, self.walk.rules)
            else:
                engine.reindex(stored.state, self.walk.rules)
            self.walk.state = stored.state
            decisions = self.walk.observe(event)
            self.save(stored)
        return [decision.to_json() for decision in decisions]

    def known(self) -> tuple:
        state = store.load(self.paths).state
        return shared_facts(state), [result.to_row() for result in store.read_expired(self.paths, state).values()]


@settings(deadline=None)
@given(histories())
def test_lazy_rows_decide_as_rows_that_are_read_whole(tmp_path_factory: pytest.TempPathFactory, history):
    folder = tmp_path_factory.mktemp("contexts")
    whole, lazy = Kept(folder / "whole", 0), Kept(folder / "resting", 1)
    for event in history:
        assert lazy.observe(event) == whole.observe(event)
    assert lazy.known() == whole.known()


def test_results_rest(tmp_path: Path):
    kept = _with(tmp_path, 50, "run")
    path = Path(kept.paths.state)
    path.write_text(path.read_text().replace('["T30",31,', '["T30", 31,'))
    stored = store.load(kept.paths, 1)
    stored.rows.open(stored.state, kept.walk.rules)
    assert len(stored.rows.spans) == 0
    assert stored.state.live["T30"].index == 31
    with kept.paths.locked():
        kept.save(stored)
    assert '\n["T30", 31,' in path.read_text(), "what has not changed is written back as it was"
    assert list(stored.state.live) == [f"T{n}" for n in range(50)], "who walks over them wakes them, in the order in which they came"


def test_a_row_that_is_no_result_does_not_come_back(tmp_path: Path):
    kept = _with(tmp_path, 50, "run")
    path = Path(kept.paths.state)
    path.write_text(path.read_text().replace('"T9",10,', '"T9","nine",'))
    with pytest.raises(ValueError, match="wrong types"):
        kept.observe(_call("run", 9))
    assert store.load(kept.paths) is None
    assert path.with_name(path.name + ".corrupt").exists()


INPUTS = {
    "run": lambda n: ("Bash", {"command": f"cd packages/{n} && npm test"}),
    "other": lambda n: ("Bash", {"command": f"node job-{n}.js"}),
    "cat": lambda n: ("Bash", {"command": f"cat src/{n}.py"}),
    "read": lambda n: ("Read", {"file_path": f"/p/src/{n}.py"}),
    "error": lambda n: ("Grep", {"pattern": f"no {n}"}),
    "edit": lambda n: ("Edit", {"file_path": f"/p/other/{n}.py", "old_string": "a", "new_string": "b"}),
    "search": lambda n: ("Grep", {"pattern": f"some {n}"}),
    "tool": lambda n: ("mcp__demo__lookup", {"key": n}),
}


def _call(kind: str, n: int) -> events.Call:
    tool, tool_input = INPUTS[kind](n)
    return events.Call(f"T{n}", TOOLS.of(tool), tool_input, events.Outcome(100, content_hash=f"{n:08x}", error=kind == "error"), n, "/p")


@functools.cache
def _walked(count: int, kind: str) -> Walk:
    """A walk after which so many results of a kind live."""
    walk = Walk()
    for n in range(count):
        walk.observe(_call(kind, n))
    return walk


def _with(folder: Path, count: int, kind: str) -> Kept:
    """A context in which so many results of a kind live."""
    kept = Kept(folder, 1)
    with kept.paths.locked():
        kept.save(store.StoredState(_walked(count, kind).state))
    return kept


@pytest.mark.parametrize("kind", [kind for kind in INPUTS if kind not in ("edit", "search")])  # of these only a few live
def test_a_call_wakes_as_many_of_a_thousand_as_of_ten(tmp_path: Path, kind: str):
    for next_kind in INPUTS:
        woken = {len(_after_one_more(_with(tmp_path / f"{next_kind}{count}", count, kind), next_kind).rows.spans) for count in (10, 1_000)}
        assert len(woken) == 1, next_kind


def _after_one_more(kept: Kept, kind: str) -> store.StoredState:
    """What was loaded for a call that none of the live results is about."""
    with kept.paths.locked():
        stored = store.load(kept.paths, 1)
        stored.rows.open(stored.state, kept.walk.rules)
        engine.observe(stored.state, _call(kind, 5_000), kept.walk.rules)
        kept.save(stored)
    return stored


# --- asked one by one --------------------------------------------------------------------------------------------------------------------


def _resting(folder: Path) -> tuple[store.StoredState, ContextState]:
    """A state whose rows rest, and the same one read whole."""
    scenario = Scenario()
    scenario.read("a.py", text="same")
    scenario.bash("cat b.py src/c.py", "both")
    scenario.bash("make", "made")
    scenario.call("mcp__demo__find", {"n": 1}, "found")
    scenario.bash_fails("npm test", "no")
    scenario.read("src/c.py", 1, 20)
    paths = store.ContextFiles(str(folder), SESSION)
    stored = store.StoredState(scenario.state)
    stored.watched.see("/p/a.py", [1, 2])
    stored.watched.see("/p/src/c.py", [3, 4])
    with paths.locked():
        store.save(paths, stored, scenario.rules)
    resting, whole = store.load(paths, 1), store.load(paths)
    assert resting is not None
    assert whole is not None
    resting.rows.open(resting.state, scenario.rules)
    engine.reindex(whole.state, scenario.rules)
    return resting, whole.state


def _keys(state: ContextState) -> list[str]:
    return [*state.by_key, "read:/p/none.py", "read:"]


ASKED = {
    "len": lambda state: len(state.live),
    "iter": lambda state: list(state.live),
    "keys": lambda state: list(state.live.keys()),
    "values": lambda state: [result.id for result in state.live.values()],
    "items": lambda state: [(id, result.to_row()) for id, result in state.live.items()],
    "one": lambda state: [state.live.get(id, 7) and state.live[id].label for id in ("T4", "T2")],
    "none": lambda state: [state.live.get("T", 7), state.live.get("T9"), "T9" in state.live],
    "in": lambda state: [id in state.live for id in ("T1", "T6", "1")],
    "set": lambda state: [state.live.setdefault("T3", 7).label, state.live.setdefault("T9", 7)],
}


@pytest.mark.parametrize("ask", ASKED)
def test_what_is_asked_of_resting_results_is_answered_as_of_others(tmp_path: Path, ask: str):
    resting, whole = _resting(tmp_path)
    assert ASKED[ask](resting.state) == ASKED[ask](whole)


def test_a_key_or_a_content_wakes_its_rows_and_no_others(tmp_path: Path):
    for table in ("by_key", "by_hash"):
        _, whole = _resting(tmp_path)
        for key, known in getattr(whole, table).items():
            resting, _ = _resting(tmp_path)
            assert len(known) == 1 or list(known)[-1] in resting.state.live  # the last of several is awake before the others
            before = {result.id for _, result in resting.rows.spans.values()}
            asked = getattr(resting.state, table)
            assert list(asked[key]) == list(known)
            assert (key in asked, list(asked.get(key)), list(asked.setdefault(key, {}))) == (True, list(known), list(known))
            assert {result.id for _, result in resting.rows.spans.values()} - before == set(known) - before
            assert not resting.rows.all_awake
        resting, _ = _resting(tmp_path)
        asked, woken = getattr(resting.state, table), len(resting.rows.spans)
        assert (asked.get("read:/p/none"), asked.get("x", 7), "x" in asked, asked.setdefault("y", {})) == (None, 7, False, {})
        assert len(resting.rows.spans) == woken


def test_an_error_shows_no_content_that_others_repeat(tmp_path: Path):
    resting, whole = _resting(tmp_path)
    assert whole.live["T5"].error
    assert whole.live["T5"].hash
    list(resting.state.live)
    assert {key: list(known) for key, known in dict.items(resting.state.by_hash)} == {
        key: list(known) for key, known in whole.by_hash.items()
    }
    assert {key: list(known) for key, known in dict.items(resting.state.by_key)} == {
        key: list(known) for key, known in whole.by_key.items()
    }
    assert resting.rows.all_awake


def test_a_file_that_no_live_read_shows_any_more_is_not_watched(tmp_path: Path):
    resting, _ = _resting(tmp_path)
    engine.observe(
        resting.state, events.Call("T7", TOOLS.of("Edit"), {"file_path": "/p/a.py"}, events.Outcome(4), 2e6, "/p"), resting.rows.rules
    )
    paths = store.ContextFiles(str(tmp_path), SESSION)
    with paths.locked():
        store.save(paths, resting, resting.rows.rules)
    assert not resting.rows.all_awake
    again = store.load(paths)
    assert again is not None
    assert (list(again.watched.first()), "T1" in again.state.live) == (["/p/src/c.py"], False)
    assert list(again.state.live) == ["T2", "T3", "T4", "T5", "T6", "T7"]


def test_rows_are_read_whole_where_other_rules_hold_for_their_age(tmp_path: Path):
    resting, _ = _resting(tmp_path)
    assert not resting.rows.all_awake
    rules = Scenario(profile="conservative").rules
    assert lazy_rows.signature(rules) != resting.rows.signature
    other = store.load(store.ContextFiles(str(tmp_path), SESSION), 1)
    other.rows.open(other.state, rules)
    assert (other.rows.all_awake, type(other.state.live), list(other.state.live)) == (True, dict, list(resting.state.live))
