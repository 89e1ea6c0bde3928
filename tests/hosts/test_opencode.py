"""What `opencode export` writes, read as Claude Code's transcripts are."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.cli.main import main
from popkit_retention.core.hosts import recordings
from popkit_retention.core.hosts.transcripts import entries, sent, transcript
from popkit_retention.core.policy.events import Call, Compacted, Prompted
from popkit_retention.core.state import shipped
from popkit_retention.core.state.rebuild import rebuild
from popkit_retention.lab import sent_requests
from popkit_retention.memory.extraction import conversation
from tests.lab.test_robust import altered

BEGAN = 1_790_000_000_000
SESSION, PROJECT, FILE = "ses_7f3amadeup0001", "/home/dana/shop", "/home/dana/shop/src/prices.js"


class Export:
    """A session of OpenCode, message by message."""

    def __init__(self, session: str = SESSION, project: str = PROJECT) -> None:
        self.session, self.project = session, project
        self.at = BEGAN
        self.messages: list[dict[str, Any]] = []

    def _later(self) -> int:
        self.at += 5_000
        return self.at

    def _message(self, role: str, parts: list[dict[str, Any]], **info: Any) -> None:
        own = "" if self.session == SESSION else self.session
        id = f"msg_{own}{len(self.messages):04}"
        parts = [{"id": f"prt_{own}{len(self.messages):04}_{number}", "messageID": id, **part} for number, part in enumerate(parts)]
        began = self._later()
        message_info = {"id": id, "role": role, "sessionID": self.session, "time": {"created": began, "completed": self._later()}, **info}
        self.messages.append({"info": message_info, "parts": parts})

    def say(self, text: str, *parts: dict[str, Any]) -> None:
        self._message("user", [{"type": "text", "text": text}, *parts])

    def answer(self, *parts: dict[str, Any], read: int = 0, written: int = 0, **info: Any) -> None:
        tokens = {"input": 20, "output": 50, "reasoning": 0, "cache": {"read": read, "write": written}}
        model = {"modelID": "claude-sonnet-5-5", "providerID": "anthropic", "path": {"cwd": self.project, "root": self.project}}
        self._message("assistant", [*parts, {"type": "step-finish", "tokens": tokens}], tokens=tokens, **{**model, **info})

    def data(self) -> dict[str, Any]:
        return {"info": {"id": self.session, "directory": self.project, "title": "prices"}, "messages": self.messages}

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "session.json"
        path.write_text(json.dumps(self.data(), indent=2))
        return path


def called(id: str, tool: str, given: dict[str, Any], output: str, **metadata: Any) -> dict[str, Any]:
    """A part with a call that was answered."""
    state = {"status": "completed", "input": given, "output": output, "metadata": metadata, "time": {"start": BEGAN, "end": BEGAN + 5}}
    return {"type": "tool", "callID": id, "tool": tool, "state": state}


def worked(session: str = SESSION, project: str = PROJECT) -> Export:
    """A file is read, a test fails, the file is edited, the test passes."""
    export, shown = Export(session, project), {"type": "file", "text": "const a = 1", "lineStart": 1, "lineEnd": 1, "totalLines": 1}
    export.say("Fix the prices.", {"type": "text", "text": "a reminder of the host", "synthetic": True})
    export.answer(called("c1", "read", {"filePath": FILE}, "<content>\n1: const a = 1\n</content>", display=shown), written=9_000)
    export.answer(called("c2", "bash", {"command": "npm test"}, "1 failing", exit=1), read=9_000, written=300)
    given = {"filePath": FILE, "oldString": "a = 1", "newString": "a = 2"}
    export.answer({"type": "text", "text": "I see."}, called("c3", "edit", given, "done"), read=9_300, written=200)
    export.answer(called("c4", "bash", {"command": "npm test"}, "2 passing", exit=0), read=9_500, written=200)
    export.answer({"type": "text", "text": "The prices are right now."}, read=9_700, written=100)
    return export


def calls(path: Path) -> list[Call]:
    return [event for event in transcript.events_of(str(path)) if isinstance(event, Call)]


def test_it_is_distinguished_from_other_recordings(tmp_path: Path):
    assert recordings.host_of(str(worked().write(tmp_path))) == "OpenCode"
    for other in (b"", b"{}", b'{"info": {"id": "msg_1"}}', b'{"type":"user","uuid":"ses_1"}', b'[{"info": "ses_1"}]'):
        assert recordings.translation_of(other) is None


def test_calls_are_what_they_do_and_a_command_that_exits_otherwise_has_failed(tmp_path: Path):
    found_calls = calls(worked().write(tmp_path))
    assert [call.operation for call in found_calls] == ["read", "shell", "edit", "shell"]
    assert [call.outcome.exit_code for call in found_calls if call.outcome.error] == [1]
    assert {call.cwd for call in found_calls} == {PROJECT}


def test_an_edit_ends_the_read_and_a_run_the_one_before(tmp_path: Path):
    rebuilt = rebuild(str(worked().write(tmp_path)), [], lambda _: shipped.rules())
    ended = {result.label: result.ended[0] for result in rebuilt.state.expired.values()}
    assert ended["read src/prices.js"] == "edited"
    assert ended["bash npm test"] == "superseded"


def test_each_request_has_its_own_usage_once(tmp_path: Path):
    path = worked().write(tmp_path)
    requests = sent.read(str(path), path.stat().st_size).requests
    assert [request.usage.read for request in requests] == [0, 9_000, 9_300, 9_500, 9_700]
    assert sum(request.output for request in requests) == 5 * 50
    assert {request.usage.model for request in requests} == {"claude-sonnet-5-5"}
    assert len(sent_requests.read(str(path)).requests) == 5


def test_only_what_a_person_said_is_a_prompt(tmp_path: Path):
    path = worked().write(tmp_path)
    assert sum(isinstance(event, Prompted) for event in transcript.events_of(str(path))) == 1


def test_a_compaction_ends_the_context_and_leaves_its_summary(tmp_path: Path):
    export = worked()
    export._message("user", [{"type": "compaction", "auto": True}])
    export.answer({"type": "text", "text": "Prices are done."}, summary=True)
    export.say("Go on.")
    path = export.write(tmp_path)
    assert sum(isinstance(event, Compacted) for event in transcript.events_of(str(path))) == 1
    read = list(entries.read(str(path), path.stat().st_size))
    assert [entry["message"]["content"] for entry in read if entries.is_summary(entry)] == ["Prices are done."]


def test_a_compaction_that_failed_leaves_all_as_it_stood(tmp_path: Path):
    export = worked()
    export.answer({"type": "text", "text": "half"}, summary=True, error={"name": "APIError"})
    assert not any(isinstance(event, Compacted) for event in transcript.events_of(str(export.write(tmp_path))))


def test_try_shows_it_like_a_session(tmp_path: Path, capsys: pytest.CaptureFixture):
    assert main(["try", str(worked().write(tmp_path)), "--json"], {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["host"], answer["calls"], answer["installed"]["requests"]) == ("OpenCode", 4, 5)


def test_corrupt_values_end_nothing(tmp_path: Path, count):
    data = worked().data()
    for seed in range(count(40, 1_000)):
        chance = random.Random(seed)
        messages = altered(data["messages"], chance, chance.choice([0.003, 0.01, 0.05, 0.2]))
        path = tmp_path / f"{seed}.json"
        path.write_text(json.dumps({**data, "messages": messages}))
        transcript.index(str(path))
        calls(path)
        sent_requests.read(str(path))
        sent.read(str(path), path.stat().st_size)
        list(conversation(str(path)))


@pytest.mark.parametrize(
    "data", [b'{"info": {"id": "ses_1"', b'{"info": {"id": "ses_1"}, "messages": 7}', b'{"info": "ses_1", "messages": ' + b"[" * 50_000]
)
def test_a_broken_export_has_no_calls(tmp_path: Path, data: bytes):
    path = tmp_path / "session.json"
    path.write_bytes(data)
    assert calls(path) == []
