"""Claude Code gives what a host gives, its table says of each tool what the engine asks, and a result looks the same from its structure and
from its text. What only a host's folder knows stays in it."""

from __future__ import annotations

import ast
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.hosts import protocol
from hooks.utils.hosts.claude_code import TOOLS, calls, projects
from hooks.utils.hosts.claude_code import host as claude_code
from hooks.utils.hosts.claude_code.projects import OwnMemory
from hooks.utils.policy import tools
from hooks.utils.policy import calls
from hooks.utils.policy.calls import Call, Outcome
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


def test_a_call_in_the_foreground_is_the_same_whoever_says_that_it_is_one(tmp_path: Path) -> None:
    asked = {"description": "look", "prompt": "Read it"}
    lines = Lines()
    lines.use("T1", "Agent", {**asked, "run_in_background": False})
    lines.result("T1", "done")
    recorded = next(event for event in claude_code.events_of(str(lines.write(tmp_path / "t.jsonl"))) if event.name == "call")
    payload = {"hook_event_name": "PostToolUse", "tool_use_id": recorded.id, "tool_name": "Agent", "tool_input": asked}
    assert recorded.tool_input == claude_code.call_of(payload, recorded.at).tool_input == asked
    behind = claude_code.arriving_call("T2", {"tool": "Agent", "input": {**asked, "run_in_background": True}}, False, 1.0, "/")
    assert behind.tool_input != asked


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
def test_a_structure_is_as_large_as_the_text_that_the_model_got(tool: str, structure: dict, text: str) -> None:
    of_structure, of_text = calls.outcome_of(TOOLS.of(tool), {}, structure), calls.outcome_of_text(TOOLS.of(tool), {}, text)
    assert (of_structure.chars, of_structure.content_hash) == (of_text.chars, of_text.content_hash)


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
def test_what_the_host_shortens_or_only_confirms_counts_as_it_is(tool: str, structure: dict, least: int, most: int) -> None:
    assert least <= calls.outcome_of(TOOLS.of(tool), {}, structure).chars <= most


def test_what_a_tool_of_an_mcp_server_answers_is_taken_as_it_is() -> None:
    outcome = calls.outcome_of(TOOLS.of("mcp__asana__list"), {}, {"tasks": [{"gid": "1", "notes": "x" * 9_000}]})
    assert outcome.chars > 9_000


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


# --- its own memory ----------------------------------------------------------------------------------------------------------------------

ROOT = "/home/dev/my.shop"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    memory_folder = tmp_path / "projects" / "-home-dev-my-shop" / "memory"
    memory_folder.mkdir(parents=True)
    return memory_folder


def read(tmp_path: Path) -> OwnMemory:
    return projects.own_memory({"CLAUDE_CONFIG_DIR": str(tmp_path)}, ROOT)


def test_its_document_and_topics_are_read(folder: Path, tmp_path: Path):
    (folder / "MEMORY.md").write_text("line\n" * 300)
    (folder / "testing.md").write_text("Run pnpm test.")
    (folder / "notes.txt").write_text("no topic")
    found = read(tmp_path)
    assert found.document.count("\n") < 200  # what a session is given of it
    assert found.topics == {"testing.md": "Run pnpm test."}
    assert found.folder == str(folder)


def test_where_there_is_none_it_is_empty(tmp_path: Path):
    assert (read(tmp_path).document, read(tmp_path).topics) == ("", {})


@pytest.mark.parametrize(
    ("text", "contained"),
    [("pnpm test", True), ("always use PNPM test", True), ("src/cart.ts", True), ("npm test", False), ("cart.t", False), ("", False)],
)
def test_it_says_a_text_as_whole_words_however_it_is_wrapped(text: str, contained: bool):
    assert OwnMemory("", "Always use\n  pnpm   test.", {"files.md": "`src/cart.ts` holds the cart"}).contains(text) is contained


def test_a_file_that_cannot_be_read_says_nothing(folder: Path, tmp_path: Path):
    (folder / "MEMORY.md").mkdir()
    (folder / "loop.md").symlink_to("loop.md")
    assert read(tmp_path).document == ""


# --- responses ---------------------------------------------------------------------------------------------------------------------------

