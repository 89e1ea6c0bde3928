"""The hourly collection: where a policy wants it, once an hour, in the job's name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hooks.utils import archive
from hooks.utils.archive import index
from hooks.utils.state import services
from popkit_retention.governance import hourly_job
from popkit_retention.governance.controller import Controller
from popkit_retention.governance.data_folder import Folder
from popkit_retention.governance.errors import GovernanceError
from popkit_retention.memory.stores.sqlite import SqliteStore
from tests.governance.stocks import Rag
from tests.memory.remembering import DAY, HOUR, NOW, Remembering


class Collecting:
    """A home with three memories, of which one is young; and a clock."""

    def __init__(self, home: Path) -> None:
        self.home, self.now = home, NOW
        self.environ = {"POPKIT_HOME": str(home)}
        self.kept = Remembering(SqliteStore(str(home / "memory.sqlite")))
        for id, days in (("m1", 60), ("m2", 40), ("young", 1)):
            self.kept.keep(id, **dict.fromkeys(("created_at", "last_accessed", "tier_since"), NOW - days * DAY))

    def configure(self, **config: object) -> None:
        with self.controller() as controller:
            controller.configure("memory", config)

    def controller(self) -> Controller:
        return Controller(self.environ, "user", None, lambda: self.now)

    def collect(self, after: float = 0.0) -> list:
        self.now += after
        found: list = hourly_job.collect(self.environ, lambda: self.now)["domains"]  # type: ignore[assignment]
        return found

    def ids(self) -> list[str]:
        return [item.id for item in self.kept.store.scan()]


@pytest.fixture
def desk(home: Path):
    home.mkdir()
    opened = Collecting(home)
    yield opened
    opened.kept.store.close()


def test_it_marks_and_a_day_later_deletes_in_the_jobs_name(desk: Collecting) -> None:
    desk.configure(auto_gc=True)
    (found,) = desk.collect()
    assert [each["id"] for each in found["marks"]] == ["m1", "m2"]
    assert desk.kept.store.value("governed") == {"m1": "job", "m2": "job"}
    desk.kept.memory.undo(["m2"])
    desk.kept.memory.pin(["m2"])
    (found,) = desk.collect(DAY)
    assert [each["id"] for each in found["deletes"]] == ["m1"]
    assert desk.ids() == ["m2", "young"]
    with desk.controller() as controller:
        log = controller.log()["entries"]
        assert controller.verify()["ok"]
    assert {each["by"] for each in log if each["action"] in ("marked", "deleting", "deleted")} == {"job"}  # type: ignore[attr-defined]


def test_where_no_policy_wants_it_it_does_nothing(desk: Collecting, home: Path) -> None:
    assert desk.collect() == []
    assert not (home / "data").exists()
    desk.configure(older_than_days=1)
    assert desk.collect() == []
    assert desk.kept.store.value("governed") is None


def test_it_collects_once_an_hour(desk: Collecting) -> None:
    desk.configure(auto_gc=True)
    assert len(desk.collect()) == 1
    assert desk.collect(HOUR - 1) == []
    assert len(desk.collect(1)) == 1


def test_a_clock_that_leapt_back_does_not_stop_it(desk: Collecting) -> None:
    desk.configure(auto_gc=True)
    desk.collect()
    assert len(desk.collect(-30 * DAY)) == 1


def test_what_cannot_be_collected_is_told_and_tried_again_an_hour_later(desk: Collecting, home: Path) -> None:
    desk.configure(auto_gc=True)
    desk.kept.store.close()
    whole = (home / "memory.sqlite").read_bytes()
    (home / "memory.sqlite").write_bytes(b"no database at all" * 999)
    with pytest.raises(GovernanceError, match="Move it away"):
        desk.collect()
    (home / "memory.sqlite").write_bytes(whole)
    assert desk.collect(60) == []
    (found,) = desk.collect(HOUR)
    assert [each["id"] for each in found["marks"]] == ["m1", "m2"]


def test_every_domain_is_collected_whatever_becomes_of_another_one_and_the_index_is_worked_off(desk: Collecting, home: Path) -> None:
    rag = Rag(home, lambda: desk.now)
    ids = [rag.add(number, NOW - 60 * DAY, "context", "session-1") for number in range(3)]
    large = archive.NewRecord("toolu_large", "read", "large", json.dumps("word " * index.AT_ONCE))
    archive.add_records(rag.db, archive.Chain("session-2", "session-2"), [large], now=NOW)
    assert index.queue_length(rag.db) == 1
    for domain in ("memory", "rag"):
        with desk.controller() as controller:
            controller.configure(domain, {"auto_gc": True})
    desk.kept.store.close()
    (home / "memory.sqlite").write_bytes(b"no database at all" * 999)
    with pytest.raises(GovernanceError, match=r"memory\.sqlite"):
        desk.collect()
    assert sorted(rag.domain.marked()) == sorted(ids)
    assert index.queue_length(rag.db) == 0
    (home / "memory.sqlite").unlink()
    memories, contents = desk.collect(DAY)
    assert memories["marks"] == []
    assert sorted(each["id"] for each in contents["deletes"]) == sorted(ids)
    rag.close()


def test_policies_that_cannot_be_read_collect_nothing(desk: Collecting, home: Path) -> None:
    desk.configure(auto_gc=True)
    path = Path(Folder(str(home)).policies)
    path.write_text(path.read_text().replace('"older_than_days": 30', '"older_than_days": -5'))
    with pytest.raises(GovernanceError):
        desk.collect()
    assert desk.kept.store.value("governed") is None
    assert not (path.parent / services.NOTE).exists()
