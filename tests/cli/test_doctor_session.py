"""`popkit doctor` on what hooks and helper have done: their failures, the configuration, states that differ from their
transcripts."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from popkit_retention.cli import doctor_helper
from popkit_retention.core.version import VERSION
from tests.cli.healthy import found, machine
from tests.cli.played import ROOT, SESSION, Played
from tests.patience import HANG_S


@pytest.fixture
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return machine(tmp_path_factory.mktemp("p"))


def failing_hook(played: Played) -> None:
    state = played.home / "sessions" / SESSION / "main.state.json"
    state.unlink(missing_ok=True)
    state.mkdir()
    played.hook("post-tool-use", hook_event_name="PostToolUse", tool_name="Bash", tool_use_id="toolu_x", tool_input={"command": "ls"})
    state.rmdir()


def test_failures_of_hooks_are_reported_once(played: Played) -> None:
    played.start()
    failing_hook(played)
    failing_hook(played)
    check = found(played, "hook errors")
    assert (check["level"], check["new_failures"], check["log"]) == ("warning", 2, str(played.home / "hooks.log"))
    assert "post-tool-use OSError" in check["text"]
    again = found(played, "hook errors")
    assert (again["level"], again["new_failures"], again["failures"]) == ("ok", 0, 2)
    failing_hook(played)
    assert found(played, "hook errors")["new_failures"] == 1


@pytest.fixture
def helper(played: Played) -> Iterator[subprocess.Popen]:
    """The helper of the session, as the mod starts it."""
    command = [ROOT / "bin" / "popkit", "serve", "--session", SESSION, "--transcript", played.transcript, "--cwd", played.project]
    process = subprocess.Popen(command, env=played.env, cwd=played.project, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    assert "socket" in json.loads(process.stdout.readline())
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slowly a helper answers."""
    monkeypatch.setattr(doctor_helper, "LIMIT_S", HANG_S)


@pytest.mark.usefixtures("patient")
def test_the_helper_of_the_newest_session_is_asked(played: Played, helper: subprocess.Popen) -> None:
    played.start()
    played.read("a.py", "x = 1\n")
    check = found(played, "helper")
    assert (check["level"], check["running"], check["modules"], check["session"]) == ("ok", True, True, SESSION)
    assert check["version"] == VERSION
    assert f"runs for session {SESSION[:8]}: 0 results, 0 of them entered shorter, " in check["text"]
    assert check["rss_mb"] > 1


def test_a_helper_that_hangs_or_has_gone_is_reported_with_what_to_do(played: Played, helper: subprocess.Popen) -> None:
    played.start()
    played.read("a.py", "x = 1\n")
    helper.send_signal(signal.SIGSTOP)
    check = found(played, "helper")
    assert (check["level"], check["running"]) == ("warning", False)
    assert "does not answer within 1 s" in check["text"]
    helper.kill()
    helper.wait()
    check = found(played, "helper", CLAUDE_CODE_SESSION_ID=SESSION)
    assert (check["level"], "none runs for session" in check["text"]) == ("warning", True)
    assert "--resume" in check["advice"]
    check = found(played, "helper")
    assert (check["level"], "none runs now" in check["text"]) == ("ok", True)


@pytest.mark.usefixtures("patient")
def test_a_helper_of_another_version_is_reported(played: Played) -> None:
    played.start()
    played.read("a.py", "x = 1\n")
    (played.home / "run").mkdir(exist_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(played.home / "run" / f"{SESSION[:8]}-{os.getpid()}.sock"))
    listening.listen()
    body = json.dumps({"version": "0.0.1", "rows": 3, "rewritten": 1, "p50_ms": 2.5, "rss_mb": None})
    threading.Thread(target=_answer_once, args=(listening, body), daemon=True).start()
    check = found(played, "helper")
    listening.close()
    assert (check["level"], check["p50_ms"]) == ("warning", 2.5)
    assert "3 results, 1 of them entered shorter, 2.5 ms each (median); it is 0.0.1" in check["text"]


def _answer_once(listening: socket.socket, body: str) -> None:
    asking, _ = listening.accept()
    asking.recv(1 << 16)
    asking.sendall(f"HTTP/1.1 200 OK\r\n\r\n{body}".encode())
    asking.close()


