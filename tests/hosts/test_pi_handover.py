"""A conversation that pi hands over, as rows, and the edits by which it shows other rows: of what the real pi has recorded, too."""

from __future__ import annotations

from typing import Any

import pytest

from popkit_retention.core.hosts.pi.handover import NOTE, handover
from popkit_retention.core.policy.list_text import folded
from popkit_retention.core.policy.messages import MessagesNotUnderstood
from tests.hosts.test_pi import RECORDED, lines

LIST = folded(["read src/a.js", "bash npm test"], "abcd2345").text
OTHER_LIST = folded(["read src/a.js", "bash npm test", "read src/c.js"], "bcde3456").text


def said(id: str, text: str) -> dict[str, Any]:
    return {"id": id, "shown": {"role": "user", "content": [{"type": "text", "text": text}]}}


def called(id: str, *calls: tuple[str, dict[str, Any]], text: str = "", thought: str = "", **more: Any) -> dict[str, Any]:
    content = [{"type": "toolCall", "id": call, "name": "read", "arguments": arguments} for call, arguments in calls]
    thinking = [{"type": "thinking", "thinking": thought, "thinkingSignature": "sealed"}] if thought else []
    texts = [{"type": "text", "text": text, "textSignature": "signed"}] if text else []
    return {"id": id, "shown": {"role": "assistant", "content": [*thinking, *texts, *content], **more}}


def answered(id: str, call: str, text: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"id": id, "shown": {"role": "toolResult", "toolCallId": call, "toolName": "read", "content": content, "isError": False}, **more}


def conversation() -> list[dict[str, Any]]:
    """Three calls, one after the other."""
    return [
        said("u1", "Read them, and keep my words."),
        called("a1", ("t1", {"path": "src/a.js", "much": "x" * 50}), text="First.", thought="Hm."),
        answered("r1", "t1", "let a"),
        called("a2", ("t2", {"path": "src/b.js"}), thought="And?"),
        answered("r2", "t2", "let b"),
        called("a3", ("t3", {"path": "src/c.js"})),
        answered("r3", "t3", "let c"),
        called("a4", text="Done."),
    ]


