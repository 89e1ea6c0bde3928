"""What was really reclaimed and charged: only what the usage of later requests shows, and everything that it cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.edges.codec import dumps, loads
from hooks.utils.policy.economics import Prices
from hooks.utils.policy.ledger import Advice, Cleared, Compaction, Ledger, Refetched, Request, Restored, Undone, settle
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
        "charged_rewrite": 52_900.0,  # 11,500 + 41,400
        "charged_restores": 2_700.0,  # 1,250 + 100 + 1,250 + 100
        "charged_refetches": 0.0,
        "charged_advice": 0.0,
        "saved": 29_450.0,  # 3 x 1,900 + 23,750
        "charged": 55_600.0,
        "net": -26_150.0,
    }


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
        """(tokens read, tokens created)."""
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
        self.with_us, self.without = World(priced), World(priced)
        self.requests: list = []
        self.bookings: list = []
        self.clears: list[list[tuple[list[int], int]]] = []  # of each clear: the item and its full size

    def ask(self, gap_s: float, new: int, ours: int = 0) -> None:
        """A request with `new` tokens of conversation and a text that is there because of us."""
        for world, tokens in ((self.with_us, new + ours), (self.without, new)):
            world.items.append([tokens, tokens])
        self.now += gap_s
        warm = gap_s < self.priced.ttl_s
        self.without.send(warm)
        read, created = self.with_us.send(warm)
        self.requests.append(Request(self.now, read + created, read, created, new + ours, self.priced))

    def resume(self) -> None:
        for item in self.with_us.items:
            item[1] = item[0]

    def clear(self, places: list[int]) -> None:
        candidates = [item for item in self.with_us.items[1:] if item[0] > 2 * PLACEHOLDER]
        chosen = [item for number, item in enumerate(candidates) if number in places]
        if chosen:
            self.clears.append([(item, item[0]) for item in chosen])
            self.bookings.append(Cleared(self.now, sum(item[0] - PLACEHOLDER for item in chosen), len(chosen)))
            for item in chosen:
                item[0] = PLACEHOLDER

    def undo(self) -> None:
        if self.clears:
            self.bookings.append(Undone(self.now, self.put_back(self.clears.pop())))

    def restore(self) -> None:
        if self.clears:
            self.bookings.append(Restored(self.now, self.put_back([self.clears[-1].pop()]), True))
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
        ours = 0
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
        elif kind in OURS:
            ours = draw(SIZES)
            worlds.bookings.append(OURS[kind](worlds.now, ours))
        worlds.resume()
        worlds.ask(draw(GAPS), draw(SIZES), ours)
    return worlds


@given(two_worlds())
def test_the_net_is_what_the_session_would_have_cost_without_us_beyond_what_it_cost(worlds):
    ledger = settle(worlds.requests, worlds.bookings)
    assert ledger.net == pytest.approx(worlds.without.cost - worlds.with_us.cost, abs=1e-3)
    assert ledger.reclaimed_tokens == sum(booking.tokens for booking in worlds.bookings if isinstance(booking, Cleared))
    assert ledger.confirmed == ledger.clears
    assert ledger.pending_tokens == 0


@given(two_worlds(()))
def test_where_nothing_is_booked_all_is_zero(worlds):
    assert settle(worlds.requests, []).to_json() == Ledger().to_json()


# And these take any requests and any bookings, whether they fit or not.
AMOUNTS = st.integers(0, 100_000)
TIMES = st.integers(0, 20).map(lambda time: time * 100)  # few, so that several things have the same
REQUESTS = st.builds(
    lambda at, read, created, plain, added, priced: Request(at, read + created + plain, read, created, added, priced),
    TIMES, AMOUNTS, AMOUNTS, st.integers(0, 10), AMOUNTS, ANY_PRICES,
)  # fmt: skip
MOMENTS = st.lists(REQUESTS | REQUESTS | REQUESTS | st.builds(Compaction, TIMES), max_size=20).map(
    lambda moments: sorted(moments, key=lambda moment: moment.at)
)
CLEARS = st.builds(Cleared, TIMES, AMOUNTS, st.integers(1, 9))
TEXTS = st.builds(Restored, TIMES, AMOUNTS) | st.builds(Refetched, TIMES, AMOUNTS) | st.builds(Advice, TIMES, AMOUNTS)
RETURNS = st.builds(Undone, TIMES, AMOUNTS) | st.builds(Restored, TIMES, AMOUNTS, st.just(True))
BOOKINGS = st.lists(CLEARS | CLEARS | TEXTS | RETURNS, max_size=12)


@given(MOMENTS, BOOKINGS, st.randoms(use_true_random=False))
def test_a_ledger_is_the_same_in_whatever_order_its_bookings_come(moments, bookings, random):
    shuffled = list(bookings)
    random.shuffle(shuffled)
    assert settle(moments, shuffled).to_json() == settle(moments, bookings).to_json()


@given(MOMENTS, BOOKINGS)
def test_any_requests_and_bookings_give_a_ledger_of_plain_values_that_are_in_bounds(moments, bookings):
    ledger = settle(moments, bookings)
    assert loads(dumps(ledger.to_json())) == ledger.to_json()
    booked = sum(booking.tokens for booking in bookings if isinstance(booking, Cleared))
    assert min(ledger.saved, ledger.reclaimed_tokens, ledger.pending_tokens, *ledger.charged.values()) >= 0
    assert ledger.reclaimed_tokens <= 1.5 * (booked - ledger.pending_tokens)
    assert ledger.confirmed <= ledger.clears == sum(isinstance(booking, Cleared) for booking in bookings)


@given(MOMENTS, BOOKINGS)
def test_nothing_is_saved_where_no_clear_is_confirmed(moments, bookings):
    ledger = settle(moments, bookings)
    if not ledger.confirmed:
        assert ledger.saved == ledger.reclaimed_tokens == ledger.results == 0
        assert ledger.net <= 0


@given(MOMENTS, BOOKINGS, TEXTS)
def test_a_text_more_never_raises_the_net(moments, bookings, text):
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
