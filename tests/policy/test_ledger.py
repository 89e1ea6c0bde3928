"""What was really reclaimed and charged: only what the usage of later requests shows, and everything that it cost."""

from __future__ import annotations

import pytest

from popkit_retention.core.policy import figures
from popkit_retention.core.policy.bookings import (
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
)
from popkit_retention.core.policy.host_compaction import HostCompaction
from popkit_retention.core.policy.ledger import GAINS, Ledger
from popkit_retention.core.policy.settling import settle
from popkit_retention.core.policy.shapes import LedgerFigures
from tests.policy.priced import prices

FIVE, HOUR = prices(300), prices(3_600)


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
        **Ledger().to_json(),
        "reclaimed_tokens": 0,  # all is back
        "clears": 1,
        "confirmed": 1,
        "results": 4,
        "undone": 1,
        "restored": 1,
        "charged_rewrite": 52_900.0,  # 11,500 + 41,400
        "charged_restores": 2_700.0,  # 1,250 + 100 + 1,250 + 100
        "saved_cleared": 29_450.0,
        "unpriced": 85_050.0,  # 29,450 + 55,600: no request says what its model costs
        "saved": 29_450.0,  # 3 x 1,900 + 23,750
        "charged": 55_600.0,
        "net": -26_150.0,
    }


def test_of_nothing_the_figures_are_noughts():
    found = figures.of({})
    assert found.pop("saved_by_usd") == dict.fromkeys(GAINS, 0.0)
    assert {name: figure for name, figure in found.items() if figure} == {}
    assert found["net_usd"] == 0.0


def test_the_figures_have_each_amount_of_a_ledger_once():
    ledger = {name: float(at) for at, name in enumerate(Ledger().to_json(), 1)}
    found = figures.of_ledger(ledger)
    theirs = {"kept_out_results": "kept_out", "cleared_results": "results", "cleared_tokens": "reclaimed_tokens"}
    counts = {name: figure for name, figure in found.items() if type(figure) is int}
    assert counts == {name: ledger[theirs.get(name, name)] for name in counts}
    assert found["unpriced"] is True
    assert {*found} == {*LedgerFigures.__annotations__}


@pytest.mark.parametrize("name", ["kept_out_tokens", "reclaimed_tokens", "unpriced", "usd_charged", *("usd_" + gain for gain in GAINS)])
def test_each_of_them_is_something_to_tell(name: str):
    assert not figures.is_anything(figures.of({}))
    assert figures.is_anything(figures.of({name: 1.0}))


def test_ledgers_together_are_their_sum():
    assert figures.together([{"spared": 1, "net": 2.5}, {"spared": 2}]) == {"spared": 3, "net": 2.5}


def test_a_session_with_the_door_worked_out_by_hand():
    day = {0: "monday", 1: "tuesday"}
    requests = [
        Request(0, 20_000, 0, 20_000, 0, FIVE, 5.0),
        # At 5, 4,000 tokens of a result did not enter: they would have been written, 4,000 x 1.25 = 5,000.
        Request(10, 23_000, 20_000, 3_000, 3_000, FIVE, 5.0),
        # Read from then on: 4,000 x 0.1 = 400.
        Request(20, 24_000, 23_000, 1_000, 1_000, FIVE, 5.0),
        # Printed at 25, 1,000 tokens of it: written for 1,250. Saved 400.
        Request(30, 26_000, 24_000, 2_000, 2_000, FIVE, 5.0),
        # The printed tokens are carried: 100. Saved 400.
        Request(40, 27_000, 26_000, 1_000, 1_000, FIVE, 5.0),
        # The user came a day later, with another model: saved 5,000 for what did not enter, and 1,250 for what was printed.
        Request(90_000, 28_000, 0, 28_000, 1_000, FIVE, 10.0),
    ]
    ledger = settle(requests, [KeptOut(5, 4_000, "T1"), Restored(25, 1_000)], lambda at: day[at > 80_000])
    figures = ledger.to_json()
    assert (figures["kept_out"], figures["kept_out_tokens"], figures["restored"]) == (1, 4_000, 1)
    assert figures["saved_kept_out"] == 5_000 + 3 * 400 + 5_000
    assert figures["saved_cleared"] == 0
    assert figures["charged_restores"] == 1_250 + 100 + 1_250
    assert figures["net"] == 11_200 - 2_600
    # Dollars: 5 a million on the first day, 10 on the second.
    assert figures["usd_kept_out"] == pytest.approx((6_200 * 5 + 5_000 * 10) / 1e6)
    assert figures["usd_charged"] == pytest.approx(1_350 * 5 / 1e6 + 1_250 * 10 / 1e6)
    assert figures["unpriced"] == 0
    assert ledger.days["tuesday"] == pytest.approx({"saved_kept_out": 5_000, "usd_kept_out": 0.05, "charged": 1_250, "usd_charged": 0.0125})


