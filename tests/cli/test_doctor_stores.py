"""`popkit doctor` on the stores: memory, limits with their database and traces, retention."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from popkit_retention import extras
from popkit_retention.core.io import files
from popkit_retention.core.state import memory
from popkit_retention.governance.data_folder import Folder
from popkit_retention.governance.log import Log
from popkit_retention.memory.memory import Memory
from tests.cli.governed import Governed
from tests.cli.healthy import found, machine
from tests.cli.played import Played
from tests.cli.remembered import DAY_S


@pytest.fixture
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return machine(tmp_path_factory.mktemp("p"))


# --- memory ----------------------------------------------------------------------------------------------------------------------------


def remembering(played: Played) -> memory.Project:
    """Switches memory on for the project."""
    project = memory.project_of(str(played.home), str(played.project))
    project.turn_on(played.now)
    return project


def test_memory_is_off_until_somebody_switches_it_on(played: Played) -> None:
    played.start()
    check = found(played, "memory")
    assert (check["level"], check["on"], check["text"]) == ("ok", False, "off. To switch it on: popkit memory on")
    assert not (played.home / "memory.sqlite").exists()
    remembering(played).turn_off(played.now)
    assert found(played, "memory")["text"].startswith("off for shop; ")


def test_of_memory_it_shows_size_last_run_and_failures(played: Played) -> None:
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


# --- limits, database and traces -----------------------------------------------------------------------------------------------------


def configured(played: Played, **context: object) -> None:
    played.home.mkdir(exist_ok=True)
    (played.home / "retention-config.json").write_text(json.dumps({"retention": {"context": context}}))


def test_where_nothing_is_asked_for_no_database_is_opened(played: Played) -> None:
    played.start()
    check = found(played, "budget")
    assert (check["level"], check["text"]) == ("ok", "no limits and no traces. To set a limit: popkit budget set month_usd=50")
    assert not (played.home / "usage.sqlite").exists()


def test_it_says_how_many_limits_there_are_and_where_usage_is_kept(played: Played) -> None:
    played.start()
    configured(played, month_usd=50.0, session_tokens=1_000_000)
    check = found(played, "budget")
    assert (check["level"], check["limits"], check["waiting"]) == ("ok", 2, 0)
    assert check["text"] == "2 limits; SQLite on this machine"
    assert not (played.home / "usage.sqlite").exists(), "it changes nothing"


def test_a_database_that_cannot_be_used_is_a_warning_without_credentials(played: Played) -> None:
    played.start()
    configured(played, database="postgresql://127.0.0.1:9/team")
    check = found(played, "budget", PGUSER="dana", PGPASSWORD="hunter2hunter2")
    assert check["level"] == "warning"
    assert "hunter2" not in json.dumps(check)
    assert check["advice"] == "Until then, contexts are built without limits, and nothing is recorded."


def test_it_says_how_many_requests_a_server_has_yet_to_receive(played: Played) -> None:
    played.start()
    played.read("a.ts", "const a = 1")
    configured(played, database="postgresql://127.0.0.1:9/team")
    assert played.run("budget").returncode == 1
    assert found(played, "budget")["waiting"] > 0


def test_a_file_that_is_damaged_is_a_warning(played: Played) -> None:
    played.start()
    configured(played, month_usd=50.0)
    (played.home / "usage.sqlite").write_bytes(b"no database " * 500)
    check = found(played, "budget")
    assert (check["level"], "Move it away" in check["text"]) == ("warning", True)


def test_traces_that_nothing_can_send_are_a_warning(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    played.start()
    configured(played, traces="http://127.0.0.1:4318")
    monkeypatch.setattr(extras, "place_of", lambda name, environ: "")
    assert found(played, "budget")["advice"] == "popkit setup traces"


# --- retention -----------------------------------------------------------------------------------------------------------------------


def governed(house: Governed) -> dict[str, str]:
    return {name: data for name, data in house.bytes().items() if name.startswith("data/")}


def check(house: Governed, alone: bool = False) -> dict:
    """The check of retention, `alone` in a process of its own; making it changes nothing."""
    before = governed(house)
    done = (house.popkit if alone else house.run)("doctor", "--json")
    assert governed(house) == before
    return {each["check"]: each for each in json.loads(done.stdout)["checks"]}["retention"]


def test_where_nobody_has_set_anything_the_defaults_hold(house: Governed) -> None:
    house.home.mkdir(parents=True)
    checked = check(house)
    assert (checked["level"], checked["revision"], checked["marked"]) == ("ok", 0, 0)
    assert checked["text"] == "the default policies; hooks collect nothing (auto_gc is false)"
    assert not (house.home / "data").exists()


def test_it_says_who_collects_what_is_marked_what_is_due_and_what_is_held(house: Governed) -> None:
    for words in ("one", "two"):
        house.add(words)
    house.now += 365 * DAY_S
    house.retention("set", "memory.auto_gc=true")
    house.retention("gc", "--yes")
    house.retention("hold", "add", "--session", "s", "--why", "audit", "--domain", "memory")
    checked = check(house)
    assert (checked["auto_gc"], checked["marked"], checked["due"], checked["holds"]) == (["memory"], 2, 0, 1)
    house.now += 2 * DAY_S
    assert check(house)["text"] == "policies of revision 1; hooks collect memory; 2 things marked, 2 of them due; 1 hold in force"


def test_policies_that_cannot_be_read_are_a_problem(house: Governed) -> None:
    house.retention("set", "memory.limit=7")
    (house.home / "data" / "state" / "retention-policies.json").write_text("{")
    checked = check(house)
    assert (checked["level"], checked["advice"]) == ("problem", "popkit retention admin verify")
    assert "is not JSON" in checked["text"]


def test_a_log_that_somebody_has_changed_is_a_problem(house: Governed) -> None:
    house.retention("set", "memory.limit=7")
    path = house.home / "data" / "state" / "retention-log.sqlite"
    path.write_bytes(path.read_bytes().replace(b"configured", b"confiscate"))
    checked = check(house)
    assert (checked["level"], checked["text"].partition(":")[0]) == ("problem", "its log is not as it was written")


def test_what_a_killed_process_left_undone_is_a_warning_unless_one_is_at_work(house: Governed) -> None:
    house.retention("set", "memory.limit=7")
    folder = Folder(str(house.home))
    log = Log(folder.log_path)
    log.append("unmarked", "memory", ["m1"], {}, "user", house.now, todo={"do": "unmark", "ids": ["m1"]})
    log.close()
    checked = check(house)
    assert (checked["level"], checked["unfinished"]) == ("warning", 1)
    assert "begun by a process that was killed" in checked["text"]
    with files.Lock(folder.state + "/retention.lock"):
        assert check(house, alone=True)["level"] == "ok"
    house.retention("show")
    assert check(house)["unfinished"] == 0


def test_failures_of_the_hourly_collection_are_counted(house: Governed) -> None:
    house.retention("set", "memory.limit=7")
    (house.home / "hooks.log").write_text("!! 2026-11-22T21:08:02Z retention Damaged\n!! 2026-11-22T21:09:02Z stop OSError\n")
    checked = check(house)
    assert (checked["level"], checked["failures"]) == ("ok", 1)
    assert checked["text"].endswith("1 logged failure")
