"""What the comparison with other tools reads from recordings and answers, and how its tables count. The tools do not run here."""

from __future__ import annotations

import json

import pytest

from benchmarks.arms.compaction_kit_arm import compacted
from benchmarks.beside_audit import agreement, rows_of
from benchmarks.beside_others import Tally, sampled
from benchmarks.other_tools import Change, call_of, change_of, compressed_of, opencode_messages, payload, results_in, seen
from benchmarks.shown_results import Shown, is_name, responses_in, shown_in, until
from tests.lab.session_builder import SessionBuilder
from tests.paths import ROOT

RESPONSE = {"stdout": "one\ntwo", "stderr": "bad", "interrupted": False, "isImage": False}


def shell(text: str = "one\ntwo\nbad", **more: object) -> Shown:
    return Shown("toolu_1", "Bash", {"command": "make"}, text, RESPONSE, 1, **more)  # type: ignore[arg-type]


def answer(**output: object) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": "PostToolUse", **output}})


def test_a_hook_is_given_the_host_s_record_of_the_result():
    assert payload(shell())["tool_response"] == RESPONSE
    assert payload(shell())["hook_event_name"] == "PostToolUse"


def test_a_hook_s_answer_replaces_what_the_model_would_have_seen():
    change = change_of(shell(), answer(updatedToolOutput={**RESPONSE, "stdout": "2 lines"}))
    assert change == Change("2 lines\nbad", len("one\ntwo\nbad"))


@pytest.mark.parametrize("printed", ["", "no JSON", "[]", "{}", '{"hookSpecificOutput": null}', answer(additionalContext="a map")])
def test_an_answer_that_replaces_nothing_is_no_change(printed: str):
    assert change_of(shell(), printed) is None


@pytest.mark.parametrize(
    ("tool", "response", "text"),
    [
        ("Read", {"type": "text", "file": {"filePath": "/a", "content": "x = 1"}}, "x = 1"),
        ("Bash", {"stdout": "", "stderr": "bad"}, "bad"),
        ("Grep", {"mode": "content", "numFiles": 2, "filenames": ["a", "b"]}, "content\na\nb"),
        ("mcp__x__y", [{"type": "text", "text": "blue"}], "text\nblue"),
        ("Read", {"file": None}, ""),
        ("Bash", "words", "words"),
    ],
)
def test_of_a_record_the_model_sees_the_texts(tool: str, response: object, text: str):
    assert seen(tool, response) == text


def test_opencode_dcp_is_given_a_message_for_each_request_with_its_calls():
    results = [
        shell(),
        Shown("toolu_2", "Read", {"file_path": "/a"}, "x = 1", None, 1),
        Shown("toolu_3", "Bash", {}, "bad", None, 4, failed=True),
    ]
    prompt, first, second = opencode_messages(results)
    assert prompt["info"]["role"] == "user"
    assert [part.get("callID") for part in first["parts"]] == [None, "toolu_1", "toolu_2"]
    assert (first["parts"][2]["tool"], first["parts"][2]["state"]["input"]) == ("read", {"filePath": "/a"})
    assert [part["state"]["status"] for message in (first, second) for part in message["parts"][1:]] == ["completed", "completed", "error"]


def test_trimtok_is_asked_with_its_tool_for_shells_or_for_others():
    assert call_of(3, shell())["params"]["name"] == "trimtok_compress_terminal"
    read = Shown("toolu_2", "Read", {"file_path": "/a"}, "x = 1", None, 1)
    assert call_of(4, read)["params"]["arguments"]["result"] == "x = 1"


def test_the_text_in_trimtok_s_answer_is_found_and_an_error_is_none():
    inner = json.dumps({"compressed": "short", "ref": "#c1"})
    assert compressed_of(json.dumps({"result": {"content": [{"type": "text", "text": inner}]}})) == "short"
    assert compressed_of(json.dumps({"result": {"content": [{"type": "text", "text": "ValueError"}], "isError": True}})) is None
    assert compressed_of("") is None


def line(id: str, content: object, **more: object) -> str:
    message = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content}]}
    return json.dumps({"type": "user", "message": message, **more}) + "\n"


def test_results_are_read_from_a_transcript_that_a_tool_has_written():
    lines = line("a", "one") + "torn {\n[]\n" + line("b", [{"type": "text", "text": "two"}])
    assert results_in(lines) == {"a": "one", "b": "two"}


