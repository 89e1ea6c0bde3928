"""The resident helper as a process: what it answers, whatever it is asked."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hooks.utils.handlers import pre_compact
from hooks.utils.policy.context import shared_facts
from hooks.utils.state import live, store
from tests.patience import HANG_S

from .asking import ROOT, SESSION, Helper, Transcript, lines, numbered


@pytest.fixture
def helper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Helper]:
    made = Helper(tmp_path_factory.mktemp("h"))  # a short path: sockets want one
    yield made
    made.stop()


def test_what_the_context_shows_enters_once_and_the_archive_has_the_whole(helper: Helper):
    file = lines(60)
    assert helper.read("app.py", file) == ("toolu_01", numbered(file))
    id, entered = helper.read("app.py", [*file[20:], "tail"], 21)
    assert entered.split("\n") == [
        f"21\t{file[20]}",
        f"[38 lines as in T1, Read app.py: from «{file[21].strip()}» to «{file[58].strip()}»]",
        f"60\t{file[59]}",
        "61\ttail",
    ]
    [entry] = helper.journal()
    assert (entry["event"], entry["id"], entry["leans_on"]) == ("entered", id, ["toolu_01"])
    assert (entry["chars"], entry["entered_chars"]) == (len(numbered([*file[20:], "tail"], 21)), len(entered))
    assert helper.run("restore", entry["handle"]).rstrip("\n") == numbered([*file[20:], "tail"], 21)
    assert helper.failures() == ""


def test_a_result_that_was_shortened_enters_whole_when_it_is_asked_for_again(helper: Helper):
    file = lines(40)
    helper.read("app.py", file)
    assert helper.read("app.py", file)[1] != numbered(file)
    assert helper.read("app.py", file)[1] == numbered(file)


def test_another_file_with_the_same_lines_is_no_reason_to_refer(helper: Helper):
    helper.read("app.py", lines(40))
    assert helper.read("copy.py", lines(40))[1] == numbered(lines(40))


def test_with_any_what_was_written_counts_too(tmp_path: Path):
    helper = Helper(tmp_path, config={"say_once": "any"})
    written = {"file_path": str(helper.project / "app.py"), "content": "\n".join(lines(40))}
    helper.result("Write", written, "File created")
    assert "[38 lines as in T1, " in helper.read("app.py", lines(40))[1]
    helper.stop()


def test_switched_off_everything_enters_as_it_came(tmp_path: Path):
    helper = Helper(tmp_path, config={"say_once": "off", "shape": "off"})
    helper.read("app.py", lines(40))
    assert helper.read("app.py", lines(40))[1] == numbered(lines(40))
    assert helper.result("Bash", {"command": "make"}, "\x1b[31mred\x1b[0m" * 99)[1] == {}
    helper.stop()


def test_noise_stays_outside(helper: Helper):
    progress = "".join(f"{percent}% done\r" for percent in range(100)) + "built"
    answer = helper.result("Bash", {"command": "make"}, progress)[1]
    assert answer["content"][0]["content"] == "built"
    assert helper.run("restore", helper.journal()[0]["handle"]).rstrip("\n") == progress


def test_an_output_over_its_budget_stays_outside_in_part_and_enters_whole_when_it_is_asked_for_again(tmp_path: Path):
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
    assert "as in T1, " in helper.read("app.py", [*file, "more"], agent="a1")[1]
    assert [entry["leans_on"] for entry in helper.journal("a1")] == [["toolu_02"]]
    assert helper.journal() == []


def test_nothing_leans_on_what_was_folded(helper: Helper):
    helper.read("app.py", lines(40))
    assert helper.ask("/compacted", {}) == {}
    assert helper.read("app.py", lines(40))[1] == numbered(lines(40))


def test_a_turn_of_which_nothing_was_taken_back_changes_nothing_but_the_configuration(helper: Helper):
    helper.read("app.py", lines(40))
    assert helper.ask("/rows", {}) == {}
    assert "as in T1, " in helper.read("app.py", [*lines(40), "more"])[1]
    (helper.home / "retention-config.json").write_text('{"retention": {"say_once": "off"}}')
    helper.ask("/rows", {})
    assert helper.read("app.py", [*lines(40), "most"])[1] == numbered([*lines(40), "most"])


def test_nothing_leans_on_what_was_taken_back_and_the_numbers_go_on_from_there(helper: Helper):
    first, _ = helper.read("app.py", lines(40))
    helper.read("other.py", lines(40, "other"))
    assert helper.ask("/rows", {"ids": [first]}) == {}
    assert helper.read("other.py", lines(40, "other"))[1] == numbered(lines(40, "other"))
    assert "as in T2, Read other.py" in helper.read("other.py", [*lines(40, "other"), "x"])[1]


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
    said = again["content"][0]["content"] if again else content + "\nmore"
    assert said.endswith("more")
    assert helper.failures() == ""


def test_lone_surrogates_come_back_from_the_archive_of_a_shortened_result(helper: Helper):
    file = [f"line {number} \ud800 of the file, and this one is like no other" for number in range(30)]
    helper.read("odd.txt", file)
    assert "as in T1, " in helper.read("odd.txt", [*file, "\udfff"])[1]
    [entry] = helper.journal()
    assert helper.run("restore", entry["handle"]).rstrip("\n") == numbered([*file, "\udfff"])


def test_an_image_enters_as_it_came_and_text_beside_it_may_be_shorter(helper: Helper):
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    assert helper.result("Read", {"file_path": "/x.png"}, [image])[1] == {}
    answer = helper.result("Bash", {"command": "make"}, [{"type": "text", "text": "a\rb"}, image])[1]
    assert answer["content"][0]["content"] == [{"type": "text", "text": "b"}, image]


def test_five_megabytes_enter(helper: Helper):
    big = "\n".join(f"{number:07} {number * 31 % 977} the words of this line" for number in range(130_000))
    assert len(big) > 5_000_000 * 0.9
    assert helper.result("Bash", {"command": "cat big"}, big)[1] == {}
    assert helper.read("app.py", lines(40))[1] == numbered(lines(40))
    assert helper.ask("/health")["rows"] == 2


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"\xff\xfe", b'{"message": ' + b"[" * 100_000], ids=["none", "half", "list", "bytes", "deep"]
)
def test_garbage_is_answered_with_nothing(helper: Helper, raw: bytes):
    assert helper.ask("/row", raw=raw) == {}
    assert helper.ask("/nowhere", raw=raw) == {}
    assert helper.read("app.py", lines(9))[1] == numbered(lines(9))


def test_a_failure_is_counted_like_a_hooks(helper: Helper):
    helper.ask("/row", raw=b"{")
    assert "!! " in helper.failures()
    assert "serve /row JSONDecodeError" in helper.failures()


def test_an_archive_that_cannot_be_used_lets_everything_in_whole(helper: Helper):
    (helper.home / "archive.sqlite").mkdir()
    helper.read("app.py", lines(40))
    assert helper.read("app.py", [*lines(40), "more"])[1] == numbered([*lines(40), "more"])
    assert helper.journal() == []
    assert "door " in helper.failures()


def test_the_socket_is_the_users_alone(helper: Helper):
    path = Path(helper.told["socket"])
    assert helper.told["protocol"] == 1
    assert len(os.fsencode(path)) <= 100
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)


def test_a_home_with_a_long_name_has_its_socket_elsewhere(tmp_path: Path):
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    helper = Helper(deep)
    path = Path(helper.told["socket"])
    assert not path.is_relative_to(deep)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    helper.ask("/end")
    helper.process.wait(HANG_S)
    assert not path.parent.exists()
    helper.stop()


def test_it_ends_when_it_is_told_and_takes_its_socket_along(helper: Helper):
    assert helper.ask("/end") == {}
    assert helper.process.wait(HANG_S) == 0
    assert not Path(helper.told["socket"]).exists()


def test_it_ends_when_nobody_reads_it_any_more(helper: Helper):
    helper.process.stdout.close()
    assert helper.process.wait(HANG_S) == 0


def test_after_a_kill_the_next_one_knows_what_was_there_and_the_socket_is_swept(helper: Helper):
    first = helper.told["socket"]
    _transcript(helper.transcript, helper.project / "app.py", lines(40))
    os.kill(helper.process.pid, signal.SIGKILL)
    helper.process.wait(HANG_S)
    helper.stop()
    helper.start()
    assert not Path(first).exists()
    assert "[38 lines as in T1, Read app.py: " in helper.read("app.py", [*lines(40), "more"])[1]


def _transcript(path: Path, file: Path, content: list[str], id: str = "toolu_00") -> None:
    """A session with one Read."""
    first = {"type": "user", "uuid": "u0", "parentUuid": None, "message": {"role": "user", "content": "go"}}
    path.write_text(json.dumps({**_common(file), **first}) + "\n")
    _append_read(path, file, id, numbered(content), 0)


def _append_read(path: Path, file: Path, id: str, text: str, at: int) -> None:
    """The session goes on with a Read, whose result is this text; `at`: how many came before."""
    use = {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": str(file)}}
    result = {"type": "tool_result", "tool_use_id": id, "content": text}
    count = text.count("\n") + 1
    shown = {"filePath": str(file), "content": text, "numLines": count, "startLine": 1, "totalLines": count}
    call, back = f"u{2 * at + 1}", f"u{2 * at + 2}"
    rows = [
        {
            "type": "assistant",
            "uuid": call,
            "parentUuid": f"u{2 * at}",
            "message": {"id": f"m{at}", "role": "assistant", "content": [use]},
        },
        {
            "type": "user",
            "uuid": back,
            "parentUuid": call,
            "message": {"role": "user", "content": [result]},
            "toolUseResult": {"type": "text", "file": shown},
        },
    ]
    with path.open("a") as transcript:
        transcript.writelines(json.dumps({**_common(file), **row}) + "\n" for row in rows)


def _common(file: Path) -> dict[str, object]:
    return {
        "isSidechain": False,
        "sessionId": SESSION,
        "cwd": str(file.parent),
        "version": "2.1.330",
        "timestamp": "2026-11-22T10:00:00.000Z",
    }


def test_a_result_that_is_handed_in_twice_counts_once(helper: Helper):
    helper.read("app.py", lines(40))
    helper.number -= 1
    assert helper.read("app.py", lines(40))[1] == numbered(lines(40))
    assert "as in T1, " in helper.read("app.py", [*lines(40), "more"])[1]


def test_many_at_once_are_each_answered(helper: Helper):
    def read(number: int) -> str:
        block = {"type": "tool_result", "tool_use_id": f"many_{number}", "content": numbered(lines(30))}
        call = {f"many_{number}": {"tool": "Read", "input": {"file_path": str(helper.project / "app.py"), "offset": number}}}
        answer = helper.ask("/row", {"message": {"content": [block]}, "calls": call, "agent_id": f"agent{number % 2}"})
        return answer["content"][0]["content"] if answer else ""

    with ThreadPoolExecutor(8) as pool:
        entered = list(pool.map(read, range(24)))
    assert entered.count("") == 2  # the first of each context
    assert helper.ask("/health")["rewritten"] == 22


def test_the_answers_are_those_of_the_command(helper: Helper):
    _transcript(helper.transcript, helper.project / "app.py", lines(400))
    told = helper.ask("/command", {"words": "timeline", "columns": 70})["text"]
    assert "Read app.py" in told
    view = helper.ask("/view", {"columns": 70})
    assert view["band"] is None
    assert any("Retention status" in line for line in view["pane"]["lines"])
    assert helper.ask("/press", {"id": "rm -rf"}) == {"text": ""}
    assert "Nothing" in helper.ask("/press", {"id": "clear", "columns": 70})["text"]


def test_the_pane_has_pages_and_an_unknown_one_is_the_first(helper: Helper):
    _transcript(helper.transcript, helper.project / "app.py", lines(400))
    shown = helper.ask("/view", {"page": "another"})["pane"]
    assert shown["page"] == "now"
    assert [page["id"] for page in shown["pages"]] == ["now", "results", "saved", "settings"]
    assert len({page["key"] for page in shown["pages"]}) == 4


def test_a_chosen_result_tells_why_and_what_can_be_done_about_it_and_that_can_be_undone(helper: Helper):
    _transcript(helper.transcript, helper.project / "app.py", lines(400))
    shown = helper.ask("/view", {"page": "results"})["pane"]
    assert "Tool call timeline" in shown["lines"][0]
    assert (shown["choices"]["value"], shown["deeds"]) == ("", [])
    chosen = shown["choices"]["options"][0]
    assert chosen["label"] == "T1 Read app.py"
    shown = helper.ask("/view", {"page": "results", "chosen": chosen["value"]})["pane"]
    assert any(line.startswith("Clear     it stays") for line in shown["lines"])
    (pin,) = shown["deeds"]
    assert (pin["id"], pin["label"]) == ("pin T1", "Pin")
    assert "stays live until" in helper.ask("/press", {"id": pin["id"]})["text"]
    (unpin,) = helper.ask("/view", {"page": "results", "chosen": chosen["value"]})["pane"]["deeds"]
    assert (unpin["id"], unpin["label"]) == ("unpin T1", "Unpin")
    helper.ask("/press", {"id": unpin["id"]})
    assert helper.ask("/view", {"page": "results", "chosen": chosen["value"]})["pane"]["deeds"] == [pin]


def test_what_entered_as_a_reference_can_be_shown_whole_in_the_pane_and_counts_as_restored_nowhere(helper: Helper):
    path = helper.project / "app.py"
    first, _ = helper.read("app.py", lines(400))
    id, entered = helper.read("app.py", lines(400))
    assert "as in T1" in entered
    _transcript(helper.transcript, path, lines(400), first)
    _append_read(helper.transcript, path, id, entered, 1)
    shown = helper.ask("/view", {"page": "results", "chosen": id})["pane"]
    show = next(deed for deed in shown["deeds"] if deed["label"] == "Show all of it")
    before = helper.journal()
    told = helper.ask("/press", {"id": show["id"]})["text"].split("\n")
    assert told[1:] == numbered(lines(400)).split("\n")
    assert helper.journal() == before


def test_a_cleared_result_can_be_put_back_from_the_pane(helper: Helper):
    path = helper.project / "app.py"
    _transcript(helper.transcript, path, lines(400))
    _append_read(helper.transcript, path, "toolu_01", numbered(lines(400, "other")), 1)
    answer = {"id": "m2", "role": "assistant", "stop_reason": "end_turn", "content": [{"type": "text", "text": "read"}]}
    with helper.transcript.open("a") as transcript:
        transcript.write(json.dumps({**_common(path), "type": "assistant", "uuid": "u5", "parentUuid": "u4", "message": answer}) + "\n")
    before = helper.transcript.read_text()
    told = helper.ask("/press", {"id": "clear --id T1 --now"})["text"]
    assert "[PopKit cleared " in helper.transcript.read_text(), told
    shown = helper.ask("/view", {"page": "results", "chosen": "toolu_00"})["pane"]
    assert [deed["label"] for deed in shown["deeds"]] == ["Put back", "Show all of it"]
    back, show = (deed["id"] for deed in shown["deeds"])
    assert "value_400 = compute" in helper.ask("/press", {"id": show})["text"]
    assert "[PopKit cleared " in helper.transcript.read_text()
    helper.ask("/press", {"id": back})
    assert helper.transcript.read_text().startswith(before)


@pytest.mark.parametrize("words", ["show", "show T99", "show nothing of the kind"])
def test_what_is_not_there_cannot_be_shown(helper: Helper, words: str):
    _transcript(helper.transcript, helper.project / "app.py", lines(400))
    assert helper.ask("/press", {"id": words})["text"].startswith("PopKit: ")


def test_the_cache_is_kept_warm_on_the_users_word_and_no_longer_on_another(helper: Helper):
    _transcript(helper.transcript, helper.project / "app.py", lines(400))
    assert "Kept warm: off" in helper.ask("/view", {"page": "settings"})["pane"]["lines"]
    helper.ask("/press", {"id": "warm on"})
    shown = helper.ask("/view", {"page": "settings"})["pane"]
    assert any(line.startswith("Kept warm: on") for line in shown["lines"])
    assert shown["deeds"][0]["id"] == "warm off"
    helper.ask("/press", {"id": "warm off"})
    assert "Kept warm: off" in helper.ask("/view", {"page": "settings"})["pane"]["lines"]


def test_the_provider_clears_on_the_users_word_and_the_change_is_shown_first(helper: Helper):
    settings = helper.project / ".claude" / "settings.local.json"
    shown = helper.ask("/view", {"page": "settings"})["pane"]
    assert "Off in this project" in "\n".join(shown["lines"])
    assert [deed["id"] for deed in shown["deeds"]] == ["warm on", "native on --dry-run"]
    told = helper.ask("/press", {"id": "native on --dry-run --trigger 90000"})["text"]
    assert "clear_tool_uses_20250919" in told
    assert told.endswith("Nothing has been changed yet.")
    assert not settings.exists()
    _, change, leave = helper.ask("/view", {"page": "settings"})["pane"]["deeds"]
    assert (change["label"], leave["label"]) == ("Make this change", "Leave it")
    helper.ask("/press", {"id": change["id"]})
    assert "90000" in settings.read_text()
    _, off = helper.ask("/view", {"page": "settings"})["pane"]["deeds"]
    helper.ask("/press", {"id": off["id"]})
    _, change, _ = helper.ask("/view", {"page": "settings"})["pane"]["deeds"]
    helper.ask("/press", {"id": change["id"]})
    assert "90000" not in settings.read_text()


def test_its_health_tells_what_it_has_done(helper: Helper):
    helper.read("app.py", lines(40))
    helper.read("app.py", lines(40))
    found = helper.ask("/health")
    assert (found["rows"], found["rewritten"]) == (2, 1)
    assert found["version"] == json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text())["version"]


# --- what was there before, and what left the requests -------------------------------------------------------------------------------


@pytest.mark.parametrize("say_once", ["any", "reads"])
def test_what_was_written_before_counts_after_a_resume_where_anything_does(tmp_path: Path, say_once: str):
    transcript = Transcript(tmp_path / "past.jsonl", tmp_path / "shop")
    path = str(tmp_path / "shop" / "app.py")
    transcript.called("t1", "Write", {"file_path": path, "content": "\n".join(lines(40))}, "File created")
    transcript.called("t2", "Edit", {"file_path": path, "old_string": "x", "new_string": "\n".join(lines(40, "new"))}, "Edited")
    helper = Helper(tmp_path, transcript.path, {"say_once": say_once})
    entered = helper.read("app.py", [*lines(40), *lines(40, "new")])[1]
    assert ("as in T1, " in entered, "as in T2, " in entered) == (say_once == "any", say_once == "any")
    helper.stop()


EDIT = {"type": "clear_tool_uses_20250919", "trigger": {"type": "input_tokens", "value": 20_000}, "keep": {"type": "tool_uses", "value": 1}}
ASKED = json.dumps({"context_management": {"edits": [EDIT]}})
SAID = {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 1, "cleared_input_tokens": 900}]}


def test_near_the_limit_nothing_leans_on_what_the_next_request_may_lack(tmp_path: Path):
    transcript = Transcript(tmp_path / "past.jsonl", tmp_path / "shop")
    helper = Helper(tmp_path, transcript.path, CLAUDE_CODE_EXTRA_BODY=ASKED)
    transcript.answered(10_000)
    helper.read("app.py", lines(40))
    helper.read("other.py", lines(40, "other"))
    assert "as in T2, " in helper.read("other.py", [*lines(40, "other"), "x"])[1]
    assert "as in T1, " in helper.read("app.py", lines(40)[1:], 2)[1]
    transcript.answered(19_000)
    assert helper.read("other.py", lines(40, "other")[1:], 2)[1] == numbered(lines(40, "other")[1:], 2)
    assert "as in T5, " in helper.read("other.py", [*lines(40, "other")[2:], "y"], 3)[1]  # the newest stays
    helper.stop()


@pytest.mark.parametrize("told", ["said", "fallen"])
def test_nothing_leans_on_what_requests_lack_and_the_journal_tells_of_it(tmp_path: Path, told: str):
    transcript = Transcript(tmp_path / "past.jsonl", tmp_path / "shop")
    helper = Helper(tmp_path, transcript.path, **({"CLAUDE_CODE_EXTRA_BODY": ASKED} if told == "fallen" else {}))
    for number, name in enumerate(("app", "other"), 1):
        id, entered = helper.read(f"{name}.py", lines(200, name))
        transcript.called(id, "Read", {"file_path": str(helper.project / f"{name}.py")}, entered, 20_000 + 4_000 * number)
    if told == "said":
        assert "as in T1, " in helper.read("app.py", [*lines(200, "app"), "more"])[1]
    transcript.answered(19_000, SAID if told == "said" else None)
    assert helper.read("app.py", [*lines(200, "app"), "most"])[1] == numbered([*lines(200, "app"), "most"])
    helper.ask("/view", {"columns": 70})
    [entry] = [entry for entry in helper.journal() if entry["event"] == "outside"]
    assert entry["ids"] == ["toolu_01"]
    assert helper.failures() == ""
    helper.stop()


def test_a_resumed_session_leans_on_nothing_that_requests_lack(tmp_path: Path):
    transcript = Transcript(tmp_path / "past.jsonl", tmp_path / "shop")
    transcript.called("t1", "Read", {"file_path": str(tmp_path / "shop" / "app.py")}, numbered(lines(40)))
    transcript.answered(20_000, SAID)
    helper = Helper(tmp_path, transcript.path)
    assert helper.read("app.py", [*lines(40), "more"])[1] == numbered([*lines(40), "more"])
    helper.stop()


def test_a_compaction_is_told_once_by_the_helper_or_by_the_hook(helper: Helper):
    transcript = Transcript(helper.transcript, helper.project)
    transcript.called("t1", "Bash", {"command": "npm test"}, "Exit code 1\nit broke, and this is how: " + "x" * 600)
    transcript.called("t2", "Edit", {"file_path": "/a", "old_string": "a", "new_string": "b"}, "done")
    transcript.called("t3", "Bash", {"command": "npm test"}, "all passed " + "y" * 600)
    payload = {"session_id": SESSION, "transcript_path": str(helper.transcript), "cwd": str(helper.project), "trigger": "manual"}
    said = helper.ask("/compacting")["text"]
    assert said.startswith("PopKit tracked the tool results")
    assert pre_compact.handle(payload, helper.env) is None
    assert pre_compact.handle(payload, helper.env) == said  # of another compaction, which no helper has told of
    assert helper.failures() == ""


def test_what_is_asked_at_once_leaves_the_stored_state_as_transcript_and_journal_give_it(helper: Helper):
    transcript = Transcript(helper.transcript, helper.project)
    for number in range(12):
        transcript.called(f"toolu_{number + 1:02}", "Read", {"file_path": str(helper.project / "app.py")}, numbered(lines(40)[number:]))

    def ask(number: int) -> None:
        if number % 3 == 0:
            helper.ask("/view", {"columns": 70})
        elif number % 3 == 1:
            helper.ask("/command", {"words": f"pin T{number % 12 + 1}"})
        else:
            block = {"type": "tool_result", "tool_use_id": f"at_once_{number}", "content": numbered(lines(40))}
            call = {f"at_once_{number}": {"tool": "Read", "input": {"file_path": str(helper.project / "app.py")}}}
            helper.ask("/row", {"message": {"content": [block]}, "calls": call})

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(ask, range(30)))
    helper.ask("/view", {"columns": 70})
    site = live.Site(helper.env, SESSION, str(helper.project))
    made = live.rebuilt(site, site.paths(), str(helper.transcript))
    assert shared_facts(store.load(site.paths()).state) == shared_facts(made.state)
    assert made.state.pins
    assert helper.failures() == ""


def test_what_a_killed_helper_left_out_comes_back(helper: Helper):
    helper.read("app.py", lines(40))
    helper.read("app.py", [*lines(40)[1:], "more"], 2)  # makes the archive
    helper.ask("/command", {"words": "stats"})
    busy = sqlite3.connect(helper.home / "archive.sqlite", isolation_level=None)
    busy.execute("BEGIN IMMEDIATE")
    assert "as in T1, " in helper.read("app.py", [*lines(40), "most"])[1]  # waits for nobody
    os.kill(helper.process.pid, signal.SIGKILL)
    helper.process.wait(HANG_S)
    busy.execute("ROLLBACK")
    busy.close()
    assert list(helper.home.glob("archive.sqlite.missed-*"))
    assert helper.run("restore", helper.journal()[-1]["handle"]).rstrip("\n") == numbered([*lines(40), "most"])
    assert not list(helper.home.glob("archive.sqlite.missed-*"))


def test_an_archive_that_breaks_later_lets_everything_in_whole_from_then_on(helper: Helper):
    helper.read("app.py", lines(40))
    helper.read("app.py", [*lines(40)[1:], "more"], 2)
    helper.ask("/command", {"words": "stats"})
    (helper.home / "archive.sqlite").rename(helper.home / "aside.sqlite")
    (helper.home / "archive.sqlite").mkdir()
    assert "as in T1, " in helper.read("app.py", [*lines(40), "most"])[1]
    helper.ask("/command", {"words": "stats"})
    last = [*lines(40)[1:], "last"]
    assert helper.read("app.py", last, 2)[1] == numbered(last, 2)
    assert helper.failures() != ""
    (helper.home / "archive.sqlite").rmdir()
    (helper.home / "aside.sqlite").rename(helper.home / "archive.sqlite")
    assert helper.run("restore", helper.journal()[-1]["handle"]).rstrip("\n") == numbered([*lines(40), "most"])
