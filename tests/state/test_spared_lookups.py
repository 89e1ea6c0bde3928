"""What memory has spared: names that it gave and that the assistant wrote unaided, each answer worth one look-up of the session's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy.bookings import Spared
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.state import journal, reconciling, stale_ledgers, store
from popkit_retention.core.state.site import Site
from popkit_retention.core.state.spared_lookups import Recall
from tests.views.written import BEGAN, PROJECT, Written

MEMORY = """# Memory of shop

- src/checkout/: basket_totals.ts, coupons.ts, payment_page.ts
- package.json

## Commands that worked
```sh
npm run check:types -- --strict
```
- `make all-the-docs FAST=1` needs graphviz"""
TOTALS, COUPONS, PAYMENT = "src/checkout/basket_totals.ts", "src/checkout/coupons.ts", "src/checkout/payment_page.ts"
CHECK = "npm run check:types -- --strict"


def recall(text: str = MEMORY, at: float = 0.0) -> Recall:
    """One in which an answer has named a file already: the first counts for nothing."""
    found = Recall([(at, text)], PROJECT)
    found.wrote([PAYMENT], at, "m0")
    return found


def spared(found: Recall) -> list[float]:
    """When look-ups were spared, of a session that made one."""
    found.looked_up(100, "a look-up")
    return [booking.at for booking in found.bookings(1.0)]


@pytest.mark.parametrize(
    "text",
    [
        TOTALS,
        f"{PROJECT}/{TOTALS}",
        f"./{TOTALS}:12",
        f"The sum is in `{TOTALS}`.",
    ],
)
def test_a_file_of_memory_that_nobody_has_named_spares_a_look_up(text: str):
    found = recall()
    found.wrote([text], 7.0, "m1")
    assert spared(found) == [7.0]


def test_the_first_answer_that_names_a_file_spares_nothing():
    found = Recall([(0.0, MEMORY)], PROJECT)
    found.wrote([TOTALS], 7.0, "m1")
    assert spared(found) == []


@pytest.mark.parametrize(
    "text",
    [
        "src/app/basket_totals_of_all.ts",  # another file
        "src/other/basket_totals.ts",  # of another folder
        "basket_totals.ts",  # in no folder: what every project has is called so too
        f"packages/mobile/{TOTALS}",
        "out/a.ts",
        f"{CHECK} | tail",  # a CLAUDE.md says how to check
        "src/checkout/",
        "",
    ],
)
def test_what_memory_did_not_tell_spares_nothing(text: str):
    found = recall()
    found.wrote([text], 7.0, "m1")
    assert spared(found) == []


@pytest.mark.parametrize("heard", [TOTALS, "/elsewhere/basket_totals.ts:3: code", '{"file":"basket_totals.ts"}'])
def test_a_file_whose_name_a_result_or_a_prompt_has_held_is_not_unaided(heard: str):
    found = recall()
    found.note_mentions(heard)
    found.wrote([TOTALS], 7.0, "m1")
    assert spared(found) == []


def test_each_file_counts_once_and_the_files_of_one_answer_as_one():
    found = recall()
    found.wrote([TOTALS], 7.0, "m1")
    found.wrote([COUPONS], 7.5, "m1")
    found.wrote([TOTALS], 8.0, "m2")
    assert spared(found) == [7.0]


def test_what_was_written_before_memory_gave_it_was_not_known_from_there():
    found = Recall([(5.0, MEMORY)], PROJECT)
    found.wrote([TOTALS], 4.0, "m1")
    found.wrote([PAYMENT], 5.5, "m2")
    found.wrote([COUPONS], 6.0, "m3")
    assert spared(found) == [6.0]


def test_a_look_up_is_worth_what_those_of_the_session_cost_on_average():
    found = recall()
    found.wrote([TOTALS], 7.0, "m1")
    assert found.bookings(1.0) == [], "the session looked for nothing, so nobody knows what that costs"
    for tokens, answer in ((100, "m2"), (200, "m2"), (600, "m3")):
        found.looked_up(tokens, answer)
    (booked,) = found.bookings(2.0)
    assert isinstance(booked, Spared)
    assert (booked.tokens, booked.share) == (600, pytest.approx(2 / 3))


TEXTS = st.lists(st.sampled_from([TOTALS, COUPONS, CHECK, "coupons.ts", "package.json", "\ud800`", ""]), max_size=5)


@given(TEXTS, TEXTS, TEXTS)
def test_hearing_more_never_spares_more(heard: list[str], more: list[str], written: list[str]):
    def counted(mentions: list[str]) -> int:
        found = recall()
        for text in mentions:
            found.note_mentions(text)
        for number, text in enumerate(written):
            found.wrote([text], float(number), f"m{number}")
        return len(spared(found))

    assert counted(heard + more) <= counted(heard)


# --- a whole session -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """A session that was given memory at its start."""
    return Written(tmp_path / "p")


def ledger(written: Written, home: Path, given_at: float = BEGAN - 1.0) -> dict:
    site = written.site(home)
    store.journal(site.paths(), journal.remembered(MEMORY, estimate_tokens(MEMORY), given_at))
    return reconciling.reconcile(site, str(written.path)).state.counts.ledger


def test_a_session_that_used_its_memory(written: Written, tmp_path: Path):
    written.say("mend the sum of the basket")
    written.read(TOTALS)  # unaided, and itself what a look-up costs here
    written.bash("npm run check:types -- --strict")
    written.edit(COUPONS)
    written.ends()
    figures = ledger(written, tmp_path / "home")
    assert figures["spared"] == 1
    assert figures["memory_tokens"] == estimate_tokens(MEMORY)
    assert figures["saved_memory"] > 0
    assert figures["charged_memory"] > 0
    assert figures["net"] == pytest.approx(figures["saved_memory"] - figures["charged_memory"], abs=0.2)


def test_a_session_that_looked_for_it_all_the_same_was_only_charged(written: Written, tmp_path: Path):
    written.say("mend the sum of the basket")
    written.read(PAYMENT)  # the first that is named unaided counts for nothing
    written.call("Glob", {"pattern": "**/*total*"}, TOTALS)
    written.read(TOTALS)
    written.ends()
    figures = ledger(written, tmp_path / "home")
    assert (figures["spared"], figures["saved"]) == (0, 0)
    assert figures["net"] == -figures["charged_memory"] < 0


def test_what_memory_gave_is_settled_like_any_booking(written: Written, tmp_path: Path):
    written.say("go")
    written.read(TOTALS)
    site = written.site(tmp_path / "home")
    assert not stale_ledgers.is_due(site, str(written.path))
    store.journal(site.paths(), journal.remembered(MEMORY, 40, BEGAN))
    assert stale_ledgers.is_due(site, str(written.path))


def test_a_hidden_file_is_heard_of_by_its_name():
    found = recall("```\napps/api/: .env.example\n```")
    found.note_mentions("Copy .env.example first.")
    found.wrote(["apps/api/.env.example"], 7.0, "m1")
    assert spared(found) == []


def test_the_bookings_of_another_session_are_settled_by_its_projects_configuration(written: Written, tmp_path: Path):
    site = written.site(tmp_path / "home")
    site.remember(project=PROJECT)
    other = Site({**site.environ, "CLAUDE_PROJECT_DIR": "/elsewhere"}, "another", "/elsewhere")
    found = stale_ledgers._site_of(other, written.session)
    assert (found.session_id, found.project) == (written.session, PROJECT)
