"""A response of Claude Code gives the outcome that its text gives, by the tool that answered."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.transcripts import outcomes
from popkit_retention.core.policy.calls import BACKGROUND, CUT, NEVER_RAN, STOPPED, TOLD, Outcome

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
        ("Skill", {"success": True, "commandName": "testing", "allowedTools": ["Read"]}, "Launching skill: testing"),
        (
            "ToolSearch", {"matches": ["WebFetch", "WebSearch"], "query": "select:WebFetch,WebSearch", "total_deferred_tools": 26},
            '{"type":"tool_reference","tool_name":"WebFetch"}\n{"type":"tool_reference","tool_name":"WebSearch"}',
        ),
        (
            "BashOutput",
            {"shellId": "b1", "command": "make", "status": "failed", "exitCode": 2, "stdout": "all\n", "stderr": "no", "timestamp": "T"},
            (
                "<status>failed</status>\n\n<exit_code>2</exit_code>\n\n<stdout>\nall\n</stdout>\n\n<stderr>\nno\n</stderr>\n\n"
                "<timestamp>T</timestamp>"
            ),
        ),
        ("WebFetch", {"bytes": 9, "code": 200, "codeText": "OK", "result": "# Title", "url": "https://a.example"}, "# Title"),
    ],
)  # fmt: skip
def test_a_structure_is_as_large_as_the_text_that_the_model_got(tool: str, structure: dict, text: str) -> None:
    of_structure, of_text = outcomes.outcome_of(TOOLS.of(tool), {}, structure), outcomes.outcome_of_text(TOOLS.of(tool), {}, text)
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
    assert least <= outcomes.outcome_of(TOOLS.of(tool), {}, structure).chars <= most


@pytest.mark.parametrize("tool", ["mcp__asana__list", "SomethingNew", "Read2"])
@pytest.mark.parametrize(
    "structure",
    [
        {"tasks": [{"gid": "1", "notes": "x" * 9_000}]},
        {"stdout": "a", "notes": "x" * 9_000},
        {"filenames": [], "notes": "x" * 9_000},
        {"isAsync": True, "outputFile": "/p", "notes": "x" * 9_000},
        {"newTodos": [], "notes": "x" * 9_000},
        {"taskId": "1", "success": False, "notes": "x" * 9_000},
        {"commandName": "a", "result": "b", "matches": [], "notes": "x" * 9_000},
    ],
)
def test_what_another_tool_answers_is_taken_as_it_is(tool: str, structure: dict) -> None:
    """Whatever keys it shares with an answer of Claude Code's own tools."""
    assert outcomes.outcome_of(TOOLS.of(tool), {}, structure).chars > 9_000


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
    of_structure, of_text = (
        outcomes.outcome_of(TOOLS.of(tool), tool_input, structure),
        outcomes.outcome_of_text(TOOLS.of(tool), tool_input, text),
    )
    assert facts(of_structure) == facts(of_text)


@given(st.lists(st.text("ab \t→1é", max_size=9), min_size=1).filter(lambda lines: lines[-1] != ""), st.integers(1, 3_000))
@pytest.mark.parametrize("form", ["{:>6}→{}", "{:>6}\t{}", "{}\t{}"])
def test_a_read_has_all_its_lines_however_they_are_numbered_and_indented(form: str, lines: list[str], first: int):
    text = "\n".join(form.format(number, line) for number, line in enumerate(lines, first))
    file = {"content": "\n".join(lines), "numLines": len(lines), "startLine": first, "totalLines": 9_000}
    for outcome in (
        outcomes.outcome_of(TOOLS.of("Read"), {"offset": first}, {"type": "text", "file": file}),
        outcomes.outcome_of_text(TOOLS.of("Read"), {"offset": first}, text),
    ):
        # Numbers count as wide as the last, and a tab.
        assert outcome.chars == len(file["content"]) + len(lines) * (len(str(first + len(lines))) + 1)
        assert outcome.content_hash == hashlib.sha256(file["content"].encode()).hexdigest()[:32]


def test_a_whole_read_and_a_partial_one_have_their_intervals():
    assert outcomes.outcome_of(TOOLS.of("Read"), {}, READ).interval == [1, 0]
    part = {"type": "text", "file": {"content": "b\nc\n", "numLines": 2, "startLine": 2, "totalLines": 9}}
    assert outcomes.outcome_of(TOOLS.of("Read"), {}, part).interval == [2, 3]


@pytest.mark.parametrize("number", ["²", "9" * 5_000])
def test_what_is_no_number_of_a_line_is_text(number: str):
    assert outcomes.outcome_of_text(TOOLS.of("Read"), {}, number + "\tx").interval is None


BEHIND = "<system-reminder>Warning: the file exists but is shorter than the provided offset (29). The file has 3 lines.</system-reminder>"
EMPTY = "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>"


