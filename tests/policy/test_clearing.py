"""What the engine makes of a clear, its undo, and a restore."""

from __future__ import annotations

import pytest

from popkit_retention.core.policy.context import reclaimable
from popkit_retention.core.policy.events import Cleared, ClearedOutside, Restored, Undone
from tests.policy.scenario import Scenario


def cleared(session: Scenario, *ids: str) -> None:
    session.clear(*ids)
    session.observe(Cleared({id: f"handle-of-{id}" for id in ids}))


def restored(session: Scenario, id: str, in_place: bool = True) -> dict:
    return session.observe(Restored(id, in_place, session.at))


def undone(session: Scenario, *ids: str) -> dict:
    return session.observe(Undone(list(ids), session.at))


# --- cleared --------------------------------------------------------------------------------------------------------------------


def test_a_result_that_a_placeholder_replaced_is_no_longer_reclaimable(session: Scenario):
    session.bash("npm test")
    session.bash("npm test")
    session.observe(Cleared({"T1": "abcd2345"}))
    assert session.state.expired["T1"].cleared == "abcd2345"
    assert reclaimable(session.state.expired) == {}
    assert session.expired == {"T1": "superseded"}


def test_a_live_result_that_a_placeholder_replaced_was_ended_by_the_user(session: Scenario):
    session.read("a.py")
    assert session.observe(Cleared({"T1": "abcd2345", "T99": "bcde3456"})) == {"T1": "manual"}
    assert (session.live, session.state.expired["T1"].cleared) == ([], "abcd2345")


@pytest.mark.parametrize(("how", "reason"), [("context editing", "context editing"), ("", "cleared outside the transcript")])
def test_what_somebody_else_took_out_ends_with_their_reason(session: Scenario, how: str, reason: str):
    session.read("a.py")
    assert session.observe(ClearedOutside(["T1", "T99"], session.at, how)) == {"T1": "manual"}
    assert reason in session.reasons("T1")
    assert session.live == []


def test_a_pin_brings_nothing_back_that_was_cleared(session: Scenario):
    session.bash("npm test")
    session.bash("npm test")
    session.observe(Cleared({"T1": "abcd2345"}))
    assert session.pin("T1") == {}
    assert session.live == ["T2"]


def test_a_handle_outlives_a_hook_process(session: Scenario):
    session.read("a.py")
    cleared(session, "T1")
    restored(session, "T1")
    session.save_and_load()
    assert session.result("T1").pinned
    assert session.state.holds == {"T1": 21}


def test_what_was_cleared_and_is_fetched_again_was_a_mistake(session: Scenario):
    session.read("a.py", text="the same")
    cleared(session, "T1")
    session.read("a.py", text="the same")
    assert session.state.counts.false_expirations == {"medium": 1}


# --- undone ---------------------------------------------------------------------------------------------------------------------


def test_an_undo_makes_live_again_what_was_live_until_the_clear(session: Scenario):
    session.read("a.py")
    session.bash("npm test")
    cleared(session, "T1", "T2")
    assert undone(session, "T1", "T2") == {"T1": "undone", "T2": "undone"}
    assert session.live == ["T1", "T2"]
    assert session.result("T1").ended is None
    assert session.reasons("T1") == "the clear was undone"
    assert not any({**session.state.counts.expired, **session.state.counts.expired_tokens}.values()), "neither has ended"


def test_an_undo_leaves_expired_what_had_expired_before(session: Scenario):
    session.bash("npm test")
    session.bash("npm test")
    session.observe(Cleared({"T1": "abcd2345"}))
    assert undone(session, "T1") == {}
    assert session.expired == {"T1": "superseded"}
    assert list(reclaimable(session.state.expired)) == ["T1"]


def test_an_undo_holds_nothing(session: Scenario):
    session.grep("x")
    cleared(session, "T1")
    undone(session, "T1")
    assert session.state.holds == {}
    assert not session.result("T1").pinned
    session.nothing(4)
    assert session.nothing() == {"T1": "ttl_calls"}