READ = {"type": "text", "file": {"filePath": "/a.py", "content": "x = 1\ny = 2\n", "numLines": 3, "startLine": 1, "totalLines": 3}}


def facts(outcome):
    return (outcome.chars, outcome.wide, outcome.content_hash, outcome.interval, outcome.unchanged, outcome.error, outcome.image_tokens)


@pytest.mark.parametrize(
    ("tool", "tool_input", "structure", "text"),
    [
        ("Read", {"file_path": "/a.py"}, READ, "1\tx = 1\n2\ty = 2\n3\t"),
        ("Read", {"file_path": "/a.py"}, READ, "     1→x = 1\n     2→y = 2\n     3→"),
        ("Read", {"file_path": "/a.py"}, READ, "1\tx = 1\n2\ty = 2\n3\t\n\n<system-reminder>\nThink of malware.\n</system-reminder>"),
        ("Read", {"file_path": "/a.py", "offset": 5, "limit": 2},
         {"type": "text", "file": {"filePath": "/a.py", "content": "a\nb", "numLines": 2, "startLine": 5, "totalLines": 90}}, "5\ta\n6\tb"),
        ("Read", {"file_path": "/a.py"}, {"type": "file_unchanged", "file": {"filePath": "/a.py"}},
         "File unchanged since last read. The content from the earlier Read is still current."),
        ("Bash", {"command": "ls"}, {"stdout": "a\nb\n", "stderr": "", "interrupted": False}, "a\nb"),
        ("Bash", {"command": "mkdir x"}, {"stdout": "", "stderr": "", "interrupted": False}, "(Bash completed with no output)"),
        ("Grep", {"pattern": "x"}, {"mode": "content", "content": "a:1:x", "filenames": [], "numFiles": 0}, "a:1:x"),
        ("Grep", {"pattern": "x"}, {"mode": "files_with_matches", "filenames": ["a", "b"], "numFiles": 2}, "Found 2 files\na\nb"),
        ("Glob", {"pattern": "*"}, {"filenames": ["a", "b"], "numFiles": 2}, "a\nb"),
        ("Edit", {"file_path": "/a.py"}, {"filePath": "/a.py", "oldString": "a", "newString": "b"}, "The file /a.py has been updated."),
        ("mcp__demo__x", {}, [{"type": "text", "text": "value"}], "value"),
    ],
)  # fmt: skip
def test_structure_and_text_give_the_same_outcome(tool, tool_input, structure, text):
    of_structure, of_text = calls.outcome_of(TOOLS.of(tool), tool_input, structure), calls.outcome_of_text(TOOLS.of(tool), tool_input, text)
    assert facts(of_structure) == facts(of_text)


@given(st.lists(st.text("ab \t→1é", max_size=9), min_size=1).filter(lambda lines: lines[-1] != ""), st.integers(1, 3_000))
@pytest.mark.parametrize("form", ["{:>6}→{}", "{:>6}\t{}", "{}\t{}"])
def test_a_read_has_all_its_lines_however_they_are_numbered_and_indented(form: str, lines: list[str], first: int):
    text = "\n".join(form.format(number, line) for number, line in enumerate(lines, first))
    file = {"content": "\n".join(lines), "numLines": len(lines), "startLine": first, "totalLines": 9_000}
    for outcome in (
        calls.outcome_of(TOOLS.of("Read"), {"offset": first}, {"type": "text", "file": file}),
        calls.outcome_of_text(TOOLS.of("Read"), {"offset": first}, text),
    ):
        # Numbers count as wide as the last, and a tab.
        assert outcome.chars == len(file["content"]) + len(lines) * (len(str(first + len(lines))) + 1)
        assert outcome.content_hash == hashlib.sha256(file["content"].encode()).hexdigest()[:32]


def test_a_whole_read_and_a_partial_one_have_their_intervals():
    assert calls.outcome_of(TOOLS.of("Read"), {}, READ).interval == [1, 0]
    part = {"type": "text", "file": {"content": "b\nc\n", "numLines": 2, "startLine": 2, "totalLines": 9}}
    assert calls.outcome_of(TOOLS.of("Read"), {}, part).interval == [2, 3]