def test_what_an_undo_puts_back_is_not_counted_as_cleared_in_any_period():
    requests = [*_warm(60_000), Request(20, 41_000, 5_000, 36_000, 1_000), Request(140, 62_000, 5_000, 57_000, 1_000)]
    ledger = settle(requests, [Cleared(5, 20_000), Undone(130, 20_000)], lambda at: "2026-03-01" if at < 100 else "2026-03-02")
    assert figures.of_ledger(ledger.to_json())["cleared_tokens"] == 0
    assert figures.of(ledger.days["2026-03-02"])["cleared_tokens"] == 0, "nor below that"
    assert sum(table["reclaimed_tokens"] for table in ledger.days.values()) == 0


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
    figures = settle(requests, [Remembered(-1, 500), Spared(10, 800, 0.5), Remembered(45, 500)]).to_json()
    assert (figures["memory_tokens"], figures["spared"]) == (1_000, 1)
    assert figures["charged_memory"] == figures["charged"] == 625 + 50 + 50 + 50 + 625
    assert figures["saved_memory"] == 1_250 + 1_000 + 80
    # Without memory, the summariser would have read 800 tokens more and 500 less.
    assert figures["saved_compactions"] == figures["saved"] - figures["saved_memory"] == 30
    assert figures["usd_memory"] == pytest.approx(2_330 * 5 / 1e6)


def test_a_compaction_of_ours_in_place_of_the_hosts_worked_out_by_hand():
    host = HostCompaction(base=10_000, summary=4_000)
    requests = [
        Request(0, 60_000, 0, 60_000, 0, FIVE, 5.0, files=8_000),
        Request(10, 62_000, 60_000, 2_000, 2_000, FIVE, 5.0, files=8_000),
        # 1,000 tokens of a result came before it. The summariser would have read 62,000 tokens, x 0.1 = 6,200, and written 4,000, x 5 =
        # 20,000. What the host leaves, 12,000 tokens beside system and tools, it would have written: 12,000 x 1.15 = 13,800. Ours leaves
        # 20,000 and writes them, 20,000 x 1.15 = 23,000.
        Compaction(15, 1_000, is_ours=True),
        # 31,000 tokens beside 23,000, with the result in both: 8,000 x 0.1 = 800 are carried, from now on.
        Request(20, 31_000, 10_000, 21_000, 15_000, FIVE, 5.0, files=8_000),
        Request(30, 32_000, 31_000, 1_000, 1_000, FIVE, 5.0, files=8_000),
        # What was compacted is fetched again at 35, which the host's own compaction would have taken, too. It is still carried.
        Request(40, 34_000, 32_000, 2_000, 2_000, FIVE, 5.0, files=8_000),
    ]
    ledger = settle(requests, [Refetched(35, 2_000, since=5)], host=host)
    assert (ledger.gained["compactions"], ledger.charged["compactions"]) == (6_200 + 20_000 + 13_800, 23_000 + 3 * 800)
    assert (ledger.charged["refetches"], ledger.refetched, ledger.spared_compactions) == (0, 1, 1)
    parts = {"request": 6_200, "summary": 20_000, "writes": 13_800 - 23_000, "carries": -2_400}
    assert ledger.compaction_usd == pytest.approx({part: units * 5 / 1e6 for part, units in parts.items()})
    late = settle(requests, [Refetched(35, 2_000, since=32)], host=host)
    assert late.charged["refetches"] == 2_500, "what came behind the compaction would still be there"


def test_what_did_not_enter_puts_off_a_compaction_that_the_host_would_have_made():
    host = HostCompaction(threshold=67_000, base=10_000, summary=4_000)
    sent = [(60_000, 2_000), (62_000, 2_000), (64_000, 2_000), (66_000, 2_000)]
    requests = [Request(10 * n, prompt, prompt - added, added, added, FIVE, 5.0, files=8_000) for n, (prompt, added) in enumerate(sent)]
    ledger = settle(requests, [KeptOut(5, 4_000, "T1")], host=host)
    # With 4,000 tokens more, the last but one would have been 68,000: 66,000 are read, and 24,000 go on. Of what it has less, 40,000, the
    # last two carry the more with us.
    assert ledger.gained["kept_out"] == 4_000 * 1.25
    assert ledger.gained["compactions"] == 6_600 + 20_000 + 12_000 * 1.15
    assert ledger.charged["compactions"] == 2 * (64_000 - 24_000) * 0.1
    assert settle(requests, []).to_json() == settle(requests, [], host=host).to_json() == Ledger().to_json()


