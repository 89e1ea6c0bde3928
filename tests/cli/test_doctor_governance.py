"""What `popkit doctor` says of retention."""

from __future__ import annotations

import json

from hooks.utils.io import files
from popkit_retention.governance.data_folder import Folder
from popkit_retention.governance.log import Log
from tests.cli.governed import Governed
from tests.cli.remembered import DAY_S


def governed(house: Governed) -> dict[str, str]:
    return {name: data for name, data in house.bytes().items() if name.startswith("data/")}


def check(house: Governed) -> dict:
    """The check of retention; making it changes nothing."""
    before = governed(house)
    done = house.popkit("doctor", "--json")
    assert governed(house) == before
    return {each["check"]: each for each in json.loads(done.stdout)["checks"]}["retention"]


def test_where_nobody_has_set_anything_the_defaults_hold(house: Governed) -> None:
    house.home.mkdir(parents=True)
    found = check(house)
    assert (found["level"], found["revision"], found["marked"]) == ("ok", 0, 0)
    assert found["text"] == "the default policies; hooks collect nothing (auto_gc is false)"
    assert not (house.home / "data").exists()


def test_it_tells_who_collects_what_is_marked_what_is_due_and_what_is_held(house: Governed) -> None:
    for words in ("one", "two"):
        house.add(words)
    house.now += 365 * DAY_S
    house.retention("set", "memory.auto_gc=true")
    house.retention("gc", "--yes")
    house.retention("hold", "add", "--session", "s", "--why", "audit", "--domain", "memory")
    found = check(house)
    assert (found["auto_gc"], found["marked"], found["due"], found["holds"]) == (["memory"], 2, 0, 1)
    house.now += 2 * DAY_S
    assert check(house)["text"] == "policies of revision 1; hooks collect memory; 2 things marked, 2 of them due; 1 hold in force"


def test_policies_that_cannot_be_read_are_a_problem(house: Governed) -> None:
    house.retention("set", "memory.limit=7")
    (house.home / "data" / "state" / "retention-policies.json").write_text("{")
    found = check(house)
    assert (found["level"], found["advice"]) == ("problem", "popkit retention verify")
    assert "is not JSON" in found["text"]


def test_a_log_that_somebody_has_changed_is_a_problem(house: Governed) -> None:
    house.retention("set", "memory.limit=7")
    path = house.home / "data" / "state" / "retention-log.sqlite"
    path.write_bytes(path.read_bytes().replace(b"configured", b"confiscate"))
    found = check(house)
    assert (found["level"], found["text"].partition(":")[0]) == ("problem", "its log is not as it was written")


def test_what_a_killed_process_left_undone_is_a_warning_unless_one_is_at_work(house: Governed) -> None:
    house.retention("set", "memory.limit=7")
    folder = Folder(str(house.home))
    log = Log(folder.log_path)
    log.append("unmarked", "memory", ["m1"], {}, "user", house.now, todo={"do": "unmark", "ids": ["m1"]})
    log.close()
    found = check(house)
    assert (found["level"], found["unfinished"]) == ("warning", 1)
    assert "begun by a process that was killed" in found["text"]
    with files.Lock(folder.state + "/retention.lock"):
        assert check(house)["level"] == "ok"
    house.retention("show")
    assert check(house)["unfinished"] == 0


def test_failures_of_the_hourly_collection_are_counted(house: Governed) -> None:
    house.retention("set", "memory.limit=7")
    (house.home / "hooks.log").write_text("!! 2026-11-22T21:08:02Z retention Damaged\n!! 2026-11-22T21:09:02Z stop OSError\n")
    found = check(house)
    assert (found["level"], found["failures"]) == ("ok", 1)
    assert found["text"].endswith("1 failure of it in the log")
