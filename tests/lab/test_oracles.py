"""The bounds: they know what comes, break nothing, and no other way of clearing is cheaper."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.lab.oracles import PLACEHOLDER, Needs, Oracle
from popkit_retention.lab import measure
from tests.lab.session_builder import SessionBuilder
from tests.policy.priced import READS, prices


def test_what_is_never_needed_goes_before_it_is_sent():
    builder = SessionBuilder()
    builder.read()
    builder.requests(2)
    for bound in (Needs, Oracle):
        assert builder.under(bound(builder.session, prices())).at == {1: ["T1"]}


def test_the_one_that_knows_needs_clears_right_after_the_last_need():
    builder = SessionBuilder()
    read = builder.read()
    builder.request()
    builder.request([read])
    builder.requests(3)
    assert builder.under(Needs(builder.session, prices())).at == {3: ["T1"]}


def test_of_several_holders_one_stays():
    builder = SessionBuilder()
    small, large = builder.read("/p/a.py", 600), builder.read("/p/b.py", 9_000)
    builder.request()
    builder.request([small, large])
    builder.request()
    played = builder.under(Needs(builder.session, prices()))
    assert played.at == {1: ["T2"], 3: ["T1"]}
    assert played.score.missed == 0


def test_the_one_that_knows_the_cache_waits_for_it_to_be_cold():
    builder = SessionBuilder()
    read, large = builder.read(chars=600), builder.bash(chars=60_000)
    builder.request([read])
    builder.requests(3)
    builder.request([large], after=400)
    assert builder.under(Oracle(builder.session, prices())).at == {5: ["T1"]}


def test_the_one_that_knows_the_cache_clears_a_warm_one_where_it_pays():
    builder = SessionBuilder()
    read = builder.read(chars=60_000)
    builder.request([read])
    builder.requests(40)
    assert builder.under(Oracle(builder.session, prices())).at == {2: ["T1"]}


def test_the_one_that_knows_the_cache_takes_several_together():
    builder = SessionBuilder()
    first, second = builder.read("/p/a.py", chars=12_000), builder.read("/p/b.py", chars=12_000)
    kept = [builder.bash(f"echo {number}", chars=6_000) for number in range(6)]
    builder.request([first])
    builder.request([second])
    builder.requests(60)
    builder.request(*[[block] for block in kept])
    assert builder.under(Oracle(builder.session, prices())).at == {3: ["T2", "T1"]}


_SESSIONS = st.lists(
    st.tuples(
        st.lists(st.sampled_from([300, 3_000, 30_000]), max_size=2),
        st.lists(st.integers(0, 6), max_size=2),
        st.sampled_from([10, 10, 10, 10, 400]),
        st.sampled_from(["", "", "", "", "", "compact", "cut"]),
    ),
    min_size=1,
    max_size=14,
)


def session_of(events: list) -> SessionBuilder:
    """Results of some sizes before each request, of which the answers need some that are in the context."""
    builder, standing = SessionBuilder(), []
    for sizes, needed, after, folded in events:
        if folded == "compact":
            builder.compact()
            standing = []
        elif folded == "cut":
            builder.cut(1)
            standing = []
        standing += [builder.bash(f"echo {builder.calls}", chars=chars) for chars in sizes]
        builder.request(*[[standing[-1 - number]] for number in set(needed) if number < len(standing)], after=after)
    return builder


@pytest.mark.parametrize("ttl_s", [300, 3_600])
@pytest.mark.parametrize("read", READS)
@given(events=_SESSIONS)
@settings(max_examples=30, deadline=None)
def test_the_bounds_break_nothing_and_are_never_dearer_than_doing_nothing(ttl_s, read, events):
    priced = prices(ttl_s, read)
    builder = session_of(events)
    nothing = builder.under(measure.Policy(), priced).score
    needs, oracle = (builder.under(bound(builder.session, priced), priced).score for bound in (Needs, Oracle))
    assert needs.missed == oracle.missed == 0
    assert oracle.cost <= nothing.cost + 1e-6
    assert needs.carried <= oracle.carried <= nothing.carried


class Fixed(measure.Policy):
    """Clears each result at a request that is given."""

    def __init__(self, when: dict):
        self.when = when

    def decide(self, view) -> list:
        return [(block, PLACEHOLDER, []) for block in view.context if self.when.get(block) == view.number and block not in view.cleared]


@given(sizes=st.lists(st.sampled_from([400, 4_000, 40_000]), min_size=1, max_size=4), data=st.data())
@settings(max_examples=25, deadline=None)
def test_no_choice_of_requests_is_much_cheaper_than_the_oracle(sizes, data):
    builder, last = SessionBuilder(), 6
    blocks, until = [], {}
    for number in range(1, last + 1):
        if len(blocks) < len(sizes):
            blocks.append(builder.bash(f"echo {number}", chars=sizes[len(blocks)]))
            until[blocks[-1]] = data.draw(st.integers(number - 1, last))
        builder.request(*[[block] for block in blocks if until[block] >= number])
    nothing = builder.under(measure.Policy()).score.cost
    oracle = builder.under(Oracle(builder.session, prices())).score.cost
    choices = [[*range(until[block] + 1, last + 1), 0] for block in blocks]
    best = min(builder.under(Fixed(dict(zip(blocks, chosen)))).score.cost for chosen in product(*choices))
    assert nothing - oracle >= 0.7 * (nothing - best) - 1e-6
