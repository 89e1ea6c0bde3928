"""What the client says of data rules while a session runs decides what the door and the hooks do from then on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.cli import statusline_command
from popkit_retention.core.handlers import coming_calls, context_monitor, session_events, tool_calls
from popkit_retention.core.io import volatile
from popkit_retention.core.state import data_rules, sweeping
from popkit_retention.core.state.site import Site
from popkit_retention.mcp import context_tools
from popkit_retention.mcp.call import ToolCall

from .asking import SESSION, Helper, lines, numbered
from .running import Running

NEW = {"AI_AGENT": "claude-code_2-1-332_harness"}
MARK = "zebrafinch"
WHOLE = lines(40, f"{MARK}_short")


class Client(Helper):
    """The helper of a client that says with each request which rules apply."""

    rules: object = None
    spoilt: Path | None = None  # the file in place of its session's folder in memory

    def ask(self, path: str, asked: object = None, raw: bytes | None = None) -> Any:
        said = {} if self.rules is None else {"data_rules": self.rules}
        return super().ask(path, {**(asked if isinstance(asked, dict) else {}), **said}, raw)


has_place = pytest.mark.skipif(not volatile.is_possible(), reason="this system has no place in memory")


@pytest.fixture
def new(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The helper of a client that asks which rules apply."""
    running = Client(tmp_path_factory.mktemp("h"), **NEW)
    yield running
    running.stop()
    if running.spoilt:
        running.spoilt.unlink()
    for folder, _ in volatile.folders(str(running.home)):
        volatile.remove(folder)


def in_memory(helper: Helper) -> Path | None:
    """The session's folder in memory."""
    folder = volatile.find(str(helper.home), SESSION)
    return Path(folder) if folder else None


def spoil(client: Client) -> None:
    """Let no folder of this session be made in memory: something else has its name."""
    folder = volatile.make(str(client.home), SESSION)
    if folder:
        volatile.remove(folder)
        client.spoilt = Path(folder)
        client.spoilt.parent.mkdir(mode=0o700, exist_ok=True)
        client.spoilt.write_text("")


def says(helper: Helper, rules: object) -> None:
    helper.rules = rules
    helper.ask("/rows")


def shortens(helper: Helper) -> bool:
    """Whether a second Read of what was just read enters as a reference."""
    helper.read("short.py", WHOLE)
    return helper.read("short.py", WHOLE)[1] != numbered(WHOLE)


def call_by_hook(helper: Helper, number: int) -> None:
    """A completed call, as the hook on tool calls sees it."""
    payload = {
        "hook_event_name": "PostToolUse",
        "session_id": SESSION,
        "transcript_path": str(helper.transcript),
        "cwd": str(helper.project),
        "tool_name": "Bash",
        "tool_use_id": f"toolu_hook_{number}",
        "tool_input": {"command": f"pytest {MARK}"},
        "tool_response": {"stdout": f"1 failed: {MARK}", "stderr": "", "interrupted": False},
    }
    tool_calls.track(payload, helper.env)


def session(helper: Helper, event: str, **facts: str) -> None:
    """The session begins, or ends, as the hooks on that see it."""
    payload = {"session_id": SESSION, "transcript_path": str(helper.transcript), "cwd": str(helper.project), **facts}
    (session_events.start if event == "SessionStart" else session_events.end)({"hook_event_name": event, **payload}, helper.env)


def kept(helper: Helper) -> set[str]:
    """Names of the files below our folder that hold the mark."""
    return {path.name for path in Path(helper.home).rglob("*") if path.is_file() and MARK.encode() in path.read_bytes()}


def test_until_the_client_has_said_that_no_rule_applies_nothing_is_kept(new: Client):
    session(new, "SessionStart", source="startup")
    call_by_hook(new, 1)
    assert not shortens(new)
    says(new, None)
    call_by_hook(new, 2)
    assert not shortens(new)
    assert kept(new) == set()
    says(new, [])
    call_by_hook(new, 3)
    assert shortens(new)
    assert kept(new) >= {"main.state.json"}


@has_place
@pytest.mark.parametrize("rules", [["hipaa"], ["zdr"], ["a rule of tomorrow"], {"hipaa": True, "zdr": False}])
def test_a_rule_that_comes_up_later_holds_from_then_on(new: Client, rules: object):
    says(new, [])
    assert shortens(new)
    says(new, rules)
    before = {path: path.read_bytes() for path in Path(new.home).rglob("*") if path.is_file() and path.name != data_rules.NAME}
    for later in (rules, None, []):
        says(new, later)
        call_by_hook(new, 1)
        assert shortens(new)
    after = {path: path.read_bytes() for path in Path(new.home).rglob("*") if path.is_file() and path.name != data_rules.NAME}
    assert after == before, "what was stored before is as it was, and nothing has been added"
    assert in_memory(new)


