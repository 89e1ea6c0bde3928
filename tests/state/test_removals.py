"""What a journal says about compactions: which was ours, how much it left, what it took that is not back."""

from __future__ import annotations

import pytest

from popkit_retention.core.state import removals
from popkit_retention.core.state.journal import entries_of

AT = 1_000.0
ODD = [None, 7, "compact", [], {}, {"event": "compact"}, {"event": "clear"}, {"event": "back", "at": AT}]


def compact(at: float = AT, **fields) -> dict:
    return {"event": "compact", "at": at, "before": 8_000, "after": 2_000, "beside": 500, "why": "due", **fields}


@pytest.mark.parametrize(("later", "same"), [(0, True), (29.9, True), (30, False), (-0.0009, True), (-0.1, False)])
def test_a_compaction_is_ours_if_it_was_noted_just_before_the_host_wrote_it(later: float, same: bool) -> None:
    entry = compact()
    assert removals.compaction_at(entries_of([*ODD[:7], entry]), AT + later) == (entry if same else None)
    assert removals.brought_down_to(entries_of([*ODD[:7], entry]), AT + later) == (2_000 if same else 0)


def test_the_host_may_round_a_time_down_by_a_millisecond() -> None:
    assert removals.compaction_at(entries_of([compact(0.001)]), 0.0)
    assert removals.compaction_at(entries_of([compact(0.002)]), 0.0) is None
    taken_out = {"event": "clear", "at": 0.001, "ids": ["t1"], "tokens": 9}
    assert removals.compaction_at(entries_of([compact(0.001), taken_out]), 0.0) == compact(0.001), "the note beside it is another"


@pytest.mark.parametrize(("later", "event"), [(0.5, "compact"), (3, "back"), (10.9, "back"), (11.5, "compact"), (31, None)])
def test_an_undo_is_no_other_compaction_soon_behind_it(later: float, event: str | None) -> None:
    """The host writes an undo down at once: what comes later is a compaction of its own, or one of ours that was summed up."""
    found = removals.compaction_at(entries_of([compact(), {"event": "back", "at": AT + 1}]), AT + later)
    assert (found["event"] if found else None) == event


@pytest.mark.parametrize("why", ["asked", "cold", "long", "due", "", None])
def test_what_only_we_had_called_for_was_a_clear(why: str | None) -> None:
    assert removals.is_in_place(compact(why=why)) == (why in ("asked", "cold", "long"))
    assert not removals.is_in_place(None)


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [
        (8_000, 2_000, 0.75),
        (8_000, 8_000, 0.0),
        (8_000, 9_000, 0.0),
        (8_000, 0, 1.0),
        (0, 0, 0.0),
        (None, 1, 0.0),
        (4, None, 1.0),
        (1, 0, 1.0),
    ],
)
def test_a_compaction_took_the_share_that_is_gone(before: int | None, after: int | None, share: float) -> None:
    assert removals.taken_by(compact(before=before, after=after)) == share
    assert removals.taken_by(None) == 0.0


def test_what_only_took_the_named_or_was_summed_up_brings_nothing_down() -> None:
    for fields in ({"why": "asked"}, {"summarised": True}, {"after": None}, {"after": "2000"}):
        assert removals.brought_down_to(entries_of([compact(**fields)]), AT) == 0
    assert removals.brought_down_to(entries_of([compact(why="cold", summarised=False)]), AT) == 2_000


@pytest.mark.parametrize(("later", "stood"), [(0, 2_500), (29.9, 2_500), (30, None), (-0.1, None)])
def test_what_stood_is_noted_before_the_host_writes_it_down(later: float, stood: int | None) -> None:
    assert removals.stood_after(entries_of([*ODD[:5], compact()]), AT + later) == stood


def test_the_newest_change_says_what_stood() -> None:
    back = {"event": "back", "at": AT + 1, "stands": 7_000}
    assert removals.stood_after(entries_of([compact(), back]), AT + 2) == 7_000
    assert removals.stood_after(entries_of([back, compact()]), AT + 2) == 2_500
    assert removals.stood_after(entries_of([compact(), {"event": "back", "at": AT + 1}]), AT + 2) == 2_500
    assert removals.stood_after(entries_of([compact(beside=None)]), AT) == 2_000
    for fields in ({"after": None}, {"summarised": True}):
        assert removals.stood_after(entries_of([compact(at=AT - 1), compact(**fields)]), AT) is None
    assert removals.stood_after(entries_of([]), AT) is None


def test_the_newest_compaction_of_which_anything_is_out_names_it() -> None:
    first, second = compact(handles=["a", "b"]), compact(handles=["c", 4, "d"])
    assert next(removals.compacted(entries_of([first, second])), []) == ["c", "d"]
    assert next(removals.compacted(entries_of([first, second, {"event": "back", "handles": ["c", []]}])), []) == ["d"]
    assert next(removals.compacted(entries_of([first, second, {"event": "back", "handles": ["c", "d"]}])), []) == ["a", "b"]
    assert next(removals.compacted(entries_of([first, {"event": "other", "handles": ["a"]}, *ODD])), []) == ["a", "b"]
    assert next(removals.compacted(entries_of([{"event": "back", "handles": ["a"]}, first])), []) == ["a", "b"]
    assert next(removals.compacted(entries_of([compact(handles="ab"), compact()])), []) == []


def test_a_clear_is_known_by_exactly_its_results() -> None:
    clears = [{"event": "clear", "ids": ["a", "b"], "tokens": tokens} for tokens in (5, 7)]
    other = {"event": "clear", "ids": ["a"], "tokens": 9}
    assert removals.cleared_tokens(entries_of([*ODD, *clears, other, {"event": "clear", "ids": "ab"}]), ["b", "a"]) == 7
    assert removals.cleared_tokens(entries_of([*clears, {**clears[0], "tokens": None}]), ["a", "b"]) == 0
    assert removals.cleared_tokens(entries_of([*clears, {**clears[0], "event": "back"}]), ["a"]) == 0
    assert removals.cleared_tokens(entries_of([{"event": "clear", "ids": [], "tokens": 5}]), []) == 0, "of calls whatever they are"
