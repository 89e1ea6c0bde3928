"""What a hold keeps, and from when until when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.retention_kit.holds import ITEM, PROJECT, SCOPES, SESSION, ActiveHolds, Hold, find_in_force

NAMES = st.sampled_from("abc")
TIMES = st.integers(0, 9).map(float)
ENDS = st.none() | TIMES
HOLDS = st.builds(Hold, st.sampled_from("hij"), st.sampled_from(SCOPES), NAMES, st.just("Ada"), st.just("audit"), st.just(0.0), ENDS, ENDS)


def hold(scope: str = ITEM, target: str = "a", **more: float | None) -> Hold:
    return Hold("h", scope, target, "Ada", "audit", 1.0, **more)


@given(holds=st.lists(HOLDS), id=NAMES, sessions=st.lists(NAMES, max_size=2), project=NAMES, now=TIMES)
def test_a_thing_is_kept_while_any_hold_in_force_names_it(
    holds: list[Hold], id: str, sessions: list[str], project: str, now: float
) -> None:
    keeping = ActiveHolds(holds, now).keeping(id, sessions, project)
    assert (keeping is not None) == any(each.in_force(now) and each.names(id, sessions, project) for each in holds)
    assert keeping is None or (keeping.in_force(now) and keeping.names(id, sessions, project))


@given(holds=st.lists(HOLDS), more=HOLDS, id=NAMES, now=TIMES)
def test_a_further_hold_lets_nothing_go(holds: list[Hold], more: Hold, id: str, now: float) -> None:
    if ActiveHolds(holds, now).keeping(id, (id,), id):
        assert ActiveHolds([*holds, more], now).keeping(id, (id,), id)


@given(holds=st.lists(HOLDS), now=TIMES)
def test_held_is_empty_only_where_no_hold_is_in_force(holds: list[Hold], now: float) -> None:
    assert bool(ActiveHolds(holds, now)) == any(each.in_force(now) for each in holds)


@given(hold=HOLDS, now=TIMES, later=TIMES)
def test_a_hold_that_is_over_never_comes_back(hold: Hold, now: float, later: float) -> None:
    if not hold.in_force(now):
        assert not hold.in_force(max(now, later))
    assert not hold.released(now).in_force(later)


@given(hold=HOLDS)
def test_a_hold_comes_back_from_its_json_as_it_was(hold: Hold) -> None:
    assert Hold.of(hold.to_json()) == hold


@given(holds=st.lists(HOLDS), id=st.sampled_from("hij"), now=TIMES)
def test_a_hold_is_found_by_its_id_only_while_it_is_in_force(holds: list[Hold], id: str, now: float) -> None:
    found = find_in_force(holds, id, now)
    assert found == next((each for each in holds if each.id == id and each.in_force(now)), None)


def test_a_hold_ends_exactly_when_it_says() -> None:
    assert hold(until=5.0).in_force(4.999)
    assert not hold(until=5.0).in_force(5.0)


def test_a_hold_whose_end_cannot_be_read_stays_in_force() -> None:
    assert Hold.of({**hold().to_json(), "until": "some day"}).in_force(1e12)


def test_a_hold_of_an_unknown_scope_keeps_the_thing_of_that_id() -> None:
    unknown = hold("world")
    assert unknown.names("a", ("b",), "c")
    assert not unknown.names("b", ("a",), "a")
    assert ActiveHolds([unknown], 2.0).keeping("a") == unknown


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (hold(), ""),
        (hold(SESSION, until=1.5), ""),
        (hold("world"), "hold h names nothing: 'world' 'a'"),
        (hold(PROJECT, ""), "hold h names nothing: 'project' ''"),
        (hold(until="soon"), "hold h has an invalid time"),  # type: ignore[arg-type]  # as a damaged store gives it
        (hold(until=1.0), "hold h ends before it begins"),
    ],
)
def test_a_hold_says_what_is_wrong_with_it(bad: Hold, problem: str) -> None:
    assert bad.problem() == problem
