"""What was really reclaimed and charged: only what the usage of later requests shows, and everything that it cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.edges.codec import dumps, loads
from hooks.utils.policy import ledger as ledgers
from hooks.utils.policy.bookings import (
    Advice,
    Cleared,
    Compaction,
    KeptOut,
    Refetched,
    Remembered,
    Request,
    Restored,
    Spared,
    Undone,
    Warmed,
)
from hooks.utils.policy.economics import Prices
from hooks.utils.policy.ledger import GAINS, Ledger, settle
from tests.policy.priced import LIFETIMES, READS, prices

FIVE, HOUR = prices(300), prices(3_600)
ANY_PRICES = st.builds(prices, st.sampled_from(LIFETIMES), st.sampled_from(READS))


def test_a_session_worked_out_by_hand():
    requests = [
        Request(0, 20_000, 0, 20_000),
        Request(10, 25_000, 20_000, 5_000, 5_000),
        Request(20, 50_000, 25_000, 25_000, 25_000),
        # Cleared at 25: 20,000 tokens. The client goes on with what it has loaded: 50,000 + 1,000 = 51,000, nothing is missing.
        Request(30, 51_000, 50_000, 1_000, 1_000),
        # Resumed: 51,000 + 2,000 - 34,000 = 19,000 are missing, more than half of 20,000: they are reclaimed. Of the 12,000 that are
        # created 2,000 are new: 10,000 were written again, which costs 10,000 x (1.25 - 0.1) = 11,500. Saved 19,000 x 0.1 = 1,900.
        Request(60, 34_000, 22_000, 12_000, 2_000),
        # Printed at 65: 1,000 tokens, written for 1,000 x 1.25 = 1,250. Saved 1,900.
        Request(70, 35_500, 34_000, 1_500, 1_500),
        # Saved 1,900; the printed tokens are carried: 1,000 x 0.1 = 100.
        Request(80, 36_000, 35_500, 500, 500),
        # The cache has gone cold: saved 19,000 x 1.25 = 23,750; carried 1,000 x 1.25 = 1,250.
        Request(1_000, 37_000, 0, 37_000, 1_000),
        # Undone at 1,010. 37,000 + 500 - 56,500 = -19,000: all is back. 36,500 - 500 = 36,000 were written again: 36,000 x 1.15 =
        # 41,400. Nothing is saved any more; carried 100.
        Request(1_020, 56_500, 20_000, 36_500, 500),
    ]
    ledger = settle(requests, [Cleared(25, 20_000, 4), Restored(65, 1_000), Undone(1_010, 20_000)])
    assert ledger.to_json() == {
        "reclaimed_tokens": 19_000,
        "pending_tokens": 0,
        "clears": 1,
        "confirmed": 1,
        "results": 4,
        "undone": 1,
        "restored": 1,
        "refetched": 0,
        "advice_tokens": 0,
        "kept_out": 0,
        "kept_out_tokens": 0,
        "warmings": 0,
        "kept_warm": 0,
        "memory_tokens": 0,
        "spared": 0,
        "charged_rewrite": 52_900.0,  # 11,500 + 41,400
        "charged_restores": 2_700.0,  # 1,250 + 100 + 1,250 + 100
        "charged_refetches": 0.0,
        "charged_advice": 0.0,
        "charged_warming": 0.0,
        "charged_memory": 0.0,
        "saved_cleared": 29_450.0,
        "saved_kept_out": 0.0,
        "saved_kept_warm": 0.0,
        "saved_memory": 0.0,
        "usd_cleared": 0.0,
        "usd_kept_out": 0.0,
        "usd_kept_warm": 0.0,
        "usd_memory": 0.0,
        "usd_charged": 0.0,
        "unpriced": 85_050.0,  # 29,450 + 55,600: no request says what its model costs
        "saved": 29_450.0,  # 3 x 1,900 + 23,750
        "charged": 55_600.0,
        "net": -26_150.0,
    }


def test_a_session_with_the_door_and_kept_warm_worked_out_by_hand():
    day = {0: "monday", 1: "tuesday"}
    requests = [
        Request(0, 20_000, 0, 20_000, 0, FIVE, 5.0),
        # At 5, 4,000 tokens of a result did not enter: they would have been written, 4,000 x 1.25 = 5,000.
        Request(10, 23_000, 20_000, 3_000, 3_000, FIVE, 5.0),
        # Read from then on: 4,000 x 0.1 = 400.
        Request(20, 24_000, 23_000, 1_000, 1_000, FIVE, 5.0),
        # Printed at 25, 1,000 tokens of it: written for 1,250. Saved 400.
        Request(30, 26_000, 24_000, 2_000, 2_000, FIVE, 5.0),
        # Kept warm at 300 and at 570: 26,000 x 0.1 + 40 x 1.25 + 8 x 5 = 2,690 each. At 700 the cache would have been cold for 370 s.
        # Of the 26,000 tokens that are read 1,000 are there because of us: 25,000 x (1.25 - 0.1) = 28,750. What did not enter would have
        # been written again: 5,000. The printed tokens are carried: 100.
        Request(700, 27_000, 26_000, 1_000, 1_000, FIVE, 5.0),
        # Kept warm at 980, in vain: 27,000 x 0.1 + 90 = 2,790. The user came a day later, with another model: saved 5,000 for what did not
        # enter, and 1,250 for what was printed.
        Request(90_000, 28_000, 0, 28_000, 1_000, FIVE, 10.0),
    ]
    warmed = [Warmed(at, 26_040, 26_000, 40, 8) for at in (300, 570)]
    bookings = [KeptOut(5, 4_000, "T1"), Restored(25, 1_000), *warmed, Warmed(980, 27_040, 27_000, 40, 8)]
    ledger = settle(requests, bookings, lambda at: day[at > 80_000])
    told = ledger.to_json()
    assert {name: told[name] for name in ("kept_out", "kept_out_tokens", "warmings", "kept_warm", "restored")} == {
        "kept_out": 1, "kept_out_tokens": 4_000, "warmings": 3, "kept_warm": 1, "restored": 1,
    }  # fmt: skip
    assert told["saved_kept_out"] == 5_000 + 400 + 400 + 5_000 + 5_000
    assert told["saved_kept_warm"] == 28_750
    assert told["saved_cleared"] == 0
    assert told["charged_warming"] == 2 * 2_690 + 2_790
    assert told["charged_restores"] == 1_250 + 100 + 1_250
    assert told["net"] == 15_800 + 28_750 - 8_170 - 2_600
    # Dollars: 5 a million on the first day, 10 on the second.
    assert told["usd_kept_out"] == pytest.approx((10_800 * 5 + 5_000 * 10) / 1e6)
    assert told["usd_kept_warm"] == pytest.approx(28_750 * 5 / 1e6)
    assert told["usd_charged"] == pytest.approx((8_170 + 1_350) * 5 / 1e6 + 1_250 * 10 / 1e6)
    assert told["unpriced"] == 0
    assert ledger.days["tuesday"] == pytest.approx({"saved_kept_out": 5_000, "usd_kept_out": 0.05, "charged": 1_250, "usd_charged": 0.0125})


def test_a_session_with_a_memory_worked_out_by_hand():
    requests = [
        # At -1 memory gave 500 tokens: written for 500 x 1.25 = 625.
        Request(0, 20_000, 0, 20_000, 0, FIVE, 5.0),
        # Carried from the second request on: 500 x 0.1 = 50.
        Request(10, 25_000, 20_000, 5_000, 5_000, FIVE, 5.0),
        # At 10 the assistant knew a name: half a request of 25,000 tokens, read for 1,250, and 800 tokens of a result. Of these the next
        # request would have written 800 x 1.25 = 1,000. Carried 50.
        Request(20, 26_000, 25_000, 1_000, 1_000, FIVE, 5.0),
        # And this one would have read 800 x 0.1 = 80. Carried 50.
        Request(30, 27_000, 26_000, 1_000, 1_000, FIVE, 5.0),
        Compaction(40),
        # Nothing of it is in the new context, but what memory gave it again: 625.
        Request(50, 8_000, 0, 8_000, 0, FIVE, 5.0),
    ]
    told = settle(requests, [Remembered(-1, 500), Spared(10, 800, 0.5), Remembered(45, 500)]).to_json()
    assert (told["memory_tokens"], told["spared"]) == (1_000, 1)
    assert told["charged_memory"] == told["charged"] == 625 + 50 + 50 + 50 + 625
    assert told["saved_memory"] == told["saved"] == 1_250 + 1_000 + 80
    assert told["usd_memory"] == pytest.approx(2_330 * 5 / 1e6)


def test_before_its_first_request_a_session_has_nothing_to_be_spared():
    told = settle([Request(10, 9_000, 0, 9_000, 0, FIVE)], [Spared(5, 0)]).to_json()
    assert (told["spared"], told["saved"]) == (1, 0)


def _kept_out(requests: list, *more) -> float:
    return settle(requests, [KeptOut(5, 4_000, "T1"), *more]).gained["kept_out"]


def test_what_did_not_enter_counts_from_the_first_request_that_goes_without_it():
    assert settle(_warm(20_000), [KeptOut(5, 4_000, "T1")]).to_json() == Ledger().to_json(), "no request has gone without it"
    assert _kept_out(_warm(20_000, 21_000)) == 5_000
    assert _kept_out([Request(0, 20_000, 0, 0), Request(10, 21_000, 0, 0, 1_000)]) == 4_000, "plain input, where nothing is cached"


def test_a_compaction_ends_what_did_not_enter():
    assert _kept_out([*_warm(20_000, 21_000), Compaction(15), *_warm(9_000, 10_000, at=20)]) == 5_000


def test_a_clear_of_the_same_result_ends_what_did_not_enter_until_it_is_back():
    requests = _warm(20_000, 21_000, 22_000, 23_000, 24_000)
    assert _kept_out(requests) == 5_000 + 3 * 400
    assert _kept_out(requests, Cleared(15, 500, 1, ["T1"])) == 5_000
    assert _kept_out(requests, Cleared(15, 500, 1, ["T9"])) == 5_000 + 3 * 400
    assert _kept_out(requests, Cleared(15, 500, 1, ["T1"]), Undone(25, 500, ["T1"])) == 5_000 + 2 * 400
    assert _kept_out(requests, Cleared(15, 500, 2, ["T1", "T2"]), Restored(35, 300, True, ["T1"])) == 5_000 + 400


@pytest.mark.parametrize(
    ("at", "read", "kept"),
    [
        (299, 20_000, 0),  # the cache would still have been there
        (300, 20_000, 20_000),
        (300, 10_000, 10_000),
        (300, 9_999, 0),  # little of it was: it is not known to be our doing
        (300, 0, 0),
    ],
)
def test_a_request_was_kept_warm_that_came_after_the_caches_life_and_found_the_prompt(at, read, kept):
    requests = [Request(0, 20_000, 0, 20_000), Request(at, 21_000, read, 21_000 - read, 1_000)]
    ledger = settle(requests, [Warmed(280, 20_000, 20_000, 0, 0)])
    assert ledger.gained["kept_warm"] == pytest.approx(kept * 1.15)
    assert ledger.kept_warm == bool(kept)
    assert ledger.charged["warming"] == pytest.approx(2_000)
    assert settle(requests, []).gained["kept_warm"] == 0


def test_the_life_is_counted_from_when_the_cache_was_last_in_use():
    requests = [Request(0, 20_000, 0, 20_000, until=50), Request(320, 21_000, 20_000, 1_000, 1_000)]
    assert settle(requests, [Warmed(280, 20_000, 20_000, 0, 0)]).kept_warm == 0


def test_no_more_was_kept_warm_than_our_requests_went_over():
    requests = [Request(0, 20_000, 0, 20_000), Request(400, 21_000, 20_000, 1_000, 1_000)]
    assert settle(requests, [Warmed(280, 12_000, 11_000, 500, 1)]).gained["kept_warm"] == pytest.approx(11_500 * 1.15)


def test_a_row_of_warmings_pays_once():
    requests = [Request(0, 20_000, 0, 20_000), Request(900, 21_000, 20_000, 1_000, 1_000), Request(1_300, 22_000, 21_000, 1_000, 1_000)]
    ledger = settle(requests, [Warmed(at, 20_000, 20_000, 0, 0) for at in (280, 560, 840)])
    assert (ledger.kept_warm, ledger.warmings) == (1, 3)
    assert ledger.gained["kept_warm"] == pytest.approx(20_000 * 1.15)
    assert ledger.charged["warming"] == pytest.approx(6_000)


def test_warming_before_a_compaction_or_the_end_was_in_vain():
    requests = [Request(0, 20_000, 0, 20_000), Compaction(290), *_warm(9_000, at=400)]
    ledger = settle(requests, [Warmed(280, 20_000, 20_000, 0, 0)])
    assert (ledger.kept_warm, ledger.net) == (0, -2_000)


def test_of_a_model_without_a_price_only_tokens_are_told():
    requests = [Request(0, 20_000, 0, 20_000, 0, FIVE, 5.0), Request(10, 21_000, 20_000, 1_000, 1_000, FIVE, None)]
    told = settle(requests, [KeptOut(5, 4_000, "T1"), Advice(5, 100)]).to_json()
    assert (told["saved_kept_out"], told["usd_kept_out"], told["unpriced"]) == (5_000, 0, 5_000)
    assert told["usd_charged"] == pytest.approx(125 * 5 / 1e6), "what was said was written at the price of the request before"


@pytest.mark.parametrize(("read", "saved"), [(0.1, 1_900), (0.05, 950), (0.025, 475)])
def test_each_request_is_reckoned_at_the_prices_of_its_model(read, saved):
    requests = [*_warm(50_000), Request(20, 32_000, 20_000, 12_000, 1_000, prices(300, read))]  # 19,000 are missing
    ledger = settle(requests, [Cleared(5, 20_000)])
    assert ledger.saved == pytest.approx(saved)  # 19,000 x the price of a read
    # 11,000 were written again, for 1.25 each, and would have been read.
    assert ledger.charged["rewrite"] == pytest.approx(11_000 * (1.25 - read))


def test_what_is_said_is_written_at_the_price_of_the_newest_write():
    requests = [
        Request(0, 50_000, 0, 50_000, 0, HOUR),
        Request(10, 51_000, 51_000, 0, 0, FIVE),
        Request(30, 52_000, 51_000, 1_000, 1_000, HOUR),
    ]
    assert settle(requests, [Advice(20, 400)]).charged["advice"] == pytest.approx(400 * 2.0)


def _warm(*prompts: int, at: float = 0, step: float = 10) -> list[Request]:
    """Requests that read all of the one before and write what is new."""
    requests, before = [], 0
    for number, prompt in enumerate(prompts):
        requests.append(Request(at + number * step, prompt, before, prompt - before, prompt - before))
        before = prompt
    return requests


def test_a_clear_that_no_request_has_shown_is_pending_and_counts_nothing():
    ledger = settle(_warm(50_000, 51_000, 52_000), [Cleared(5, 20_000, 3)])
    assert (ledger.clears, ledger.confirmed, ledger.results) == (1, 0, 0)
    assert (ledger.pending_tokens, ledger.reclaimed_tokens) == (20_000, 0)
    assert ledger.saved == ledger.net == 0


@pytest.mark.parametrize(("missing", "reclaimed"), [(9_999, 0), (10_000, 10_000), (20_000, 20_000), (30_000, 30_000), (31_000, 30_000)])
def test_at_least_half_of_the_estimate_must_be_missing_and_at_most_half_more_is_counted(missing, reclaimed):
    requests = [*_warm(50_000), Request(20, 51_000 - missing, 5_000, 46_000 - missing, 1_000)]
    ledger = settle(requests, [Cleared(5, 20_000)])
    assert ledger.reclaimed_tokens == reclaimed
    assert ledger.saved == pytest.approx(reclaimed * FIVE.read)
    assert ledger.pending_tokens == (0 if reclaimed else 20_000)


def test_what_was_read_from_the_cache_has_not_left():
    # The text that was added was estimated far too high, so 20,000 seem to be missing; but all of the prompt before was read.
    requests = [*_warm(50_000), Request(20, 51_000, 50_000, 1_000, 21_000)]
    ledger = settle(requests, [Cleared(5, 20_000)])
    assert (ledger.confirmed, ledger.pending_tokens) == (0, 20_000)


def test_clears_that_one_resume_shows_share_what_is_missing():
    requests = [*_warm(80_000), Request(40, 48_000, 20_000, 28_000, 1_000)]
    ledger = settle(requests, [Cleared(5, 10_000, 2), Cleared(15, 20_000, 5)])
    assert (ledger.clears, ledger.confirmed, ledger.results) == (2, 2, 7)
    assert ledger.reclaimed_tokens == 33_000
    undone = [*requests, Request(60, 71_000, 20_000, 51_000, 1_000)]
    ledger = settle(undone, [Cleared(5, 10_000, 2), Cleared(15, 20_000, 5), Undone(50, 20_000)])
    assert ledger.saved == pytest.approx((33_000 + 11_000) * FIVE.read), "the undone one held two thirds of it"


def test_a_clear_after_the_resume_waits_for_the_next_one():
    # Resumed between the two clears: only the first shows.
    requests = [*_warm(80_000), Request(40, 71_000, 20_000, 51_000, 1_000)]
    bookings = [Cleared(5, 10_000), Cleared(35, 8_000)]
    ledger = settle(requests, bookings)
    assert (ledger.confirmed, ledger.reclaimed_tokens, ledger.pending_tokens) == (1, 10_000, 8_000)
    ledger = settle([*requests, Request(60, 64_000, 20_000, 44_000, 1_000)], bookings)
    assert (ledger.confirmed, ledger.reclaimed_tokens, ledger.pending_tokens) == (2, 18_000, 0)


def test_a_compaction_voids_what_is_pending_and_ends_what_is_saved_and_carried():
    confirmed = [*_warm(50_000), Request(20, 31_000, 5_000, 26_000, 1_000)]
    after = [Compaction(30), *_warm(20_000, 21_000, at=40)]
    assert settle([*_warm(50_000), *after], [Cleared(5, 20_000)]).to_json() == {**Ledger().to_json(), "clears": 1}
    bookings = [Cleared(5, 20_000), Refetched(15, 500), Advice(25, 400)]
    before, whole = settle(confirmed, bookings), settle([*confirmed, *after], bookings)
    assert before.to_json() == whole.to_json()
    assert whole.advice_tokens == 400
    assert whole.charged["advice"] == 400 * 1.25, "what was said to the compaction was written once"


def test_a_clear_at_exit_shows_in_the_resumed_session_and_costs_nothing_when_the_cache_is_cold():
    requests = [*_warm(50_000), Request(7_200, 31_000, 8_000, 23_000, 1_000)]
    ledger = settle(requests, [Cleared(5, 20_000)])
    assert ledger.charged["rewrite"] == 0
    assert ledger.saved == 20_000 * 1.25


def test_a_cache_lost_within_its_lifetime_by_the_resume_is_charged_whole():
    requests = [*_warm(50_000), Request(60, 31_000, 0, 31_000, 1_000)]
    ledger = settle(requests, [Cleared(5, 20_000)])
    assert ledger.charged["rewrite"] == pytest.approx(30_000 * 1.15)
    assert ledger.saved == pytest.approx(20_000 * FIVE.read)


def test_a_cache_of_an_hour_is_cold_after_an_hour_or_when_nothing_of_it_is_left_after_five_minutes():
    def charged(gap_s: float, read: int) -> float:
        requests = [Request(0, 50_000, 0, 50_000, 0, HOUR), Request(gap_s, 31_000, read, 31_000 - read, 1_000, HOUR)]
        return settle(requests, [Cleared(0, 20_000)]).charged["rewrite"]

    assert charged(3_599, 8_000) == pytest.approx(22_000 * 1.9)
    assert charged(3_600, 8_000) == 0
    assert charged(300, 0) == 0
    assert charged(299, 0) == pytest.approx(30_000 * 1.9)


def test_only_a_request_that_wrote_tells_the_lifetime_of_the_cache():
    requests = [
        Request(0, 50_000, 0, 50_000, 0, HOUR),
        Request(10, 50_000, 50_000, 0, 0, FIVE),  # nothing written, so the host names no lifetime
        Request(2_000, 31_000, 8_000, 23_000, 1_000, HOUR),
    ]
    assert settle(requests, [Cleared(5, 20_000)]).charged["rewrite"] == pytest.approx(22_000 * 1.9)


def test_a_cache_that_the_requests_show_to_be_warm_is_warm_however_long_it_was_quiet():
    requests = [*_warm(50_000), Request(20, 31_000, 5_000, 26_000, 1_000), Request(9_000, 32_000, 31_000, 1_000, 1_000)]
    assert settle(requests, [Cleared(5, 20_000)]).saved == pytest.approx(2 * 20_000 * FIVE.read)


def test_without_a_cache_what_is_saved_is_plain_input():
    requests = [Request(0, 50_000, 0, 0), Request(400, 31_000, 0, 0, 1_000), Request(410, 32_000, 0, 0, 1_000)]
    ledger = settle(requests, [Cleared(5, 20_000)])
    assert (ledger.saved, ledger.net) == (40_000, 40_000)


def test_what_is_put_back_in_place_saves_nothing_from_then_on_and_its_rewrite_is_charged_when_it_shows():
    requests = [
        *_warm(50_000),
        Request(20, 31_000, 5_000, 26_000, 1_000),  # 20,000 are out
        Request(40, 32_000, 31_000, 1_000, 1_000),  # 5,000 of them are back in the transcript, and not yet loaded
        Request(50, 38_000, 10_000, 28_000, 1_000),  # loaded
        Request(60, 39_000, 38_000, 1_000, 1_000),
    ]
    ledger = settle(requests, [Cleared(5, 20_000), Restored(30, 5_000, True)])
    assert ledger.saved == pytest.approx((20_000 + 3 * 15_000) * FIVE.read)
    assert ledger.charged["rewrite"] == pytest.approx((25_000 + 27_000) * 1.15)
    assert ledger.charged["restores"] == 0, "that it is written once more is part of the rewrite"
    assert (ledger.restored, ledger.reclaimed_tokens) == (1, 20_000)


@pytest.mark.parametrize("bookings", [[Cleared(2, 20_000), Undone(4, 20_000)], [Cleared(2, 0)]])
def test_where_nothing_leaves_or_all_is_undone_before_a_request_shows_it_nothing_is_charged(bookings):
    requests = [*_warm(50_000), Request(20, 58_000, 50_000, 8_000, 500)]  # what else was attached is no rewrite of ours
    assert settle(requests, bookings).to_json() == {**Ledger().to_json(), "clears": 1, "undone": len(bookings) - 1}


def test_no_more_comes_back_than_is_out():
    requests = [*_warm(50_000), Request(20, 31_000, 5_000, 26_000, 1_000), Request(40, 52_000, 5_000, 47_000, 1_000)]
    ledger = settle(requests, [Cleared(5, 20_000), Undone(30, 25_000), Restored(31, 4_000, True)])
    assert ledger.saved == pytest.approx(20_000 * FIVE.read)
    assert ledger.charged["rewrite"] == pytest.approx((25_000 + 46_000) * 1.15)


def test_an_undo_takes_the_last_clear_back_and_leaves_the_one_before():
    requests = [*_warm(80_000), Request(40, 71_000, 20_000, 51_000, 1_000)]
    ledger = settle(requests, [Cleared(5, 10_000, 2), Cleared(15, 20_000, 5), Undone(25, 20_000)])
    assert (ledger.confirmed, ledger.results, ledger.reclaimed_tokens, ledger.pending_tokens) == (1, 2, 10_000, 0)


def test_a_result_put_back_before_the_resume_was_never_gone():
    requests = [*_warm(80_000), Request(40, 57_000, 20_000, 37_000, 1_000)]
    ledger = settle(requests, [Cleared(5, 30_000, 3), Restored(25, 6_000, True)])
    assert (ledger.confirmed, ledger.reclaimed_tokens, ledger.pending_tokens) == (1, 24_000, 0)
    assert ledger.charged["rewrite"] == pytest.approx(36_000 * 1.15)


def test_what_comes_back_and_what_leaves_may_show_in_one_request():
    requests = [
        *_warm(80_000),
        Request(20, 71_000, 20_000, 51_000, 1_000),  # 10,000 are out
        Request(60, 57_000, 20_000, 37_000, 1_000),  # undone, and 25,000 others cleared: 15,000 are missing
        Request(70, 58_000, 57_000, 1_000, 1_000),
    ]
    ledger = settle(requests, [Cleared(5, 10_000), Undone(30, 10_000), Cleared(40, 25_000)])
    assert (ledger.confirmed, ledger.reclaimed_tokens, ledger.pending_tokens) == (2, 35_000, 0)
    assert ledger.saved == pytest.approx((10_000 + 25_000 + 25_000) * FIVE.read)
    assert ledger.charged["rewrite"] == pytest.approx((50_000 + 36_000) * 1.15)


def test_results_that_are_put_back_one_by_one_each_take_their_part_of_what_was_measured():
    requests = [*_warm(50_000), Request(20, 33_000, 5_000, 28_000, 1_000)]  # 18,000 are out, 20,000 were booked
    for number in range(4):
        before = requests[-1].prompt
        requests.append(Request(40 + 10 * number, before + 5_500, 6_000, before - 500, 1_000))
    ledger = settle(requests, [Cleared(5, 20_000), *(Restored(31 + 10 * number, 5_000, True) for number in range(4))])
    assert ledger.saved == pytest.approx((18_000 + 13_500 + 9_000 + 4_500) * FIVE.read)


# What follows plays whole sessions in two worlds, with us and without, at exact prices.


class World:
    """One conversation with its cache. `items`: [tokens, tokens as loaded by the client] in order, the system prompt first."""

    def __init__(self, priced: Prices):
        self.priced = priced
        self.items = [[5_000, 5_000]]
        self.sent: list[tuple[list[int], int]] = []  # the items of the newest prompt, and their tokens in it
        self.cost = 0.0

    def send(self, warm: bool) -> tuple[int, int]:
        """(tokens read, tokens created) of a request over all items."""
        prompt = [(item, item[1]) for item in self.items]
        same = 0
        for (item, tokens), (before, tokens_before) in zip(prompt, self.sent):
            if item is not before or tokens != tokens_before:
                break
            same += tokens
        read = same if warm else 0
        created = sum(tokens for _, tokens in prompt) - read
        self.sent = prompt
        self.cost += read * self.priced.read + created * self.priced.write
        return read, created


PLACEHOLDER = 40


class TwoWorlds:
    """A session as it is with us, as it would be without, and what is booked of it."""

    def __init__(self, priced: Prices):
        self.now, self.priced = 0.0, priced
        self.asked_at = self.used_at = -1e9  # when the user's last request was, and when the cache was last in use with us
        self.with_us, self.without = World(priced), World(priced)
        self.requests: list = []
        self.bookings: list = []
        self.clears: list[list[tuple[list[int], int]]] = []  # of each clear: the item and its full size

    def ask(self, gap_s: float, new: int, ours: int = 0, left_out: int = 0) -> None:
        """A request with `new` tokens of conversation and a text that is there because of us; without us it has what was left out too."""
        if left_out:
            self.bookings.append(KeptOut(self.now, left_out, f"T{len(self.with_us.items)}"))
        for world, tokens in ((self.with_us, new + ours), (self.without, new + left_out)):
            world.items.append([tokens, tokens])
        self.now += gap_s
        self.without.send(self.now - self.asked_at < self.priced.ttl_s)
        read, created = self.with_us.send(self.now - self.used_at < self.priced.ttl_s)
        self.requests.append(Request(self.now, read + created, read, created, new + ours, self.priced))
        self.asked_at = self.used_at = self.now

    def keep_warm(self, gap_s: float, output: int) -> None:
        """A request of ours, over what the newest one had."""
        if not self.with_us.sent:
            return
        self.now += gap_s
        prompt = sum(tokens for _, tokens in self.with_us.sent)
        read = prompt if self.now - self.used_at < self.priced.ttl_s else 0
        booking = Warmed(self.now, prompt + 3, read, prompt - read, output)
        self.bookings.append(booking)
        self.with_us.cost += read * self.priced.read + (prompt - read) * self.priced.write + output * self.priced.output + 3
        self.used_at = self.now

    def resume(self) -> None:
        for item in self.with_us.items:
            item[1] = item[0]

    def clear(self, places: list[int]) -> None:
        candidates = [item for item in self.with_us.items[1:] if item[0] > 2 * PLACEHOLDER]
        chosen = [item for number, item in enumerate(candidates) if number in places]
        if chosen:
            self.clears.append([(item, item[0]) for item in chosen])
            self.bookings.append(Cleared(self.now, sum(item[0] - PLACEHOLDER for item in chosen), len(chosen), self.ids(chosen)))
            for item in chosen:
                item[0] = PLACEHOLDER

    def ids(self, items: list) -> list[str]:
        """As `ask` names them."""
        return [f"T{number}" for number, item in enumerate(self.with_us.items) if any(item is each for each in items)]

    def undo(self) -> None:
        if self.clears:
            back = self.clears.pop()
            self.bookings.append(Undone(self.now, self.put_back(back), self.ids([item for item, _ in back])))

    def restore(self) -> None:
        if self.clears:
            back = [self.clears[-1].pop()]
            self.bookings.append(Restored(self.now, self.put_back(back), True, self.ids([back[0][0]])))
            self.clears = [clear for clear in self.clears if clear]

    def put_back(self, cleared: list[tuple[list[int], int]]) -> int:
        for item, full in cleared:
            item[0] = full
        return sum(full - PLACEHOLDER for _, full in cleared)

    def compact(self) -> None:
        self.now += 1
        self.requests.append(Compaction(self.now))
        self.clears.clear()
        for world in (self.with_us, self.without):
            world.items = [world.items[0], [3_000, 3_000]]


SIZES = st.integers(1, 30_000)
GAPS = st.sampled_from([1, 30, 299, 300, 3_599, 3_600, 90_000])
OURS = {"print": Restored, "refetch": Refetched, "advise": Advice}


@st.composite
def two_worlds(draw, kinds: tuple[str, ...] = ("clear", "clear", "undo", "restore", "restore", "compact", *OURS)) -> TwoWorlds:
    """Each change of the transcript is loaded before the next; some clears are loaded only requests later."""
    worlds = TwoWorlds(draw(ANY_PRICES))
    for kind in draw(st.lists(st.sampled_from(("ask", *kinds)), min_size=1, max_size=25)):
        ours = left_out = 0
        if kind == "clear":
            worlds.clear(draw(st.lists(st.integers(0, 20), min_size=1, max_size=6)))
            for _ in range(draw(st.integers(0, 2))):
                worlds.ask(draw(GAPS), draw(SIZES))
        elif kind == "undo":
            worlds.undo()
        elif kind == "restore":
            worlds.restore()
        elif kind == "compact":
            worlds.compact()
        elif kind == "door":
            left_out = draw(SIZES)
        elif kind == "warm":
            for _ in range(draw(st.integers(1, 3))):
                worlds.keep_warm(draw(GAPS), draw(st.integers(0, 20)))
        elif kind in OURS:
            ours = draw(SIZES)
            worlds.bookings.append(OURS[kind](worlds.now, ours))
        worlds.resume()
        worlds.ask(draw(GAPS), draw(SIZES), ours, left_out)
    return worlds


def _difference(worlds: TwoWorlds) -> float:
    return worlds.without.cost - worlds.with_us.cost


@given(two_worlds())
def test_the_net_is_what_the_session_would_have_cost_without_us_beyond_what_it_cost(worlds):
    ledger = settle(worlds.requests, worlds.bookings)
    assert ledger.net == pytest.approx(_difference(worlds), abs=1e-3)
    assert ledger.reclaimed_tokens == sum(booking.tokens for booking in worlds.bookings if isinstance(booking, Cleared))
    assert ledger.confirmed == ledger.clears
    assert ledger.pending_tokens == 0


@given(two_worlds(("door", "door", "compact", *OURS)) | two_worlds(("door", "warm", "warm", *OURS)))
def test_the_net_of_the_door_and_of_warming_is_what_they_changed(worlds):
    assert settle(worlds.requests, worlds.bookings).net == pytest.approx(_difference(worlds), abs=1e-3)


@given(two_worlds(("door", "warm", "clear", "undo", "restore", "compact", *OURS)))
def test_where_everything_is_at_work_the_ledger_tells_no_more_than_there_was(worlds):
    assert settle(worlds.requests, worlds.bookings).net <= _difference(worlds) + 1e-3


@given(two_worlds(()))
def test_where_nothing_is_booked_all_is_zero(worlds):
    assert settle(worlds.requests, []).to_json() == Ledger().to_json()


# And these take any requests and any bookings, whether they fit or not.
AMOUNTS = st.integers(0, 100_000)
TIMES = st.integers(0, 20).map(lambda time: time * 100)  # few, so that several things have the same
REQUESTS = st.builds(
    lambda at, read, created, plain, added, priced, usd: Request(at, read + created + plain, read, created, added, priced, usd),
    TIMES, AMOUNTS, AMOUNTS, st.integers(0, 10), AMOUNTS, ANY_PRICES, st.sampled_from((None, 2.0, 5.0)),
)  # fmt: skip
MOMENTS = st.lists(REQUESTS | REQUESTS | REQUESTS | st.builds(Compaction, TIMES), max_size=20).map(
    lambda moments: sorted(moments, key=lambda moment: moment.at)
)
CLEARS = st.builds(Cleared, TIMES, AMOUNTS, st.integers(1, 9))
TEXTS = st.builds(Restored, TIMES, AMOUNTS) | st.builds(Refetched, TIMES, AMOUNTS) | st.builds(Advice, TIMES, AMOUNTS)
RETURNS = st.builds(Undone, TIMES, AMOUNTS) | st.builds(Restored, TIMES, AMOUNTS, st.just(True))
IDS = st.sampled_from(("T1", "T2", "T3"))
DOOR = st.builds(KeptOut, TIMES, AMOUNTS, IDS) | st.builds(Cleared, TIMES, AMOUNTS, st.just(1), st.lists(IDS, max_size=2))
WARM = st.builds(Warmed, TIMES, AMOUNTS, AMOUNTS, AMOUNTS, st.integers(0, 50))
BOOKINGS = st.lists(CLEARS | CLEARS | TEXTS | RETURNS, max_size=12)
MEMORY = st.builds(Remembered, TIMES, AMOUNTS) | st.builds(Spared, TIMES, AMOUNTS, st.sampled_from((0.25, 1.0)))
ALL_BOOKINGS = st.lists(CLEARS | TEXTS | RETURNS | DOOR | WARM | MEMORY, max_size=12)


@given(MOMENTS, ALL_BOOKINGS, st.randoms(use_true_random=False))
def test_a_ledger_is_the_same_in_whatever_order_its_bookings_come(moments, bookings, random):
    shuffled = list(bookings)
    random.shuffle(shuffled)
    assert settle(moments, shuffled).to_json() == settle(moments, bookings).to_json()


@given(MOMENTS, ALL_BOOKINGS)
def test_any_requests_and_bookings_give_a_ledger_of_plain_values_that_are_in_bounds(moments, bookings):
    ledger = settle(moments, bookings)
    assert loads(dumps(ledger.to_json())) == ledger.to_json()
    booked = sum(booking.tokens for booking in bookings if isinstance(booking, Cleared))
    assert min(ledger.saved, ledger.reclaimed_tokens, ledger.pending_tokens, *ledger.charged.values()) >= 0
    assert ledger.reclaimed_tokens <= 1.5 * (booked - ledger.pending_tokens)
    assert ledger.confirmed <= ledger.clears == sum(isinstance(booking, Cleared) for booking in bookings)


@given(MOMENTS, ALL_BOOKINGS)
def test_the_days_add_up_to_the_whole_and_the_causes_to_what_was_saved(moments, bookings):
    ledger = settle(moments, bookings, lambda at: f"day {at // 600}")
    for name in ledgers.AMOUNTS:
        assert sum(day.get(name, 0.0) for day in ledger.days.values()) == pytest.approx(ledger.amounts[name], abs=1e-6)
    assert [ledger.amounts["saved_" + gain] for gain in GAINS] == pytest.approx([ledger.gained[gain] for gain in GAINS])
    assert ledger.net == pytest.approx(sum(ledger.gained.values()) - sum(ledger.charged.values()))


@given(MOMENTS, ALL_BOOKINGS, st.sampled_from((0.1, 2.0, 5.0)))
def test_money_is_units_times_the_price_of_a_token(moments, bookings, usd):
    for moment in moments:
        if isinstance(moment, Request):
            moment.usd = usd
    amounts = settle(moments, bookings, str).amounts
    if any(isinstance(moment, Request) for moment in moments):
        assert amounts["unpriced"] == 0
        for name, units in (*((gain, amounts["saved_" + gain]) for gain in GAINS), ("charged", amounts["charged"])):
            assert amounts["usd_" + name] == pytest.approx(units * usd / 1e6)


@given(MOMENTS, BOOKINGS)
def test_nothing_is_saved_where_no_clear_is_confirmed(moments, bookings):
    ledger = settle(moments, bookings)
    if not ledger.confirmed:
        assert ledger.saved == ledger.reclaimed_tokens == ledger.results == 0
        assert ledger.net <= 0


@given(MOMENTS, BOOKINGS, TEXTS)
def test_a_text_more_never_raises_the_net(moments, bookings, text):
    assert settle(moments, [*bookings, text]).net <= settle(moments, bookings).net + 1e-6


@given(MOMENTS, BOOKINGS, st.builds(Remembered, TIMES, AMOUNTS))
def test_what_memory_gives_never_raises_the_net(moments, bookings, text):
    assert settle(moments, [*bookings, text]).net <= settle(moments, bookings).net + 1e-6


@given(two_worlds(("clear", *OURS)), st.integers(0, 100_000), st.booleans())
def test_putting_back_what_is_out_never_raises_the_net(worlds, tokens, undo):
    worlds.ask(10, 1_000)  # the last clear shows
    booking = Undone(worlds.now, tokens) if undo else Restored(worlds.now, tokens, True)
    for gap_s in (10, 4_000, 20):
        worlds.ask(gap_s, 500)
    before = settle(worlds.requests, worlds.bookings)
    assert settle(worlds.requests, [*worlds.bookings, booking]).net <= before.net + 1e-6


@given(MOMENTS, BOOKINGS, st.integers(0, 20))
def test_what_the_first_requests_confirm_stays_reclaimed(moments, bookings, count):
    first, whole = settle(moments[:count], bookings), settle(moments, bookings)
    assert first.reclaimed_tokens <= whole.reclaimed_tokens
    assert first.confirmed <= whole.confirmed
    assert first.saved <= whole.saved + 1e-6
