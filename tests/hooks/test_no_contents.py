"""Of a session's results no text is kept beyond one-line verdicts, but in the archive and the transcript as it was."""

from __future__ import annotations

import stat
from pathlib import Path

from tests.hooks import payloads, processes
from tests.hooks.secret_lines import SECRET
from tests.reclaim.earlier import answer
from tests.views.written import Written

MARK = "BODY-MARK-"


def _body(name: str, lines: int = 12) -> str:
    return "".join(f"{MARK}{name}-{number} some text of a result\n" for number in range(lines))


def _marked() -> list[dict]:
    """A call of every kind whose result, input text or both hold the mark."""
    path = payloads.CWD + "/src/app.js"
    failing = _body("failing-run") + "3 passed, 1 failed\n"
    image = {"type": "image", "file": {"base64": MARK + "image", "dimensions": {"displayWidth": 9}}}
    edit_input = {"file_path": path, "old_string": MARK + "old2", "new_string": MARK + "new2"}
    return [
        payloads.session_start(),
        payloads.prompt(MARK + "prompt: do what the text says"),
        payloads.read(path, _body("read")),
        payloads.call("Read", {"file_path": path + ".png"}, image),
        payloads.call("Read", {"file_path": path}, {"type": "file_unchanged", "file": {"filePath": path, "content": MARK + "unchanged"}}),
        payloads.call("Read", {"file_path": path + "2"}, _body("read-as-text")),
        payloads.bash("cat src/app.js", _body("bash-read")),
        payloads.bash("rg -n add src", _body("bash-search")),
        payloads.bash("node script.js", _body("bash-other")),
        payloads.call("Bash", {"command": "make it", "description": MARK + "said"}, payloads.shell_output(_body("out"), _body("err"))),
        payloads.bash("git commit -m x", "[main 1a2b3c4] " + MARK + "subject\n 1 file changed\n"),
        payloads.failed_bash("npm test", failing),
        payloads.bash("npm test", _body("passing-run") + "4 passed\n"),
        payloads.failed_bash("cat nope", _body("error") + "cat: nope: No such file or directory"),
        payloads.grep("add", _body("grep")),
        payloads.glob("**/*.js", [f"src/{MARK}glob.js"]),
        payloads.edit(path, MARK + "old", MARK + "new", _body("original")),
        payloads.failure("Edit", edit_input, _body("edit-error") + "not found"),
        payloads.write(path + "3", _body("write")),
        payloads.mcp({"text": MARK + "mcp-input", "limit": 3}, _body("mcp")),
        payloads.call("mcp__demo__structured", {}, {"deep": {"value": [MARK + "structured"]}}),
        payloads.failure("mcp__demo__fail", {"key": MARK + "key"}, _body("mcp-error") + "no such key"),
        payloads.agent(_body("agent-prompt"), _body("agent-answer")),
        payloads.read(path, _body("agent-read"), agent_id="a7af87b78575ba274", agent_type="general-purpose"),
        payloads.call("TodoWrite", {"todos": [{"content": MARK + "todo"}]}, {"newTodos": [{"content": MARK + "todo"}]}),
        payloads.call("TaskCreate", {"subject": "t", "description": "d"}, {"task": {"id": "1", "subject": MARK + "task"}}),
        payloads.call("AskUserQuestion", {"questions": [{"question": MARK + "question"}]}, {"answers": {"q": MARK + "answer"}}),
        payloads.call("ExitPlanMode", {"plan": _body("plan")}, {"plan": _body("plan"), "isAgent": False}),
        payloads.call("WebFetch", {"url": "https://example.invalid/", "prompt": MARK + "ask"}, {"code": 200, "result": _body("page")}),
        payloads.call("WebSearch", {"query": "words"}, {"results": [MARK + "found"]}),
        payloads.call("NotebookEdit", {"notebook_path": path + ".ipynb", "new_source": _body("cell")}, {"new_source": _body("cell")}),
        payloads.call("SomethingNew", {"text": _body("new-input")}, {"text": _body("new")}),
        payloads.call("SomethingNew", {}, [_body("list"), {"type": "text", "text": _body("block")}, 7]),
        payloads.stop(last_assistant_message=_body("message")),
        payloads.pre_compact(custom_instructions=MARK + "instructions"),
        payloads.session_start("compact"),
        payloads.session_end(),
    ]  # fmt: skip


