"""The helper's memory has a bound, however long the session: what no window can hold is let go."""

from __future__ import annotations

import pytest

from benchmarks.helper_memory import MOST_MB, measure
from hooks.utils.helper.contexts import MOST_BYTES, Context
from hooks.utils.policy.door import Lines, Source

from .asking import Helper, lines


@pytest.mark.parametrize("results", [2_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_helper_stays_below_60_mb_however_much_it_is_given(tmp_path_factory: pytest.TempPathFactory, results: int):
    found = measure(results, tmp_path_factory.mktemp("h") / "in")
    if found["rss_mb"] is None:
        pytest.skip("this system does not tell how much memory a process has")
    assert (found["rows"], found["rewritten"] > results // 10) == (results, True)
    assert found["rss_mb"] <= MOST_MB


def test_what_is_shown_has_a_bound_that_holds_a_whole_window():
    context, count = Context(), 200
    for number in range(count):
        shown = [f"{number} {line}" for line in range(1_000)]
        context.show(Source(f"toolu_{number}", "Read", shown))
        assert context.weight == sum(context.weights.values()) <= MOST_BYTES
        assert context.weights.keys() == context.shown.sources.keys()
    chars = sum(len(line) + 1 for id in context.weights for line in context.shown.sources[id].lines)
    assert list(context.weights)[-1] == f"toolu_{count - 1}"
    assert "toolu_0" not in context.weights
    assert chars >= 500_000, "of lines as short as these"
    context.compacted()
    assert (context.weight, context.weights) == (0, {})


def test_of_many_subagents_the_ones_that_are_silent_let_go_first(helper: Helper):
    big = [f"{number:06} {'word ' * 30}" for number in range(40_000)]
    helper.read("main.py", lines(40))
    for agent in range(3):
        helper.read("big.py", [f"{agent} {line}" for line in big], agent=f"agent{agent}")
    assert helper.read("main.py", lines(40))[1] != "\n".join(lines(40)), "the main thread still knows what it has shown"
    assert "as in" not in helper.read("big.py", [f"0 {line}" for line in big[:40]], agent="agent0")[1]
    assert "as in" in helper.read("big.py", [f"2 {line}" for line in big[:40]], agent="agent2")[1]
    assert helper.failures() == ""


@pytest.mark.parametrize("held", [[], [""], ["a", "", "ü", "🙂 \ud800", "x" * 100_000], ["\x00", "\r", "\udcff"]])
def test_packed_lines_are_the_lines(held: list[str]):
    packed = Lines(held)
    assert list(packed) == held
    assert [packed[at] for at in range(-len(held), len(held))] == held * 2
    assert [packed[a:b] for a in range(4) for b in range(5)] == [held[a:b] for a in range(4) for b in range(5)]
    with pytest.raises(IndexError):
        packed[len(held)]