@pytest.mark.parametrize(
    ("asked", "lines", "total", "text", "interval"),
    [({}, 1, 1, EMPTY, [1, 0]), ({"offset": 29}, 0, 3, BEHIND, [29, 29]), ({"offset": 29, "limit": 9}, 1, 29, BEHIND, [29, 29])],
)
def test_a_read_behind_the_end_of_a_file_does_not_show_it(asked: dict, lines: int, total: int, text: str, interval: list[int]):
    file = {"content": "", "numLines": lines, "startLine": asked.get("offset", 1), "totalLines": total}
    found = outcomes.outcome_of(TOOLS.of("Read"), asked, {"type": "text", "file": file})
    assert found.interval == interval
    written = outcomes.outcome_of_text(TOOLS.of("Read"), asked, text)
    assert (written.interval, written.chars, written.content_hash) == (interval, found.chars, found.content_hash)


BASH, GREP, GLOB = "Bash", "Grep", "Glob"
FATES = [
    (BASH, {"stdout": "x", "stderr": ""}, ""),
    (BASH, {"stdout": "x", "stderr": "", "interrupted": True}, STOPPED),
    (BASH, {"stdout": "", "stderr": "", "backgroundTaskId": "b1"}, BACKGROUND),
    (BASH, {"stdout": "x", "stderr": "", "persistedOutputPath": "/x", "persistedOutputSize": 99_999}, CUT),
    (BASH, {"stdout": "bash: pytest: command not found", "stderr": ""}, NEVER_RAN),
    (BASH, {"stdout": "No projects matched the filters in /w", "stderr": ""}, NEVER_RAN),
    (BASH, {"stdout": "", "stderr": "Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout"}, NEVER_RAN),
    (BASH, {"stdout": "(eval):1: no matches found: --include=*.py", "stderr": ""}, NEVER_RAN),
    (BASH, {"stdout": "cat: illegal option -- A\nusage: cat [-belnstuv] [file ...]", "stderr": ""}, NEVER_RAN),
    (BASH, {"stdout": "a\n\n... [900 lines truncated] ...\n\nz", "stderr": ""}, CUT),
    (BASH, {"stdout": "a\n\n... [17871 characters truncated] ...\n\nz", "stderr": ""}, CUT),
    (BASH, {"stdout": "a …9000 tokens truncated… z", "stderr": ""}, CUT),
    (BASH, {"stdout": "the list was truncated …", "stderr": ""}, ""),
    (BASH, {"stdout": "connect ECONNREFUSED 127.0.0.1:5432\n1 failed", "stderr": ""}, ""),
    (GREP, {"mode": "content", "content": "x" * 30_000}, CUT),
    (GREP, {"mode": "content", "content": "x", "appliedLimit": 250}, CUT),
    (GLOB, {"filenames": ["a"], "truncated": True}, CUT),
    (GLOB, {"filenames": ["a"], "truncated": False}, ""),
    ("Agent", {"isAsync": True, "outputFile": "/x"}, BACKGROUND),
    (BASH, "Command running in background with ID: b1. Output is being written to: /x", BACKGROUND),
    (BASH, "Command did not complete within its 120s timeout and was moved to the background with ID: b1", BACKGROUND),
    (BASH, "<persisted-output>\nOutput too large (50KB).", CUT),
    (GREP, "a.py:1:x\n\n[Showing results with pagination = limit: 250]", CUT),
    (GLOB, "a.py\n(Results are truncated. Consider using a more specific path or pattern.)", CUT),
]


@pytest.mark.parametrize(("name", "response", "fate"), FATES)
def test_a_response_tells_whether_it_shows_how_the_call_went(name: str, response, fate: str):
    assert outcomes.outcome_of(TOOLS.of(name), {}, response).fate == fate


@pytest.mark.parametrize(
    ("line", "output", "fate"),
    [
        ("npm test", "not ok 1 - tells of an invalid option --x\n1 failed", ""),
        ("npm test", "AssertionError: expected 'sh: a: command not found'\n1 failed", ""),
        ("npm test", "Error: invalid option -- x\n1 failed", ""),
        ("rg 'invalid option' src", 'src/a.c:3:error("invalid option -- %c")', ""),
        ("rg -n 'no matches' a.sh", "3:zsh: no matches found: *.py", ""),
        ("rg 'parse error' src", "src/a.sh:12:bash: parse error near `)'", ""),
        ("rg 'No module named' src", "src/a.py:3:No module named x", ""),
        ("cat a.sh | head", "# else: syntax error near unexpected token", ""),
        ("sort -Q a", "sort: invalid option -- 'Q'\nTry 'sort --help' for more information.", NEVER_RAN),
        ("ls *.x; ls", "a\nzsh: no matches found: *.x", NEVER_RAN),
        ("ls *.x", "zsh:12: no matches found: *.x", NEVER_RAN),
        ("jest", "sh: jest: command not found", NEVER_RAN),
        ("jest", "zsh: command not found: jest", NEVER_RAN),
        ("a `b", "/usr/bin/bash: eval: line 1: unexpected EOF while looking for matching ``'", NEVER_RAN),
        ("python -m x", "/usr/bin/python: No module named x", NEVER_RAN),
    ],
)
def test_a_shell_says_behind_its_name_that_nothing_ran(line: str, output: str, fate: str):
    assert outcomes.outcome_of_text(TOOLS.of(BASH), {"command": line}, output).fate == fate


