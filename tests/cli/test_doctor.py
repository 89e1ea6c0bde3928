"""`popkit doctor`: each thing that can be wrong is found and says what to do; what is right is said to be right."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hooks.utils.state import memory
from popkit_retention.cli import doctor_machine
from popkit_retention.memory.memory import Memory
from tests.cli.played import ROOT, SESSION, Played
from tests.client.installs import OLDEST_SUPPORTED

INSTALLED = {"version": 2, "plugins": {"popkit@popkit": [{"scope": "user", "version": "0.1.0"}]}}


@pytest.fixture
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A machine where all is well: a client, the plugin installed and enabled, a session that the hooks have seen. A short path: sockets
    want one."""
    played = Played(tmp_path_factory.mktemp("p"))
    played.has_client("2.1.330")
    installed(played, {"popkit@popkit": True})
    return played


def installed(played: Played, enabled: dict, known: dict = INSTALLED) -> None:
    plugins = played.claude / "plugins"
    plugins.mkdir(exist_ok=True)
    (plugins / "installed_plugins.json").write_text(json.dumps(known))
    played.settings.write_text(json.dumps({"enabledPlugins": enabled}))


def found(played: Played, name: str, **env: str) -> dict:
    """One check, as --json tells it."""
    answer = played.popkit("doctor", "--json", **env)
    assert answer.stderr == ""
    checks = {check["check"]: check for check in json.loads(answer.stdout)["checks"]}
    return checks[name]


def is_busy(shown: str) -> bool:
    """Whether it warns that an interpreter takes long to start, which comes and goes with what else the machine does."""
    return "Is the machine busy" in " ".join(shown.split())


def test_where_all_is_well_it_says_so(played: Played) -> None:
    played.start()
    played.read("a.py", "x = 1\n")
    answer = played.popkit("doctor")
    assert (answer.returncode, answer.stderr) == (0, "")
    busy = is_busy(answer.stdout)
    assert answer.stdout.endswith("\n0 problems, 1 warning.\n" if busy else "\nAll is well.\n")
    names = [
        "interpreter",
        "extras",
        "client",
        "hooks",
        "state folder",
        "helper",
        "hook errors",
        "memory",
        "retention",
        "configuration",
        "state",
    ]
    assert [line[9:].split(":")[0] for line in answer.stdout.splitlines() if line.startswith("ok ")] == names[busy:]
    assert max(len(line) for line in answer.stdout.splitlines()) <= 76


def test_a_problem_makes_it_exit_1_and_says_what_to_do(played: Played) -> None:
    installed(played, {}, {"version": 2, "plugins": {}})
    answer = played.popkit("doctor")
    assert answer.returncode == 1
    assert answer.stdout.endswith("\n1 problem, 1 warning.\n" if is_busy(answer.stdout) else "\n1 problem, 0 warnings.\n")
    assert "→ claude plugin marketplace add" in answer.stdout
    report = json.loads(played.popkit("doctor", "--json").stdout)
    assert report["ok"] is False
    assert [check["level"] for check in report["checks"]].count("problem") == 1