def test_a_clear_saves_until_the_host_would_have_compacted():
    host = HostCompaction(threshold=67_000, base=10_000, summary=4_000)
    requests = [Request(0, 60_000, 0, 60_000, 0, FIVE, 5.0), Request(10, 58_000, 40_000, 18_000, 2_000, FIVE, 5.0)]
    requests += [Request(10 * n, 56_000 + 2_000 * n, 54_000 + 2_000 * n, 2_000, 2_000, FIVE, 5.0) for n in (2, 3, 4, 5)]
    ledger = settle(requests, [Cleared(5, 4_000)], host=host)
    assert ledger.spared_compactions == 1
    assert ledger.gained["cleared"] == pytest.approx(3 * 4_000 * FIVE.read), "the fourth would have been 68,000"
    requests.append(Request(60, 72_000, 66_000, 6_000, 2_000, FIVE, 5.0))
    halves = settle(requests, [Cleared(5, 4_000), Restored(55, 2_000, True), Restored(56, 2_000, True)], host=host)
    whole = settle(requests, [Cleared(5, 4_000), Restored(55, 4_000, True)], host=host)
    assert {**halves.to_json(), "restored": 1} == whole.to_json()
    assert whole.to_json() != settle(requests, [Cleared(5, 4_000)], host=host).to_json() | {"restored": 1}


def test_a_compaction_of_the_hosts_own_costs_nothing_more_than_without_us():
    requests = [*_warm(66_000), Compaction(15, 2_000, is_asked=False), *_warm(26_000, 27_000, at=20)]
    assert settle(requests, [], host=HostCompaction(67_000, 10_000)).to_json() == Ledger().to_json()


def test_before_its_first_request_a_session_has_nothing_to_be_spared():
    figures = settle([Request(10, 9_000, 0, 9_000, 0, FIVE)], [Spared(5, 0, 1.0)]).to_json()
    assert (figures["spared"], figures["saved"]) == (1, 0)


def _kept_out(requests: list, *more) -> float:
    return settle(requests, [KeptOut(5, 4_000, "T1"), *more]).gained["kept_out"]


def test_a_shortening_counts_at_once_and_saves_from_the_first_shortened_request():
    ledger = settle(_warm(20_000), [KeptOut(5, 4_000, "T1")]).to_json()
    assert ledger == {**Ledger().to_json(), "kept_out": 1, "kept_out_tokens": 4_000}, "no request has gone without it"
    assert _kept_out(_warm(20_000, 21_000)) == 5_000
    assert _kept_out([Request(0, 20_000, 0, 0), Request(10, 21_000, 0, 0, 1_000)]) == 4_000, "plain input, where nothing is cached"


def test_what_did_not_enter_stays_counted_whatever_becomes_of_it():
    requests = [*_warm(20_000, 21_000), Compaction(15), *_warm(9_000, 10_000, at=20)]
    ledger = settle(requests, [KeptOut(5, 4_000, "T1"), KeptOut(6, 300, "T2"), Cleared(7, 500, 1, ["T1"])], lambda at: "day")
    assert (ledger.kept_out, ledger.kept_out_tokens, ledger.days["day"]["kept_out_tokens"]) == (2, 4_300, 4_300)


def test_a_clear_of_the_same_result_ends_what_did_not_enter_until_it_is_back():
    requests = _warm(20_000, 21_000, 22_000, 23_000, 24_000)
    assert _kept_out(requests) == 5_000 + 3 * 400
    assert _kept_out(requests, Cleared(15, 500, 1, ["T1"])) == 5_000
    assert _kept_out(requests, Cleared(15, 500, 1, ["T9"])) == 5_000 + 3 * 400
    assert _kept_out(requests, Cleared(15, 500, 1, ["T1"]), Undone(25, 500, ["T1", "T9"])) == 5_000 + 2 * 400
    assert _kept_out(requests, Cleared(15, 500, 2, ["T1", "T2"]), Restored(35, 300, True, ["T1"])) == 5_000 + 400


def test_for_a_model_without_a_price_only_tokens_are_given():
    requests = [Request(0, 20_000, 0, 20_000, 0, FIVE, 5.0), Request(10, 21_000, 20_000, 1_000, 1_000, FIVE, None)]
    figures = settle(requests, [KeptOut(5, 4_000, "T1"), Advice(5, 100)]).to_json()
    assert (figures["saved_kept_out"], figures["usd_kept_out"], figures["unpriced"]) == (5_000, 0, 5_000)
    assert figures["usd_charged"] == pytest.approx(125 * 5 / 1e6), "what was said was written at the price of the request before"


