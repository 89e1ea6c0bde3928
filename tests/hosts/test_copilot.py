"""A session of Copilot CLI, as the real one has recorded it, read as Claude Code's transcripts are."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.core.hosts import recorded_sessions, recordings
from popkit_retention.core.hosts.copilot import calls, translation
from popkit_retention.core.hosts.transcripts import entries, transcript, usage
from popkit_retention.core.policy.events import Call, Compacted, Prompted

RECORDED = Path(__file__).parent / "copilot_sessions" / "openai.jsonl"
PROJECT = "/home/dev/shop"
SAID = ["Fix the prices. Never touch src/generated, and listen on port 8443.", "And now?"]
Event = dict[str, Any]


def lines(path: Path = RECORDED) -> list[Event]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def read(path: Path = RECORDED) -> list[Event]:
    return list(entries.read(str(path), path.stat().st_size))


def calls_in(path: Path = RECORDED) -> list[Call]:
    return [event for event in transcript.events_of(str(path)) if isinstance(event, Call)]


def written(path: Path, recorded: list[Any]) -> Path:
    path.write_text("".join(json.dumps(event) + "\n" for event in recorded))
    return path


def at_of(recorded: list[Event], kind: str) -> int:
    return next(number for number, event in enumerate(recorded) if event["type"] == kind)


def test_calls_have_operations_folders_and_outcomes() -> None:
    found = sorted((call.operation, call.outcome.error) for call in calls_in())
    assert found == sorted(
        [
            *[("read", False)] * 4, ("read", True), ("shell", False), ("shell", False), ("shell", False),
            ("search", False), ("find", False), ("edit", False), ("write", False), ("delegate", False),
        ]
    )  # fmt: skip
    assert {call.cwd for call in calls_in()} == {PROJECT}
    intervals = [call.outcome.interval for call in calls_in() if call.path.endswith("prices.js") and call.operation == "read"]
    assert intervals == [[1, 0], [10, 14], [1, 0]]


def test_what_a_subagent_did_is_left_apart() -> None:
    of_subagents = [event for event in lines() if event.get("agentId")]
    called = {request["toolCallId"] for event in of_subagents for request in event["data"].get("toolRequests", ())}
    assert called
    assert not called & {block.get("id") for entry in read() for block in entries.blocks_of(entry)}
    assert "Which files have taxes?" not in [entry["message"]["content"] for entry in read() if entries.is_prompt(entry)]


def test_prompts_are_what_the_person_said() -> None:
    assert [entry["message"]["content"] for entry in read() if entries.is_prompt(entry)] == SAID
    assert len([event for event in transcript.events_of(str(RECORDED)) if isinstance(event, Prompted)]) == len(SAID)


def test_what_a_skill_an_agent_or_autopilot_says_is_nobodys_prompt(tmp_path: Path) -> None:
    about = [{"source": "skill-pdf"}, {"source": "agent-1"}, {"isAutopilotContinuation": True}]
    given = [{"type": "user.message", "data": {"content": f"word {n}", **more}} for n, more in enumerate(about)]
    path = written(tmp_path / "given.jsonl", [*lines(), *given])
    assert [entry["message"]["content"] for entry in read(path) if entries.is_prompt(entry)] == SAID
    assert [entry["message"]["content"] for entry in read(path) if entry.get("isMeta")] == ["word 0", "word 1", "word 2"]


def test_every_request_of_the_session_counts_with_its_usage() -> None:
    used = [event["data"]["usage"] for event in lines() if event["type"] == "session.usage_record" and not event.get("agentId")]
    counted = [entry for entry in map(usage.usage_of, read()) if entry is not None]
    assert [each.tokens for each in counted] == [each["inputTokens"] for each in used]
    assert {each.model for each in counted} == {"gpt-4.1"}


def test_what_is_read_from_the_cache_and_written_to_it_is_no_plain_input() -> None:
    found = translation.usage_of({"inputTokens": 2_400, "cacheReadTokens": 2_000, "cacheWriteTokens": 300, "outputTokens": 7})
    assert found == {"input_tokens": 100, "cache_read_input_tokens": 2_000, "cache_creation_input_tokens": 300, "output_tokens": 7}


def test_a_request_whose_usage_is_not_recorded_has_none(tmp_path: Path) -> None:
    without = [event for event in lines() if event["type"] != "session.usage_record"]
    path = written(tmp_path / "older.jsonl", without)
    assert not [used for used in map(usage.usage_of, read(path)) if used]
    assert len(calls_in(path)) == len(calls_in())


def test_behind_a_compaction_stand_the_persons_words_and_the_summary() -> None:
    summary = next(event for event in lines() if event["type"] == "session.compaction_complete")["data"]["summaryContent"]
    (event,) = [event for event in transcript.events_of(str(RECORDED)) if isinstance(event, Compacted)]
    assert not event.kept
    translated = read()
    at = next(number for number, entry in enumerate(translated) if entries.is_compaction(entry))
    assert entries.is_summary(translated[at + 1])
    shown = translated[at + 1]["message"]["content"]
    assert summary in shown
    assert (SAID[0] in shown, SAID[1] in shown) == (True, False)


def test_what_came_while_a_summary_was_written_stays_behind_it(tmp_path: Path) -> None:
    recorded = lines()
    start = recorded.pop(at_of(recorded, "session.compaction_start"))
    before_last = [n for n, event in enumerate(recorded) if event["type"] == "assistant.turn_start" and not event.get("agentId")][4]
    path = written(tmp_path / "background.jsonl", [*recorded[:before_last], start, *recorded[before_last:]])
    (event,) = [event for event in transcript.events_of(str(path)) if isinstance(event, Compacted)]
    assert len(event.kept) == 1
    assert len(calls_in(path)) == len(calls_in())
    assert [used.tokens for used in map(usage.usage_of, read(path)) if used and used.tokens] == [
        used.tokens for used in map(usage.usage_of, read()) if used
    ]
    assert transcript.index(str(path)).abandoned == 0


def test_a_compaction_that_failed_changes_nothing(tmp_path: Path) -> None:
    recorded = lines()
    recorded[at_of(recorded, "session.compaction_complete")]["data"]["success"] = False
    path = written(tmp_path / "failed.jsonl", recorded)
    assert not [entry for entry in read(path) if entries.is_compaction(entry)]


def test_the_exit_code_of_a_command_comes_before_its_output() -> None:
    block = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}}
    for said in ("<shellId: 0 completed with exit code 2>", "<exited with exit code 2>"):
        assert calls.result_of({"success": True, "result": {"content": f"a\nb\n{said}"}}, block)[:2] == ("Exit code 2\na\nb", True)
    ended = {"success": True, "result": {"content": "a\n<shellId: 0 completed with exit code 0>"}}
    assert calls.result_of(ended, block)[:2] == ("a", False)
    assert calls.result_of({"success": True, "shellExecution": {"exitCode": 3}, "result": {"content": "a"}}, block)[:2] == (
        "Exit code 3\na",
        True,
    )


PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Update File: b.py\n*** End Patch"


@pytest.mark.parametrize(
    ("name", "given", "called"),
    [
        ("apply_patch", PATCH, ("apply_patch", {"file_path": "a.py", "others": ["b.py"], "patch": PATCH})),
        ("rg", {"pattern": "x", "paths": ["src"]}, ("rg", {"pattern": "x", "path": "src", "output_mode": "files_with_matches"})),
        ("glob", {"pattern": "*", "paths": ["a", "b"]}, ("glob", {"pattern": "*", "paths": ["a", "b"]})),
        ("view", {"path": "a", "view_range": [3, -1]}, ("view", {"path": "a", "view_range": [3, -1], "offset": 3})),
        ("str_replace_editor", {"command": "view", "path": "a"}, ("view", {"command": "view", "path": "a"})),
        ("bash", "ls", ("bash", {"arguments": "ls"})),
    ],
)
def test_a_call_is_read_as_the_tools_take_it(name: str, given: object, called: tuple) -> None:
    block = calls.call_of({"toolCallId": "c1", "name": name, "arguments": given})
    assert block is not None
    assert (block["name"], block["input"]) == called


def test_a_tool_of_a_server_is_named_as_everywhere() -> None:
    block = calls.call_of({"toolCallId": "c1", "name": "gh-get", "mcpServerName": "gh", "mcpToolName": "get", "arguments": {}})
    assert block is not None
    assert block["name"] == "mcp__gh__get"


def test_every_line_is_understood_and_hangs_on_another() -> None:
    index = transcript.index(str(RECORDED))
    assert (index.bad, index.abandoned) == (0, 0)
    ids = [entry["uuid"] for entry in read()]
    assert len(ids) == len(set(ids))
    assert {entry["sessionId"] for entry in read()} == {lines()[0]["data"]["sessionId"]}


def test_a_cut_line_is_counted_and_passed_over(tmp_path: Path) -> None:
    text = RECORDED.read_text()
    cut = tmp_path / "cut.jsonl"
    cut.write_text(text[: len(text) - 40])
    assert transcript.index(str(cut)).bad == 1
    assert len(calls_in(cut)) == len(calls_in())


WRONG: list[Any] = [None, 7, -1.5, "x", [], [None, 3], {}, {"type": 3}, True]


def _leaves(value: Any) -> list[tuple[Any, Any]]:
    found = []
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += [(value, key), *_leaves(each)]
    return found


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_a_value_of_a_wrong_type_ends_no_reading(wrong: Any, tmp_path: Path) -> None:
    recorded = lines()
    for number in range(1, len(recorded)):
        seen = recorded[number]["type"] in {event.get("type") for event in recorded[1:number] if isinstance(event.get("type"), str)}
        if seen:
            continue
        count = len(_leaves(recorded[number]))
        for at in range(count):
            changed = json.loads(json.dumps(recorded[number]))
            holder, key = _leaves(changed)[at]
            holder[key] = wrong
            recorded.append(changed)
    path = written(tmp_path / "wrong.jsonl", recorded)
    assert len(calls_in(path)) >= len(calls_in())
    assert transcript.index(str(path)).bad == 0


def test_sessions_are_found_where_copilot_keeps_them(tmp_path: Path) -> None:
    id = lines()[0]["data"]["sessionId"]
    place = tmp_path / ".copilot" / "session-state" / id / "events.jsonl"
    place.parent.mkdir(parents=True)
    shutil.copy(RECORDED, place)
    (place.parent.parent / "other.jsonl").write_text("{}\n")
    (found,) = recorded_sessions.of_copilot({"HOME": str(tmp_path)})
    assert (found.host, found.id, found.path) == ("Copilot CLI", id, str(place))
    assert recordings.session_id_of(str(place)) == id
    newest = recorded_sessions.newest_usage(str(place))
    assert newest is not None
    assert newest.tokens == [used for used in map(usage.usage_of, read(place)) if used][-1].tokens
    assert recorded_sessions.of_copilot({"COPILOT_HOME": str(tmp_path / ".copilot"), "HOME": "/nowhere"})[0].id == id
    assert recorded_sessions.of_copilot({"HOME": "/nowhere"}) == []


@pytest.mark.parametrize(
    "change",
    [lambda events: events[: at_of(events, "session.compaction_complete") + 1], lambda events: events[:2]],
    ids=["a compaction since", "no request yet"],
)
def test_the_newest_usage_is_none_where_the_end_has_none(change: Callable[[list[Event]], list[Event]], tmp_path: Path) -> None:
    place = tmp_path / lines()[0]["data"]["sessionId"] / "events.jsonl"
    place.parent.mkdir()
    assert recorded_sessions.newest_usage(str(written(place, change(lines())))) is None