def test_on_a_fresh_machine_it_changes_nothing(tmp_path: Path) -> None:
    played = Played(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert played.popkit("doctor").returncode == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_the_interpreter_is_the_one_that_the_launcher_has_found(played: Played) -> None:
    check = found(played, "interpreter")
    assert (check["level"] != "problem", check["remembered"]) == (True, False)
    played.start()
    check = found(played, "interpreter")
    assert (check["level"] != "problem", check["remembered"], check["interpreter"]) == (True, True, str(played.bin / "python3"))
    assert check["start_ms"] > 0


def test_a_shim_is_named_with_what_it_costs(played: Played) -> None:
    real = os.path.realpath(sys.executable)
    (played.bin / "python3").unlink()
    (played.bin / "python3").write_text(f'#!/bin/sh\nsleep 0.1\nexec {real} "$@"\n')
    (played.bin / "python3").chmod(0o755)
    played.start()
    check = found(played, "interpreter")
    assert (check["interpreter"], check["path_python"]) == (real, str(played.bin / "python3"))
    assert check["path_start_ms"] > 100, "ms: the shim sleeps for as long"
    assert "the launcher goes past it" in check["text"]


def test_an_interpreter_that_does_not_start_is_told_and_replaced(played: Played) -> None:
    played.start()
    broken = played.bin / "broken"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    (played.home / "interpreter").write_text(f"{broken}\n")
    check = found(played, "interpreter")
    assert (check["level"], check["text"]) == ("warning", f"{broken}, which hooks were started with, is no Python that starts")
    assert check["advice"] == f"Delete {played.home / 'interpreter'}: the next hook finds another one and remembers it."
    played.bash("npm test", "PASS\n")
    assert found(played, "interpreter")["interpreter"] == str(played.bin / "python3")


def test_what_hooks_were_started_with_is_not_what_doctor_needs(played: Played) -> None:
    played.start()
    venv = played.project / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (venv / "bin" / "python3").write_text(f"#!/bin/sh\ntouch {played.project}/ran\nexit 127\n")
    (venv / "bin" / "python3").chmod(0o755)
    for python in (venv / "bin" / "python3", "/nonexistent/python3", ""):
        (played.home / "interpreter").write_text(f"{python}\n")
        assert found(played, "interpreter")["remembered"] is False
    assert not (played.project / "ran").exists()


def test_no_python_at_all_is_a_problem(tmp_path: Path) -> None:
    check = doctor_machine.interpreter(str(tmp_path), {"PATH": str(tmp_path)})
    assert (check.level, check.advice) == ("problem", "Install Python 3.9 or later.")


def test_a_relative_folder_of_ours_is_a_problem_and_not_made(played: Played) -> None:
    before = sorted(played.project.iterdir())
    for words in (("doctor",), ("restore", "abcd2345"), ("archive", "list"), ("setup", "lab")):
        done = played.popkit(*words, POPKIT_HOME="popkit")
        told = " ".join((done.stdout + done.stderr).split())
        assert (done.returncode, 'POPKIT_HOME is "popkit", a relative path' in told) == (1, True), told
    assert sorted(played.project.iterdir()) == before
    assert found(played, "state folder", POPKIT_HOME="~/popkit")["text"].startswith(f"{played.user}/popkit")


CLIENTS = [("2.1.100", "ok"), ("2.1.99", "problem"), ("1.9.200", "problem"), ("2.2.0", "ok"), ("3.0.1", "ok"), ("unknown", "warning")]


@pytest.mark.parametrize(("version", "level"), CLIENTS)
def test_the_client_must_be_new_enough(played: Played, version: str, level: str) -> None:
    played.has_client(version)
    assert found(played, "client")["level"] == level


def test_no_client_on_path_is_a_warning(played: Played) -> None:
    (played.bin / "claude").unlink()
    assert found(played, "client")["level"] == "warning"


HOOKS = [
    ({"popkit@popkit": True}, INSTALLED, "ok", "popkit@popkit is installed and enabled"),
    ({"popkit@other": True}, {"plugins": {"popkit@other": []}}, "ok", "popkit@other is installed and enabled"),
    ({"popkit@popkit": False}, INSTALLED, "problem", "not enabled"),
    ({}, INSTALLED, "problem", "not enabled"),
    ({"popkit@popkit": True}, {"plugins": []}, "problem", "not installed"),
    ({"popkitten@popkit": True}, {"plugins": {"popkitten@popkit": []}}, "problem", "not installed"),
    (
        {"popkit@a": True, "popkit@b": True},
        {"plugins": {"popkit@a": [], "popkit@b": []}},
        "warning",
        "registered twice (popkit@a, popkit@b)",
    ),
]


@pytest.mark.parametrize(("enabled", "known", "level", "text"), HOOKS)
def test_hooks_are_registered_where_the_settings_say_so(played: Played, enabled: dict, known: dict, level: str, text: str) -> None:
    installed(played, enabled, known)
    check = found(played, "hooks")
    assert check["level"] == level
    assert text in check["text"]


def test_a_projects_settings_win_over_the_users(played: Played) -> None:
    folder = played.project / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text('{"enabledPlugins": {"popkit@popkit": false}}')
    assert found(played, "hooks")["level"] == "problem"
    (folder / "settings.local.json").write_text('{"enabledPlugins": {"popkit@popkit": true}}')
    assert found(played, "hooks")["level"] == "ok"


def test_switched_off_hooks_are_told(played: Played) -> None:
    assert found(played, "hooks", POPKIT_OFF="1")["level"] == "warning"
    played.home.mkdir()
    (played.home / "retention-config.json").write_text('{"retention": {"enabled": false}}')
    assert "enabled: false" in found(played, "hooks")["text"]
    (played.home / "retention-config.json").unlink()
    played.settings.write_text('{"disableAllHooks": true}')
    assert "disableAllHooks" in found(played, "hooks")["text"]


def test_a_plugin_that_is_not_installed_but_runs_was_loaded_by_hand(played: Played) -> None:
    installed(played, {}, {"plugins": {}})
    played.now = time.time()
    played.start()
    played.now += 7 * 60
    check = found(played, "hooks")
    assert (check["level"], check["text"][:45]) == ("ok", "not installed, but loaded with --plugin-dir: ")
    played.now += 30 * 24 * 3_600
    assert found(played, "hooks")["level"] == "problem"


def test_files_that_others_can_read_are_named(played: Played) -> None:
    played.start()
    assert found(played, "state folder")["level"] == "ok"
    state = played.home / "sessions" / SESSION / "main.state.json"
    state.chmod(0o644)
    check = found(played, "state folder")
    assert (check["level"], check["open_to_others"]) == ("warning", [f"sessions/{SESSION}/main.state.json"])
    assert check["advice"] == f"chmod -R go= {played.home}"


def test_in_a_folder_that_holds_other_things_only_ours_is_looked_at(played: Played) -> None:
    """POPKIT_HOME may be the user's home: `chmod -R go=` there would shut others out of all of it, and a walk through it takes minutes."""
    played.start()
    (played.home / "public" / "deep").mkdir(parents=True)
    (played.home / "public" / "deep" / "page.html").write_text("x" * 5_000_000)
    played.home.chmod(0o755)
    check = found(played, "state folder")
    assert (check["level"], check["open_to_others"]) == ("ok", [])
    assert check["bytes"] < 1_000_000
    state = played.home / "sessions" / SESSION / "main.state.json"
    state.chmod(0o644)
    assert found(played, "state folder")["advice"] == f"cd {played.home} && chmod go= sessions/{SESSION}/main.state.json"


def test_states_that_were_set_aside_are_counted(played: Played) -> None:
    played.start()
    state = played.home / "sessions" / SESSION / "main.state.json"
    state.write_text("{broken")
    played.bash("npm test", "PASS\n")
    check = found(played, "state folder")
    assert (check["level"], check["corrupt"]) == ("warning", [f"sessions/{SESSION}/main.state.json.corrupt"])


def test_a_state_folder_that_is_no_folder_is_a_problem(played: Played) -> None:
    played.home.write_text("")
    assert played.popkit("doctor").returncode == 1
    assert found(played, "state folder")["text"] == f"{played.home} is not a folder"


def test_a_full_or_closed_state_folder_is_a_problem(played: Played) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    played.start()
    played.home.chmod(0o500)
    check = found(played, "state folder")
    played.home.chmod(0o700)
    assert (check["level"], check["text"]) == ("problem", f"{played.home} cannot be written")


def failing_hook(played: Played) -> None:
    state = played.home / "sessions" / SESSION / "main.state.json"
    state.unlink(missing_ok=True)
    state.mkdir()
    played.bash("npm test", "PASS\n")
    state.rmdir()


def test_failures_of_hooks_are_told_once(played: Played) -> None:
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


def test_the_helper_of_the_newest_session_is_asked(played: Played, helper: subprocess.Popen) -> None:
    played.start()
    played.read("a.py", "x = 1\n")
    check = found(played, "helper")
    assert (check["level"], check["running"], check["modules"], check["session"]) == ("ok", True, True, SESSION)
    assert check["version"] == json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text())["version"]
    assert f"runs for session {SESSION[:8]}: 0 results, 0 of them entered shorter, " in check["text"]
    assert check["rss_mb"] > 1


