"""The hint in the hooks: who is given it, once for each context."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.core.handlers.session_events import HINT
from popkit_retention.core.policy.bookings import Advice, Request
from popkit_retention.core.policy.settling import settle
from popkit_retention.core.state import journal_bookings, store
from tests.hooks import payloads
from tests.hooks.remembering import MEMORY, Remembering
from tests.kit.forks import Forks, Hook

OTHER = "3ffaa4db-e088-49ec-9796-000000000002"


def configure(folder: Path, hints: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "retention-config.json").write_text(json.dumps({"retention": {"hints": hints}}))


@pytest.fixture
def hinted(shop: Remembering) -> Remembering:
    """A shop whose user has switched hints on."""
    configure(shop.home.path, "on")
    return shop


def test_nobody_is_given_the_hint_unless_it_is_on(shop: Remembering):
    assert shop.begin() == ""
    configure(shop.home.path, "on")
    assert shop.begin(session_id=OTHER) == HINT


def test_a_project_can_switch_it_off_and_not_on(shop: Remembering):
    configure(shop.work / ".claude", "on")
    assert shop.begin() == ""
    configure(shop.home.path, "on")
    configure(shop.work / ".claude", "off")
    assert shop.begin(session_id=OTHER) == ""


def test_the_hint_is_one_short_sentence_for_each_of_its_two_wishes():
    assert HINT.count(".") == 2
    assert len(HINT) < 160  # about 40 tokens at most


def test_a_context_is_given_the_hint_once_and_again_behind_a_compaction(hinted: Remembering):
    assert [hinted.begin(), hinted.begin(), hinted.begin("resume")] == [HINT, "", ""]
    hinted.tell(payloads.pre_compact)
    assert [hinted.begin("compact"), hinted.begin("compact")] == [HINT, ""]
    hinted.tell(payloads.session_end, reason="clear")
    assert hinted.begin("clear") == HINT


def test_it_is_given_beside_what_memory_says(hinted: Remembering):
    hinted.remember()
    assert hinted.begin() == f"{HINT}\n\n{MEMORY}"


def test_what_the_hint_costs_is_booked_as_our_own_text(hinted: Remembering):
    hinted.begin()
    entries = store.read_lines(hinted.home.paths(payloads.SESSION).journal)
    (booking,) = [each for each in map(journal_bookings.booking_of, entries) if isinstance(each, Advice)]
    assert 20 < booking.tokens < 60
    settled = settle([Request(2e9, 10_000, 0, 10_000)], [booking])
    assert settled.charged["advice"] > 0


def test_hooks_that_are_registered_twice_say_it_once(forks: Forks, hinted: Remembering):
    payload = payloads.session_start(cwd=str(hinted.work), transcript_path=str(hinted.transcript))
    ran = forks.run_together([Hook("session-start", payload)] * 4, hinted.env())
    assert sorted(bool(each.stdout) for each in ran) == [False, False, False, True]