def with_calls(helper: Helper) -> Helper:
    """Its session has a transcript in which a long file was read and edited, and worked on since."""
    transcript = helper.has_read("app.py", lines(400, MARK))
    edit = {"file_path": str(helper.project / "app.py"), "old_string": f"{MARK} " * 99, "new_string": f"{MARK}s " * 99}
    transcript.called("toolu_e", "Edit", edit, "The file has been updated.")
    for number in range(6):
        transcript.called(f"toolu_b{number}", "Bash", {"command": f"echo {MARK} {number}"}, f"said {MARK} {number}")
    transcript.answered(30_000)
    return helper


@has_place
def test_under_a_rule_all_works_in_memory_and_nothing_of_it_is_anywhere_else(new: Client):
    with_calls(new)
    says(new, ["hipaa"])
    session(new, "SessionStart", source="startup")
    call_by_hook(new, 1)
    assert shortens(new)
    answer = Running(new).compacts()
    cleared = next(each["text"] for row in answer["rows"] for each in row["toolResults"] if each["tool_use_id"] == "toolu_00")
    handle = cleared.partition("popkit restore ")[2].partition("]")[0]
    folder = in_memory(new)

    assert new.run("restore", handle).rstrip("\n") == numbered(lines(400, MARK)), "from a shell that knows of no session"
    new.env["CLAUDE_CODE_SESSION_ID"] = SESSION
    assert new.run("restore", handle).rstrip("\n") == numbered(lines(400, MARK))
    assert handle in new.run("restore", "list")
    assert handle in new.run("restore", "search", MARK)
    assert "app.py" in new.run("context", "timeline", "--transcript", str(new.transcript))
    assert "in memory" in " ".join(new.run("doctor").split())
    for page in ("now", "saved", "bill", "settings"):
        new.ask("/view", {"columns": 80, "page": page, "turn_ended": True})
    drawn = {"session_id": SESSION, "transcript_path": str(new.transcript), "context_window": {"context_window_size": 200_000}}
    assert statusline_command.line_for(json.dumps(drawn), new.env)
    tool = ToolCall({**new.env}, str(new.project), {"query": MARK, "handle": handle}, wide=True)
    assert handle in [each["handle"] for each in context_tools.context_search(tool)["results"]]
    assert MARK in context_tools.context_restore(tool)["content"]
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": f"and {MARK}?", "session_id": SESSION, "cwd": str(new.project)}
    context_monitor.handle({**prompt, "transcript_path": str(new.transcript)}, new.env)

    assert folder
    assert [path for path in folder.rglob("*") if path.is_file() and MARK.encode() in path.read_bytes()]
    root = new.home.parent
    assert {path for path in root.rglob("*") if path.is_file() and MARK.encode() in path.read_bytes()} == {new.transcript}
    assert {path.name for path in (new.home / "sessions").rglob("*")} == {SESSION, data_rules.NAME}
    assert new.failures() == ""

    session(new, "SessionEnd", reason="prompt_input_exit")
    new.ask("/rows")
    new.ask("/view", {"columns": 80, "page": "now"})
    assert volatile.folders(str(new.home)) == []
    assert MARK not in new.run("restore", handle)
    refused = new.run("restore", handle, "--json")
    assert "it has ended" in refused
    assert {path for path in root.rglob("*") if path.is_file() and MARK.encode() in path.read_bytes()} == {new.transcript}


@has_place
def test_a_rule_that_comes_up_later_leaves_the_way_back_to_what_was_stored_before(new: Client):
    with_calls(new)
    says(new, [])
    session(new, "SessionStart", source="startup")
    answer = Running(new).compacts()
    cleared = next(each["text"] for row in answer["rows"] for each in row["toolResults"] if each["tool_use_id"] == "toolu_00")
    handle = cleared.partition("popkit restore ")[2].partition("]")[0]
    says(new, ["hipaa"])
    assert in_memory(new)
    new.env["CLAUDE_CODE_SESSION_ID"] = SESSION
    assert new.run("restore", handle).rstrip("\n") == numbered(lines(400, MARK))
    asked = {"tool_name": "Bash", "tool_input": {"command": f"popkit restore {handle}"}, "session_id": SESSION, "cwd": str(new.project)}
    assert coming_calls.answer({"hook_event_name": "PreToolUse", "transcript_path": str(new.transcript), **asked}, new.env)
    assert "before the rule came up" in " ".join(new.run("doctor").split())


