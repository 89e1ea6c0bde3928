"""`popkit doctor` on the machine: each thing that can be wrong is found and says what to do; what is right is said to be right."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from popkit_retention.cli import doctor_interpreter, doctor_plugin
from tests.cli.healthy import INSTALLED, found, installed, is_busy, machine
from tests.cli.played import ROOT, SESSION, Played
from tests.client.installs import OLDEST_SUPPORTED


@pytest.fixture
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return machine(tmp_path_factory.mktemp("p"))


def test_where_all_is_well_it_says_so(played: Played) -> None:
    played.start()
    played.read("a.py", "x = 1\n")
    answer = played.popkit("doctor")
    assert (answer.returncode, answer.stderr) == (0, "")
    busy = is_busy(answer.stdout)
    assert answer.stdout.endswith("\n0 problems, 1 warning.\n" if busy else "\nAll is well.\n")
    names = "interpreter, client, hooks, state folder, helper, hook errors, extras, memory, retention, budget, configuration, state"
    assert [line[9:].split(":")[0] for line in answer.stdout.splitlines() if line.startswith("ok ")] == names.split(", ")[busy:]
    assert max(len(line) for line in answer.stdout.splitlines()) <= 76


def test_a_problem_makes_it_exit_1_and_says_what_to_do(played: Played) -> None:
    installed(played, {}, {"version": 2, "plugins": {}})
    answer = played.run("doctor")
    assert answer.returncode == 1
    assert answer.stdout.endswith("\n1 problem, 1 warning.\n" if is_busy(answer.stdout) else "\n1 problem, 0 warnings.\n")
    report = json.loads(played.run("doctor", "--json").stdout)
    advice = next(check["advice"] for check in report["checks"] if check["check"] == "hooks")
    assert advice == f"claude plugin marketplace add {ROOT}, then claude plugin install popkit@popkit"
    assert "→ claude plugin marketplace add" in answer.stdout
    assert report["ok"] is False
    assert [check["level"] for check in report["checks"]].count("problem") == 1


def test_on_a_fresh_machine_it_changes_nothing(tmp_path: Path) -> None:
    played = Played(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert played.run("doctor").returncode == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_the_interpreter_is_the_one_that_the_launcher_has_found(played: Played) -> None:
    check = found(played, "interpreter")
    assert (check["level"] != "problem", check["remembered"]) == (True, False)
    played.started()
    check = found(played, "interpreter")
    assert (check["level"] != "problem", check["remembered"], check["interpreter"]) == (True, True, str(played.bin / "python3"))
    assert check["start_ms"] > 0


def test_a_shim_is_named_with_what_it_costs(played: Played) -> None:
    real = os.path.realpath(sys.executable)
    (played.bin / "python3").unlink()
    (played.bin / "python3").write_text(f'#!/bin/sh\nsleep 0.1\nexec {real} "$@"\n')
    (played.bin / "python3").chmod(0o755)
    played.started()
    check = found(played, "interpreter")
    assert (check["interpreter"], check["path_python"]) == (real, str(played.bin / "python3"))
    assert check["path_start_ms"] > 100, "ms: the shim sleeps for as long"
    assert "the launcher bypasses it" in check["text"]


def test_an_interpreter_that_does_not_start_is_reported_and_replaced(played: Played) -> None:
    played.started()
    broken = played.bin / "broken"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    (played.home / "interpreter").write_text(f"{broken}\n")
    check = found(played, "interpreter")
    assert (check["level"], check["text"]) == ("warning", f"{broken}, which hooks were started with, is not a working Python")
    assert check["advice"] == f"Delete {played.home / 'interpreter'}: the next hook finds another one and remembers it."
    played.started()
    assert found(played, "interpreter")["interpreter"] == str(played.bin / "python3")


def test_doctor_checks_the_interpreter_of_hooks_not_its_own(played: Played) -> None:
    played.started()
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
    check = doctor_interpreter.interpreter(str(tmp_path), {"PATH": str(tmp_path)})
    assert (check.level, check.advice) == ("problem", "Install Python 3.9 or later.")


def test_a_relative_folder_of_ours_is_a_problem_and_not_made(played: Played) -> None:
    before = sorted(played.project.iterdir())
    for words in (("doctor",), ("restore", "abcd2345"), ("restore", "list"), ("setup", "tokens")):
        done = played.run(*words, POPKIT_HOME="popkit")
        output = " ".join((done.stdout + done.stderr).split())
        assert (done.returncode, 'POPKIT_HOME is "popkit", a relative path' in output) == (1, True), output
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


def test_switched_off_hooks_are_reported(played: Played) -> None:
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


def test_a_command_that_looked_at_a_session_does_not_count_as_a_hook(played: Played) -> None:
    installed(played, {}, {"plugins": {}})
    played.now = time.time()
    played.call("Read", {"file_path": str(played.project / "a.py")}, {"file": {"content": "x"}}, hooked=False)
    assert played.run("context").returncode == 0
    assert (played.home / "sessions" / SESSION / "main.state.json").exists()
    check = found(played, "hooks")
    assert (check["level"], check["text"]) == ("problem", "the plugin is not installed; none has run yet")
    (played.home / "interpreter").write_text(os.path.realpath(sys.executable) + "\n")  # as the launcher leaves it
    assert "the last one ran" in found(played, "hooks")["text"]


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


def test_a_state_folder_that_is_not_a_folder_is_a_problem(played: Played) -> None:
    played.home.write_text("")
    assert played.run("doctor").returncode == 1
    assert found(played, "state folder")["text"] == f"{played.home} is not a folder"


def test_a_full_or_closed_state_folder_is_a_problem(played: Played) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    played.start()
    played.home.chmod(0o500)
    check = found(played, "state folder")
    played.home.chmod(0o700)
    assert (check["level"], check["text"]) == ("problem", f"{played.home} cannot be written")


def test_the_oldest_client_is_the_one_that_the_tests_run() -> None:
    assert ".".join(map(str, doctor_plugin.OLDEST_CLIENT)) == OLDEST_SUPPORTED
    assert OLDEST_SUPPORTED in (ROOT / "README.md").read_text()


def test_it_says_how_large_each_part_of_our_folder_is(played: Played) -> None:
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


def test_doctor_says_to_keep_the_plugin_s_source_folder_and_reports_its_loss(played: Played, tmp_path: Path) -> None:
    installed(played, {"popkit@popkit": True})
    clone = tmp_path / "clone"
    clone.mkdir()
    known = played.claude / "plugins" / "known_marketplaces.json"
    known.write_text(json.dumps({"popkit": {"source": {"source": "directory", "path": str(clone)}}}))
    check = found(played, "hooks")
    assert (check["level"], "keep this folder" in check["text"]) == ("ok", True)
    clone.rmdir()
    check = found(played, "hooks")
    assert (check["level"], "is gone" in check["text"]) == ("problem", True)
