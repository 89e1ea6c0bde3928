"""The receipt of a compaction through the helper: the pane, the words and what was noted say the same of each result that left."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.core.units import tokens

from .asking import Helper, lines, numbered
from .running import Running

ROOM = "to make room: it was the least likely to be needed"


@pytest.fixture
def busy(helper: Helper) -> Helper:
    """A session with a dead read, a live one, and more work since than a compaction keeps."""
    transcript = helper.has_read("app.py", lines(400))
    path = str(helper.project / "app.py")
    transcript.called(
        "toolu_01", "Edit", {"file_path": path, "old_string": "a" * 900, "new_string": "b" * 900}, "The file has been updated."
    )
    transcript.called("toolu_02", "Read", {"file_path": str(helper.project / "other.py")}, numbered(lines(300, "other")))
    for number in range(20):
        transcript.called(f"toolu_1{number}", "Bash", {"command": f"echo {number}"}, "\n".join(lines(60, f"of_{number}_")))
    transcript.answered(60_000)
    return helper


def pane(helper: Helper, columns: int = 76, rows: int = 40) -> dict[str, Any]:
    return helper.ask("/view", {"page": "saved", "columns": columns, "rows": rows})["pane"]


LESS = "Placeholders are subtracted from their sizes."


def answer_of(helper: Helper, *words: str) -> str:
    """An answer of `popkit context` in one line."""
    return " ".join(helper.run("context", *words, "--session", helper.session).split())


def receipts(helper: Helper) -> list[dict[str, Any]]:
    return json.loads(helper.run("context", "why", "--json", "--session", helper.session))["receipts"]


def row_of(receipt: dict[str, Any], id: str) -> str:
    """How the pane names a call that left. How many tokens that were, depends on the length of the paths."""
    [call] = [call for call in receipt["calls"] if call["id"] == id]
    assert call["tokens"] > 5_000
    return f" {tokens(call['tokens']):>5}  T{call['number']} {call['label']}"


def test_before_anything_has_left_the_page_has_no_receipt(busy: Helper):
    shown = pane(busy)
    assert (shown["head"], shown["operations"]) == ([], [])
    assert shown["lines"][:2] == ["", "Saved"]
    assert "No clear or compaction of PopKit has taken anything out" in answer_of(busy, "why")
    assert receipts(busy) == []


def test_pane_words_and_data_say_the_same_and_what_was_noted(busy: Helper):
    notice = Running(busy).compacts("auto")["notice"]
    busy.ask("/view")  # the receipt is written after the answer
    noted = json.loads((busy.home / "sessions" / busy.transcript.stem / "main.receipts.jsonl").read_text())
    reasons = {call["id"]: call["left"][0][2] for call in noted["calls"]}
    assert reasons["toolu_00"] == "its file was edited: Edit app.py"
    assert reasons["toolu_10"] == ROOM
    of_results = {call["id"]: call["left"][0][2] for call in noted["calls"] if call["left"][0][0] == "result"}
    assert next(entry for entry in busy.journal() if entry["event"] == "clear")["reasons"] == of_results

    [found] = receipts(busy)
    assert {call["id"]: call["left"][0]["why"] for call in found["calls"]} == reasons
    assert {call["state"] for call in found["calls"]} == {"archived"}
    assert found["before"] == 60_000
    assert found["before"] - found["after"] == found["tokens"] + found["thinking"]
    assert sum(call["tokens"] for call in found["calls"]) == found["tokens"]
    assert f"{len(found['calls'])} results taken out" in notice

    shown = pane(busy)
    head = " ".join(shown["head"])
    assert head.startswith("Just now, because the context was nearly full: ~60k to ")
    assert head.endswith(f"{len(found['calls'])} results left the context, and all can be restored. {LESS}")
    assert [operation["id"] for operation in shown["operations"]] == ["undo"]
    at = shown["lines"].index("Its file was edited: Edit app.py")
    row, other = (row_of(found, id) for id in ("toolu_00", "toolu_02"))
    assert shown["lines"][at + 1] == row
    assert shown["lines"].index(other) > shown["lines"].index("T" + ROOM[1:])
    assert "Saved" in shown["lines"], "what was saved stands below"
    assert head in answer_of(busy, "why")

    [why] = [f"Because {reasons['toolu_00']} Left Just now, because the context was nearly full Back popkit restore "]
    assert why in answer_of(busy, "why", "T1")
    assert busy.failures() == ""


def test_in_few_rows_the_rest_is_counted_and_the_words_have_all_of_it(busy: Helper):
    Running(busy).compacts("auto")
    many = len(receipts(busy)[0]["calls"])
    shown = pane(busy, 68, 11)
    [more] = [line for line in shown["lines"] if line.endswith(": /popkit why")]
    named = [line for line in shown["lines"] if "  T" in line]
    assert more.endswith(f"and {many - len(named)} more: /popkit why")
    words = busy.ask("/command", {"words": "why", "columns": 70})["text"].split("\n")
    assert len([line for line in words if "  T" in line]) == many


def test_what_was_put_back_says_so_on_the_receipt(busy: Helper):
    client = Running(busy)
    client.compacts()
    busy.ask("/command", {"words": "restore T1 --in-place"})
    client.compacts(own=True)
    assert row_of(receipts(busy)[0], "toolu_00") + " (put back)" in pane(busy)["lines"]
    assert "1 put back" in " ".join(pane(busy)["head"])
    assert busy.ask("/press", {"id": "undo"})["compact"] is True
    client.compacts(own=True)
    assert " ".join(pane(busy)["head"]).endswith(f"and all were put back. {LESS}")
    assert pane(busy)["operations"] == [], "there is nothing left to undo"


def test_a_result_that_was_asked_for_says_so_and_an_earlier_receipt_is_shown_below(busy: Helper):
    client = Running(busy)
    busy.ask("/command", {"words": "clear --id T3 --now"})
    client.compacts(own=True)
    assert [(call["number"], call["left"][0]["why"]) for call in receipts(busy)[0]["calls"]] == [(3, "cleared by the user")]
    assert " ".join(pane(busy)["head"]).endswith(f"1 result left the context, 1 can be restored. {LESS}")
    client.compacts()
    shown = pane(busy)
    assert " ".join(shown["head"]).startswith("Just now, by /compact: ")
    assert any(line.startswith("Just now, by a clear: 1 result, ~") for line in shown["lines"])
    assert [receipt["why"] for receipt in receipts(busy)] == ["manual", "asked"]


def test_what_went_to_the_summariser_is_shown_once_it_has(busy: Helper):
    client = Running(busy)
    assert client.compacts(instructions="keep the plan")["hand_on"] is True
    assert receipts(busy) == [], "the summary may fail"
    busy.ask("/compacted", {"agent_id": "", "stood": True})
    assert receipts(busy)[0]["summarised"] is True
    assert "Claude Code then summarised what was left." in " ".join(pane(busy)["head"])


@pytest.mark.parametrize(("spoil", "state", "ending"), [
    (Path.unlink, "gone", "and all are gone for good."),
    (lambda path: path.write_bytes(b"no database at all" * 100), "unknown", "and all may be restorable."),
], ids=["lost", "unreadable"])  # fmt: skip
def test_content_the_archive_lost_is_gone_and_an_unreadable_archive_claims_nothing(
    busy: Helper, spoil: Callable[[Path], object], state: str, ending: str
):
    Running(busy).compacts()
    busy.run("restore", "stats")
    pane(busy)  # which waits for what the helper still writes: it would go on in the file that is spoilt
    spoil(busy.home / "archive.sqlite")
    assert {call["state"] for call in receipts(busy)[0]["calls"]} == {state}
    assert " ".join(pane(busy)["head"]).endswith(f"{ending} {LESS}")


def test_calls_that_left_whole_say_why_they_left_and_come_back(helper: Helper):
    transcript = helper.has_read("app.py", lines(3))
    for number in range(260):
        transcript.called(f"toolu_1{number}", "Bash", {"command": f"echo {number} of many, to be looked at"}, f"said {number}\n" * 9)
    transcript.answered(40_000)
    client = Running(helper)
    before = {row["tool_use_id"]: row["text"] for each in client.rows() for row in each["toolResults"]}
    client.compacts("auto")
    remaining = {row["tool_use_id"] for each in client.rows() for row in each["toolResults"]}
    assert "toolu_110" not in remaining
    assert f"Because the whole call was taken out {ROOM}" in answer_of(helper, "why", "T12")
    printed = helper.run("context", "restore", "T12", "--session", helper.session)
    assert 'Bash {"command": "echo 10 of many, to be looked at"}\n' + before["toolu_110"] + "\n" in printed
    assert helper.ask("/command", {"words": "restore T12 --in-place"})["compact"] is True
    client.compacts(own=True)
    assert {row["tool_use_id"]: row["text"] for each in client.rows() for row in each["toolResults"]}["toolu_110"] == before["toolu_110"]
    assert helper.failures() == ""


def test_since_a_time_everything_is_printed_that_a_compaction_took_in_place(busy: Helper):
    Running(busy).compacts("auto")
    busy.ask("/view")  # the archive is written after the answer
    handles = {part["handle"] for call in receipts(busy)[0]["calls"] for part in call["left"]}
    printed = json.loads(busy.run("context", "restore", "--since", "1h", "--json", "--session", busy.session))["records"]
    assert {record["handle"] for record in printed} >= handles
    assert answer_of(busy, "restore", "--since", "2999-01-01") == "", "it says on the other stream that there is nothing"


def test_a_journal_of_an_older_version_gives_a_receipt_as_well(busy: Helper):
    Running(busy).compacts("auto")
    busy.ask("/view")  # the archive is written after the answer
    now = receipts(busy)[0]
    folder = busy.home / "sessions" / busy.transcript.stem
    (folder / "main.receipts.jsonl").unlink()
    older = [{name: value for name, value in entry.items() if name != "beside"} for entry in busy.journal()]
    (folder / "main.journal.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in older))
    [found] = receipts(busy)

    def known(receipt: dict[str, Any]) -> list[tuple[Any, ...]]:
        calls = [call for call in receipt["calls"] if call["left"][0]["kind"] == "result"]
        return sorted((call["number"], call["label"], call["left"][0]["why"], call["state"]) for call in calls)

    assert known(found) == known(now)


def test_why_lists_what_left_the_contexts_of_subagents_apart(busy: Helper):
    Running(busy).compacts("auto")
    busy.ask("/view")  # the receipt is written after the answer
    folder = busy.home / "sessions" / busy.transcript.stem
    for kept in ("state.json", "journal.jsonl", "receipts.jsonl"):
        shutil.copy(folder / f"main.{kept}", folder / f"agent-a1b2c3.{kept}")
    data = json.loads(busy.run("context", "why", "--json", "--session", busy.session))
    assert [receipt["agent"] for receipt in data["agents"]] == ["a1b2c3"]
    assert data["agents"][0]["calls"] == data["receipts"][0]["calls"]
    words = answer_of(busy, "why")
    assert words.index("What left the contexts of subagents") < words.index("in agent a1b2c3, because the context was nearly full: ")
