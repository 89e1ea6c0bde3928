"""The bounds: they know what comes, break nothing, and no other way of clearing is cheaper."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.lab import measure
from popkit_retention.lab.oracles import PLACEHOLDER, Needs, Oracle
from tests.lab.made import Made
from tests.policy.priced import READS, prices


def test_what_is_never_needed_goes_before_it_is_sent():
    made = Made()
    made.read()
    made.requests(2)
    for bound in (Needs, Oracle):
        assert made.under(bound(made.session, prices())).at == {1: ["T1"]}


def test_the_one_that_knows_needs_clears_right_after_the_last_need():
    made = Made()
    read = made.read()
    made.request()
    made.request([read])
    made.requests(3)
    assert made.under(Needs(made.session, prices())).at == {3: ["T1"]}


def test_of_several_holders_one_stays():
    made = Made()
    small, large = made.read("/p/a.py", 600), made.read("/p/b.py", 9_000)
    made.request()
    made.request([small, large])
    made.request()
    played = made.under(Needs(made.session, prices()))
    assert played.at == {1: ["T2"], 3: ["T1"]}
    assert played.score.missed == 0


def test_the_one_that_knows_the_cache_waits_for_it_to_be_cold():
    made = Made()
    read, large = made.read(chars=600), made.bash(chars=60_000)
    made.request([read])
    made.requests(3)
    made.request([large], after=400)
    assert made.under(Oracle(made.session, prices())).at == {5: ["T1"]}


def test_the_one_that_knows_the_cache_clears_a_warm_one_where_it_pays():
    made = Made()
    read = made.read(chars=60_000)
    made.request([read])
    made.requests(40)
    assert made.under(Oracle(made.session, prices())).at == {2: ["T1"]}


def test_the_one_that_knows_the_cache_takes_several_together():
    made = Made()
    first, second = made.read("/p/a.py", chars=12_000), made.read("/p/b.py", chars=12_000)
    kept = [made.bash(f"echo {number}", chars=6_000) for number in range(6)]
    made.request([first])
    made.request([second])
    made.requests(60)
    made.request(*[[block] for block in kept])
    assert made.under(Oracle(made.session, prices())).at == {3: ["T2", "T1"]}


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


def session_of(events: list) -> Made:
    """Results of some sizes before each request, of which the answers need some that are in the context."""
    made, standing = Made(), []
    for sizes, needed, after, folded in events:
        if folded == "compact":
            made.compact()
            standing = []
        elif folded == "cut":
            made.cut(1)
            standing = []
        standing += [made.bash(f"echo {made.calls}", chars=chars) for chars in sizes]
        made.request(*[[standing[-1 - number]] for number in set(needed) if number < len(standing)], after=after)
    return made


@pytest.mark.parametrize("ttl_s", [300, 3_600])
@pytest.mark.parametrize("read", READS)
@given(events=_SESSIONS)
@settings(max_examples=30, deadline=None)
def test_the_bounds_break_nothing_and_are_never_dearer_than_doing_nothing(ttl_s, read, events):
    priced = prices(ttl_s, read)
    made = session_of(events)
    nothing = made.under(measure.Policy(), priced).score
    needs, oracle = (made.under(bound(made.session, priced), priced).score for bound in (Needs, Oracle))
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
    made, last = Made(), 6
    blocks, until = [], {}
    for number in range(1, last + 1):
        if len(blocks) < len(sizes):
            blocks.append(made.bash(f"echo {number}", chars=sizes[len(blocks)]))
            until[blocks[-1]] = data.draw(st.integers(number - 1, last))
        made.request(*[[block] for block in blocks if until[block] >= number])
    nothing = made.under(measure.Policy()).score.cost
    oracle = made.under(Oracle(made.session, prices())).score.cost
    choices = [[*range(until[block] + 1, last + 1), 0] for block in blocks]
    best = min(made.under(Fixed(dict(zip(blocks, chosen)))).score.cost for chosen in product(*choices))
    assert nothing - oracle >= 0.7 * (nothing - best) - 1e-6