@pytest.mark.parametrize(("read", "saved"), [(0.1, 1_900), (0.05, 950), (0.025, 475)])
def test_each_request_is_reckoned_at_the_prices_of_its_model(read, saved):
    requests = [*_warm(50_000), Request(20, 32_000, 20_000, 12_000, 1_000, prices(300, read))]  # 19,000 are missing
    ledger = settle(requests, [Cleared(5, 20_000)])
    assert ledger.saved == pytest.approx(saved)  # 19,000 x the price of a read
    # 11,000 were written again, for 1.25 each, and would have been read.
    assert ledger.charged["rewrite"] == pytest.approx(11_000 * (1.25 - read))


def test_advice_is_charged_at_the_price_of_the_newest_write():
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
def test_half_of_the_estimate_must_be_missing_and_at_most_half_more_is_counted(missing, reclaimed):
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
    before, whole = settle(confirmed, bookings).to_json(), settle([*confirmed, *after], bookings).to_json()
    # The summariser would have read 20,000 tokens more, without 900 of ours.
    summarised = {"saved_compactions": 1_910, "saved": before["saved"] + 1_910, "net": before["net"] + 1_910}
    assert whole == {**before, **summarised, "unpriced": before["unpriced"] + 1_910}
    assert whole["advice_tokens"] == 400
    assert whole["charged_advice"] == 400 * 1.25, "what was said to the compaction was written once"


def test_an_hour_s_cache_is_cold_after_an_hour_or_if_empty_after_five_minutes():
    def charged(gap_s: float, read: int) -> float:
        requests = [Request(0, 50_000, 0, 50_000, 0, HOUR), Request(gap_s, 31_000, read, 31_000 - read, 1_000, HOUR)]
        return settle(requests, [Cleared(0, 20_000)]).charged["rewrite"]

    assert charged(3_599, 8_000) == pytest.approx(22_000 * 1.9)
    assert charged(3_600, 8_000) == 0
    assert charged(300, 0) == 0
    assert charged(299, 0) == pytest.approx(30_000 * 1.9)


def test_only_a_request_that_wrote_shows_the_lifetime_of_the_cache():
    requests = [
        Request(0, 50_000, 0, 50_000, 0, HOUR),
        Request(10, 50_000, 50_000, 0, 0, FIVE),  # nothing written, so the host names no lifetime
        Request(2_000, 31_000, 8_000, 23_000, 1_000, HOUR),
    ]
    assert settle(requests, [Cleared(5, 20_000)]).charged["rewrite"] == pytest.approx(22_000 * 1.9)


def test_a_cache_that_requests_show_to_be_warm_is_warm_however_long_the_pause():
    requests = [*_warm(50_000), Request(20, 31_000, 5_000, 26_000, 1_000), Request(9_000, 32_000, 31_000, 1_000, 1_000)]
    assert settle(requests, [Cleared(5, 20_000)]).saved == pytest.approx(2 * 20_000 * FIVE.read)


def test_without_a_cache_what_is_saved_is_plain_input():
    requests = [Request(0, 50_000, 0, 0), Request(400, 31_000, 0, 0, 1_000), Request(410, 32_000, 0, 0, 1_000)]
    ledger = settle(requests, [Cleared(5, 20_000)])
    assert (ledger.saved, ledger.net) == (40_000, 40_000)


def test_content_put_back_in_place_saves_nothing_more_and_its_rewrite_is_charged():
    """Once the rewrite shows."""
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
    assert (ledger.restored, ledger.reclaimed_tokens) == (1, 15_000)


@pytest.mark.parametrize("bookings", [[Cleared(2, 20_000), Undone(4, 20_000)], [Cleared(2, 0)]])
def test_nothing_is_charged_where_nothing_leaves_or_all_is_undone_before_a_request(bookings):
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
    assert (ledger.confirmed, ledger.reclaimed_tokens, ledger.pending_tokens) == (2, 25_000, 0)
    assert ledger.saved == pytest.approx((10_000 + 25_000 + 25_000) * FIVE.read)
    assert ledger.charged["rewrite"] == pytest.approx((50_000 + 36_000) * 1.15)


def test_results_put_back_one_by_one_each_take_their_share_of_the_measured_saving():
    requests = [*_warm(50_000), Request(20, 33_000, 5_000, 28_000, 1_000)]  # 18,000 are out, 20,000 were booked
    for number in range(4):
        before = requests[-1].prompt
        requests.append(Request(40 + 10 * number, before + 5_500, 6_000, before - 500, 1_000))
    ledger = settle(requests, [Cleared(5, 20_000), *(Restored(31 + 10 * number, 5_000, True) for number in range(4))])
    assert ledger.saved == pytest.approx((18_000 + 13_500 + 9_000 + 4_500) * FIVE.read)
