"""A state whose results rest as text decides as one that is read whole, and what a call costs does not grow with what lives."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from hypothesis import given, settings

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import engine, events
from popkit_retention.core.policy.context import shared_facts
from popkit_retention.core.state import store
from tests.policy.histories import Walk, histories

SESSION = "resting"


class Kept:
    """A context that is loaded for each event and saved after it; `rest_from` as in store.load."""

    def __init__(self, folder: Path, rest_from: int):
        self.paths = store.ContextFiles(str(folder), SESSION)
        self.rest_from = rest_from
        self.walk = Walk()
        with self.paths.locked():
            self.save(store.Stored(self.walk.state))

    def save(self, stored: store.Stored) -> None:
        stored.rules = self.walk.rules
        store.save(self.paths, stored)

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
    stored = store.load(kept.paths, 1)
    stored.rows.open(stored.state, kept.walk.rules)
    assert len(stored.rows.spans) == 0
    assert len(stored.state.live) == 50, "who walks over them wakes them"


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
        kept.save(store.Stored(_walked(count, kind).state))
    return kept


@pytest.mark.parametrize("kind", [kind for kind in INPUTS if kind not in ("edit", "search")])  # of these only a few live
def test_a_call_wakes_as_many_of_a_thousand_as_of_ten(tmp_path: Path, kind: str):
    for next_kind in INPUTS:
        woken = {len(_after_one_more(_with(tmp_path / f"{next_kind}{count}", count, kind), next_kind).rows.spans) for count in (10, 1_000)}
        assert len(woken) == 1, next_kind


def _after_one_more(kept: Kept, kind: str) -> store.Stored:
    """What was loaded for a call that none of the live results is about."""
    with kept.paths.locked():
        stored = store.load(kept.paths, 1)
        stored.rows.open(stored.state, kept.walk.rules)
        engine.observe(stored.state, _call(kind, 5_000), kept.walk.rules)
        kept.save(stored)
    return stored
