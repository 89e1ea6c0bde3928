"""Contexts of all kinds, and what is settled of each: `goldens/ledgers.txt`. Those that are worked out by hand are in test_ledger.py.

Each is drawn by its number: requests that grow, write and read as a client's do, with a cache that goes cold, prompts from which something
is missing or to which it has come back, compactions of all kinds between them, and bookings of all kinds. Below it what its ledger counts.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from popkit_retention.core.policy.bookings import (
    Advice,
    Booking,
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
from popkit_retention.core.policy.ledger import Ledger
from popkit_retention.core.policy.settling import settle
from tests.policy.priced import prices

GOLDEN = Path(__file__).with_name("goldens") / "ledgers.txt"
HOSTS = (None, HostCompaction(), HostCompaction(40_000, 8_000, 1_500), HostCompaction(60_000, 8_000), HostCompaction(9_000, 8_000, 1_500))
PRICES = (prices(300), prices(3_600), prices(300, 0.05))


class Drawn:
    """A context that is drawn by a number: its `moments` in order, and its `bookings`."""

    def __init__(self, number: int) -> None:
        self.draw = Random(number)
        self.host = HOSTS[number % len(HOSTS)]
        self.moments: list[Request | Compaction] = []
        self.bookings: list[Booking] = []
        self.at, self.prompt, self.out = 0.0, 12_000, 0
        self.priced = PRICES[number % len(PRICES)]
        for _ in range(self.below(9) + 4):
            self._go_on()

    def below(self, most: int) -> int:
        return int(self.draw.random() * most)

    def _go_on(self) -> None:
        self.at += (10, 10, 40, 400, 4_000)[self.below(5)]
        what = self.below(12)
        if what == 0 and self.moments:
            added = self.below(3) * 700
            self.moments.append(Compaction(self.at, added, is_ours=self.below(2) == 0, is_asked=self.below(2) == 0))
            self.prompt, self.out = 9_000 + self.below(4) * 1_000, 0
            return
        if what < 8:
            self._book()
        added = (self.below(5) * 1_300) if self.moments else 0
        change = 0
        if self.out and self.below(2):
            change, self.out = -self.out + (self.below(3) - 1) * 300, 0
        self.prompt = max(1_000, self.prompt + added + change)
        read = (0, self.prompt // 3, max(0, self.prompt - added), max(0, self.prompt - added - 200))[self.below(4)]
        created = 0 if self.below(9) == 0 else self.prompt - read
        usd = (None, 3.0, 5.0)[self.below(3)]
        self.moments.append(Request(self.at, self.prompt, read, created, added, self.priced, usd, self.below(3) * 900))

    def _book(self) -> None:
        at, tokens, ids = self.at - 1 - self.below(2), 400 + self.below(6) * 900, [f"T{self.below(4)}"][: self.below(2)]
        what = self.below(10)
        if what in (0, 1, 2):
            self.out += tokens
            self.bookings.append(Cleared(at, tokens, self.below(3), ids))
        elif what == 3:
            self.out -= min(tokens, self.out)
            self.bookings.append(Undone(at, tokens, ids))
        else:
            self.bookings.append(
                (
                    KeptOut(at, tokens, f"T{self.below(4)}"),
                    Restored(at, tokens, self.below(2) == 0, ids),
                    Refetched(at, tokens, self.at - self.below(3) * 60),
                    Advice(at, tokens),
                    Remembered(at, tokens),
                    Spared(at, tokens, (1.0, 0.5)[self.below(2)]),
                )[what - 4]
            )

    def told(self) -> list[str]:
        rows = [f"# host {'none' if self.host is None else (self.host.threshold, self.host.base, self.host.summary)}"]
        for moment in self.moments:
            if isinstance(moment, Compaction):
                whose = "ours" if moment.is_ours else "the host's"
                rows.append(f"{moment.at:g} s: compaction, {whose}{', asked for' * moment.is_asked}, {moment.added} added")
            else:
                rows.append(
                    f"{moment.at:g} s: {moment.prompt} tokens, {moment.read} read, {moment.created} written, {moment.added} new,"
                    f" {moment.files} of files, at {moment.usd} (read {moment.prices.read}, {moment.prices.ttl_s} s)"
                )
        rows += [f"{booking.at:g} s: {type(booking).__name__} {booking.order()}" for booking in self.bookings]
        ledger = settle(self.moments, self.bookings, None, self.host)
        plain = Ledger().to_json()
        found = {name: value for name, value in ledger.to_json().items() if value != plain.get(name)}
        return [*rows, *(f"  {name} {round(value, 4) if isinstance(value, float) else value}" for name, value in found.items())]


def test_each_context_is_settled_as_the_golden_shows(golden) -> None:
    golden(GOLDEN, "".join(f"{row}\n" for number in range(100) for row in Drawn(number).told()))


@pytest.mark.parametrize("number", range(30))
def test_bookings_may_come_in_any_order(number: int) -> None:
    drawn = Drawn(number)
    forth = settle(drawn.moments, drawn.bookings, None, drawn.host)
    back = settle(drawn.moments, drawn.bookings[::-1], None, drawn.host)
    assert back.to_json() == forth.to_json()


def test_of_a_context_without_requests_what_was_cleared_is_pending() -> None:
    assert settle([], [Cleared(1, 300), Cleared(2, 400), Undone(3, 100)]).pending_tokens == 600