def test_an_undo_of_what_is_unknown_or_named_twice_is_harmless(session: Scenario):
    session.read("a.py")
    cleared(session, "T1")
    assert undone(session, "T1", "T1", "T99") == {"T1": "undone"}
    assert session.live == ["T1"]


# --- restored -------------------------------------------------------------------------------------------------------------------


def test_a_restore_in_place_brings_back_whatever_had_ended_it(session: Scenario):
    session.bash("npm test")
    session.bash("npm test")
    session.observe(Cleared({"T1": "abcd2345"}))
    assert restored(session, "T1") == {"T1": "restored"}
    assert (session.live, session.result("T1").cleared) == (["T1", "T2"], "")
    assert session.quiet_age("T1") == 0


@pytest.mark.parametrize("in_place", [True, False])
def test_a_restore_is_a_false_expiration(session: Scenario, in_place):
    session.read("a.py")
    cleared(session, "T1")
    restored(session, "T1", in_place)
    assert session.state.counts.false_expirations == {"medium": 1}


def test_a_restore_that_is_printed_leaves_the_placeholder(session: Scenario):
    session.read("a.py")
    cleared(session, "T1")
    assert restored(session, "T1", in_place=False) == {}
    assert (session.live, session.result("T1").cleared) == ([], "handle-of-T1")


def test_a_restore_of_what_was_never_cleared_is_nothing(session: Scenario):
    session.read("a.py")
    assert restored(session, "T1") == restored(session, "T99") == {}
    assert session.state.counts.false_expirations == {}


def test_what_was_restored_is_held_for_so_many_calls_and_then_ends_as_ever():
    session = Scenario({"restore_hold_calls": 4})
    session.grep("x")
    session.nothing(10)
    session.observe(Cleared({"T1": "abcd2345"}))
    restored(session, "T1")
    assert session.nothing(4) == {}
    assert session.result("T1").pinned
    assert session.clear("T1") == {}
    assert session.nothing() == {"T1": "ttl_calls"}
    assert session.state.holds == {}


@pytest.mark.parametrize("reload", [False, True])
def test_one_that_has_not_lived_its_calls_yet_lives_them_after_the_hold(reload):
    session = Scenario({"restore_hold_calls": 0}, "spec")
    session.grep("x")
    cleared(session, "T1")
    restored(session, "T1")
    for _ in range(4):
        assert session.nothing() == {}
        if reload:
            session.save_and_load()
    assert session.nothing() == {"T1": "ttl_calls"}


@pytest.mark.parametrize("command", ["popkit restore abcd2345", "popkit restore src/a.py list", "/x/bin/popkit restore abcd2345 --json"])
def test_what_the_model_restored_by_bash_is_held_itself(command):
    session = Scenario({"restore_hold_calls": 3})
    session.bash(command, "the content")
    assert session.result("T1").pinned
    assert session.state.holds == {"T1": 4}
    session.nothing(3)
    assert session.result("T1").pinned
    session.nothing()
    assert "T1" not in session.state.holds
    assert session.state.counts.false_expirations == {}


@pytest.mark.parametrize("command", ["popkit restore list", "popkit restore search login", "popkit restore verify --json"])
def test_what_is_asked_of_the_archive_by_bash_restores_nothing(session: Scenario, command: str):
    session.bash(command, "the records")
    assert session.state.holds == {}


def test_a_restore_that_fails_holds_nothing(session: Scenario):
    session.bash_fails("popkit restore abcd2345", "gone for good")
    assert session.state.holds == {}


def test_a_hold_ends_though_its_result_left_at_a_compaction():
    session = Scenario({"restore_hold_calls": 2})
    session.read("a.py")
    cleared(session, "T1")
    restored(session, "T1")
    session.compact()
    session.nothing(3)
    assert session.state.holds == {}
