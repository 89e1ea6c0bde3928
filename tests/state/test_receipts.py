"""Receipts: what left at once, call by call, as it is noted and as it is read back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core.policy import compacting
from popkit_retention.core.policy.compacting import CALLS, INPUT, NEEDED_ROOM, RESULT
from popkit_retention.core.state import journal, receipts
from tests.examples import examples
from tests.policy.compactable import CODE, HISTORIES, SHARES, Talk, talked
from tests.policy.conversing import SURE

ROW = {"id": "t1", "number": 1, "label": "Read a.py", "tokens": 900, "left": [[RESULT, "aaaa2345", "its file was edited: Edit a.py"]]}
OTHER = {**ROW, "id": "t2", "number": 2, "left": [[RESULT, "bbbb2345", NEEDED_ROOM], [INPUT, "cccc2345", "its effect is on disk"]]}
COMPACTED = journal.compacted("auto", 50_000, 20_000, ["aaaa2345", "bbbb2345", "cccc2345"], 10.0, 8_000)
BESIDE = journal.cleared(["t1", "t2"], 30_000, {"t1": "its file was edited: Edit a.py", "t2": NEEDED_ROOM}, 10.0)


NOTED = [receipts.noted([ROW, OTHER], 10.0), receipts.noted([ROW, OTHER], 12.0), receipts.noted([ROW], 20.0)]


def read(*entries: object, noted: list[Any] = NOTED) -> list[dict[str, Any]]:
    """The receipts of entries that have been on disk."""
    return receipts.receipts(journal.entries_of(json.loads(json.dumps(entries))), json.loads(json.dumps(noted)))


def back(receipt: dict[str, Any]) -> dict[str, bool]:
    return {row["id"]: row["back"] for row in receipt["calls"]}


# --- what is noted ----------------------------------------------------------------------------------------------------------------


def test_each_call_that_lost_something_has_a_row_with_the_compaction_s_reasons():
    talk = Talk()
    talk.read("a.py", text=CODE * 40)
    talk.change("a.py", "x" * 900, "y" * 900)
    talk.read("b.py", text=CODE * 40)
    talk.nothing(5)
    done = talk.compact(0.14)
    rows = {row["id"]: row for row in receipts.calls_of(done.left, talk.conversation.state, done.before - done.after)}
    assert [(row["number"], row["label"]) for row in rows.values()] == [(1, "Read a.py"), (2, "Edit a.py"), (3, "Read b.py")]
    assert rows["T1"]["left"][0] == [RESULT, done.left[0].handle, "its file was edited: Edit a.py"]
    assert rows["T3"]["left"][0][2] == NEEDED_ROOM
    assert rows["T1"]["tokens"] > rows["T2"]["tokens"] > 0


def test_calls_that_left_whole_have_a_row_each_under_the_handle_of_all():
    talk = Talk()
    for n in range(40):
        talk.bash(f"echo {n}", f"{n} said")
    done = talk.compact(0.14)
    folds = [one for one in done.left if one.kind == CALLS]
    assert folds
    rows = [row for row in receipts.calls_of(done.left, talk.conversation.state, done.before - done.after) if row["left"][-1][0] == CALLS]
    assert {row["left"][-1][1] for row in rows} == {one.handle for one in folds}
    assert sum(len(message["toolUses"]) for one in folds for message in one.content) == len(rows)
    assert all(row["number"] and row["label"] and row["tokens"] for row in rows)


@settings(max_examples=examples(60, 600))
@given(st.builds(talked, HISTORIES), SHARES)
def test_every_call_is_on_a_receipt_once_with_every_handle_of_its_parts(talk: Talk, share: float):
    done = talk.compact(share)
    noted = [receipts.noted(receipts.calls_of(done.left, talk.conversation.state, done.before - done.after), 1.0)]
    [found] = read(journal.compacted("auto", 1, 0, [], 1.0), noted=noted) or [{"calls": []}]
    assert sum(row["tokens"] for row in found["calls"]) == (max(0, done.before - done.after) if found["calls"] else 0)
    assert {part["handle"] for row in found["calls"] for part in row["left"]} == {one.handle for one in done.left}
    assert len({row["id"] for row in found["calls"]}) == len(found["calls"])
    numbers = [row["number"] for row in found["calls"] if row["number"]]
    assert numbers == sorted(numbers)


def test_a_live_result_that_was_asked_for_is_not_said_to_have_left_to_make_room():
    talk = Talk()
    talk.read("a.py", text=CODE * 40)
    talk.nothing(5)
    given = (talk.messages, talk.conversation, SURE, 1.0, lambda _id, _content: "aaaa2345", ("T1",))
    assert [one.why for one in compacting.compact(*given, why="cleared by the user").left] == ["cleared by the user"]
    assert "picture" in compacting.compact(*given, {"T1"}, why="cleared by the user").left[0].why


# --- what is read -----------------------------------------------------------------------------------------------------------------


def test_a_compaction_is_one_receipt_with_the_system_and_the_tools_in_its_tokens():
    [found] = read(COMPACTED, BESIDE)
    assert {name: value for name, value in found.items() if name != "calls"} == {
        "at": 10.0, "why": "auto", "before": 58_000, "after": 28_000, "tokens": 30_000, "thinking": 0, "summarised": False,
    }  # fmt: skip
    [first, second] = found["calls"]
    assert (first["id"], first["number"], first["label"], first["tokens"]) == ("t1", 1, "Read a.py", 900)
    assert first["left"] == [{"kind": RESULT, "handle": "aaaa2345", "why": "its file was edited: Edit a.py"}]
    assert [part["kind"] for part in second["left"]] == [RESULT, INPUT]


def test_the_newest_is_first_and_a_clear_of_a_transcript_is_a_receipt_of_its_own():
    cleared = journal.cleared(["t1"], 800, {}, 20.0)
    assert [(each["why"], each["at"], each["tokens"]) for each in read(COMPACTED, BESIDE, cleared)] == [
        ("clear", 20.0, 800),
        ("auto", 10.0, 30_000),
    ]


def test_restored_results_are_no_longer_out_and_can_leave_again_on_a_new_receipt():
    [found] = read(COMPACTED, BESIDE, journal.undone(["t2"], 900, 11.0), journal.put_back(["bbbb2345"], 11.0))
    assert back(found) == {"t1": False, "t2": False}, "its input is still out"
    [found] = read(COMPACTED, BESIDE, journal.put_back(["aaaa2345", "bbbb2345", "cccc2345"], 11.0))
    assert back(found) == {"t1": True, "t2": True}
    [again, found] = read(COMPACTED, BESIDE, journal.put_back(["aaaa2345"], 11.0), {**COMPACTED, "at": 12.0})
    assert (back(again), back(found)) == ({"t1": False, "t2": False}, {"t1": True, "t2": False})


@pytest.mark.parametrize("entry", [journal.undone(["t1"], 900, 21.0), journal.restored("t1", 21.0, 900)])
def test_what_an_undo_or_a_restore_put_back_into_a_transcript_is_no_longer_out(entry):
    cleared = journal.cleared(["t1"], 800, {}, 20.0)
    assert [back(each) for each in read(cleared, entry)] == [{"t1": True}]
    assert [back(each) for each in read(cleared, journal.restored("t1", 21.0))] == [{"t1": False}], "it was printed"


def test_what_an_older_version_noted_gives_ids_and_reasons():
    older = {name: value for name, value in COMPACTED.items() if name != "beside"}
    [found] = read(older, BESIDE, noted=[])
    assert (found["why"], found["before"], found["after"]) == ("auto", 50_000, 20_000)
    assert [(row["id"], row["number"], row["left"][0]["why"]) for row in found["calls"]] == [
        ("t1", None, "its file was edited: Edit a.py"),
        ("t2", None, NEEDED_ROOM),
    ]


def test_of_nothing_that_left_there_is_no_receipt():
    assert read() == read(journal.pinned("t1", 1.0)) == read(journal.cleared([], 0, {}, 1.0)) == []


def test_what_went_to_the_summariser_says_so():
    [found] = read(journal.compacted("manual", 9, 5, ["aaaa2345"], 10.0, 0, True))
    assert found["summarised"] is True


# --- what nobody wrote ------------------------------------------------------------------------------------------------------------

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
FIELDS = ("at", "why", "before", "after", "beside", "tokens", "ids", "id", "handles", "reasons", "in_place", "summarised")
CALLS_OF_ANY = st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(ROW, ANYTHING)) | st.just(ROW) | ANYTHING, max_size=3)
ENTRIES = st.fixed_dictionaries(
    {"event": st.sampled_from(["compact", "clear", "back", "undo", "restore"])},
    optional=dict.fromkeys(FIELDS, ANYTHING),
)
LINES = ANYTHING | st.fixed_dictionaries({}, optional={"at": st.just(10.0) | ANYTHING, "calls": ANYTHING | CALLS_OF_ANY})


@given(st.lists(ENTRIES | ANYTHING | st.sampled_from([COMPACTED, BESIDE]), max_size=6), st.lists(LINES, max_size=3))
def test_a_journal_and_what_is_noted_beside_it_may_hold_anything(entries, noted):
    for found in receipts.receipts(journal.entries_of(entries), noted):
        assert abs(found["at"]) < 1e11
        assert found["calls"]
        for row in found["calls"]:
            assert isinstance(row["label"], str)
            assert isinstance(row["back"], bool)
            assert all(isinstance(part[name], str) for part in row["left"] for name in ("kind", "handle", "why"))
