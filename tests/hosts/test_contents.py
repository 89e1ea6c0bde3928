"""What entries put into a prompt: results by their tools, words, thinking, inputs, and what the client adds, each line once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.bill.digest import digest_of
from popkit_retention.core.hosts.transcripts import sent
from popkit_retention.core.policy.composition import ADDED, CALLED, OTHER, SAID, SUMMARY, THOUGHT, WROTE
from popkit_retention.core.policy.estimate import CHARS_PER_TOKEN, IMAGE_TOKENS
from tests.bill.conversations import Conversation
from tests.hosts import rollouts, test_opencode

READ, BASH = "result Read", "result Bash"
FILE, LOG = "x = 1\n" * 800, "passed 1\n" * 300


def sizes_of(it: Conversation, folder: Path, tight: bool = False) -> dict[str, int]:
    """kind -> tokens in the newest request."""
    path = folder / "one.jsonl"
    path.write_text("".join(json.dumps(entry, separators=(",", ":") if tight else None) + "\n" for entry in it.entries))
    request = sent.read(str(path), path.stat().st_size).requests[-1]
    found = {kind: round(sum(row[:3])) for kind, row in request.shares.items()}
    return {kind: tokens for kind, tokens in found.items() if tokens}


def worked(grows: int = 4_000) -> Conversation:
    """A file is read and a command run before a request that is so much larger."""
    it = Conversation()
    it.use("t1", "Read", {"file_path": "/shop/a.py"}, message="m-1")
    it.result("t1", FILE, {"file": {"content": FILE}})
    it.bash("t2", "pytest", LOG, message="m-1")
    it.request(total=it.cached + grows)
    return it


@pytest.mark.parametrize("tight", [False, True], ids=["blanks", "as the client writes it"])
def test_results_are_of_their_tools_and_grow_as_the_prompt_did(tight: bool, tmp_path: Path):
    sizes = sizes_of(worked(), tmp_path, tight)
    assert set(sizes) == {SAID, WROTE, CALLED, READ, BASH}
    assert sum(sizes.values()) == pytest.approx(4_000 + sizes[SAID], abs=3)
    assert sizes[READ] / sizes[BASH] == pytest.approx((800 * 6 / CHARS_PER_TOKEN["code"]) / (300 * 9 / CHARS_PER_TOKEN["log"]), rel=0.05)


def test_a_result_that_is_written_before_its_call_is_of_its_tool(tmp_path: Path):
    it = worked()
    here = [at for at, entry in enumerate(it.entries) if "toolUseResult" in entry]
    for at in here:
        it.entries[at - 1], it.entries[at] = it.entries[at], it.entries[at - 1]
    assert len(here) == 2
    assert sizes_of(it, tmp_path, tight=True) == sizes_of(worked(), tmp_path, tight=True)


def test_a_result_whose_call_is_not_there_is_of_no_tool(tmp_path: Path):
    it = Conversation()
    it.result("gone", LOG)
    for _ in range(10):  # it waits for its call
        it.request()
    assert "result " in sizes_of(it, tmp_path, tight=True)


def test_what_was_thought_said_pasted_and_added_is_distinguished(tmp_path: Path):
    it = Conversation()
    it.request(thinks=True)
    it.add("user", message={"role": "user", "content": [{"type": "image", "source": {}}, {"type": "text", "text": "this one"}]})
    it.prompt("a skill's text " * 30, isMeta=True)
    it.attach(type="edited_text_file", snippet="y = 2\n" * 100)
    it.attach(type="hook_system_message", content="for you alone " * 500)
    it.request(total=it.cached + 2_200)
    sizes = sizes_of(it, tmp_path)
    assert set(sizes) == {SAID, WROTE, THOUGHT, ADDED, OTHER}
    assert sizes[SAID] == pytest.approx(IMAGE_TOKENS, rel=0.2)


def test_lines_that_are_written_down_twice_count_once(tmp_path: Path):
    it = worked()
    once = sizes_of(it, tmp_path, tight=True)
    calls = it.entries[2:6]
    it.entries += [*calls, *({**entry, "uuid": entry["uuid"] + "x"} for entry in calls if entry["type"] == "user")]
    it.request(total=it.cached)
    assert sizes_of(it, tmp_path, tight=True)[READ] == pytest.approx(once[READ], rel=0.01)


def test_calls_of_scripts_and_subagents_are_in_no_prompt_of_the_main_thread(tmp_path: Path):
    it = Conversation()
    it.use("t1", "Read", {}, message="m-1")
    it.result("t1", FILE, isVirtual=True)
    it.result("t1", FILE, isSidechain=True)
    block = {"type": "tool_result", "tool_use_id": "t1", "content": FILE}
    it.add("progress", data={"message": {"type": "user", "message": {"content": [block]}}})
    it.request()
    for tight in (False, True):
        assert READ not in sizes_of(it, tmp_path, tight)


def test_a_compaction_leaves_its_summary_and_what_the_client_names(tmp_path: Path):
    it = worked()
    kept = next(entry["uuid"] for entry in it.entries if entry.get("toolUseResult", {}).get("stdout"))
    it.compact(kept=[kept])
    it.entries[-1]["message"]["content"] = "what was done " * 100
    it.request(reads=0, total=it.cached - 2_000)
    sizes = sizes_of(it, tmp_path, tight=True)
    assert {SUMMARY, BASH} <= set(sizes) <= {SUMMARY, BASH, WROTE, OTHER}


def test_a_rewind_takes_what_came_behind_it(tmp_path: Path):
    it = worked()
    it.prompt("another way", parent=it.entries[0]["uuid"])
    it.request(reads=0, total=20_100)
    assert set(sizes_of(it, tmp_path, tight=True)) <= {SAID, OTHER}


def test_thinking_leaves_with_the_turn_where_a_model_drops_it(tmp_path: Path):
    for model, stays in (("claude-sonnet-4-5", False), ("claude-opus-5", True)):
        it = Conversation(model)
        it.request(thinks=True)
        it.prompt("and now?")
        it.request()
        assert (THOUGHT in sizes_of(it, tmp_path)) == stays


@pytest.mark.parametrize(
    ("recording", "tools"),
    [
        (lambda: rollouts.worked("records"), {"exec_command", "apply_patch", "update_plan"}),
        (lambda: rollouts.worked("counts"), {"shell", "apply_patch", "update_plan"}),
        (test_opencode.worked, {"read", "bash", "edit"}),
    ],
    ids=["Codex", "Codex, earlier", "OpenCode"],
)
def test_recordings_of_other_hosts_are_distinguished_by_their_own_tools(recording, tools: set[str], tmp_path: Path):
    path = recording().write(tmp_path)
    (used,) = digest_of(str(path), path.stat().st_size)["used"]
    assert {kind.removeprefix("result ") for kind in used["kinds"] if kind.startswith("result ")} == tools
    assert {SAID, CALLED, WROTE} < set(used["kinds"])