@pytest.mark.parametrize(
    ("error", "fate"),
    [
        ("Exit code 1\n1 failed", ""),
        ("Exit code 143\nCommand timed out after 2m 0.0s\nPASS a.test.ts", STOPPED),
        ("Exit code 1\nno tests ran in 0.01s", NEVER_RAN),
        ("Exit code 1\nError: Error acquiring the state lock", NEVER_RAN),
        ("Exit code 2\nmake: *** No rule to make target 'test'.  Stop.", NEVER_RAN),
        ("Exit code 2\nmake: *** No rule to make target 'a.h', needed by 'a.o'.  Stop.", ""),
        ("Exit code 1\n1 failed\n\n... [17871 characters truncated] ...\n\n2 failed", CUT),
        ("Exit code 2\nbash: -c: line 4: syntax error: unexpected end of file", NEVER_RAN),
        ("Exit code 1\n(eval):1: parse error near `)'", NEVER_RAN),
        ("Exit code 1\n/bin/bash: line 1: venv/bin/activate: No such file or directory", NEVER_RAN),
        ("Exit code 1\ncat: a.py: No such file or directory", ""),
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", NEVER_RAN),
        ("This command requires approval", NEVER_RAN),
        ("PreToolUse:Bash hook error: no", NEVER_RAN),
        ("The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nno", TOLD),
        ("File does not exist.", ""),
    ],
)
def test_so_does_an_error(error: str, fate: str):
    assert outcomes.outcome_of_error(error).fate == fate


@pytest.mark.parametrize(("code", "is_whole"), [(0, True), (1, True), (101, True), (124, False), (127, False), (130, False), (137, False)])
def test_an_exit_code_tells_that_a_program_was_ended_or_not_found(code: int, is_whole: bool):
    assert Outcome(exit_code=code).is_whole is is_whole


def test_an_error_has_its_exit_code_and_what_it_said():
    outcome = outcomes.outcome_of_error("Exit code 2\n\nboom\n")
    assert (outcome.error, outcome.exit_code, outcome.tail) == (True, 2, "boom")
    assert outcomes.outcome_of_error("Exit code 1").chars == 0
    assert outcomes.outcome_of_error("<tool_use_error>Error: no such tool</tool_use_error>").tail == "no such tool"
    assert [outcomes.outcome_of_error(f"Exit code {code}\nx").exit_code for code in ("many", "²")] == [None, None]


def test_an_output_that_the_host_moved_to_a_file_counts_what_is_left_of_it():
    moved = {"stdout": "x" * 60_000, "stderr": "", "persistedOutputPath": "/p", "persistedOutputSize": 60_000}
    assert outcomes.outcome_of(TOOLS.of("Bash"), {}, moved).chars == 2_300


def test_images_count_by_their_size_and_never_by_their_bytes():
    image = {"type": "image", "file": {"base64": "A" * 500_000, "dimensions": {"displayWidth": 750, "displayHeight": 100}}}
    outcome = outcomes.outcome_of(TOOLS.of("Read"), {}, image)
    assert (outcome.chars, outcome.image_tokens) == (0, 100)
    assert outcomes.outcome_of(TOOLS.of("mcp__x__shot"), {}, [{"type": "image", "source": {"data": "A" * 9_000}}]).image_tokens == 1_600
    assert outcomes.outcome_of(TOOLS.of("Bash"), {}, {"isImage": True, "stdout": "A" * 9_000}).chars == 0


@pytest.mark.parametrize(
    "odd", [None, 7, True, [], {}, [[1]], {"file": 3}, {"type": "text", "file": {"content": None}}, {"stdout": 4}, "text"]
)
@pytest.mark.parametrize("tool", ["Read", "Bash", "Grep", "Glob", "Edit", "mcp__a__b", ""])
def test_odd_responses_are_outcomes_too(tool, odd):
    outcome = outcomes.outcome_of(TOOLS.of(tool), {}, odd)
    assert outcome.chars >= 0
    assert not outcome.error


def test_the_hash_is_sha_256():
    assert outcomes.hash_content("ü") == hashlib.sha256("ü".encode()).hexdigest()
    assert len(outcomes.hash_content("\ud800")) == 64
