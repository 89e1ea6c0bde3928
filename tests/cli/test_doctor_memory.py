"""`popkit doctor` on memory: whether it is on, its size, last run and failures, files that cannot be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hooks.utils.state import memory
from popkit_retention.memory.memory import Memory
from tests.cli.healthy import found, machine
from tests.cli.played import Played


@pytest.fixture
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return machine(tmp_path_factory.mktemp("p"))


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
