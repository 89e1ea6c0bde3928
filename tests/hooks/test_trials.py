"""The hint and trials in the hooks: who is given what, once for each context, and that nothing of it fails a session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hooks.utils.handlers.session_events import HINT
from hooks.utils.policy import figures, ledger
from hooks.utils.policy.ledger import Advice
from hooks.utils.policy.trials import PER_ARM
from hooks.utils.state import journal, store, trials
from tests.hooks import payloads
from tests.hooks.remembering import MEMORY, Remembering
from tests.kit.crowds import held
from tests.kit.forks import Forks, Hook
from tests.state.coins import configure, fix, run_of

OTHER = "3ffaa4db-e088-49ec-9796-000000000002"


def booked(shop: Remembering) -> list[object]:
    entries = store.read_lines(shop.home.paths(payloads.SESSION).journal)
    return [booking for booking in map(journal.booking_of, entries) if isinstance(booking, Advice)]


def rows(shop: Remembering) -> list[tuple[str, bool, bool, bool]]:
    """(session, whether it has it, whether it has ended, whether it has a transcript) of each session of the first trial."""
    runs = trials.load(str(shop.home.path)).runs
    return [(row.session, row.treated, row.ended is not None, row.spoke) for row in runs[0].rows] if runs else []


# --- the hint --------------------------------------------------------------------------------------------------------------------------


def test_nobody_is_given_the_hint_unless_it_is_on(shop: Remembering):
    assert shop.begin() == ""
    assert not (shop.home.path / trials.NAME).exists()
    configure(shop.home.path, hints="on")
    assert shop.begin(session_id=OTHER) == HINT
    assert not (shop.home.path / trials.NAME).exists()


def test_the_hint_is_one_short_sentence_for_each_of_its_two_wishes():
    assert HINT.count(".") == 2
    assert len(HINT) < 160  # about 40 tokens at most


def test_a_context_is_given_the_hint_once_and_again_behind_a_compaction(shop: Remembering):
    configure(shop.home.path, hints="on")
    assert [shop.begin(), shop.begin(), shop.begin("resume")] == [HINT, "", ""]
    shop.tell(payloads.pre_compact)
    assert [shop.begin("compact"), shop.begin("compact")] == [HINT, ""]
    shop.tell(payloads.session_end, reason="clear")
    assert shop.begin("clear") == HINT


def test_it_is_given_beside_what_memory_says(shop: Remembering):
    configure(shop.home.path, hints="on")
    shop.remember()
    assert shop.begin() == f"{HINT}\n\n{MEMORY}"


def test_what_the_hint_costs_is_booked_as_our_own_text(shop: Remembering):
    configure(shop.home.path, hints="on")
    shop.begin()
    (booking,) = booked(shop)
    assert 20 < booking.tokens < 60
    settled = figures.settle([ledger.Request(2e9, 10_000, 0, 10_000)], [booking])
    assert settled.charged["advice"] > 0


def test_hooks_that_are_registered_twice_say_it_once(forks: Forks, shop: Remembering):
    configure(shop.home.path, hints="try")
    fix(shop.home.path, "hints", [True])
    payload = payloads.session_start(cwd=str(shop.work), transcript_path=str(shop.transcript))
    ran = forks.run_together([Hook("session-start", payload)] * 4, shop.env())
    assert sorted(bool(each.stdout) for each in ran) == [False, False, False, True]
    assert rows(shop) == [(payloads.SESSION, True, False, False)]


# --- by a coin -------------------------------------------------------------------------------------------------------------------------


def test_every_second_session_is_given_what_is_tried(shop: Remembering):
    configure(shop.home.path, hints="try")
    fix(shop.home.path, "hints", [True, False, False, True])
    assert [shop.begin(session_id=f"s{number}") for number in range(4)] == [HINT, "", "", HINT]


@pytest.mark.parametrize("treated", [True, False])
def test_what_the_coin_says_stays_for_the_life_of_a_session(shop: Remembering, treated: bool):
    context = HINT if treated else ""
    configure(shop.home.path, hints="try")
    fix(shop.home.path, "hints", [treated])
    assert shop.begin() == context
    shop.tell(payloads.pre_compact)
    assert shop.begin("compact") == context
    shop.tell(payloads.session_end)
    assert rows(shop) == [(payloads.SESSION, treated, True, True)]
    assert shop.begin("resume") == ""
    assert rows(shop) == [(payloads.SESSION, treated, False, True)]
    shop.tell(payloads.pre_compact)
    assert shop.begin("compact") == context
    assert len(rows(shop)) == 1


def test_a_conversation_that_begins_at_a_clear_is_a_session_of_its_own(shop: Remembering):
    configure(shop.home.path, hints="try")
    fix(shop.home.path, "hints", [True, False])
    assert shop.begin() == HINT
    shop.tell(payloads.session_end, reason="clear")
    assert shop.begin("clear", session_id=OTHER) == ""
    assert [(session, treated) for session, treated, *_ in rows(shop)] == [(payloads.SESSION, True), (OTHER, False)]


def test_a_session_of_which_nobody_saw_the_start_is_in_no_trial(shop: Remembering):
    configure(shop.home.path, hints="try")
    fix(shop.home.path, "hints", [True])
    assert shop.begin("resume") == ""  # it began before the trial
    shop.tell(payloads.pre_compact, session_id=OTHER)  # of a fork no start is told
    assert shop.begin("compact", session_id=OTHER) == ""
    assert rows(shop) == []


def test_whether_a_session_that_ended_has_a_transcript_is_noted(shop: Remembering):
    configure(shop.home.path, hints="try")
    for session, transcript in (("silent", shop.work / "none.jsonl"), ("spoke", shop.transcript)):
        shop.begin(session_id=session)
        shop.tell(payloads.session_end, session_id=session, transcript_path=str(transcript))
    assert [(session, ended, spoke) for session, _, ended, spoke in rows(shop)] == [("silent", True, False), ("spoke", True, True)]


def test_a_project_can_switch_a_trial_off_and_start_none(shop: Remembering):
    (shop.work / ".claude").mkdir()
    own = shop.work / ".claude" / "retention-config.json"
    own.write_text(json.dumps({"retention": {"hints": "try"}}))
    assert shop.begin() == ""
    assert rows(shop) == []
    configure(shop.home.path, hints="try")
    own.write_text(json.dumps({"retention": {"hints": "off"}}))
    assert shop.begin(session_id=OTHER) == ""
    assert rows(shop) == []


def test_memory_is_tried_where_there_is_some_to_give_and_taught_by_all(shop: Remembering):
    configure(shop.home.path, memory={"try": True})
    fix(shop.home.path, "memory", [False, True])
    assert shop.begin(session_id="before") == ""
    assert rows(shop) == []
    shop.remember()
    shop.tell(payloads.pre_compact, session_id="before")
    assert shop.begin("compact", session_id="before") == MEMORY  # as usual: it has sent requests, so no coin is thrown
    assert [shop.begin(session_id=session) for session in ("without", "with")] == ["", MEMORY]
    assert [session for session, *_ in rows(shop)] == ["without", "with"]
    shop.tell(payloads.session_end, session_id="without")
    assert (Path(shop.project.folder) / "ended-without.json").exists()


def test_the_user_is_told_once_that_enough_sessions_are_over(shop: Remembering):
    configure(shop.home.path, hints="try")
    with trials.Changing(str(shop.home.path)) as known:
        known.runs = [run_of(2 * PER_ARM)]
    messages = [json.loads(shop.tell(payloads.session_start, session_id=id).stdout or "{}").get("systemMessage") for id in ("a", "b")]
    assert messages == [f"PopKit: {PER_ARM} sessions with and {PER_ARM} without hints are over. popkit try-out shows the result.", None]


def test_while_somebody_else_holds_the_trials_a_session_has_what_is_usual(shop: Remembering):
    configure(shop.home.path, hints="try")
    fix(shop.home.path, "hints", [True])
    with held(shop.home.path / (trials.NAME + ".lock")):
        assert shop.begin() == ""
    shop.tell(payloads.pre_compact)
    assert shop.begin("compact") == ""
    assert rows(shop) == []