def rows_of(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return handover(entries, "").rows


def edited(entries: list[dict[str, Any]], rows: list[dict[str, Any]], thinking: str = "") -> dict[str, Any]:
    return {edit["id"]: edit["content"] for edit in handover(entries, thinking).edits(rows)["edits"]}


def without(rows: list[dict[str, Any]], *ids: str) -> list[dict[str, Any]]:
    """The rows without these calls and their results."""
    return [
        {
            **row,
            "toolUses": [use for use in row["toolUses"] if use["tool_use_id"] not in ids],
            "toolResults": [shown for shown in row["toolResults"] if shown["tool_use_id"] not in ids],
        }
        for row in rows
    ]


def row(text: str) -> dict[str, Any]:
    return {"role": "user", "text": text, "toolUses": [], "toolResults": []}


def applied(entries: list[dict[str, Any]], changes: dict[str, Any]) -> list[dict[str, Any]]:
    """The entries as pi hands them over once they are edited."""
    done = []
    for entry in entries:
        raw = entry.get("raw", entry["shown"])
        if entry["id"] not in changes:
            done.append(entry)
        elif changes[entry["id"]] is None:
            done.append({"id": entry["id"], "shown": None, "raw": raw})
        else:
            done.append({"id": entry["id"], "shown": {**raw, "content": changes[entry["id"]]}, "raw": raw})
    return done


def test_the_same_rows_need_no_edit() -> None:
    entries = conversation()
    assert edited(entries, rows_of(entries)) == {}
    assert [one["role"] for one in rows_of(entries)] == ["user", *["assistant", "user"] * 3, "assistant"]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_what_pi_has_recorded_is_handed_over_whole(path) -> None:
    messages = [{"id": entry["id"], "shown": entry["message"]} for entry in lines(path) if entry["type"] == "message"]
    entries = [each for each in messages if each["shown"]["role"] != "system"]
    rows = rows_of(entries)
    uses = [use["tool_use_id"] for one in rows for use in one["toolUses"]]
    assert uses == [shown["tool_use_id"] for one in rows for shown in one["toolResults"]]
    assert len(uses) == 10
    assert edited(entries, rows) == {}
    assert any(one["text"].startswith("Ran `echo by hand`") for one in rows)


def test_a_result_and_an_input_are_replaced_in_their_places() -> None:
    entries = conversation()
    rows = rows_of(entries)
    rows[2]["toolResults"][0]["text"] = "[left out]"
    rows[1]["toolUses"][0]["input"] = {"path": "src/a.js", "much": "[stub]"}
    changes = edited(entries, rows)
    assert changes["r1"] == [{"type": "text", "text": "[left out]"}]
    thinking, text, call = changes["a1"]
    assert (thinking["thinkingSignature"], text["text"], call["arguments"]["much"]) == ("sealed", "First.", "[stub]")
    assert changes.keys() == {"a1", "r1"}


def test_calls_that_left_are_named_by_a_list_that_one_of_them_carries() -> None:
    entries = conversation()
    rows = without(rows_of(entries), "t1", "t2")
    rows.insert(2, row(LIST))
    changes = edited(entries, rows)
    assert changes == {"a1": [{"type": "text", "text": "First."}], "r1": None, "r2": [{"type": "text", "text": LIST}]}
    handed = rows_of(applied(entries, changes))
    assert [one["text"] for one in handed if one["text"]] == ["Read them, and keep my words.", "First.", LIST, "Done."]
    assert [use["tool_use_id"] for one in handed for use in one["toolUses"]] == ["t3"]


def test_a_later_list_takes_the_place_of_an_earlier_one() -> None:
    entries = conversation()
    rows = without(rows_of(entries), "t1", "t2")
    rows.insert(2, row(LIST))
    once = applied(entries, edited(entries, rows))
    again = [one for one in without(rows_of(once), "t3") if one["text"] != LIST]
    again.insert(2, row(OTHER_LIST))
    changes = edited(once, again)
    assert changes == {"r2": [{"type": "text", "text": OTHER_LIST}], "a3": None, "r3": None}


def test_what_comes_back_is_as_it_was() -> None:
    entries = conversation()
    rows = without(rows_of(entries), "t1", "t2")
    rows.insert(2, row(LIST))
    left = applied(entries, edited(entries, rows))
    changes = edited(left, rows_of(entries))
    assert changes == {id: next(entry["shown"]["content"] for entry in entries if entry["id"] == id) for id in ("a1", "r1", "r2")}


def test_a_picture_stays_as_long_as_its_result_does() -> None:
    entries = conversation()
    entries[2]["shown"]["content"].append({"type": "image", "data": "aGk=", "mimeType": "image/png"})
    assert edited(entries, rows_of(entries)) == {}


def test_where_thinking_is_bound_to_what_stood_before_it_goes() -> None:
    entries = conversation()
    rows = rows_of(entries)
    rows[6]["toolResults"][0]["text"] = "[left out]"
    changes = edited(entries, rows, thinking="adaptive")
    assert changes.keys() == {"a1", "a2", "r3"}
    assert [block["type"] for block in changes["a1"]] == ["text", "toolCall"]
    assert [block["type"] for block in changes["a2"]] == ["toolCall"]


def test_an_earlier_summary_stands_before_our_note_and_ours_is_not_repeated() -> None:
    told = {"id": "c1", "shown": {"role": "compactionSummary", "summary": f"What was before.\n\n{NOTE}"}}
    entries = [told, *conversation()]
    answer = handover(entries, "").edits(rows_of(entries))
    assert answer["summary"] == f"What was before.\n\n{NOTE}"
    assert answer["first"] == "u1"
    assert rows_of(entries)[0]["text"].strip() == "What was before."
    assert handover(conversation(), "").edits(rows_of(conversation()))["summary"] == NOTE


def test_an_answer_that_failed_is_no_part_of_the_conversation() -> None:
    entries = [*conversation(), called("a5", ("t9", {"path": "x"}), stopReason="aborted")]
    assert len(rows_of(entries)) == len(rows_of(conversation()))
    assert edited(entries, rows_of(entries)) == {}


@pytest.mark.parametrize("entries", [None, [7], [{"shown": {}}], [{"id": 7}]])
def test_what_is_none_is_not_understood(entries: object) -> None:
    with pytest.raises(MessagesNotUnderstood):
        handover(entries, "")


def test_a_list_without_a_call_that_could_carry_it_is_not_understood() -> None:
    entries = conversation()
    with pytest.raises(MessagesNotUnderstood):
        handover(entries, "").edits([*rows_of(entries), row(LIST)])
