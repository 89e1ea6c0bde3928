"""The ledger of a context: journal entries against the requests of its transcript. A clear counts when both tell of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.host.usage import Usage
from hooks.utils.state import booking

CLEAR = {"event": "clear", "at": 10.0, "ids": ["t1", "t2"], "tokens": 8_000}


def request(at: float, tokens: int, added: int = 100, read: int | None = None) -> tuple:
    read = tokens - added if read is None else read
    return Usage(tokens, at, cache_ttl_s=300, read=read, created=tokens - read), added


WITHOUT = [request(5.0, 20_000), request(20.0, 20_100), request(30.0, 20_200)]
WITH = [request(5.0, 20_000), request(20.0, 12_100, read=4_000), request(30.0, 12_200)]


def test_nothing_booked_is_an_empty_ledger():
    assert booking.settled(WITH, [], ["t1"], [], []) == {}
    pins = [{"event": "pin", "at": 1.0, "target": "x"}, {"event": "commit", "at": 1.0, "tokens": 7}]
    assert booking.settled(WITH, pins, ["t1"], [(1.0, 5)], [(1.0, 5)]) == {}


def test_a_clear_counts_once_a_request_shows_that_it_is_gone():
    ledger = booking.settled(WITH, [CLEAR], ["t1", "t2"], [], [])
    assert (ledger["confirmed"], ledger["reclaimed_tokens"], ledger["pending_tokens"]) == (1, 8_000, 0)
    assert ledger["charged_rewrite"] > 0


def test_a_clear_that_no_request_shows_is_pending():
    ledger = booking.settled(WITHOUT, [CLEAR], ["t1", "t2"], [], [])
    assert (ledger["confirmed"], ledger["reclaimed_tokens"], ledger["pending_tokens"]) == (0, 0, 8_000)
    assert (ledger["saved"], ledger["net"]) == (0, 0)


def test_a_clear_of_which_nothing_is_to_be_seen_came_to_nothing():
    assert booking.settled(WITHOUT, [CLEAR], [], [], []) == {}
    assert booking.settled(WITHOUT, [CLEAR], ["t2"], [], [])["clears"] == 1


def test_a_clear_that_was_put_back_had_been_one():
    back = {"event": "undo", "at": 12.0, "ids": ["t1", "t2"], "tokens": 8_000}
    ledger = booking.settled(WITHOUT, [CLEAR, back], [], [], [])
    assert (ledger["clears"], ledger["undone"], ledger["pending_tokens"]) == (1, 1, 0)
    single = {"event": "restore", "at": 12.0, "id": "t1", "tokens": 3_000, "in_place": True}
    ledger = booking.settled(WITHOUT, [CLEAR, single], ["t2"], [], [])
    assert (ledger["restored"], ledger["pending_tokens"]) == (1, 5_000)


def test_a_restore_that_was_printed_is_charged_where_its_result_stands():
    printed = {"event": "restore", "at": 25.0, "id": "t1"}
    plain = booking.settled(WITH, [CLEAR], ["t1", "t2"], [], [])
    assert booking.settled(WITH, [CLEAR, printed], ["t1", "t2"], [], []) == plain, "the user saw it, not the model"
    charged = booking.settled(WITH, [CLEAR, printed], ["t1", "t2"], [], [(25.0, 900)])
    assert charged["charged_restores"] > 0
    assert charged["net"] < plain["net"]


def test_what_is_fetched_again_is_charged():
    plain = booking.settled(WITH, [CLEAR], ["t1", "t2"], [], [])
    again = booking.settled(WITH, [CLEAR], ["t1", "t2"], [(25.0, 900)], [])
    assert (again["refetched"], again["charged_refetches"] > 0, again["net"] < plain["net"]) == (1, True, True)


def test_our_own_text_is_charged_without_any_clear():
    ledger = booking.settled(WITHOUT, [{"event": "advice", "at": 10.0, "tokens": 400}], [], [], [])
    assert (ledger["advice_tokens"], ledger["charged_advice"] > 0, ledger["net"] < 0) == (400, True, True)


def test_a_compaction_leaves_nothing_pending():
    rows = [request(5.0, 20_000), (Usage(at=15.0), 0), request(20.0, 6_000)]
    ledger = booking.settled(rows, [CLEAR], ["t1", "t2"], [], [])
    assert (ledger["pending_tokens"], ledger["reclaimed_tokens"]) == (0, 0)


def test_the_last_clear_of_a_result_is_the_one_that_counts():
    later = {**CLEAR, "at": 40.0, "ids": ["t2"]}
    assert booking.clear_times([CLEAR, later, {"event": "clear", "ids": ["t3"]}, 7]) == {"t1": 10.0, "t2": 40.0}


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=4
)
ENTRIES = st.lists(
    st.one_of(
        ANYTHING,
        st.fixed_dictionaries(
            {"event": st.sampled_from(["clear", "undo", "restore", "advice", "pin"])},
            optional=dict.fromkeys(("at", "ids", "id", "tokens", "in_place"), ANYTHING),
        ),
    ),
    max_size=8,
)


@given(ENTRIES)
def test_a_journal_may_hold_anything(journal):
    ledger = booking.settled(WITH, journal, ["t1"], [], [])
    assert all(isinstance(value, (int, float)) for value in ledger.values())


@pytest.mark.parametrize("tokens", [-5, True, 3.5, "8000", None])
def test_an_entry_without_a_count_books_nothing(tokens):
    ledger = booking.settled(WITH, [{**CLEAR, "tokens": tokens}], ["t1"], [], [])
    assert ledger.get("reclaimed_tokens", 0) == 0
