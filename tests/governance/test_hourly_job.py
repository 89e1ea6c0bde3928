"""The hourly collection: where a policy wants it, once an hour, in the job's name. What it and tools have marked is told as long as it
is so, whoever takes it back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.core import archive
from popkit_retention.core.archive import index
from popkit_retention.core.io.home import GOVERNANCE
from popkit_retention.core.state import collection, marked
from popkit_retention.core.views.marks import marks
from popkit_retention.governance import GovernanceError, hourly_job
from popkit_retention.governance.controller import Controller
from popkit_retention.governance.data_folder import Folder
from popkit_retention.memory import folder
from popkit_retention.memory.memory import Memory
from popkit_retention.memory.stores.sqlite import SqliteStore
from tests.governance.stocks import Rag
from tests.memory.remembering import DAY, HOUR, NOW, PROJECT, Remembering


class Collecting:
    """A home with three memories, of which one is young; and a clock."""

    def __init__(self, home: Path) -> None:
        self.home, self.now = home, NOW
        self.environ = {"POPKIT_HOME": str(home)}
        self.kept = Remembering(SqliteStore(str(home / "memory.sqlite")))
        for id, days in (("m1", 60), ("m2", 40), ("young", 1)):
            self.kept.keep(id, NOW - days * DAY)

    def configure(self, **config: object) -> None:
        with self.controller() as controller:
            controller.configure("memory", config)

    def controller(self) -> Controller:
        return Controller(self.environ, "user", None, lambda: self.now)

    def collect(self, after: float = 0.0) -> list:
        self.now += after
        domains: list = hourly_job.collect(self.environ, lambda: self.now)["domains"]  # type: ignore[assignment]
        return domains

    def ids(self) -> list[str]:
        return [item.id for item in self.kept.store.scan()]


@pytest.fixture
def collecting(home: Path):
    home.mkdir()
    opened = Collecting(home)
    yield opened
    opened.kept.store.close()


def test_it_marks_and_a_day_later_deletes_in_the_jobs_name(collecting: Collecting) -> None:
    collecting.configure(auto_gc=True)
    (collected,) = collecting.collect()
    assert [verdict["id"] for verdict in collected["marks"]] == ["m1", "m2"]
    assert collecting.kept.store.value("governed") == {"m1": "job", "m2": "job"}
    collecting.kept.memory.undo(["m2"])
    collecting.kept.memory.pin(["m2"])
    (collected,) = collecting.collect(DAY)
    assert [verdict["id"] for verdict in collected["deletes"]] == ["m1"]
    assert collecting.ids() == ["m2", "young"]
    with collecting.controller() as controller:
        log = controller.log()["entries"]
        assert controller.verify()["ok"]
    assert {entry["by"] for entry in log if entry["action"] in ("marked", "deleting", "deleted")} == {"job"}  # type: ignore[attr-defined]


def test_where_no_policy_wants_it_it_does_nothing(collecting: Collecting, home: Path) -> None:
    assert collecting.collect() == []
    assert not (home / "data").exists()
    collecting.configure(older_than_days=1)
    assert collecting.collect() == []
    assert collecting.kept.store.value("governed") is None


def test_it_collects_once_an_hour(collecting: Collecting) -> None:
    collecting.configure(auto_gc=True)
    assert len(collecting.collect()) == 1
    assert collecting.collect(HOUR - 1) == []
    assert len(collecting.collect(1)) == 1


def test_a_clock_that_leapt_back_does_not_stop_it(collecting: Collecting) -> None:
    collecting.configure(auto_gc=True)
    collecting.collect()
    assert len(collecting.collect(-30 * DAY)) == 1


def test_what_cannot_be_collected_is_reported_and_tried_again_an_hour_later(collecting: Collecting, home: Path) -> None:
    collecting.configure(auto_gc=True)
    collecting.kept.store.close()
    whole = (home / "memory.sqlite").read_bytes()
    (home / "memory.sqlite").write_bytes(b"no database at all" * 999)
    with pytest.raises(GovernanceError, match="Move it away"):
        collecting.collect()
    (home / "memory.sqlite").write_bytes(whole)
    assert collecting.collect(60) == []
    (collected,) = collecting.collect(HOUR)
    assert [verdict["id"] for verdict in collected["marks"]] == ["m1", "m2"]


def test_every_domain_is_collected_even_if_another_fails_and_the_index_catches_up(collecting: Collecting, home: Path) -> None:
    rag = Rag(home, lambda: collecting.now)
    ids = [rag.add(number, NOW - 60 * DAY, "context", "session-1") for number in range(3)]
    large = archive.NewRecord("toolu_large", "read", "large", json.dumps("word " * index.AT_ONCE))
    archive.add_records(rag.db, archive.Chain("session-2", "session-2"), [large], now=NOW)
    assert index.queue_length(rag.db) == 1
    for domain in ("memory", "rag"):
        with collecting.controller() as controller:
            controller.configure(domain, {"auto_gc": True})
    collecting.kept.store.close()
    (home / "memory.sqlite").write_bytes(b"no database at all" * 999)
    with pytest.raises(GovernanceError, match=r"memory\.sqlite"):
        collecting.collect()
    assert sorted(rag.domain.marked()) == sorted(ids)
    assert index.queue_length(rag.db) == 0
    (home / "memory.sqlite").unlink()
    memories, contents = collecting.collect(DAY)
    assert memories["marks"] == []
    assert sorted(verdict["id"] for verdict in contents["deletes"]) == sorted(ids)
    rag.close()


def test_policies_that_cannot_be_read_collect_nothing(collecting: Collecting, home: Path) -> None:
    collecting.configure(auto_gc=True)
    path = Path(Folder(str(home)).policies)
    path.write_text(path.read_text().replace('"older_than_days": 30', '"older_than_days": -5'))
    with pytest.raises(GovernanceError):
        collecting.collect()
    assert collecting.kept.store.value("governed") is None
    assert not (path.parent / collection.NOTE).exists()


# --- what is published of marks -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(home: Path):
    home.mkdir()
    remembering = Remembering(SqliteStore(str(home / "memory.sqlite")))
    remembering.memory = Memory(remembering.store, PROJECT, lambda: remembering.now, folder.Folder(str(home)))
    for number in range(7):
        remembering.keep(f"m{number}", NOW - 60 * DAY, project=PROJECT if number else "other")
    yield remembering
    remembering.store.close()


def published_marks(home: Path, project: str = PROJECT) -> list[tuple]:
    return [(part, row["by"], row["count"], row["ids"], row["first"] - NOW) for part, row in marked.marked_of(str(home), project)]


def governing(home: Path, kept: Remembering, by: str) -> Controller:
    return Controller({"POPKIT_HOME": str(home)}, by, None, lambda: kept.now)


def test_what_a_tool_forgot_is_reported_until_it_is_taken_back_or_deleted(home: Path, kept: Remembering) -> None:
    kept.memory.forget(["m1", "m2", "m3"], "tool")
    assert published_marks(home) == [("forgotten", "tool", 3, ["m1", "m2", "m3"], DAY)]
    kept.memory.undo(["m2"])
    kept.memory.pin(["m3"])
    assert published_marks(home) == [("forgotten", "tool", 1, ["m1"], DAY)]
    kept.after(DAY).run()
    assert published_marks(home) == []


def test_what_the_user_forgot_or_collected_is_not_reported(home: Path, kept: Remembering) -> None:
    kept.memory.forget(["m1"])
    with governing(home, kept, "user") as controller:
        controller.gc("memory")
    assert len(list(kept.store.scan(marked=True))) == 7
    assert published_marks(home) == published_marks(home, "other") == []


def test_marks_set_by_the_hourly_job_are_reported_until_unmarked_or_deleted(home: Path, kept: Remembering) -> None:
    with governing(home, kept, "job") as controller:
        controller.gc("memory")
        assert published_marks(home) == [("memory", "job", 6, ["m1", "m2", "m3", "m4", "m5"], DAY)]
        assert published_marks(home, "other") == [("memory", "job", 1, ["m0"], DAY)]
        kept.memory.undo(["m1"])
        assert published_marks(home) == [("memory", "job", 5, ["m2", "m3", "m4", "m5", "m6"], DAY)]
        controller.undo(["m2"], "memory")
        assert published_marks(home) == [("memory", "job", 4, ["m3", "m4", "m5", "m6"], DAY)]
        kept.memory.undo(["m3"])
        controller.configure("memory", {"older_than_days": 90})
        controller.gc("memory")
        assert published_marks(home) == published_marks(home, "other") == []


def test_status_tells_the_same(home: Path, kept: Remembering) -> None:
    kept.memory.forget(["m1"], "tool")
    with governing(home, kept, "job") as controller:
        controller.gc("memory")
    by_status = kept.memory.status()["told"]
    assert by_status == {part: [row for other, row in marked.marked_of(str(home), PROJECT) if other == part] for part in by_status}  # type: ignore[attr-defined]


def test_where_it_cannot_be_written_the_collection_is_done_all_the_same(home: Path, kept: Remembering) -> None:
    (home / GOVERNANCE / marked.MARKED_FILE).mkdir(parents=True)
    with governing(home, kept, "job") as controller:
        (collected,) = controller.gc("memory")["domains"]  # type: ignore[misc, attr-defined]
    assert len(collected["marks"]) == 7
    assert "retention" in (home / "hooks.log").read_text()


@pytest.mark.parametrize(
    ("name", "value"), [("first", 10**400), ("first", 1e300), ("first", -1.0), ("count", -5), ("count", 0), ("count", True)]
)
def test_a_number_that_cannot_be_shown_is_passed_over(home: Path, name: str, value: object) -> None:
    row = {"project": PROJECT, "by": "tool", "count": 1, "ids": ["m1"], "first": NOW + DAY}
    folder = home / "data" / "state"
    folder.mkdir(parents=True)
    (folder / "marked.json").write_text(json.dumps({"version": 1, "parts": {"rag": [{**row, name: value}, row]}}))
    assert published_marks(home) == [("rag", "tool", 1, ["m1"], DAY)]
    assert all(marks(*row, NOW, "popkit memory") for row in marked.marked_of(str(home), PROJECT))
