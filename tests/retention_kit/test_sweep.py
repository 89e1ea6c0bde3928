"""The next step of a thing in a sweep: nothing is deleted at once, and nothing that a hold keeps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.retention_kit import sweep
from popkit_retention.core.retention_kit.marks import GRACE_S, Mark

NOW = 1_800_000_000.0
TIMES = st.integers(-3, 3).map(lambda days: NOW + days * GRACE_S) | st.floats(NOW - 3 * GRACE_S, NOW + 3 * GRACE_S)
MARKS = st.none() | TIMES.map(lambda at: Mark("a", at, "job"))
USES = st.none() | TIMES


@given(mark=MARKS, released=st.booleans(), held=st.booleans(), used_at=USES)
def test_only_what_was_marked_a_grace_period_ago_unused_and_unheld_is_deleted(
    mark: Mark | None, released: bool, held: bool, used_at: float | None
) -> None:
    step = sweep.next_step(mark, NOW, released, held, used_at)
    waited = mark is not None and mark.at + GRACE_S <= NOW
    unused = mark is not None and (used_at is None or used_at <= mark.at)
    assert (step == sweep.DELETE) == (released and not held and waited and unused)


@given(mark=MARKS, released=st.booleans(), used_at=USES, now=TIMES)
def test_a_hold_decides_before_anything_else(mark: Mark | None, released: bool, used_at: float | None, now: float) -> None:
    assert sweep.next_step(mark, now, released, True, used_at) == sweep.HOLD


@given(mark=MARKS, released=st.booleans(), used_at=USES, now=TIMES)
def test_only_an_unmarked_thing_is_marked_and_only_a_marked_one_is_unmarked(
    mark: Mark | None, released: bool, used_at: float | None, now: float
) -> None:
    step = sweep.next_step(mark, now, released, False, used_at)
    unmarked_steps, marked_steps = (sweep.KEEP, sweep.MARK), (sweep.UNMARK, sweep.RENEW, sweep.WAIT, sweep.DELETE)
    assert step in (unmarked_steps if mark is None else marked_steps)
    assert (step in (sweep.KEEP, sweep.UNMARK)) == (not released)


@given(mark=MARKS, used_at=USES, now=TIMES, later=TIMES)
def test_what_is_due_stays_due_until_it_is_used_held_or_kept(mark: Mark | None, used_at: float | None, now: float, later: float) -> None:
    if sweep.next_step(mark, now, used_at=used_at) == sweep.DELETE:
        assert sweep.next_step(mark, max(now, later), used_at=used_at) == sweep.DELETE


@given(at=TIMES)
def test_a_mark_made_now_is_deleted_exactly_a_grace_period_later(at: float) -> None:
    mark = Mark("a", at, "user")
    assert sweep.next_step(mark, at) == sweep.WAIT
    assert sweep.next_step(mark, mark.due_at) == sweep.DELETE
    assert mark.due_at == at + GRACE_S


def test_a_use_at_the_very_moment_of_the_mark_does_not_renew_it() -> None:
    mark = Mark("a", NOW, "user")
    assert sweep.next_step(mark, NOW, used_at=NOW) == sweep.WAIT
    assert sweep.next_step(mark, NOW + GRACE_S, used_at=NOW + 0.5) == sweep.RENEW