BASH, GREP, GLOB = "Bash", "Grep", "Glob"
FATES = [
    (BASH, {"stdout": "x", "stderr": ""}, ""),
    (BASH, {"stdout": "x", "stderr": "", "interrupted": True}, calls.STOPPED),
    (BASH, {"stdout": "", "stderr": "", "backgroundTaskId": "b1"}, calls.BACKGROUND),
    (BASH, {"stdout": "x", "stderr": "", "persistedOutputPath": "/x", "persistedOutputSize": 99_999}, calls.CUT),
    (BASH, {"stdout": "bash: pytest: command not found", "stderr": ""}, calls.NEVER_RAN),
    (BASH, {"stdout": "No projects matched the filters in /w", "stderr": ""}, calls.NEVER_RAN),
    (BASH, {"stdout": "", "stderr": "Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout"}, calls.NEVER_RAN),
    (BASH, {"stdout": "connect ECONNREFUSED 127.0.0.1:5432\n1 failed", "stderr": ""}, ""),
    (GREP, {"mode": "content", "content": "x" * 30_000}, calls.CUT),
    (GREP, {"mode": "content", "content": "x", "appliedLimit": 250}, calls.CUT),
    (GLOB, {"filenames": ["a"], "truncated": True}, calls.CUT),
    (GLOB, {"filenames": ["a"], "truncated": False}, ""),
    ("Agent", {"isAsync": True, "outputFile": "/x"}, calls.BACKGROUND),
    (BASH, "Command running in background with ID: b1. Output is being written to: /x", calls.BACKGROUND),
    (BASH, "Command did not complete within its 120s timeout and was moved to the background with ID: b1", calls.BACKGROUND),
    (BASH, "<persisted-output>\nOutput too large (50KB).", calls.CUT),
    (GREP, "a.py:1:x\n\n[Showing results with pagination = limit: 250]", calls.CUT),
    (GLOB, "a.py\n(Results are truncated. Consider using a more specific path or pattern.)", calls.CUT),
]


@pytest.mark.parametrize(("name", "response", "fate"), FATES)
def test_a_response_tells_whether_it_shows_how_the_call_went(name: str, response, fate: str):
    assert calls.outcome_of(TOOLS.of(name), {}, response).fate == fate


@pytest.mark.parametrize(
    ("error", "fate"),
    [
        ("Exit code 1\n1 failed", ""),
        ("Exit code 143\nCommand timed out after 2m 0.0s\nPASS a.test.ts", calls.STOPPED),
        ("Exit code 1\nno tests ran in 0.01s", calls.NEVER_RAN),
        ("Exit code 1\nError: Error acquiring the state lock", calls.NEVER_RAN),
        ("Exit code 2\nmake: *** No rule to make target 'test'.  Stop.", calls.NEVER_RAN),
        ("Exit code 2\nmake: *** No rule to make target 'a.h', needed by 'a.o'.  Stop.", ""),
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", calls.NEVER_RAN),
        ("This command requires approval", calls.NEVER_RAN),
        ("PreToolUse:Bash hook error: no", calls.NEVER_RAN),
        ("The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nno", calls.TOLD),
        ("File does not exist.", ""),
    ],
)
def test_so_does_an_error(error: str, fate: str):
    assert calls.outcome_of_error(error).fate == fate


@pytest.mark.parametrize(("code", "is_whole"), [(0, True), (1, True), (101, True), (124, False), (127, False), (130, False), (137, False)])
def test_an_exit_code_tells_that_a_program_was_ended_or_not_found(code: int, is_whole: bool):
    assert calls.Outcome(exit_code=code).is_whole is is_whole


def test_an_error_has_its_exit_code_and_what_it_said():
    outcome = calls.outcome_of_error("Exit code 2\n\nboom\n")
    assert (outcome.error, outcome.exit_code, outcome.tail) == (True, 2, "boom")
    assert calls.outcome_of_error("Exit code 1").chars == 0
    assert calls.outcome_of_error("<tool_use_error>Error: no such tool</tool_use_error>").tail == "no such tool"
    assert calls.outcome_of_error("Exit code many\nx").exit_code is None


