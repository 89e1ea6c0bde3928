"""Claude Code gives what a host gives, its table says of each tool what the engine asks, and what only its folder knows stays in it."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from popkit_retention.core.helper.arriving import calls_of
from popkit_retention.core.hosts import protocol
from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.claude_code import host as claude_code
from popkit_retention.core.hosts.claude_code.memory_files import own_memory
from popkit_retention.core.hosts.own_memory import OwnMemory
from popkit_retention.core.hosts.transcripts import projects, transcript, usage
from popkit_retention.core.hosts.transcripts.spans import content_spans
from popkit_retention.core.policy import tools
from popkit_retention.core.policy.calls import Call, Outcome
from tests.hosts.lines import Lines

OPERATIONS = {value for name, value in vars(tools).items() if name.isupper() and isinstance(value, str)}


def test_it_is_the_host_of_every_session_that_no_other_names() -> None:
    assert protocol.of("5e551011-0000-4000-8000-000000000001") is claude_code


def test_a_payload_a_row_and_a_transcript_tell_of_the_same_call(tmp_path: Path) -> None:
    lines = Lines()
    lines.bash("T1", "npm test", "1 passed")
    path = str(lines.write(tmp_path / "t.jsonl"))
    recorded = next(event for event in transcript.events_of(path) if event.name == "call")
    payload = {
        "hook_event_name": "PostToolUse", "tool_use_id": recorded.id, "tool_name": "Bash", "tool_input": {"command": "npm test"},
        "tool_response": {"stdout": "1 passed", "stderr": ""}, "cwd": recorded.cwd,
    }  # fmt: skip
    hooked = claude_code.call_of(payload, recorded.at)
    arriving = calls_of({recorded.id: {"tool": "Bash", "input": {"command": "npm test"}}})[recorded.id]
    assert {(call.id, call.operation, call.command, call.cwd) for call in (recorded, hooked)} == {
        (recorded.id, tools.SHELL, "npm test", recorded.cwd)
    }
    assert (claude_code.TOOLS.of(arriving.tool).operation, arriving.input) == (tools.SHELL, recorded.tool_input)
    assert recorded.outcome.content_hash == hooked.outcome.content_hash


def test_a_call_in_the_foreground_is_the_same_whoever_says_that_it_is_one(tmp_path: Path) -> None:
    asked = {"description": "look", "prompt": "Read it"}
    lines = Lines()
    lines.use("T1", "Agent", {**asked, "run_in_background": False})
    lines.result("T1", "done")
    recorded = next(event for event in transcript.events_of(str(lines.write(tmp_path / "t.jsonl"))) if event.name == "call")
    payload = {"hook_event_name": "PostToolUse", "tool_use_id": recorded.id, "tool_name": "Agent", "tool_input": asked}
    assert recorded.tool_input == claude_code.call_of(payload, recorded.at).tool_input == asked
    arriving = calls_of({str(on): {"tool": "Agent", "input": {**asked, "run_in_background": on}} for on in (False, True)})
    assert arriving["False"].input == asked != arriving["True"].input


def test_a_transcript_tells_what_the_host_moved_to_a_file_and_showed_after_an_edit(tmp_path: Path) -> None:
    moved = "<persisted-output>\nOutput too large (60KB). Full output saved to: /p/a\n\nPreview (first 2KB):\n" + "x" * 2_000
    shown = "The file /p/a.py has been updated. Here's the result of running `cat -n` on a snippet:\n" + "y" * 5_000
    lines = Lines()
    lines.use("T1", "Bash", {"command": "make"})
    lines.result("T1", moved, {"stdout": "語" * 60_000, "stderr": ""})
    lines.use("T2", "Edit", {"file_path": "/p/a.py"})
    lines.result("T2", shown, {"filePath": "/p/a.py", "oldString": "a", "newString": "b"})
    events = transcript.events_of(str(lines.write(tmp_path / "t.jsonl")))
    outcomes = {event.id: event.outcome for event in events if event.name == "call"}
    assert 2_000 <= outcomes["T1"].chars <= 2_500
    assert outcomes["T1"].wide <= outcomes["T1"].chars
    assert outcomes["T2"].chars == len(shown)


def test_the_content_of_a_result_is_where_its_span_says(tmp_path: Path) -> None:
    lines = Lines()
    lines.bash("T1", "ls", "a.py")
    line = next(line for line in Path(lines.write(tmp_path / "t.jsonl")).read_bytes().splitlines(True) if b"tool_result" in line)
    begin, end = content_spans(line)["T1"]
    assert json.loads(line[begin:end]) == "a.py"


def test_the_transcripts_are_those_of_main_threads(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-p"
    (folder / "s" / "subagents").mkdir(parents=True)
    for name in ("s.jsonl", "agent-1.jsonl", "s/subagents/agent-2.jsonl"):
        (folder / name).write_text("")
    assert projects.every({"CLAUDE_CONFIG_DIR": str(tmp_path)}) == [str(folder / "s.jsonl")]


def test_where_no_request_was_answered_there_is_no_usage(tmp_path: Path) -> None:
    assert usage.newest_usage(str(tmp_path / "none.jsonl")) is None


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
    return own_memory({"CLAUDE_CONFIG_DIR": str(tmp_path)}, ROOT)


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
    "hooks/utils/timeline.py": "the specification's example of a session, call by call",
    "hooks/utils/config/fields.py": "what the shipped file overrides",
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


@pytest.mark.parametrize("host", protocol.every(), ids=lambda host: host.NAME)
def test_no_tool_is_known_by_its_name_outside_of_its_host(host: protocol.Host, texts_elsewhere: list[tuple[str, int, str]]) -> None:
    words = {
        "read",
        "edit",
        "write",
        "list",
        "grep",
        "glob",
        "bash",
        "task",
        "patch",
        "question",
        "skill",
        "find",
        "ls",
    }  # and much else besides
    named = [(*where, text) for *where, text in texts_elsewhere if text.strip(" :(") in host.TOOLS and text.strip(" :(") not in words]
    assert [each for each in named if each[0] not in NAMING and (each[0], each[2]) not in KEYS] == []


def test_what_may_name_tools_does(texts_elsewhere: list[tuple[str, int, str]]) -> None:
    naming = {module for module, _, text in texts_elsewhere if text in protocol.of("").TOOLS}
    assert naming == set(NAMING), "a module that names none any more leaves the list"


def test_no_line_of_a_transcript_is_read_outside_of_its_host(texts_elsewhere: list[tuple[str, int, str]]) -> None:
    assert [each for each in texts_elsewhere if each[2] in FIELDS] == []