def test_a_helper_that_hangs_or_has_gone_is_told_with_what_to_do(played: Played, helper: subprocess.Popen) -> None:
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


def test_a_helper_of_another_version_is_told(played: Played) -> None:
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
    played.has_client("2.1.286")
    check = found(played, "helper")
    assert (check["level"], check["modules"]) == ("ok", False)
    assert "2.1.287" in check["text"]


def test_failures_of_the_helper_are_counted(played: Played) -> None:
    played.home.mkdir(parents=True, mode=0o700)
    failures = ["serve /row JSONDecodeError", "door OSError", "session-end OSError"]
    (played.home / "hooks.log").write_text("".join(f"!! 2026-01-05T10:00:00Z {failure}\n" for failure in failures))
    check = found(played, "helper")
    assert check["failures"] == 2
    assert "2 failures of it in the log" in check["text"]


def test_a_project_whose_patterns_cost_too_much_is_told_that_its_file_is_ignored(played: Played) -> None:
    folder = Path(played.project) / ".claude"
    folder.mkdir(exist_ok=True)
    (folder / "retention-config.json").write_text(json.dumps({"retention": {"pins": ["?" * 250] * 200}}))
    check = found(played, "configuration")
    assert check["level"] == "warning"
    assert f"ignored as a whole: {folder / 'retention-config.json'}" in check["text"]


