"""pi's session files, as the real pi has recorded them, read as Claude Code's transcripts are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.core import hosts
from popkit_retention.core.hosts import recorded_sessions, recordings
from popkit_retention.core.hosts.pi import TOOLS, results, translation
from popkit_retention.core.hosts.transcripts import entries, transcript, usage
from popkit_retention.core.policy.events import Call, Compacted, Prompted
from popkit_retention.operations.session_lookup import NoSession, check

FOLDER = Path(__file__).parent / "pi_sessions"
PROJECT = "/home/dev/shop"
RECORDED = [FOLDER / f"{provider}.jsonl" for provider in ("anthropic", "openai")]
EACH = pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def read(path: Path) -> list[dict[str, Any]]:
    return list(entries.read(str(path), path.stat().st_size))


def calls_in(path: Path) -> list[Call]:
    return [event for event in transcript.events_of(str(path)) if isinstance(event, Call)]


def written(path: Path, recorded: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in recorded))
    return path


@EACH
def test_calls_have_operations_folders_and_outcomes(path: Path) -> None:
    calls = calls_in(path)
    assert [call.operation for call in calls] == ["read", "shell", "shell", "read", "read", "edit", "write", "shell", "shell"]
    assert {call.cwd for call in calls} == {PROJECT}
    assert [call.outcome.exit_code for call in calls if call.outcome.error] == [1, None]
    whole, part = (call.outcome.interval for call in calls if call.operation == "read" and not call.outcome.error)
    assert (whole, part) == ([1, 0], [10, 14])


@EACH
def test_a_branch_that_was_left_belongs_to_nothing(path: Path) -> None:
    index = transcript.index(str(path))
    assert index.abandoned == 1
    assert not any("git log" in call.command for call in calls_in(path))
    assert "git status --short" in [call.command for call in calls_in(path)]


@EACH
def test_prompts_are_what_the_person_said(path: Path) -> None:
    said = [entry["message"]["content"][0]["text"] for entry in read(path) if entries.is_prompt(entry)]
    assert [text.partition("]] ")[2] for text in said] == ["Why does the test fail?", "Fix it.", "What was committed?", "What has changed?"]
    events = [event for event in transcript.events_of(str(path)) if isinstance(event, Prompted)]
    assert len(events) == 3, "one is on the branch that was left"


@EACH
def test_behind_a_compaction_stands_the_summary_and_what_pi_keeps(path: Path) -> None:
    (compaction,) = [entry for entry in lines(path) if entry["type"] == "compaction"]
    (event,) = [event for event in transcript.events_of(str(path)) if isinstance(event, Compacted)]
    translated = read(path)
    at = next(number for number, entry in enumerate(translated) if entries.is_compaction(entry))
    assert entries.is_summary(translated[at + 1])
    assert translated[at + 1]["message"]["content"] == compaction["summary"]
    ids = [entry["id"] for entry in lines(path) if "id" in entry]
    kept = lines(path)[1:][ids.index(compaction["firstKeptEntryId"]) - 1 : ids.index(compaction["id"]) - 1]
    results = {entry["message"]["toolCallId"] for entry in kept if entry.get("message", {}).get("role") == "toolResult"}
    omitted = {entry["targetId"] for entry in lines(path) if entry["type"] == "context_edit"}
    assert results
    assert set(event.kept) == results - {entry["message"]["toolCallId"] for entry in kept if entry["id"] in omitted}


@EACH
def test_every_request_counts_with_its_usage(path: Path) -> None:
    answers = [entry["message"] for entry in lines(path) if entry.get("message", {}).get("role") == "assistant"]
    counted = [entry for entry in map(usage.usage_of, read(path)) if entry is not None]
    assert [used.tokens for used in counted] == [sum(a["usage"][name] for name in ("input", "cacheRead", "cacheWrite")) for a in answers]
    assert {used.model for used in counted} == {answers[0]["model"]}


@EACH
def test_every_line_is_understood_and_hangs_on_another(path: Path) -> None:
    index = transcript.index(str(path))
    assert index.bad == 0
    assert index.doubts == [hosts.kept_by("pi")]
    ids = [entry["uuid"] for entry in read(path)]
    assert len(ids) == len(set(ids))
    assert {entry["sessionId"] for entry in read(path)} == {translation.SESSION + lines(path)[0]["id"]}


def test_what_the_model_thought_is_read() -> None:
    blocks = [block for entry in read(RECORDED[0]) for block in entries.blocks_of(entry)]
    assert [block["thinking"] for block in blocks if block["type"] == "thinking"] == ["The file first."]


@pytest.mark.parametrize(("digits", "interval"), [("7", [1, 2]), ("9" * 5_000, [1, 0])])
def test_a_read_tells_how_much_is_left_in_a_number_that_can_be_one(digits: str, interval: list[int]) -> None:
    text = f"one\ntwo\n\n[{digits} more lines in file. Use offset=3 to continue.]"
    assert results.outcome_of(TOOLS.of("read"), {"path": "/shop/a.js"}, text, False).interval == interval


def test_blank_lines_before_an_exit_code_are_left_out() -> None:
    assert results.error_text("one\n\n\nCommand exited with code 2") == "Exit code 2\none"
    assert results.error_text("\n" * 1_000_000) == "\n" * 1_000_000, "it is looked for once, not at each of them"


@EACH
def test_edits_of_ours_write_down_again_what_the_model_is_shown(path: Path, tmp_path: Path) -> None:
    recorded = lines(path)
    at = next(number for number, entry in enumerate(recorded) if entry["type"] == "compaction")
    first = next(entry for entry in recorded if entry.get("message", {}).get("role") == "toolResult")
    edit = {"type": "context_edit", "id": "e1", "parentId": recorded[at - 1]["id"], "timestamp": recorded[at]["timestamp"]}
    edit |= {"targetId": first["id"], "replacement": {"content": [{"type": "text", "text": "left out"}]}}
    mark = {"type": "custom", "id": "e2", "parentId": "e1", "timestamp": recorded[at]["timestamp"], "customType": translation.EDITED}
    edited = written(tmp_path / "edited.jsonl", [*recorded[:at], edit, mark])
    behind = read(edited)
    behind = behind[next(number for number, entry in enumerate(behind) if entries.is_compaction(entry)) :]
    results = {b["tool_use_id"]: b["content"] for entry in behind for b in entries.blocks_of(entry) if b["type"] == "tool_result"}
    assert results[first["message"]["toolCallId"]] == "left out"
    assert len(results) == len(calls_in(edited)) - 1, "one was omitted before"
    assert usage.newest_usage(str(edited)) is None or not [used for used in map(usage.usage_of, behind) if used]


def test_a_cut_line_is_counted_and_passed_over(tmp_path: Path) -> None:
    text = RECORDED[0].read_text()
    cut = tmp_path / "cut.jsonl"
    cut.write_text(text[: len(text) - 40])
    assert transcript.index(str(cut)).bad == 1
    assert len(calls_in(cut)) == len(calls_in(RECORDED[0]))


def test_a_circle_of_entries_ends(tmp_path: Path) -> None:
    recorded = lines(RECORDED[0])
    for entry in recorded:
        if entry.get("parentId") is None and "id" in entry and entry["type"] != "session":
            entry["parentId"] = recorded[-1]["id"]
    assert transcript.index(str(written(tmp_path / "circle.jsonl", recorded))).calls


def test_no_session_but_its_head(tmp_path: Path) -> None:
    path = written(tmp_path / "head.jsonl", lines(RECORDED[0])[:3])
    with pytest.raises(NoSession, match="is a recording of pi that holds no conversation"):
        check(str(path))


def test_sessions_are_found_where_pi_keeps_them(tmp_path: Path) -> None:
    id = lines(RECORDED[0])[0]["id"]
    place = tmp_path / ".pi" / "agent" / "sessions" / "--home-dev-shop--" / f"2026-11-28T19-16-26-010Z_{id}.jsonl"
    place.parent.mkdir(parents=True)
    shutil.copy(RECORDED[0], place)
    (place.parent / "other.jsonl").write_text("{}\n")
    (found,) = recorded_sessions.of_pi({"HOME": str(tmp_path)})
    assert (found.host, found.id, found.path) == ("pi", f"pi_{id}", str(place))
    assert recordings.session_id_of(str(place)) == f"pi_{id}"
    newest = recorded_sessions.newest_usage(str(place))
    assert newest is not None
    assert newest.tokens == [used for used in map(usage.usage_of, read(place)) if used][-1].tokens
    assert recorded_sessions.of_pi({"PI_CODING_AGENT_SESSION_DIR": str(place.parent)})[0].path == str(place)
    assert recorded_sessions.of_pi({"PI_CODING_AGENT_DIR": str(tmp_path / ".pi" / "agent"), "HOME": "/nowhere"})[0].id == f"pi_{id}"
