"""Laws of the ledger: over any requests and bookings, and against what the session would have cost without us."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.io.codec import dumps, loads
from popkit_retention.core.policy import ledger as ledgers
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
from popkit_retention.core.policy.economics import Prices
from popkit_retention.core.policy.host_compaction import HostCompaction
from popkit_retention.core.policy.ledger import GAINS, Ledger
from popkit_retention.core.policy.settling import settle
from tests.policy.priced import LIFETIMES, READS, prices

ANY_PRICES = st.builds(prices, st.sampled_from(LIFETIMES), st.sampled_from(READS))


# Whole sessions are played in two worlds, with us and without, at exact prices.


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

    def summarise(self) -> None:
        """The summariser reads the newest prompt, which is warm, and writes."""
        if self.sent:
            self.cost += sum(tokens for _, tokens in self.sent) * self.priced.read + HOST.summary * self.priced.output


PLACEHOLDER = 40
HOST, FILES = HostCompaction(base=5_000), 7_000


class TwoWorlds:
    """A session as it is with us, as it would be without, and what is booked of it."""

    def __init__(self, priced: Prices):
        self.now, self.priced = 0.0, priced
        self.asked_at = -1e9  # when the last request was
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
        warm = self.now - self.asked_at < self.priced.ttl_s
        self.without.send(warm)
        read, created = self.with_us.send(warm)
        self.requests.append(Request(self.now, read + created, read, created, new + ours, self.priced, files=FILES))
        self.asked_at = self.now

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
        """The host compacts both, and leaves the same in both."""
        self._compact(Compaction(self.now + 1))
        for world in (self.with_us, self.without):
            world.summarise()
            world.items = [world.items[0], [3_000, 3_000]]

    def replace(self, left: int, typed: int) -> None:
        """A person asks for a compaction and types on: ours leaves so many tokens, the host's a summary and files."""
        self._compact(Compaction(self.now + 1, typed, is_ours=True))
        self.with_us.items = [self.with_us.items[0], [left, left]]
        self.without.summarise()
        whole = min(HOST.summary + FILES, sum(tokens for _, tokens in self.without.sent) - HOST.base)
        self.without.items = [self.without.items[0], [whole, whole]]

    def _compact(self, compaction: Compaction) -> None:
        self.now = compaction.at
        self.requests.append(compaction)
        self.clears.clear()


SIZES = st.integers(1, 30_000)
GAPS = st.sampled_from([1, 30, 299, 300, 3_599, 3_600, 90_000])
OURS = {"print": Restored, "refetch": Refetched, "advise": Advice}


@st.composite
def two_worlds(draw, kinds: tuple[str, ...] = ("clear", "clear", "undo", "restore", "restore", "compact", "replace", *OURS)) -> TwoWorlds:
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
        elif kind == "replace" and worlds.requests:
            typed = draw(SIZES)
            worlds.replace(draw(SIZES), typed)
            worlds.ask(draw(GAPS), typed)
        elif kind == "door":
            left_out = draw(SIZES)
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
    ledger = settle(worlds.requests, worlds.bookings, host=HOST)
    assert ledger.net == pytest.approx(_difference(worlds), abs=1e-3)
    cleared = sum(booking.tokens for booking in worlds.bookings if isinstance(booking, Cleared))
    back = sum(booking.tokens for booking in worlds.bookings if isinstance(booking, Undone) or getattr(booking, "in_place", False))
    assert ledger.reclaimed_tokens == cleared - back
    assert ledger.confirmed == ledger.clears
    assert ledger.pending_tokens == 0


@given(two_worlds(("door", "door", "compact", "replace", *OURS)))
def test_the_net_of_the_door_is_what_it_changed(worlds):
    assert settle(worlds.requests, worlds.bookings, host=HOST).net == pytest.approx(_difference(worlds), abs=1e-3)


@given(two_worlds(("door", "clear", "undo", "restore", "compact", "replace", *OURS)))
def test_where_everything_is_at_work_the_ledger_counts_no_more_than_there_was(worlds):
    assert settle(worlds.requests, worlds.bookings, host=HOST).net <= _difference(worlds) + 1e-3


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
BOOKINGS = st.lists(CLEARS | CLEARS | TEXTS | RETURNS, max_size=12)
MEMORY = st.builds(Remembered, TIMES, AMOUNTS) | st.builds(Spared, TIMES, AMOUNTS, st.sampled_from((0.25, 1.0)))
ALL_BOOKINGS = st.lists(CLEARS | TEXTS | RETURNS | DOOR | MEMORY, max_size=12)


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


@given(MOMENTS, BOOKINGS, TEXTS | st.builds(Remembered, TIMES, AMOUNTS))
def test_a_text_more_never_raises_the_net(moments, bookings, text):
    assert settle(moments, [*bookings, text]).net <= settle(moments, bookings).net + 1e-6


@given(two_worlds(("clear", *OURS)), st.integers(0, 100_000), st.booleans())
def test_putting_back_what_is_out_never_raises_the_net(worlds, tokens, undo):
    worlds.ask(10, 1_000)  # the last clear shows
    booking = Undone(worlds.now, tokens) if undo else Restored(worlds.now, tokens, True)
    for gap_s in (10, 4_000, 20):
        worlds.ask(gap_s, 500)
    before = settle(worlds.requests, worlds.bookings, host=HOST)
    assert settle(worlds.requests, [*worlds.bookings, booking], host=HOST).net <= before.net + 1e-6


@given(MOMENTS, BOOKINGS, st.integers(0, 20))
def test_what_the_first_requests_confirm_stays_reclaimed(moments, bookings, count):
    first, whole = settle(moments[:count], bookings), settle(moments, bookings)
    assert first.reclaimed_tokens <= whole.reclaimed_tokens
    assert first.confirmed <= whole.confirmed
    assert first.saved <= whole.saved + 1e-6
