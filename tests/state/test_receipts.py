"""Receipts: what left at once, call by call, as it is noted and as it is read back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import compacting
from popkit_retention.core.policy.compacting import CALLS, INPUT, NEEDED_ROOM, RESULT
from popkit_retention.core.policy.messages import Use, result_tokens
from popkit_retention.core.policy.remaining import Removal
from popkit_retention.core.state import journal, receipts
from tests.examples import examples
from tests.policy.compactable import CODE, HISTORIES, SHARES, Talk, talked
from tests.policy.conversing import SURE
from tests.policy.scenario import Scenario

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
    done = talk.compact(0.16)
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


# Reads that leave in so many places that their lists become one.
SEPARATE = [step for _ in range(13) for step in (("read", 0, "control"), ("user", 0, "control"))] + [("read", 0, "control")] * 5


@settings(max_examples=examples(60, 600))
@given(st.builds(talked, HISTORIES), SHARES)
@example(talked(SEPARATE), 0.1)
def test_every_call_is_on_a_receipt_once_with_every_handle_of_its_parts(talk: Talk, share: float):
    done = talk.compact(share)
    noted = [receipts.noted(receipts.calls_of(done.left, talk.conversation.state, done.before - done.after), 1.0)]
    [found] = read(journal.compacted("auto", 1, 0, [], 1.0), noted=noted) or [{"calls": []}]
    assert sum(row["tokens"] for row in found["calls"]) == (max(0, done.before - done.after) if found["calls"] else 0)
    # A list that only holds lists is no part of a call: each of its calls has the handle of its own.
    handles = {one.handle for one in done.left if one.kind != CALLS or any(message["toolUses"] for message in one.content)}
    assert {part["handle"] for row in found["calls"] for part in row["left"]} == handles
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
    later = ({**COMPACTED, "at": 12.0}, {**BESIDE, "at": 12.0}, journal.put_back(["bbbb2345", "cccc2345"], 13.0))
    assert [back(each) for each in read(COMPACTED, BESIDE, *later)] == [{"t1": False, "t2": True}] * 2, "the second is a clear's, too"


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


@pytest.mark.parametrize(
    ("before", "after", "beside", "read_as"),
    [
        (9, 5, 0, (9, 5, 4)), (9, 5, 3, (12, 8, 4)), (5, 9, 0, (5, 9, 0)), (5, 5, None, (5, 5, 0)), (0, 0, 2, (2, 2, 0)),
        (None, 5, 0, (None, None, None)), (9, None, 0, (None, None, None)),
    ],
)  # fmt: skip
def test_a_compaction_took_what_is_gone_where_both_sizes_are_known(before, after, beside, read_as):
    entry = {"event": "compact", "at": 10.0, "why": None, "before": before, "after": after, "beside": beside}
    [found] = read(entry)
    assert (found["before"], found["after"], found["tokens"]) == read_as
    assert (found["why"], found["thinking"], found["summarised"], found["at"]) == ("", 0, False, 10.0)
    [found] = read(entry, {**BESIDE, "tokens": 3})
    assert (found["tokens"], found["thinking"]) == (None if read_as[2] is None else min(3, read_as[2]), max(0, (read_as[2] or 0) - 3))
    [found] = read(entry, {**BESIDE, "tokens": None})
    assert (found["tokens"], found["thinking"]) == (None if read_as[2] is None else 0, read_as[2] or 0)


def test_a_clear_of_another_time_or_behind_another_one_is_its_own_receipt():
    again = {**BESIDE, "ids": ["t3"], "at": 10.0}
    [second, first] = read(BESIDE, again, noted=[])
    assert ([row["id"] for row in first["calls"]], [row["id"] for row in second["calls"]]) == (["t1", "t2"], ["t3"])
    [clear, compaction] = read(COMPACTED, {**BESIDE, "at": 10.5, "tokens": -1})
    assert (clear["why"], clear["at"], clear["tokens"], compaction["thinking"]) == ("clear", 10.5, None, 0)
    assert (clear["before"], clear["after"], clear["thinking"], clear["summarised"]) == (None, None, 0, False)
    assert clear["calls"][0] == {
        "id": "t1", "number": None, "label": "", "tokens": None, "back": False,
        "left": [{"kind": RESULT, "handle": "", "why": "its file was edited: Edit a.py"}],
    }  # fmt: skip
    [found] = read({"event": "clear", "at": 1.0, "ids": ["t1"]}, noted=[])
    assert (found["tokens"], found["calls"][0]["left"][0]["why"]) == (None, "")


@pytest.mark.parametrize(
    ("call", "row"),
    [
        ({**ROW, "number": -1, "tokens": True, "label": 7, "id": None}, {"number": None, "tokens": None, "label": "", "id": ""}),
        ({**ROW, "number": 0, "tokens": 0, "label": "x" * 201}, {"number": 0, "tokens": 0, "label": "x" * 200}),
        ({**ROW, "left": [["k", "h", "w" * 201], ["k", "h"], 7, [1, 2, 3]]}, {"left": [("k", "h", "w" * 200), ("", "", "")]}),
        ({**ROW, "left": []}, None), ({**ROW, "left": [["k", "h", "w", 1]]}, None), ({**ROW, "left": 7}, None), (7, None), ({}, None),
    ],
)  # fmt: skip
def test_a_noted_call_is_read_field_by_field(call, row):
    found = read(COMPACTED, noted=[7, {"calls": [call]}, {"at": 10.0, "calls": [call, OTHER]}, {"at": 11.0, "calls": 7}])
    calls = [each for receipt in found for each in receipt["calls"]]
    assert [each["id"] for each in calls][-1] == "t2"
    assert len(calls) == (2 if row is not None else 1)
    for name, value in (row or {}).items():
        told = calls[0][name] if name != "left" else [(part["kind"], part["handle"], part["why"]) for part in calls[0]["left"]]
        assert told == value


def test_what_is_noted_for_a_time_belongs_to_the_first_of_that_time():
    [found] = read({**COMPACTED, "at": 12.0}, {**COMPACTED, "at": 12.0, "before": 3, "after": 1})
    assert (found["before"], len(found["calls"])) == (58_000, 2)


def test_a_part_comes_back_by_its_handle_and_a_result_by_its_id():
    asked = {"event": "restore", "at": 11.0, "id": "t2", "in_place": True}
    [found] = read(COMPACTED, BESIDE, asked)
    assert back(found) == {"t1": False, "t2": False}, "its input is still out"
    [found] = read(COMPACTED, BESIDE, asked, journal.put_back(["cccc2345"], 11.5))
    assert back(found) == {"t1": False, "t2": True}
    [found] = read(COMPACTED, BESIDE, {**asked, "event": "back"}, {**asked, "in_place": False}, {**asked, "event": "undo", "id": "t1"})
    assert back(found) == {"t1": True, "t2": False}
    [found] = read(COMPACTED, BESIDE, asked, journal.undone(["t1"], 3, 11.2), journal.put_back(["cccc2345"], 11.5))
    assert back(found) == {"t1": True, "t2": True}, "one after the other"
    [found] = read(journal.undone(["t1", "t2"], 3, 5.0), journal.put_back(["aaaa2345"], 5.0), COMPACTED, BESIDE)
    assert back(found) == {"t1": False, "t2": False}, "it came back before it left"


@pytest.mark.parametrize(
    ("amount", "sizes", "parts"),
    [
        (10, [1, 1], [5, 5]),
        (10, [1, 2], [3, 7]),
        (3, [1, 1, 1, 1], [0, 1, 1, 1]),
        (5, [0, 0], [0, 0]),
        (7, [3], [7]),
        (0, [1], [0]),
        (1, [], []),
    ],
)
def test_an_amount_is_shared_by_sizes_in_whole_numbers(amount: int, sizes: list[int], parts: list[int]):
    assert receipts.shared(amount, sizes) == parts


def test_a_result_that_leaves_and_then_its_call_counts_once():
    scenario = Scenario()
    scenario.read("a.py")
    scenario.result("T1").tokens = 900
    text = "word " * 200
    use = {"tool_use_id": "T1", "tool": "Read", "input": {"file_path": "a.py"}}
    fold = [{"toolUses": [use, {**use, "tool_use_id": "T9", "tool": "Grep"}], "toolResults": [{"tool_use_id": "T9", "text": text}]}]
    left = [
        Removal(RESULT, "T1", "Read a.py", "old", "aaaa2345", text),
        Removal(INPUT, "T1", "Read a.py", "old", "bbbb2345", {"file_path": "a.py"}),
        Removal(CALLS, "", "2 calls", "old", "cccc2345", fold),
    ]
    rows = receipts.calls_of(left, scenario.state, 1_000)
    assert [(row["id"], row["number"], row["label"]) for row in rows] == [("T9", None, "Grep"), ("T1", 1, "Read a.py")]
    assert [[part[1] for part in row["left"]] for row in rows] == [["cccc2345"], ["aaaa2345", "bbbb2345", "cccc2345"]]
    size = Use("T1", TOOLS.of("Read"), use["input"]).tokens
    known, unknown = 900 + 2 * size, result_tokens(text) + size
    assert [row["tokens"] for row in rows] == [1_000 - 1_000 * known // (known + unknown), 1_000 * known // (known + unknown)]
    rows = receipts.calls_of(left, scenario.state, 1_000 * (known + unknown))
    assert [row["tokens"] for row in rows] == [1_000 * unknown, 1_000 * known], "each by its own size"
    assert [row["tokens"] for row in receipts.calls_of(left, scenario.state, -5)] == [0, 0]
    scenario.result("T1").cleared = "dddd2345"
    assert receipts.calls_of(left, scenario.state, 1_000)[1]["tokens"] < 1_000 * known // (known + unknown)


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
