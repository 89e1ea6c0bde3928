"""The door as a process: what of a row enters, and what it knows of what the context shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.policy.door_laws import MARK, OURS

from .asking import SESSION, Helper, Transcript, lines, numbered


def test_what_the_context_shows_enters_once_and_the_archive_has_the_whole(helper: Helper):
    file = lines(60)
    assert helper.read("app.py", file) == ("toolu_01", numbered(file))
    id, entered = helper.read("app.py", [*file[20:], "tail"], 21)
    [entry] = helper.journal()
    words = f"from «{file[21].strip()}» to «{file[58].strip()}»"
    assert entered.split("\n") == [
        f"21\t{file[20]}",
        f"[lines 22–59 as in your Read of app.py above: {words}; to see all: popkit restore {entry['handle']}]",
        f"60\t{file[59]}",
        "61\ttail",
    ]
    assert (entry["event"], entry["id"], entry["leans_on"]) == ("entered", id, ["toolu_01"])
    assert (entry["chars"], entry["entered_chars"]) == (len(numbered([*file[20:], "tail"], 21)), len(entered))
    assert helper.run("restore", entry["handle"]).rstrip("\n") == numbered([*file[20:], "tail"], 21)
    assert helper.failures() == ""


def test_a_rerun_with_another_duration_enters_once_and_is_archived_to_the_digit(helper: Helper):
    before, after = ("\n".join(f"  ✔ adds item {at} and its price (0.{part}{at}ms)" for at in range(100, 140)) for part in (2, 7))
    first, _ = helper.result("Bash", {"command": "npm test"}, before)
    entered = helper.result("Bash", {"command": "npm test"}, after)[1]["content"][0]["content"]
    [entry] = helper.journal()
    assert entered.split("\n") == [
        after.split("\n")[0],
        (
            "[38 lines as in your Bash of npm test above, there lines 2–39 of it, but for the durations (below 1s or within a factor of 2; "
            "the longest is 0.7138ms here, 0.2138ms there): from «✔ adds item 101 and its price» to «✔ adds item 138 and its price»; "
            f"to see all: popkit restore {entry['handle']}]"
        ),
        after.split("\n")[-1],
    ]
    assert (entry["leans_on"], entry["reasons"]) == ([first], ["38 lines that the context already shows, but for durations"])
    assert helper.run("restore", entry["handle"]).rstrip("\n") == after
    assert helper.failures() == ""


def test_a_result_that_was_shortened_enters_whole_when_it_is_asked_for_again(helper: Helper):
    file = lines(40)
    helper.read("app.py", file)
    assert helper.read("app.py", file)[1] != numbered(file)
    assert helper.read("app.py", file)[1] == numbered(file)


def test_what_was_left_out_enters_whole_when_it_is_restored(helper: Helper):
    file = lines(40)
    helper.read("app.py", file)
    helper.read("app.py", [*file, "tail"])
    handle = helper.journal()[-1]["handle"]
    assert helper.result("Bash", {"command": f"popkit restore {handle}"}, numbered([*file, "tail"]))[1] == {}


def test_with_reads_another_file_with_the_same_lines_is_no_reason_to_refer(tmp_path: Path):
    helper = Helper(tmp_path, config={"say_once": "reads"})
    helper.read("app.py", lines(40))
    assert helper.read("copy.py", lines(40))[1] == numbered(lines(40))
    helper.stop()


def test_what_was_written_counts_too(helper: Helper):
    written = {"file_path": str(helper.project / "app.py"), "content": "\n".join(lines(40))}
    helper.result("Write", written, "File created")
    assert "lines 2–39 as in the input of your Write of app.py above" in helper.read("app.py", lines(40))[1]


def test_switched_off_everything_enters_as_it_came(tmp_path: Path):
    helper = Helper(tmp_path, config={"say_once": "off", "shape": "off"})
    helper.read("app.py", lines(40))
    assert helper.read("app.py", lines(40))[1] == numbered(lines(40))
    assert helper.result("Bash", {"command": "make"}, "\x1b[31mred\x1b[0m" * 99)[1] == {}
    helper.stop()


def test_what_a_script_got_from_a_call_is_left_alone_and_not_referred_to(helper: Helper):
    """The declared shape of Code Mode: a row that no request carries has no role."""
    block = {"type": "tool_result", "tool_use_id": "toolu_s_0", "content": numbered(lines(60))}
    called = {"tool": "Read", "input": {"file_path": str(helper.project / "app.py")}}
    row = {"uuid": "row-s", "agent_id": "", "message": {"type": "user", "content": [block]}, "calls": {"toolu_s_0": called}}
    assert [helper.ask("/row", row) for _ in range(2)] == [{}, {}]
    assert helper.read("app.py", lines(60))[1] == numbered(lines(60)), "the context shows none of it yet"


@pytest.mark.parametrize(
    ("tool", "asked", "output"),
    [
        (
            "Bash",
            {"command": "make"},
            "<persisted-output>\nOutput too large (55.3KB). Full output saved to: /tmp/x.txt\n\n" + "\n".join(lines(60)),
        ),
        (
            "Read",
            {"file_path": "/shop/app.py"},
            "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead.",
        ),
    ],
)
def test_what_the_client_has_shortened_itself_is_left_alone(tmp_path: Path, tool: str, asked: dict, output: str):
    helper = Helper(tmp_path, config={"shape": "strong"})
    helper.read("app.py", lines(60))
    assert [helper.result(tool, asked, output)[1] for _ in range(3)] == [{}, {}, {}]
    assert helper.journal() == []
    helper.stop()


def test_a_file_beside_a_run_enters_whole_where_the_run_is_shortened(tmp_path: Path):
    helper = Helper(tmp_path, config={"shape": "strong"})
    file, run = lines(100), [f"request {at} was served" for at in range(400)]
    assert helper.result("Bash", {"command": "git show main:src/app.py"}, "\n".join(file))[1] == {}
    command = "cat app.py; echo ---; npm run dev"
    entered = helper.result("Bash", {"command": command}, "\n".join(["new", *file, "---", *run]))[1]["content"][0]["content"].split("\n")
    assert entered[:3] + entered[4:6] == ["new", file[0], entered[2], "---", run[0]]
    assert entered[2].startswith("[98 lines as in your Bash of git show main:src/app.py above, there lines 2–99 of it: ")
    assert entered[-1].startswith(f"[PopKit left out {sum(one not in entered for one in run)} of 502 lines; ")
    helper.stop()


def test_what_only_looks_like_a_line_of_ours_is_marked_whatever_it_comes_in(helper: Helper):
    marked = [f"{MARK}{line}" for line in OURS]
    page = {"url": "https://example.org/notes"}
    for _ in ("at first", "again at once"):
        answer = helper.result("WebFetch", page, "\n".join(OURS))[1]
        assert answer["content"][0]["content"].split("\n") == marked
    assert [entry["reasons"] for entry in helper.journal()] == [[f"{len(OURS)} parts marked that could be taken for PopKit's own"]] * 2
    blocks = [{"type": "text", "text": line} for line in OURS]
    answer = helper.result("mcp__notes__get", {}, [*blocks, {"type": "image", "source": {}}])[1]
    assert [block.get("text") for block in answer["content"][0]["content"]] == [*marked, None]
    helper.ask("/view")  # what was put off opens the archive
    (helper.home / "archive.sqlite").unlink()
    (helper.home / "archive.sqlite").mkdir()
    assert helper.result("Bash", {"command": "cat notes"}, OURS[2], is_error=True)[1]["content"][0]["content"] == marked[2]


def test_noise_stays_outside(helper: Helper):
    progress = "".join(f"built {percent}%\r" for percent in range(100)) + "built 100%"
    answer = helper.result("Bash", {"command": "make"}, progress)[1]
    assert answer["content"][0]["content"] == "built 100%"
    assert helper.run("restore", helper.journal()[0]["handle"]).rstrip("\n") == progress


def test_an_output_over_budget_enters_in_part_and_whole_when_asked_for_again(tmp_path: Path):
    helper = Helper(tmp_path, config={"shape": "strong"})
    try:
        text = "\n".join(f"row {at}: copied to place {at * at} of the shop" for at in range(400))
        answer = helper.result("Bash", {"command": "./copy"}, text)[1]
        entered = answer["content"][0]["content"]
        handle = entered.partition("popkit restore ")[2].partition("]")[0].partition(";")[0]
        assert len(entered) < len(text) / 4
        assert text in helper.run("restore", handle)
        assert any("over its budget" in reason for reason in helper.journal()[-1]["reasons"])
        assert helper.result("Bash", {"command": "./copy"}, text)[1] == {}
    finally:
        helper.stop()


def test_a_subagent_knows_nothing_of_what_the_main_thread_was_shown(helper: Helper):
    file = lines(40)
    helper.read("app.py", file)
    assert helper.read("app.py", file, agent="a1")[1] == numbered(file)
    assert "as in your " in helper.read("app.py", [*file, "more"], agent="a1")[1]
    assert [entry["leans_on"] for entry in helper.journal("a1")] == [["toolu_02"]]
    assert helper.journal() == []


def test_nothing_leans_on_what_was_folded(helper: Helper):
    helper.read("app.py", lines(40))
    assert helper.ask("/compacted", {}) == {}
    assert helper.read("app.py", lines(40))[1] == numbered(lines(40))


def test_text_a_compaction_leaves_enters_once_more_whole_and_is_then_referred_to(helper: Helper):
    file, path = numbered(lines(40)), str(helper.project / "app.py")
    row = {"role": "assistant", "text": "", "toolUses": [{"tool_use_id": "toolu_77", "tool": "Read", "input": {"file_path": path}}]}
    assert helper.ask("/compact", {"trigger": "plugin", "rows": [row]}) == {}
    helper.ask("/compacted", {})
    for id in ("toolu_77", "toolu_78"):  # nothing tells what the second one has read: nothing can name it
        block = {"type": "tool_result", "tool_use_id": id, "content": file}
        assert helper.ask("/row", {"uuid": id, "message": {"type": "user", "role": "user", "content": [block]}, "calls": {}}) == {}
    assert "as in your Read of app.py above" in helper.read("app.py", [*lines(40), "more"])[1]
    assert [entry["leans_on"] for entry in helper.journal()] == [["toolu_77"]]


def test_a_turn_that_took_nothing_back_changes_only_the_configuration(helper: Helper):
    helper.read("app.py", lines(40))
    assert helper.ask("/rows", {}) == {}
    assert "as in your " in helper.read("app.py", [*lines(40), "more"])[1]
    (helper.home / "retention-config.json").write_text('{"retention": {"say_once": "off"}}')
    helper.ask("/rows", {})
    assert helper.read("app.py", [*lines(40), "most"])[1] == numbered([*lines(40), "most"])


def test_nothing_leans_on_what_was_taken_back_and_the_numbers_go_on_from_there(helper: Helper):
    first, _ = helper.read("app.py", lines(40))
    helper.read("other.py", lines(40, "other"))
    assert helper.ask("/rows", {"ids": [first]}) == {}
    assert helper.read("other.py", lines(40, "other"))[1] == numbered(lines(40, "other"))
    assert "as in your Read of other.py above" in helper.read("other.py", [*lines(40, "other"), "x"])[1]


def test_an_answer_that_came_too_late_did_not_happen(helper: Helper):
    helper.read("app.py", lines(40))
    id, _ = helper.read("app.py", [*lines(40), "more"])
    helper.ask("/late", {"ids": [id]})
    assert helper.journal()[-1] == {"event": "entered", "id": id, "whole": True, "at": helper.journal()[-1]["at"]}


ODD = {
    "no message": {},
    "no list": {"message": {"content": "text"}},
    "no blocks": {"message": {"content": [1, None, "x", [], {}]}},
    "no id": {"message": {"content": [{"type": "tool_result", "content": "x"}]}},
    "an id that is none": {"message": {"content": [{"type": "tool_result", "tool_use_id": 7, "content": "x"}]}},
    "no content": {"message": {"content": [{"type": "tool_result", "tool_use_id": "a"}]}},
    "a number": {"message": {"content": [{"type": "tool_result", "tool_use_id": "b", "content": 5}]}},
    "blocks that are none": {"message": {"content": [{"type": "tool_result", "tool_use_id": "c", "content": [1, {"type": "text"}]}]}},
    "a kind that is none": {"message": {"content": [{"type": "tool_result", "tool_use_id": "g", "content": [{"type": []}]}]}},
    "calls that are none": {"message": {"content": [{"type": "tool_result", "tool_use_id": "d", "content": "x"}]}, "calls": [1]},
    "an agent that is none": {"message": {"content": [{"type": "tool_result", "tool_use_id": "e", "content": "x"}]}, "agent_id": {}},
    "a path for an agent": {"message": {"content": [{"type": "tool_result", "tool_use_id": "f", "content": "x"}]}, "agent_id": "../../x"},
}


@pytest.mark.parametrize("row", ODD.values(), ids=ODD)
def test_a_row_of_any_shape_enters_as_it_came(helper: Helper, row: dict):
    assert helper.ask("/row", row) == {}
    assert helper.failures() == ""


@pytest.mark.parametrize(
    "content", ["\x00\x01\x02" * 4000, "\ud800 alone \udfff\n" * 40, "é漢🎉" * 999, ""], ids=["binary", "surrogates", "wide", "empty"]
)
def test_a_text_of_any_kind_enters_and_is_known(helper: Helper, content: str):
    path = {"file_path": str(helper.project / "odd.bin")}
    assert helper.result("Read", path, content)[1] == {}
    again = helper.result("Read", path, content + "\nmore")[1]
    entered = again["content"][0]["content"] if again else content + "\nmore"
    assert entered.endswith("more")
    assert helper.failures() == ""


def test_lone_surrogates_come_back_from_the_archive_of_a_shortened_result(helper: Helper):
    file = [f"line {number} \ud800 of the file, and this one is like no other" for number in range(30)]
    helper.read("odd.txt", file)
    assert "as in your " in helper.read("odd.txt", [*file, "\udfff"])[1]
    [entry] = helper.journal()
    assert helper.run("restore", entry["handle"]).rstrip("\n") == numbered([*file, "\udfff"])


def test_an_image_enters_as_it_came_and_text_beside_it_may_be_shorter(helper: Helper):
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    assert helper.result("Read", {"file_path": "/x.png"}, [image])[1] == {}
    answer = helper.result("Bash", {"command": "make"}, [{"type": "text", "text": "|\rb"}, image])[1]
    assert answer["content"][0]["content"] == [{"type": "text", "text": "b"}, image]


def test_five_megabytes_enter(helper: Helper):
    big = "\n".join(f"{number:07} {number * 31 % 977} the words of this line" for number in range(130_000))
    assert len(big) > 5_000_000 * 0.9
    assert helper.result("Bash", {"command": "cat big"}, big)[1] == {}
    assert helper.read("app.py", lines(40))[1] == numbered(lines(40))
    assert helper.ask("/health")["rows"] == 2


def test_an_archive_that_cannot_be_used_lets_everything_in_whole(helper: Helper):
    (helper.home / "archive.sqlite").mkdir()
    helper.read("app.py", lines(40))
    assert helper.read("app.py", [*lines(40), "more"])[1] == numbered([*lines(40), "more"])
    assert helper.journal() == []
    assert "door " in helper.failures()


def test_a_result_that_is_handed_in_twice_counts_once(helper: Helper):
    helper.read("app.py", lines(40))
    helper.number -= 1
    assert helper.read("app.py", lines(40))[1] == numbered(lines(40))
    assert "as in your " in helper.read("app.py", [*lines(40), "more"])[1]


@pytest.mark.parametrize("say_once", ["any", "reads"])
def test_what_was_written_before_counts_after_a_resume_where_anything_does(tmp_path: Path, say_once: str):
    transcript = Transcript(tmp_path / "past.jsonl", tmp_path / "shop")
    path = str(tmp_path / "shop" / "app.py")
    transcript.called("t1", "Write", {"file_path": path, "content": "\n".join(lines(40))}, "File created")
    transcript.called("t2", "Edit", {"file_path": path, "old_string": "x", "new_string": "\n".join(lines(40, "new"))}, "Edited")
    helper = Helper(tmp_path, transcript.path, {"say_once": say_once})
    entered = helper.read("app.py", [*lines(40), *lines(40, "new")])[1]
    named = [f"as in the input of your {tool} of app.py above" in entered for tool in ("Write", "Edit")]
    assert named == [say_once == "any"] * 2
    helper.stop()


EDIT = {"type": "clear_tool_uses_20250919", "trigger": {"type": "input_tokens", "value": 20_000}, "keep": {"type": "tool_uses", "value": 1}}


ASKED = json.dumps({"context_management": {"edits": [EDIT]}})


CLEARED = {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 1, "cleared_input_tokens": 900}]}


def test_near_the_limit_nothing_leans_on_what_the_next_request_may_lack(tmp_path: Path):
    transcript = Transcript(tmp_path / "past.jsonl", tmp_path / "shop")
    helper = Helper(tmp_path, transcript.path, CLAUDE_CODE_EXTRA_BODY=ASKED)
    transcript.answered(10_000)
    helper.read("app.py", lines(40))
    helper.read("other.py", lines(40, "other"))
    assert "as in your " in helper.read("other.py", [*lines(40, "other"), "x"])[1]
    assert "as in your " in helper.read("app.py", lines(40)[1:], 2)[1]
    transcript.answered(19_000)
    assert helper.read("other.py", lines(40, "other")[1:], 2)[1] == numbered(lines(40, "other")[1:], 2)
    assert "as in your " in helper.read("other.py", [*lines(40, "other")[2:], "y"], 3)[1]  # the newest stays
    helper.stop()


@pytest.mark.parametrize("sign", ["said", "fallen"])
def test_nothing_leans_on_what_requests_lack_and_the_journal_notes_it(tmp_path: Path, sign: str):
    transcript = Transcript(tmp_path / "past.jsonl", tmp_path / "shop")
    helper = Helper(tmp_path, transcript.path, **({"CLAUDE_CODE_EXTRA_BODY": ASKED} if sign == "fallen" else {}))
    for number, name in enumerate(("app", "other"), 1):
        id, entered = helper.read(f"{name}.py", lines(200, name))
        transcript.called(id, "Read", {"file_path": str(helper.project / f"{name}.py")}, entered, 20_000 + 4_000 * number)
    if sign == "said":
        assert "as in your " in helper.read("app.py", [*lines(200, "app"), "more"])[1]
    transcript.answered(19_000, CLEARED if sign == "said" else None)
    assert helper.read("app.py", [*lines(200, "app"), "most"])[1] == numbered([*lines(200, "app"), "most"])
    helper.ask("/view", {"columns": 70})
    [entry] = [entry for entry in helper.journal() if entry["event"] == "outside"]
    assert entry["ids"] == ["toolu_01"]
    assert helper.failures() == ""
    helper.stop()


def test_a_resumed_session_leans_on_nothing_that_requests_lack(tmp_path: Path):
    transcript = Transcript(tmp_path / "past.jsonl", tmp_path / "shop")
    transcript.called("t1", "Read", {"file_path": str(tmp_path / "shop" / "app.py")}, numbered(lines(40)))
    transcript.answered(20_000, CLEARED)
    helper = Helper(tmp_path, transcript.path)
    assert helper.read("app.py", [*lines(40), "more"])[1] == numbered([*lines(40), "more"])
    helper.stop()


def test_an_archive_that_breaks_later_lets_everything_in_whole_from_then_on(helper: Helper):
    helper.read("app.py", lines(40))
    helper.read("app.py", [*lines(40)[1:], "more"], 2)
    helper.ask("/command", {"words": "stats"})
    (helper.home / "archive.sqlite").rename(helper.home / "aside.sqlite")
    (helper.home / "archive.sqlite").mkdir()
    assert "as in your " in helper.read("app.py", [*lines(40), "most"])[1]
    helper.ask("/command", {"words": "stats"})
    last = [*lines(40)[1:], "last"]
    assert helper.read("app.py", last, 2)[1] == numbered(last, 2)
    assert helper.failures() != ""
    (helper.home / "archive.sqlite").rmdir()
    (helper.home / "aside.sqlite").rename(helper.home / "archive.sqlite")
    assert helper.run("restore", helper.journal()[-1]["handle"]).rstrip("\n") == numbered([*lines(40), "most"])


def test_a_label_is_archived_without_what_the_client_would_mask(helper: Helper):
    """A second masker behind ours: the client says what it would take out of a command line, and the helper keeps that nowhere."""
    command = "./copy --with heron-blue-31y"
    call = {"tool": "Bash", "input": {"command": command}, "redacted": {"command": "./copy --with [REDACTED]"}}
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "the same line\n" * 200}
    row = {"uuid": "row-1", "agent_id": "", "message": {"type": "user", "role": "user", "content": [block]}}
    assert helper.ask("/row", {**row, "calls": {"toolu_1": call}, "cwd": str(helper.project)})
    listed = helper.run("restore", "list", "--session", SESSION)
    assert "./copy --with ****" in listed
    assert "heron-blue" not in listed