def test_an_output_that_the_host_moved_to_a_file_counts_what_is_left_of_it():
    moved = {"stdout": "x" * 60_000, "stderr": "", "persistedOutputPath": "/p", "persistedOutputSize": 60_000}
    assert calls.outcome_of(TOOLS.of("Bash"), {}, moved).chars == 2_300


def test_images_count_by_their_size_and_never_by_their_bytes():
    image = {"type": "image", "file": {"base64": "A" * 500_000, "dimensions": {"displayWidth": 750, "displayHeight": 100}}}
    outcome = calls.outcome_of(TOOLS.of("Read"), {}, image)
    assert (outcome.chars, outcome.image_tokens) == (0, 100)
    assert calls.outcome_of(TOOLS.of("mcp__x__shot"), {}, [{"type": "image", "source": {"data": "A" * 9_000}}]).image_tokens == 1_600
    assert calls.outcome_of(TOOLS.of("Bash"), {}, {"isImage": True, "stdout": "A" * 9_000}).chars == 0


@pytest.mark.parametrize(
    "odd", [None, 7, True, [], {}, [[1]], {"file": 3}, {"type": "text", "file": {"content": None}}, {"stdout": 4}, "text"]
)
@pytest.mark.parametrize("tool", ["Read", "Bash", "Grep", "Glob", "Edit", "mcp__a__b", ""])
def test_odd_responses_are_outcomes_too(tool, odd):
    outcome = calls.outcome_of(TOOLS.of(tool), {}, odd)
    assert outcome.chars >= 0
    assert not outcome.error


def test_the_hash_is_sha_256():
    assert calls.hash_content("ü") == hashlib.sha256("ü".encode()).hexdigest()
    assert len(calls.hash_content("\ud800")) == 64


# --- what only a host's folder knows -----------------------------------------------------------------------------------------------------

CHECKOUT = Path(__file__).parents[2]
HOSTS = CHECKOUT / "hooks" / "utils" / "hosts"
# The fields by which a line of a transcript says where it belongs and what it is.
FIELDS = {
    "parentUuid", "logicalParentUuid", "isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "compactMetadata",
    "preservedMessages", "compact_boundary", "toolUseResult", "promptId",
}  # fmt: skip
# Modules that name tools, and why they may.
NAMING = {
    "hooks/utils/retention_tracker.py": "the specification's example of a session, call by call",
}
# Keys of stored state that are also the name of a tool.
KEYS = {("hooks/utils/policy/classify.py", "Read:")}


def texts() -> list[tuple[str, int, str]]:
    """(module, line, text) of every text in the code outside of the hosts' folders, docstrings and all."""
    found = []
    for folder in ("hooks", "power-mode"):
        for path in sorted((CHECKOUT / folder).rglob("*.py")):
            if HOSTS not in path.parents:
                nodes = ast.walk(ast.parse(path.read_text()))
                name = path.relative_to(CHECKOUT).as_posix()
                found += [
                    (name, node.lineno, node.value) for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
                ]
    return found


@pytest.fixture(scope="module")
def texts_elsewhere() -> list[tuple[str, int, str]]:
    return texts()


@pytest.mark.parametrize("host", protocol.ALL, ids=lambda host: host.NAME)
def test_no_tool_is_known_by_its_name_outside_of_its_host(host: protocol.Host, texts_elsewhere: list[tuple[str, int, str]]) -> None:
    words = {"read", "edit", "write", "list", "grep", "glob", "bash", "task", "patch", "question", "skill"}  # and much else besides
    named = [(*where, text) for *where, text in texts_elsewhere if text.strip(" :(") in host.TOOLS and text.strip(" :(") not in words]
    assert [each for each in named if each[0] not in NAMING and (each[0], each[2]) not in KEYS] == []


def test_what_may_name_tools_does(texts_elsewhere: list[tuple[str, int, str]]) -> None:
    naming = {module for module, _, text in texts_elsewhere if text in protocol.of("").TOOLS}
    assert naming == set(NAMING), "a module that names none any more leaves the list"


def test_no_line_of_a_transcript_is_read_outside_of_its_host(texts_elsewhere: list[tuple[str, int, str]]) -> None:
    assert [each for each in texts_elsewhere if each[2] in FIELDS] == []