def test_no_text_of_a_result_is_kept(home: processes.Home):
    given = _marked()
    for payload in given:
        assert processes.run_event(payload, home.env()).silent
    assert home.failures() == []
    assert home.state(payloads.SESSION).counts.results, "the calls were recorded"
    assert home.holding(MARK) == {}


# What holds contents on purpose: the archive, and the transcript as it was before its last change.
KEEPERS = ("archive.sqlite", "original.jsonl")


def _in_no_keeper(home: processes.Home) -> list[str]:
    return [name for name in home.holding(MARK) if not Path(name).name.startswith(KEEPERS)]


def test_a_clear_puts_contents_into_the_archive_and_nowhere_else(home: processes.Home, tmp_path: Path):
    written = Written(tmp_path / "projects")
    written.say("go on")
    for number in range(3):
        written.bash("npm test", _body(f"run{number}", 60) + f"{number} passed\n")
    site, path = written.site(home.path), str(written.path)
    assert "Dry run" in answer("clear --dry-run", site, path, written.now)
    assert home.holding(MARK) == {}
    assert "undo" in answer("clear --now", site, path, written.now)
    assert (home.path / "archive.sqlite").exists()
    for line in ("restore T1", "retention --details", "why T1", "stats", "undo"):
        answer(line, site, path, written.now)
    assert _in_no_keeper(home) == []
    assert {stat.S_IMODE(kept.stat().st_mode) for kept in home.files()} == {0o600}


def test_a_compaction_puts_contents_into_the_archive_and_nowhere_else(home: processes.Home, tmp_path: Path):
    written = Written(tmp_path / "projects")
    written.say("go on")
    for number in range(3):
        written.bash("npm test", _body(f"run{number}", 60) + f"{number} passed\n")
    common = {"session_id": written.session, "transcript_path": str(written.path), "cwd": written.project}
    for payload in (payloads.pre_compact(**common), payloads.session_start("compact", **common)):
        assert processes.run_event(payload, home.env(POPKIT_CLOCK=str(written.now))).code == 0
    assert home.failures() == []
    assert (home.path / "archive.sqlite").exists()
    assert _in_no_keeper(home) == []


def test_of_an_error_nothing_but_a_verdict_of_one_line_is_kept(home: processes.Home):
    error = "".join(f"error: {MARK}{number} {'x' * 200}\n" for number in range(50))
    for payload in (payloads.failed_bash("npm test", error), payloads.failure("mcp__demo__fail", {"key": "k"}, error)):
        assert processes.run_event(payload, home.env()).silent
    state = home.state(payloads.SESSION)
    for result in state.live.values():
        assert len(result.verdict) <= 120
        assert "\n" not in result.verdict
    kept = "".join(home.texts().values())
    assert kept.count(MARK) <= len(state.live), "one line of each"


def test_a_hook_that_fails_logs_no_text_of_its_payload(home: processes.Home):
    # The engine is given something that it cannot work on: the state says so and the hook fails inside its work.
    assert processes.run_event(payloads.read("/a.py", "x\n"), home.env()).silent
    state = Path(home.paths(payloads.SESSION).state)
    state.write_text(state.read_text().replace('[["read:/a.py",[1,0]]]', "[7]"))
    broken = [
        (MARK + "no json").encode(),
        payloads.read(f"/{MARK}path.py", _body("read")),
        payloads.bash(f"echo {MARK}command --password {SECRET}", _body("out")),
    ]
    for payload in broken:
        ran = processes.run("post-tool-use", payload, home.env())
        assert ran.silent
    assert len(home.failures()) >= 2
    log = (home.path / "hooks.log").read_text()
    assert MARK not in log
    assert SECRET not in log