@has_place
def test_an_uninstall_leaves_nothing_in_memory(new: Client):
    says(new, ["hipaa"])
    assert shortens(new)
    assert in_memory(new)
    new.run("uninstall", "--yes")
    assert volatile.folders(str(new.home)) == []


@has_place
def test_a_session_that_is_resumed_under_a_rule_is_rebuilt_in_memory(new: Client):
    says(new, ["zdr"])
    session(new, "SessionStart", source="startup")
    with_calls(new)
    session(new, "SessionEnd", reason="other")
    new.stop()
    session(new, "SessionStart", source="resume")
    new.start()
    says(new, ["zdr"])
    assert "app.py" in new.run("context", "timeline", "--transcript", str(new.transcript))
    assert Running(new).compacts().get("rows")
    assert kept(new) == set()


@has_place
@pytest.mark.parametrize("ends", [True, False])
def test_when_the_client_is_gone_so_is_what_was_in_memory(new: Client, ends: bool):
    says(new, ["hipaa"])
    assert shortens(new)
    folder = in_memory(new)
    new.stop()
    assert folder
    (folder / "client").write_text("1 1" if ends else (folder / "client").read_text())
    other = {**new.env, "CLAUDE_CODE_SESSION_ID": ""}
    sweeping.sweep_memory(Site(other, "another", str(new.project)))
    assert folder.exists() is not ends


def test_where_there_is_no_place_in_memory_nothing_is_kept(new: Client):
    spoil(new)
    says(new, ["hipaa"])
    session(new, "SessionStart", source="startup")
    with_calls(new)
    call_by_hook(new, 1)
    assert not shortens(new)
    assert not Running(new).compacts().get("rows")
    assert kept(new) == set()
    assert {path.name for path in (new.home / "sessions").rglob("*")} == {SESSION, data_rules.NAME}


def test_what_a_former_client_said_holds_for_nobody_else(new: Client):
    def stored() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in Path(new.home).rglob("*") if path.is_file() and MARK.encode() in path.read_bytes()}

    says(new, [])
    call_by_hook(new, 1)
    assert shortens(new)
    session(new, "SessionEnd", reason="other")
    new.stop()
    before = stored()
    session(new, "SessionStart", source="resume")
    call_by_hook(new, 2)
    new.start()
    call_by_hook(new, 3)
    assert stored() == before, "it may be under a rule"
    says(new, [])
    session(new, "SessionStart", source="resume")  # the helper was faster
    says(new, [])
    call_by_hook(new, 4)
    assert shortens(new)
    assert stored() != before


def test_a_client_that_never_asks_goes_on_with_a_session_of_one_that_did(new: Client):
    says(new, None)
    session(new, "SessionEnd", reason="other")
    new.stop()
    new.env["ANTHROPIC_BASE_URL"] = "https://gateway.example"
    session(new, "SessionStart", source="resume")
    call_by_hook(new, 1)
    new.start()
    says(new, None)
    assert shortens(new)
    assert kept(new) >= {"main.state.json"}


def test_a_client_that_is_too_old_to_say_is_under_no_rule(helper: Helper):
    says(helper, None)
    call_by_hook(helper, 1)
    assert shortens(helper)
    assert not (Path(helper.home) / "sessions" / SESSION / data_rules.NAME).exists()


@has_place
def test_the_pane_says_that_all_is_in_memory(new: Client):
    says(new, ["hipaa"])
    with_calls(new)
    shown = new.ask("/view", {"columns": 80, "page": "now"})
    said = " ".join(" ".join(shown["pane"]["lines"]).split())
    assert "under a data rule (HIPAA)" in said
    assert "Then all of it is gone" in said
    assert [each["id"] for each in shown["pane"]["operations"] if each["id"].startswith("clear")]
    assert "under a data rule" not in new.ask("/command", {"words": "timeline"})["text"]


def test_the_pane_and_the_answers_say_why_nothing_is_kept(new: Client):
    says(new, None)
    assert "has not said whether a data rule" in " ".join(new.ask("/view", {"columns": 80, "page": "now"})["pane"]["lines"])
    spoil(new)
    says(new, ["hipaa"])
    shown = new.ask("/view", {"columns": 80, "page": "now"})
    assert "under a data rule (HIPAA)" in " ".join(shown["pane"]["lines"])
    assert shown["pane"]["operations"] == []
    assert shown["band"] is None
    for words in ("", "clear", "undo", "pin src/**", "timeline", "why"):
        assert "under a data rule (HIPAA)" in " ".join(new.ask("/command", {"words": words})["text"].split())
    assert kept(new) == set()
