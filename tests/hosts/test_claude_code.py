"""Claude Code gives what a host gives, and its table says of each tool what the engine asks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hooks.utils.hosts import protocol
from hooks.utils.hosts.claude_code import TOOLS, calls
from hooks.utils.hosts.claude_code import host as claude_code
from hooks.utils.policy import tools
from hooks.utils.policy.tools import Call, Outcome
from tests.hosts.lines import Lines

OPERATIONS = {value for name, value in vars(tools).items() if name.isupper() and isinstance(value, str)}


def test_it_is_the_host_of_every_session_that_no_other_names() -> None:
    assert protocol.of("5e551011-0000-4000-8000-000000000001") is claude_code


def test_a_payload_a_row_and_a_transcript_tell_of_the_same_call(tmp_path: Path) -> None:
    lines = Lines()
    lines.bash("T1", "npm test", "1 passed")
    path = str(lines.write(tmp_path / "t.jsonl"))
    recorded = next(event for event in claude_code.events_of(path) if event.name == "call")
    payload = {
        "hook_event_name": "PostToolUse", "tool_use_id": recorded.id, "tool_name": "Bash", "tool_input": {"command": "npm test"},
        "tool_response": {"stdout": "1 passed", "stderr": ""}, "cwd": recorded.cwd,
    }  # fmt: skip
    hooked = claude_code.call_of(payload, recorded.at)
    arriving = claude_code.arriving_call(recorded.id, {"tool": "Bash", "input": {"command": "npm test"}}, False, recorded.at, recorded.cwd)
    assert {(call.id, call.operation, call.command, call.cwd) for call in (recorded, hooked, arriving)} == {
        (recorded.id, tools.SHELL, "npm test", recorded.cwd)
    }
    assert recorded.outcome.content_hash == hooked.outcome.content_hash


TASK = {
    "task_id": "a1",
    "task_type": "local_agent",
    "status": "completed",
    "description": "look",
    "output": "one\ntwo\n",
    "prompt": "p" * 900,
}


@pytest.mark.parametrize(
    ("tool", "structure", "text"),
    [
        (
            "TaskOutput", {"retrieval_status": "success", "task": TASK},
            (
                "<retrieval_status>success</retrieval_status>\n\n<task_id>a1</task_id>\n\n<task_type>local_agent</task_type>\n\n"
                "<status>completed</status>\n\n<output>\none\ntwo\n</output>"
            ),
        ),
        (
            "TaskOutput", {"retrieval_status": "timeout", "task": {**TASK, "task_type": "local_bash", "exitCode": 1, "output": ""}},
            (
                "<retrieval_status>timeout</retrieval_status>\n\n<task_id>a1</task_id>\n\n<task_type>local_bash</task_type>\n\n"
                "<status>completed</status>\n\n<exit_code>1</exit_code>"
            ),
        ),
        ("TaskCreate", {"task": {"id": "1", "subject": "Write it"}}, "Task #1 created successfully: Write it"),
        (
            "TaskGet",
            {"task": {"id": "2", "subject": "Test", "description": "d" * 900, "status": "pending", "blocks": ["3"], "blockedBy": ["1"]}},
            f"Task #2: Test\nStatus: pending\nDescription: {'d' * 900}\nBlocked by: #1\nBlocks: #3",
        ),
        ("TaskUpdate", {"success": False, "taskId": "9", "updatedFields": [], "error": "Task not found"}, "Task not found"),
        ("TaskUpdate", {"success": True, "taskId": "1", "updatedFields": ["status", "owner"]}, "Updated task #1 status, owner"),
        (
            "AskUserQuestion", {"questions": [{"question": "Why?", "options": ["a" * 500]}], "answers": {"Why?": "So.", "How?": "Thus."}},
            'Your questions have been answered: "Why?"="So.", "How?"="Thus.". You can now continue with these answers in mind.',
        ),
        (
            "TaskList",
            {"tasks": [{"id": 1, "subject": "W", "status": "x", "owner": "a"}, {"id": 2, "subject": "T", "status": "y", "blockedBy": [1]}]},
            "#1 [x] W (a)\n#2 [y] T [blocked by #1]",
        ),
        ("TaskList", {"tasks": []}, "No tasks found"),
        (
            "TaskOutput", {"retrieval_status": "success", "task": {**TASK, "status": "failed", "output": "", "error": "e" * 900}},
            (
                "<retrieval_status>success</retrieval_status>\n\n<task_id>a1</task_id>\n\n<task_type>local_agent</task_type>\n\n"
                f"<status>failed</status>\n\n<error>{'e' * 900}</error>"
            ),
        ),
        ("ReportFindings", {"count": 2, "findings": [{"summary": "s" * 900}, {}]}, "2 findings reported."),
        ("WebFetch", {"bytes": 9, "code": 200, "codeText": "OK", "result": "# Title", "url": "https://a.example"}, "# Title"),
    ],
)  # fmt: skip
def test_what_a_structure_stands_for_is_as_large_as_the_text_that_the_model_got(tool: str, structure: dict, text: str) -> None:
    made, told = calls.outcome_of(TOOLS.of(tool), {}, structure), calls.outcome_of_text(TOOLS.of(tool), {}, text)
    assert (made.chars, made.content_hash) == (told.chars, told.content_hash)


@pytest.mark.parametrize(
    ("tool", "structure", "least", "most"),
    [
        ("TaskOutput", {"retrieval_status": "success", "task": {**TASK, "output": "x" * 250_000}}, 32_000, 32_300),
        ("Agent", {"isAsync": True, "status": "async_launched", "prompt": "p" * 9_000, "outputFile": "/p/a"}, 400, 1_200),
        ("TodoWrite", {"oldTodos": [], "newTodos": [{"content": "c" * 900}]}, 100, 200),
        ("Grep", {"mode": "content", "content": "a.py:1:x\n" * 9_000, "filenames": []}, 2_000, 2_500),
        ("Bash", {"stdout": "x" * 29_000, "persistedOutputPath": "/p/a", "persistedOutputSize": 90_000}, 2_000, 2_500),
    ],
)
def test_what_the_host_shortens_or_only_confirms_counts_as_it_stands(tool: str, structure: dict, least: int, most: int) -> None:
    assert least <= calls.outcome_of(TOOLS.of(tool), {}, structure).chars <= most


def test_what_a_tool_of_an_mcp_server_answers_is_taken_as_it_is() -> None:
    made = calls.outcome_of(TOOLS.of("mcp__asana__list"), {}, {"tasks": [{"gid": "1", "notes": "x" * 9_000}]})
    assert made.chars > 9_000


def test_a_transcript_knows_what_the_host_has_moved_to_a_file_and_how_much_of_a_file_it_showed_after_an_edit(tmp_path: Path) -> None:
    moved = "<persisted-output>\nOutput too large (60KB). Full output saved to: /p/a\n\nPreview (first 2KB):\n" + "x" * 2_000
    shown = "The file /p/a.py has been updated. Here's the result of running `cat -n` on a snippet:\n" + "y" * 5_000
    lines = Lines()
    lines.use("T1", "Bash", {"command": "make"})
    lines.result("T1", moved, {"stdout": "語" * 60_000, "stderr": ""})
    lines.use("T2", "Edit", {"file_path": "/p/a.py"})
    lines.result("T2", shown, {"filePath": "/p/a.py", "oldString": "a", "newString": "b"})
    events = claude_code.events_of(str(lines.write(tmp_path / "t.jsonl")))
    outcomes = {event.id: event.outcome for event in events if event.name == "call"}
    assert 2_000 <= outcomes["T1"].chars <= 2_500
    assert outcomes["T1"].wide <= outcomes["T1"].chars
    assert outcomes["T2"].chars == len(shown)


def test_the_content_of_a_result_is_where_its_span_says(tmp_path: Path) -> None:
    lines = Lines()
    lines.bash("T1", "ls", "a.py")
    line = next(line for line in Path(lines.write(tmp_path / "t.jsonl")).read_bytes().splitlines(True) if b"tool_result" in line)
    begin, end = claude_code.spans_of(line)["T1"]
    assert json.loads(line[begin:end]) == "a.py"


def test_the_transcripts_are_those_of_main_threads(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-p"
    (folder / "s" / "subagents").mkdir(parents=True)
    for name in ("s.jsonl", "agent-1.jsonl", "s/subagents/agent-2.jsonl"):
        (folder / name).write_text("")
    assert claude_code.transcripts({"CLAUDE_CONFIG_DIR": str(tmp_path)}) == [str(folder / "s.jsonl")]


def test_where_no_request_was_answered_there_is_no_usage(tmp_path: Path) -> None:
    assert claude_code.usage_of(str(tmp_path / "none.jsonl")) is None


def test_every_operation_is_one_of_the_list() -> None:
    assert {TOOLS.of(name).operation for name in TOOLS.tiers} <= OPERATIONS


@pytest.mark.parametrize("name", ["mcp__github__search", "SomethingNew", ""])
def test_of_a_tool_that_is_not_listed_nothing_is_known_but_its_name(name: str) -> None:
    tool = TOOLS.of(name)
    assert (tool.name, tool.operation, tool.paths, tool.on_disk) == (name, tools.OTHER, (), ())


@pytest.mark.parametrize(
    ("name", "given", "path"),
    [
        ("Read", {"file_path": "/p/a.py"}, "/p/a.py"),
        ("NotebookEdit", {"notebook_path": "/p/a.ipynb"}, "/p/a.ipynb"),
        ("Grep", {"pattern": "x", "path": "src"}, "src"),
        ("Grep", {"pattern": "x", "file_path": "/p/a.py"}, ""),
        ("Read", {"file_path": ["/p/a.py"]}, ""),
        ("mcp__a__b", {"file_path": "/p/a.py"}, ""),
    ],
)
def test_the_table_says_which_field_holds_the_path(name: str, given: dict, path: str) -> None:
    assert Call("T1", TOOLS.of(name), given, Outcome()).path == path


@pytest.mark.parametrize(
    ("name", "given", "command"),
    [
        ("Bash", {"command": "ls"}, "ls"),
        ("PowerShell", {"command": "dir"}, "dir"),
        ("Bash", {"command": 7}, ""),
        ("mcp__a__run", {"command": "git commit -m x"}, ""),
    ],
)
def test_only_a_shell_runs_a_command(name: str, given: dict, command: str) -> None:
    assert Call("T1", TOOLS.of(name), given, Outcome()).command == command
