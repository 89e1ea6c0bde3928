"""What was cleared and comes again is charged: the same content, or the same file; not what is run again."""

from __future__ import annotations

import json

import pytest

from hooks.utils.hosts.claude_code import TOOLS, transcript
from hooks.utils.policy.placeholder import placeholder
from hooks.utils.policy.ruleset import Ruleset
from hooks.utils.state import journal
from hooks.utils.state.rebuild import rebuild
from tests.hosts.lines import Lines

HANDLE = "abcd2345"
TEXT = "src/auth.ts:3: the same text\n" * 40
READ = {"type": "text", "file": {"filePath": "/shop/a.py", "content": TEXT, "numLines": 40, "startLine": 1, "totalLines": 40}}
USAGE = {"input_tokens": 10, "cache_creation_input_tokens": 2_000, "cache_read_input_tokens": 20_000, "output_tokens": 5}


def call(lines: Lines, id: str, tool: str, tool_input: dict, content: str, **more) -> None:
    lines.use(id, tool, tool_input, usage=USAGE)
    structure = READ if tool == "Read" else {"stdout": content, "stderr": "", "interrupted": False} if tool == "Bash" else None
    lines.result(id, content, None if content.startswith("[PopKit") else structure, **more)


def refetched(tmp_path, tool: str, tool_input: dict, *, placeholders: bool = True, failed: bool = False, entry=journal.cleared) -> int:
    """How often what was cleared was fetched again, where the same call with the same output stands before and behind the clear."""
    lines, content = Lines(), placeholder(tool, "old", HANDLE) if placeholders else TEXT
    lines.prompt()
    call(lines, "T1", tool, tool_input, content)
    lines.say("so", usage=USAGE)
    call(lines, "T2", tool, tool_input, "Exit code 1\n" + TEXT if failed else TEXT, error=failed)
    lines.say("again", usage=USAGE)
    path = lines.write(tmp_path / "session.jsonl")
    known = [entry(["T1"], 300, {} if entry is journal.cleared else "by the provider", at=between(path))]
    made = rebuild(path, known, lambda profile: Ruleset.from_config({}, TOOLS, profile), original=lambda handle: json.dumps(TEXT))
    return made.state.counts.ledger["refetched"]


def between(path: str) -> float:
    """The time after the first result of a session."""
    return next(event.at for event in transcript.events_of(path) if event.name == "call") + 1.0


def test_what_is_read_or_searched_again_is_fetched_again(tmp_path):
    assert refetched(tmp_path, "Read", {"file_path": "/shop/a.py"}) == 1
    assert refetched(tmp_path, "Grep", {"pattern": "the same"}) == 1
    assert refetched(tmp_path, "Bash", {"command": "cat a.py"}) == 1


@pytest.mark.parametrize("line", ["npm test", "pytest -q", "npm run build", "npx tsc --noEmit", "ruff check ."])
@pytest.mark.parametrize("failed", [False, True])
def test_what_is_run_again_with_the_same_outcome_is_no_content_that_was_missed(tmp_path, line, failed):
    assert refetched(tmp_path, "Bash", {"command": line}, failed=failed) == 0


def test_what_left_outside_the_transcript_and_is_read_again_is_fetched_again(tmp_path):
    assert refetched(tmp_path, "Read", {"file_path": "/shop/a.py"}, placeholders=False, entry=journal.cleared_outside) == 1
    assert refetched(tmp_path, "Bash", {"command": "npm test"}, placeholders=False, entry=journal.cleared_outside) == 0
