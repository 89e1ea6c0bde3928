"""Codex's rollouts, read as Claude Code's transcripts are: what they say, what they lack, and whatever is called one."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core import hosts
from popkit_retention.core.hosts import recordings
from popkit_retention.core.hosts.codex import calls, translation
from popkit_retention.core.hosts.codex.patches import patched_files
from popkit_retention.core.hosts.codex.scripts import calls_of
from popkit_retention.core.hosts.tools import recorded_tools, tools_of
from popkit_retention.core.hosts.transcripts import entries, sent, transcript, usage
from popkit_retention.core.policy.events import Call, Compacted, Prompted
from popkit_retention.core.policy.models import models_of
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.policy.session_facts import SessionFacts
from popkit_retention.core.reclaim import access
from popkit_retention.core.state import shipped
from popkit_retention.core.state.rebuild import rebuild
from popkit_retention.lab import sent_requests, survey
from popkit_retention.memory.extraction import conversation
from popkit_retention.memory.extraction.records import Prompt
from popkit_retention.operations.session_lookup import NoSession, check
from tests.hosts.rollouts import PROJECT, SESSION, Rollout, patch_of, worked
from tests.lab.test_robust import altered

FORMS = ["records", "counts", "items"]


def read(path: Path) -> list[dict]:
    return list(entries.read(str(path), path.stat().st_size))


def calls_in(path: Path) -> list[Call]:
    return [event for event in transcript.events_of(str(path)) if isinstance(event, Call)]


# --- what a rollout says -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_the_calls_of_every_form_are_the_same(tmp_path, form: str) -> None:
    found_calls = calls_in(worked(form).write(tmp_path))
    assert [call.operation for call in found_calls] == ["tasks", "shell", "shell", "shell", "shell", "edit", "shell", "shell"]
    lines = [call.command for call in found_calls if call.command]
    assert lines[:2] == ["rg -n price_of src", "cat src/prices.py"]
    assert [call.outcome.exit_code for call in found_calls if call.outcome.error] == [1]
    assert {call.cwd for call in found_calls} == {PROJECT}


@pytest.mark.parametrize("form", FORMS)
def test_a_patch_ends_what_was_read_of_each_file_that_it_names(tmp_path, form: str) -> None:
    rebuilt = rebuild(str(worked(form).write(tmp_path)), [], lambda _: shipped.rules())
    ended = {result.label.split(" ", 1)[1]: result.ended[0] for result in rebuilt.state.expired.values()}
    assert ended["cat src/prices.py"] == ended["sed -n 1,80p src/bills.py"] == "edited"
    assert ended["pytest -q"] == "superseded"


@pytest.mark.parametrize("form", ["records", "counts"])
def test_each_request_has_its_own_usage_once(tmp_path, form: str) -> None:
    rollout = worked(form)
    path = rollout.write(tmp_path)
    requests = sent.read(str(path), path.stat().st_size).requests
    assert len(requests) == 10
    assert sum(request.usage.tokens for request in requests) == rollout.total["input_tokens"]
    assert sum(request.usage.read for request in requests) == rollout.total["cached_input_tokens"]
    assert sum(request.output for request in requests) == rollout.total["output_tokens"]
    assert {request.usage.model for request in requests} == {"gpt-5.6-sol"}
    assert [bool(request.between.spoke) for request in requests].count(True) == 2


def test_the_first_versions_say_no_usage_and_none_is_made_up(tmp_path) -> None:
    path = worked("items").write(tmp_path)
    assert sent.read(str(path), path.stat().st_size).requests == []
    assert len(sent_requests.read(str(path)).requests) == 10


@pytest.mark.parametrize("form", FORMS)
def test_only_what_a_person_said_is_a_prompt(tmp_path, form: str) -> None:
    path = worked(form).write(tmp_path)
    asked = [event for event in conversation(str(path)) if isinstance(event, Prompt)]
    assert [event.text for event in asked if event.by_user] == [
        "Fix the rounding of prices. Always run the tests before you commit.", "Commit it.",
    ]  # fmt: skip
    assert sum(isinstance(event, Prompted) for event in transcript.events_of(str(path))) == 2


def test_newer_rollouts_say_whose_words_a_message_holds(tmp_path) -> None:
    rollout = Rollout()
    about = {"content_item_kinds": ["skills.selected_skill_instructions", "user.text"]}
    texts = [{"type": "input_text", "text": "a skill"}, {"type": "input_text", "text": "<b>bold</b> is wrong"}]
    rollout.item({"type": "message", "role": "user", "content": texts, "internal_chat_message_metadata_passthrough": about})
    prompts = [entry for entry in read(rollout.write(tmp_path)) if entry["type"] == "user"]
    assert [entries.blocks_of(entry) for entry in prompts] == [[{"type": "text", "text": "<b>bold</b> is wrong"}]]


def test_what_codex_says_of_a_command_is_no_part_of_its_output(tmp_path) -> None:
    for form in FORMS:
        path = worked(form).write(tmp_path / form)
        contents = [block["content"] for entry in read(path) for block in entries.blocks_of(entry) if block["type"] == "tool_result"]
        assert "12 passed in 0.10s" in contents
        assert "Exit code 1\nF\n1 failed, 11 passed in 0.12s" in contents


def test_a_compaction_ends_the_context_and_leaves_its_summary(tmp_path) -> None:
    rollout = worked()
    rollout.compact("Prices are done; bills are next.")
    rollout.run("cat src/bills.py", "x = 1")
    path = rollout.write(tmp_path)
    assert sum(isinstance(event, Compacted) for event in transcript.events_of(str(path))) == 1
    summaries = [entry["message"]["content"] for entry in read(path) if entries.is_summary(entry)]
    assert summaries == ["Prices are done; bills are next."]
    assert transcript.index(str(path)).doubts == [hosts.kept_by("Codex")]


def test_turns_that_were_taken_back_are_no_part_of_the_branch(tmp_path) -> None:
    rollout = Rollout()
    rollout.say("one")
    rollout.run("ls a", "a")
    rollout.say("two")
    rollout.run("ls b", "b")
    rollout.line("event_msg", {"type": "thread_rolled_back", "num_turns": 1})
    rollout.say("three")
    rollout.run("ls c", "c")
    assert [call.command for call in calls_in(rollout.write(tmp_path))] == ["ls a", "ls c"]


def test_a_call_is_made_in_the_folder_that_it_names(tmp_path) -> None:
    rollout = Rollout()
    rollout.say("go")
    rollout.run("cat a.py", "1", workdir="/srv/app")
    rollout.run("cat b.py", "2", workdir="tests")
    assert [call.cwd for call in calls_in(rollout.write(tmp_path))] == ["/srv/app", f"{PROJECT}/tests"]


def test_a_checkpoint_may_begin_in_the_middle(tmp_path) -> None:
    lines = worked().data().splitlines(keepends=True)
    for cut in range(1, len(lines)):
        path = tmp_path / "full.jsonl"
        path.write_bytes(b"".join(lines[cut:]))
        assert recordings.host_of(str(path)) == "Codex"
        index = transcript.index(str(path))
        assert index.bad == 0
        assert len(calls_in(path)) <= 8


# --- calls in all their forms ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("ls -la", "ls -la"),
        (["bash", "-lc", "cd src && ls"], "cd src && ls"),
        (["/bin/zsh", "-c", "ls"], "ls"),
        (["C:\\Windows\\powershell.exe", "-Command", "Get-Content a.md"], "Get-Content a.md"),
        (["cat", "a file.py"], "cat 'a file.py'"),
        (["bash", "script.sh", "x"], "bash script.sh x"),
        (None, ""),
        ([1, "ls"], "ls"),
    ],
)
def test_a_command_line_is_what_the_shell_gets(command: object, line: str) -> None:
    assert calls.line_of(command) == line


def test_a_patch_names_what_it_adds_updates_deletes_and_moves() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: new.py\n+*** Update File: not one\n*** Update File: a b.py\n*** Move to: c.py\n@@\n-x\n+y\n"
        "*** Delete File: old.py\n*** End Patch"
    )
    assert patched_files(patch) == ["new.py", "a b.py", "c.py", "old.py"]


@pytest.mark.parametrize(
    ("given", "tool"),
    [
        ({"command": ["apply_patch", patch_of("a.py")]}, "apply_patch"),
        ({"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{patch_of('a.py')}EOF\n"]}, "apply_patch"),
        ({"command": ["bash", "-lc", f"cd sub && apply_patch <<'EOF'\n{patch_of('a.py')}EOF\n"]}, "apply_patch"),
        ({"command": ["bash", "-lc", f"ls && apply_patch <<'EOF'\n{patch_of('a.py')}EOF\n"]}, "shell"),
    ],
)
def test_a_shell_that_only_applies_a_patch_is_an_edit(given: dict, tool: str) -> None:
    call = calls.call_of({"type": "function_call", "name": "shell", "call_id": "c", "arguments": json.dumps(given)})
    assert call is not None
    assert call.tool == tool
    if tool == "apply_patch":
        assert call.input["file_path"] == "a.py"


@pytest.mark.parametrize(
    ("script", "tool", "given"),
    [
        (
            'const r = await tools.exec_command({"cmd":"ls","workdir":"/a"});\ntext(r.output);',
            "exec_command",
            {"cmd": "ls", "workdir": "/a"},
        ),
        ("text(await tools.exec_command({cmd: 'it\\'s', yield_time_ms: 10,}))", "exec_command", {"cmd": "it's", "yield_time_ms": 10}),
        (
            'const all = await Promise.all([tools.exec_command({"cmd":"ls a"}), tools.exec_command({"cmd":"ls b"})]);',
            "exec_command",
            {"cmd": "ls a\nls b"},
        ),
        (
            f"const p = {json.dumps(patch_of('a.py'))};\ntext(await tools.apply_patch(p));",
            "apply_patch",
            {"file_path": "a.py", "patch": patch_of("a.py")},
        ),
        ("for (const f of files) await tools.exec_command({cmd: `cat ${f}`})", "exec", None),
        ('tools.exec_command({"cmd":"ls"}); tools.view_image({"path":"a.png"})', "exec", None),
        ("text(ALL_TOOLS.length)", "exec", None),
    ],
)
def test_a_script_counts_as_its_calls_where_they_are_written_out(script: str, tool: str, given: dict | None) -> None:
    call = calls.call_of({"type": "custom_tool_call", "name": "exec", "call_id": "c", "input": script})
    assert call is not None
    assert (call.tool, call.input) == (tool, {"input": script} if given is None else given)


@given(st.text(max_size=80).map(lambda text: "tools.exec_command({cmd: " + text))
def test_a_script_of_any_text_is_read_or_left_alone(script: str) -> None:
    assert isinstance(calls_of(script), list)


@pytest.mark.parametrize(
    ("output", "content", "error"),
    [
        ("plain", "plain", False),
        ({"content": "no", "success": False}, "no", True),
        (
            [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "data:…"}],
            [{"type": "text", "text": "a"}, {"type": "image"}],
            False,
        ),
        ("Chunk ID: 1\nWall time: 10 seconds\nProcess running with session ID 7\nOutput:\nstill", "still", False),
        ("Output:\nnot a header alone", "Output:\nnot a header alone", False),
        (None, "", False),
    ],
)
def test_results_of_all_forms(output: object, content: object, error: bool) -> None:
    assert calls.result_of({"output": output}) == (content, error)


# --- laws of hosts -----------------------------------------------------------------------------------------------------------------------


def test_every_tool_of_a_host_has_a_tier_and_none_of_another_changes_it() -> None:
    every = recorded_tools()
    for tools in recordings.TOOLS:
        assert set(tools.rows) <= set(tools.tiers)
    own = tools_of("")
    assert all(every.of(name).operation == own.of(name).operation for name in own.rows)
    assert Ruleset.from_config({}, every).tools.first("shell") == "Bash"


def test_a_recording_is_never_changed(tmp_path) -> None:
    index = transcript.index(str(worked().write(tmp_path)))
    with pytest.raises(access.ClearRefused, match="a recording of Codex, which PopKit reads and never changes"):
        access.check_understood(index)


def test_a_recording_is_translated_the_same_each_time(tmp_path) -> None:
    path = worked("counts").write(tmp_path)
    assert list(entries.lines(str(path))) == list(entries.lines(str(path)))
    uuids = [entry["uuid"] for entry in read(path)]
    assert len(set(uuids)) == len(uuids)
    assert all(entry["sessionId"] == SESSION and entry["host"] == translation.NAME for entry in read(path))


def test_codex_models_have_a_write_surcharge_only_where_one_is_charged() -> None:
    models = shipped.rules().models
    assert (models.model("gpt-5.5").input_usd, models.model("gpt-5.5").write_5m) == (5, 1.0)
    assert (models.model("gpt-5.6-sol").input_usd, models.model("gpt-5.6-sol").write_5m) == (5, 1.25)
    assert models.model("gpt-6-sol").write_5m == 1.25
    assert models.model("gpt-5.1-codex-max").read == 0.1
    assert models.model("gpt-5.1-codex-max").input_usd is None
    assert models_of({}).model("gpt-5.6-sol").known is False


# --- whatever is called one --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_corrupt_values_end_nothing(tmp_path, form: str, count) -> None:
    lines = worked(form).lines
    for seed in range(count(25, 1_000)):
        chance = random.Random(seed)
        share = chance.choice([0.003, 0.01, 0.05, 0.2])
        path = tmp_path / f"{seed}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in [lines[0], *(altered(line, chance, share) for line in lines[1:])]))
        index = transcript.index(str(path))
        assert len(calls_in(path)) <= index.size
        sent_requests.read(str(path))
        sent.read(str(path), path.stat().st_size)
        list(conversation(str(path)))


@pytest.mark.parametrize("form", FORMS)
def test_cut_anywhere_the_rest_is_read(tmp_path, form: str, count) -> None:
    data = worked(form).data()
    for seed in range(count(40, 2_000)):
        chance = random.Random(seed)
        begin, end = sorted(chance.randrange(len(data)) for _ in range(2))
        path = tmp_path / "cut.jsonl"
        path.write_bytes(data[begin:end] if seed % 2 else data[:end])
        transcript.index(str(path))
        calls_in(path)
        sent_requests.read(str(path))


@pytest.mark.parametrize("depth", [500, 900, 5_000, 100_000])
def test_deep_values_cost_their_line_at_most(tmp_path, depth: int) -> None:
    rollout = worked()
    rollout.line("response_item", {"type": "function_call", "name": "x", "call_id": "deep", "arguments": "[" * depth + "]" * depth})
    rollout.line("compacted", {"replacement_history": "@"})
    path = rollout.write(tmp_path)
    path.write_text(path.read_text().replace('"@"', "[" * depth + "]" * depth) + '{"type":"response_item","payload":{"a":' + "[" * depth)
    assert len(calls_in(path)) == 8
    sent_requests.read(str(path))


def test_lone_surrogates_and_bytes_that_are_no_text_stay_where_they_are(tmp_path) -> None:
    rollout = Rollout()
    rollout.say("half \ud800 of it")
    rollout.run("cat \udfff.py", "\ud83d")
    path = rollout.write(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"half", b"ha\xff\xfelf"))
    assert len(calls_in(path)) == 1


def test_an_empty_rollout_is_distinguished_from_no_rollout(tmp_path) -> None:
    path = Rollout().write(tmp_path)
    assert check(str(path)) == PROJECT
    path.write_text(
        '{"timestamp":"2026-01-01T10:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[]}}\n'
    )
    with pytest.raises(NoSession, match="is a recording of Codex that holds no conversation"):
        check(str(path))
    assert survey.survey([str(tmp_path)], ["spec"], [300], 1)["skipped"] == {"no conversation": 1}


def test_no_other_file_is_taken_for_a_rollout(tmp_path) -> None:
    for text in (b"", b"\n", b"{}\n", b"[]", b'{"type":"user","uuid":"u","sessionId":"s"}\n', b'{"a":{"payload":{}}}', b"\x00\xff" * 99):
        assert recordings.translation_of(text) is None


# --- the window ------------------------------------------------------------------------------------------------------------------------


def window_of(path: Path) -> tuple[int, str]:
    """The window of a rollout's newest request, and where it is known from."""
    rebuilt = rebuild(str(path), [], lambda _: shipped.rules())
    return usage.window_of(rebuilt.conversation.rules, SessionFacts(), rebuilt.conversation.last)


@pytest.mark.parametrize("form", ["records", "counts"])
def test_the_window_is_the_one_that_codex_says(tmp_path: Path, form: str):
    assert window_of(worked(form).write(tmp_path)) == (258_400, "client")


def test_a_turn_says_its_window_before_its_first_answer(tmp_path: Path):
    rollout = Rollout("records")
    rollout.line("event_msg", {"type": "task_started", "model_context_window": 400_000})
    rollout.say("go")
    rollout.answer("done")
    assert window_of(rollout.write(tmp_path)) == (400_000, "client")


@pytest.mark.parametrize("window", [None, 0, -1, True, "many", 10**30, 5_000], ids=str)
def test_a_window_that_cannot_be_is_not_believed(tmp_path: Path, window: object):
    rollout = Rollout("records")
    rollout.line("event_msg", {"type": "task_started", "model_context_window": window})
    rollout.line("token_usage_record", {"usage": None})
    rollout.form = "without counts"
    rollout.say("go")
    rollout.message("assistant", "done")
    rollout.line("token_usage_record", {"usage": {"input_tokens": 12_000, "output_tokens": 9}})
    assert window_of(rollout.write(tmp_path))[1] == "model"