def test_the_host_s_records_are_read_where_a_line_has_one_result():
    lines = line("a", "one", toolUseResult=RESPONSE) + line("b", "two") + "torn {\n"
    assert responses_in(lines) == {"a": RESPONSE}


def test_a_transcript_is_cut_before_the_first_line_of_a_message():
    lines = [line("a", "msg_2"), '{"message": {"id": "msg_2"}}\n', line("b", "two")]
    assert until("".join(lines), "msg_2") == lines[0]


def test_only_a_line_feed_ends_a_line_of_a_transcript():
    """Claude Code writes other ends of lines, such as U+2028, as they are."""
    told = [text.replace("one", "o\u2028n\x85e") for text in (line("a", "one", toolUseResult="one"), '{"message": {"id": "msg_one"}}\n')]
    assert results_in("".join(told)) == responses_in("".join(told)) == {"a": "o\u2028n\x85e"}
    assert until("".join(told), "msg_o\u2028n\x85e") == told[0]


def test_a_name_is_no_line():
    assert is_name("src/module_7.py")
    assert not is_name("return src/module_7.py")


def test_a_need_is_a_name_that_only_one_result_of_the_last_20_requests_had():
    built = SessionBuilder()
    alone, twice, again = built.bash("make"), built.bash("ls"), built.bash("ls -l", error=True)
    names = {2: "name_of_a_2", 21: "name_of_a_21"}
    for number in range(1, 22):
        request = built.request()
        request.needs = [(names[number], [alone]), ("name_of_b", [twice, again]), ("a line of it", [alone])] if number in names else []
    results = shown_in(built.session, {"T1": RESPONSE, "T3": RESPONSE})
    assert [shown.needs for shown in results] == [[("name_of_a_2", 2)], [], []]
    assert [shown.response for shown in results] == [RESPONSE, None, None]


def test_a_tally_counts_what_is_kept_out_and_the_needs_that_are_gone():
    tally = Tally()
    results = [shell("name_one name_two", needs=[("name_one", 2), ("name_two", 3)]), Shown("toolu_2", "Read", {}, "1234567", None, 1)]
    tally.add(results, {"toolu_1": Change("name_one", 17)})
    row = tally.row("tool", "hook", "1.0")
    assert (row["kept out"], row["changed"], row["needs lost"]) == ("37.5 %", "1 of 2", "1 of 2")


def test_a_tool_that_is_asked_in_the_middle_answers_for_what_came_before():
    tally = Tally()
    early = shell("name_one name_two", needs=[("name_one", 5), ("name_two", 6), ("name_two", 26)])
    late = Shown("toolu_2", "Read", {}, "1234567", None, 6)
    tally.add([early, late], {"toolu_1": Change("", 17), "toolu_2": Change("", 7)}, middle=5)
    assert (tally.results, tally.kept_out, tally.needs, tally.lost) == (1, 17, 1, 1)


def test_the_same_seed_takes_the_same_sessions():
    paths = sorted(ROOT.glob("benchmarks/*.py"))
    assert sampled(paths, 3, 1) == sampled(paths, 3, 1) != sampled(paths, 3, 2)
    assert sampled(paths[:2], 3, 1) == paths[:2]


def test_an_agreement_is_the_smaller_figure_over_the_larger():
    assert [agreement(9, 10), agreement(10, 9), agreement(0, 0)] == ["90.0 %", "90.0 %", "100.0 %"]


def test_the_audit_is_compared_with_all_causes_but_the_compaction():
    headline = {"count": 3, "rewritten_tokens": 4_000, "by_cause": {"expired": {"rewritten_tokens": 3_000}}}
    causes = [{"cause": "pause", "times": 2, "tokens": 3_000}, {"cause": "compaction", "times": 9, "tokens": 9_000}]
    rows = rows_of({"totals": {"requests": 8}, "rebuilds": {"headline": headline}}, {"requests": 8, "causes": causes})
    assert [row["agreement"] for row in rows] == ["100.0 %", "66.7 %", "75.0 %", "100.0 %"]


@pytest.mark.parametrize("budget_chars", [None, 10])
def test_of_a_conversation_of_words_a_compaction_leaves_every_word(budget_chars: int | None):
    turns = [type("Turn", (), {"role": role, "text": text}) for role, text in (("user", "Never push."), ("assistant", "Noted."))]
    assert compacted(turns, budget_chars) == "[user] Never push.\n[assistant] Noted."
