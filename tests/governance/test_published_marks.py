"""What tools and the hourly job have marked is told as long as it is so, whoever takes it back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hooks.utils.state import services
from hooks.utils.views.memory import marks
from popkit_retention.governance.controller import Controller
from popkit_retention.memory.folder import Folder
from popkit_retention.memory.memory import Memory
from popkit_retention.memory.stores.sqlite import SqliteStore
from tests.memory.remembering import DAY, NOW, PROJECT, Remembering


@pytest.fixture
def kept(home: Path):
    home.mkdir()
    remembering = Remembering(SqliteStore(str(home / "memory.sqlite")))
    remembering.memory = Memory(remembering.store, PROJECT, lambda: remembering.now, Folder(str(home)))
    for number in range(7):
        times = dict.fromkeys(("created_at", "last_accessed", "tier_since"), NOW - 60 * DAY)
        remembering.keep(f"m{number}", **{**times, "project": PROJECT if number else "other"})
    yield remembering
    remembering.store.close()


def told(home: Path, project: str = PROJECT) -> list[tuple]:
    return [(part, row["by"], row["count"], row["ids"], row["first"] - NOW) for part, row in services.marked_of(str(home), project)]


def governing(home: Path, kept: Remembering, by: str) -> Controller:
    return Controller({"POPKIT_HOME": str(home)}, by, None, lambda: kept.now)


def test_what_a_tool_forgot_is_told_until_it_is_taken_back_or_deleted(home: Path, kept: Remembering) -> None:
    kept.memory.forget(["m1", "m2", "m3"], "tool")
    assert told(home) == [("forgotten", "tool", 3, ["m1", "m2", "m3"], DAY)]
    kept.memory.undo(["m2"])
    kept.memory.pin(["m3"])
    assert told(home) == [("forgotten", "tool", 1, ["m1"], DAY)]
    kept.after(DAY).run()
    assert told(home) == []


def test_what_the_user_forgot_or_collected_is_not_told(home: Path, kept: Remembering) -> None:
    kept.memory.forget(["m1"])
    with governing(home, kept, "user") as controller:
        controller.gc("memory")
    assert len(list(kept.store.scan(marked=True))) == 7
    assert told(home) == told(home, "other") == []


def test_what_the_hourly_job_let_a_policy_mark_is_told_until_it_is_taken_back_or_deleted(home: Path, kept: Remembering) -> None:
    with governing(home, kept, "job") as controller:
        controller.gc("memory")
        assert told(home) == [("memory", "job", 6, ["m1", "m2", "m3", "m4", "m5"], DAY)]
        assert told(home, "other") == [("memory", "job", 1, ["m0"], DAY)]
        kept.memory.undo(["m1"])
        assert told(home) == [("memory", "job", 5, ["m2", "m3", "m4", "m5", "m6"], DAY)]
        controller.undo(["m2"], "memory")
        assert told(home) == [("memory", "job", 4, ["m3", "m4", "m5", "m6"], DAY)]
        kept.memory.undo(["m3"])
        controller.configure("memory", {"older_than_days": 90})
        controller.gc("memory")
        assert told(home) == told(home, "other") == []


def test_status_tells_the_same(home: Path, kept: Remembering) -> None:
    kept.memory.forget(["m1"], "tool")
    with governing(home, kept, "job") as controller:
        controller.gc("memory")
    by_status = kept.memory.status()["told"]
    assert by_status == {part: [row for other, row in services.marked_of(str(home), PROJECT) if other == part] for part in by_status}  # type: ignore[attr-defined]


def test_where_it_cannot_be_written_the_collection_is_done_all_the_same(home: Path, kept: Remembering) -> None:
    (home / services.DATA_FOLDER / services.MARKED_FILE).mkdir(parents=True)
    with governing(home, kept, "job") as controller:
        (found,) = controller.gc("memory")["domains"]  # type: ignore[misc, attr-defined]
    assert len(found["marks"]) == 7
    assert "retention" in (home / "hooks.log").read_text()


@pytest.mark.parametrize(
    ("name", "value"), [("first", 10**400), ("first", 1e300), ("first", -1.0), ("count", -5), ("count", 0), ("count", True)]
)
def test_a_number_that_nobody_can_be_told_is_passed_over(home: Path, name: str, value: object) -> None:
    row = {"project": PROJECT, "by": "tool", "count": 1, "ids": ["m1"], "first": NOW + DAY}
    folder = home / "data" / "state"
    folder.mkdir(parents=True)
    (folder / "marked.json").write_text(json.dumps({"version": 1, "parts": {"rag": [{**row, name: value}, row]}}))
    assert told(home) == [("rag", "tool", 1, ["m1"], DAY)]
    assert all(marks(*row, NOW, "popkit memory") for row in services.marked_of(str(home), PROJECT))
