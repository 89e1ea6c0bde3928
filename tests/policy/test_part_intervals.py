"""Intervals of lines: joined, compared, read and described."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy import parts
from popkit_retention.core.policy.calls import number_in

INTERVALS = st.one_of(
    st.just([1, 0]),
    st.just([0, 0]),
    st.integers(1, 30).map(lambda start: [start, 0]),
    st.tuples(st.integers(1, 30), st.integers(0, 20)).map(lambda pair: [pair[0], pair[0] + pair[1]]),
)


@given(st.lists(INTERVALS, max_size=6))
def test_a_union_shows_what_its_intervals_show(intervals):
    joined = parts.union(intervals)
    shown = {line for start, end in intervals if start for line in range(start, (end or 99) + 1)}
    assert shown == {line for start, end in joined for line in range(start, (end or 99) + 1)}
    assert joined == parts.union(joined)
    assert all(before[1] + 1 < after[0] for before, after in zip(joined, joined[1:]))


@pytest.mark.parametrize(
    ("intervals", "joined"),
    [
        ([[1, 5], [6, 9]], [[1, 9]]),
        ([[1, 5], [7, 9]], [[1, 5], [7, 9]]),
        ([[1, 9], [2, 3]], [[1, 9]]),
        ([[1, 5], [3, 0]], [[1, 0]]),
        ([[3, 0], [5, 9], [20, 30]], [[3, 0]]),
        ([[9, 9], [1, 1]], [[1, 1], [9, 9]]),
        ([[0, 0], [2, 3]], [[2, 3]]),
    ],
)
def test_intervals_that_meet_are_one(intervals, joined):
    assert parts.union(intervals) == joined


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ([1, 5], [5, 9], True),
        ([1, 5], [6, 9], False),
        ([5, 9], [1, 5], True),
        ([6, 9], [1, 5], False),
        ([3, 0], [9, 9], True),
        ([9, 9], [3, 0], True),
        ([9, 9], [10, 0], False),
        ([1, 1], [1, 0], True),
        ([0, 0], [7, 9], True),
        ([7, 9], [0, 0], True),
    ],
)
def test_intervals_overlap_where_they_share_a_line(one, other, shared):
    assert parts.overlap(one, other) is shared


@pytest.mark.parametrize(
    ("text", "interval"),
    [
        ("1-5", [1, 5]),
        ("7", [7, 7]),
        (" 2 - 4 ", [2, 4]),
        ("7-", [7, 7]),
        ("123456", [123456, 123456]),
        ("1234567890", [0, 0]),
        ("1-1234567890", [0, 0]),
        ("-5", [0, 0]),
        ("", [0, 0]),
        ("a-5", [0, 0]),
        ("1-b", [0, 0]),
        ("1-2-3", [0, 0]),
        ("٣", [0, 0]),
    ],
)
def test_pages_are_an_interval(text, interval):
    assert parts.pages_of(text) == interval


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        ([1, 0], "all"),
        ([2, 0], "2-"),
        ([1, 1], "1"),
        ([1, 2], "1-2"),
        ([0, 0], "part"),
        ([0, 5], "part"),
    ],
)
def test_an_interval_is_described_for_people(interval, text):
    assert parts.describe_interval(interval) == text


@pytest.mark.parametrize(
    ("intervals", "text"),
    [
        ([[1, 100], [101, 150]], "lines 1-150"),
        ([[1, 20], [40, 0]], "lines 1-20, 40-"),
        ([[7, 7]], "line 7"),
        ([[5, 0], [1, 6]], "all"),
        ([[1, 0]], "all"),
        ([[0, 0]], "part"),
        ([], "part"),
    ],
)
def test_intervals_are_described_for_people(intervals, text):
    assert text == parts.describe_intervals(intervals)


@pytest.mark.parametrize(("value", "number"), [(0, 0), (3, 3), (10**9 - 1, 10**9 - 1), (10**9, 7), (-1, 7), (True, 7), ("3", 7), (None, 7)])
def test_a_number_of_lines_is_one_that_can_be(value: object, number: int) -> None:
    assert number_in(value, 7) == number