def test_a_configuration_with_problems_is_told(played: Played) -> None:
    played.home.mkdir()
    (played.home / "retention-config.json").write_text('{"pins": 1}')
    check = found(played, "configuration")
    assert (check["level"], check["problems"]) == ("warning", 1)


def test_a_state_that_equals_its_transcript_is_told_to_be_equal(played: Played) -> None:
    played.start()
    played.read("a.py", "x = 1\n")
    played.bash("rg -n x", "a.py:1:x = 1\n")
    played.read("b.py", "y = 1\n")
    check = found(played, "state")
    assert (check["level"], check["text"]) == ("ok", "5e551017 equals its transcript and journal (3 calls)")


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
    assert played.popkit("context", "retention").returncode == 0
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


def test_a_corrupt_state_is_told(played: Played) -> None:
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
    assert "no session of" in json.loads(played.popkit("doctor", "--json", cwd=other).stdout)["checks"][-1]["text"]
    assert "equals" in json.loads(played.popkit("doctor", "--json", cwd=below).stdout)["checks"][-1]["text"]


def test_the_oldest_client_is_the_one_that_the_tests_run() -> None:
    assert ".".join(map(str, doctor_machine.OLDEST_CLIENT)) == OLDEST_SUPPORTED
    assert OLDEST_SUPPORTED in (ROOT / "README.md").read_text()


def test_it_tells_how_large_each_part_of_our_folder_is(played: Played) -> None:
    played.start()
    played.read("a.py", "x = 1\n")
    (played.home / "sessions" / SESSION / "original.jsonl").write_bytes(b"x" * 3_000_000)
    (played.home / "archive.sqlite").write_bytes(b"x" * 2_000_000)
    check = found(played, "state folder")
    assert check["parts"]["kept originals"] == {"files": 1, "bytes": 3_000_000}
    assert check["parts"]["archive"] == {"files": 1, "bytes": 2_000_000}
    assert check["parts"]["states of sessions"]["files"] >= 2
    assert "(kept originals 3.0 MB, archive 2.0 MB, " in check["text"]
    assert sum(part["bytes"] for part in check["parts"].values()) == pytest.approx(check["bytes"], abs=50_000)


def remembering(played: Played) -> memory.Project:
    """Switches memory on for the project."""
    project = memory.project_of(str(played.home), str(played.project))
    project.turn_on(played.now)
    return project


def test_memory_is_off_until_somebody_switches_it_on(played: Played) -> None:
    played.start()
    check = found(played, "memory")
    assert (check["level"], check["on"], check["text"]) == ("ok", False, "off. /popkit:context memory on says what it would do")
    assert not (played.home / "memory.sqlite").exists()
    remembering(played).turn_off(played.now)
    assert found(played, "memory")["text"].startswith("off for shop; ")


def test_of_memory_it_tells_size_last_run_and_failures(played: Played) -> None:
    remembering(played)
    mine = Memory.of({"POPKIT_HOME": str(played.home)}, str(played.project))
    mine.add("the tests want a quiet machine")
    check = found(played, "memory")
    assert (check["level"], check["on"], check["items"], check["last_run"]) == ("ok", True, 1, None)
    assert check["bytes"] > 1_000
    assert "its job has not run yet" in check["text"]
    mine.run()
    mine.close()
    check = found(played, "memory")
    assert " its job ran " in check["text"]
    assert (check["last_run"] > 0, check["run_failures"]) == (True, 0)
    (played.home / "hooks.log").write_text("!! 2026-11-22T21:08:02Z memory-learn NoSession\n!! 2026-11-22T21:09:02Z stop OSError\n")
    assert found(played, "memory")["failures"] == 1


@pytest.mark.parametrize("name", ["MEMORY.md", "settings.json"])
def test_files_of_memory_that_cannot_be_used_are_a_warning(played: Played, name: str) -> None:
    folder = Path(remembering(played).folder)
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    check = found(played, "memory")
    assert (check["level"], check["text"].partition(":")[0]) == ("warning", "its files for shop cannot be used")


def test_a_memory_whose_store_is_damaged_is_a_warning(played: Played) -> None:
    remembering(played)
    (played.home / "memory.sqlite").write_bytes(b"no database" * 1_000)
    check = found(played, "memory")
    assert (check["level"], check["on"]) == ("warning", True)
    assert "its store cannot be used" in check["text"]