def test_a_client_that_loads_no_modules_needs_no_helper(played: Played) -> None:
    played.has_client("2.1.325")
    check = found(played, "helper")
    assert (check["level"], check["modules"]) == ("ok", False)
    assert "2.1.326" in check["text"]


def test_failures_of_the_helper_are_counted(played: Played) -> None:
    played.home.mkdir(parents=True, mode=0o700)
    failures = ["serve /row JSONDecodeError", "door OSError", "session-end OSError"]
    (played.home / "hooks.log").write_text("".join(f"!! 2026-01-05T10:00:00Z {failure}\n" for failure in failures))
    check = found(played, "helper")
    assert check["failures"] == 2
    assert "2 failures of it in the log" in check["text"]


def test_a_project_file_whose_patterns_cost_too_much_is_reported_as_ignored(played: Played) -> None:
    folder = Path(played.project) / ".claude"
    folder.mkdir(exist_ok=True)
    (folder / "retention-config.json").write_text(json.dumps({"retention": {"pins": ["?" * 250] * 200}}))
    check = found(played, "configuration")
    assert check["level"] == "warning"
    assert f"ignored as a whole: {folder / 'retention-config.json'}" in check["text"]


def test_a_configuration_with_problems_is_reported(played: Played) -> None:
    played.home.mkdir()
    (played.home / "retention-config.json").write_text('{"pins": 1}')
    check = found(played, "configuration")
    assert (check["level"], check["problems"]) == ("warning", 1)


def test_a_state_that_equals_its_transcript_is_reported_as_equal(played: Played) -> None:
    played.start()
    played.read("a.py", "x = 1\n")
    played.bash("rg -n x", "a.py:1:x = 1\n")
    played.read("b.py", "y = 1\n")
    check = found(played, "state")
    assert (check["level"], check["text"]) == ("ok", "5e551017 equals its transcript and journal (3 calls)")


def test_a_state_that_a_command_has_made_finds_its_transcript(played: Played) -> None:
    played.read("a.py", "x = 1\n", hooked=False)
    assert played.run("context", "retention").returncode == 0
    assert found(played, "state")["text"] == "5e551017 equals its transcript and journal (1 call)"


def test_calls_that_fired_no_hook_are_counted_and_nothing_is_changed(played: Played) -> None:
    played.start()
    played.read("a.py", "x = 1\n")
    played.read("b.py", "y = 1\n", hooked=False)
    played.bash("npm test", "PASS\n", hooked=False)
    folder = played.home / "sessions"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    check = found(played, "state")
    assert (check["level"], check["text"]) == ("ok", "5e551017 is 2 calls behind its transcript: reconciled when you next ask")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert played.run("context", "retention").returncode == 0
    assert "equals" in found(played, "state")["text"]


def test_a_state_that_differs_from_its_transcript_is_a_warning(played: Played) -> None:
    played.start()
    played.read("a.py", "x = 1\n")
    path = played.home / "sessions" / SESSION / "main.state.json"
    state = json.loads(path.read_text())
    state["pins"] = ["*.py"]
    path.write_text(json.dumps(state))
    check = found(played, "state")
    assert check["level"] == "warning"
    assert "differs from its transcript in pins" in check["text"]
    assert "reconciles" in check["advice"]


def test_a_lost_line_of_the_expired_log_is_noticed(played: Played) -> None:
    played.start()
    played.bash("mkdir src", "")
    played.read("a.py", "x = 1\n")
    log = played.home / "sessions" / SESSION / "main.expired.jsonl"
    assert "equals" in found(played, "state")["text"]
    assert log.read_text().count("\n") == 1
    log.write_text("")
    assert "in expired" in found(played, "state")["text"]


def test_a_corrupt_state_is_reported(played: Played) -> None:
    played.start()
    (played.home / "sessions" / SESSION / "main.state.json").write_text("{broken")
    check = found(played, "state")
    assert (check["level"], check["text"][:20]) == ("warning", "5e551017 is corrupt ")


def test_only_sessions_of_this_project_are_compared(played: Played, tmp_path: Path) -> None:
    played.start()
    other = tmp_path / "other"
    other.mkdir()
    below = played.project / "src"
    below.mkdir()
    assert "no session of" in json.loads(played.run("doctor", "--json", cwd=other).stdout)["checks"][-1]["text"]
    assert "equals" in json.loads(played.run("doctor", "--json", cwd=below).stdout)["checks"][-1]["text"]
