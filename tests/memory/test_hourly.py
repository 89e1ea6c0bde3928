"""The hourly job of an agent's own memory, on a thread that ends with it."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import pytest

from popkit_retention.memory import InMemoryStore, Memory, SqliteStore
from popkit_retention.memory.job import HourlyJob, for_thread, last_run
from popkit_retention.memory.stores import Store
from tests.patience import until

from .remembering import DAY, HOUR, NOW, Remembering


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "popkit-memory-job"]


def test_the_job_runs_at_once_and_its_thread_ends_with_the_memory(store: Store):
    Remembering(store).keep("old", tier="HOT", created_at=NOW - 9 * DAY, last_accessed=NOW - 9 * DAY, profile="code")
    with Memory(store, "agent", lambda: NOW, job="hourly"):
        until(lambda: last_run(store), "the job has run")
        assert [thread.daemon for thread in threads()] == [True]
        assert [item.tier for item in store.get(["old"])] == ["COLD"]
    assert threads() == []


def test_it_runs_again_when_an_hour_has_passed(store: Store):
    kept = Remembering(store)
    work = HourlyJob(lambda: Memory(for_thread(store), "agent", lambda: kept.now), every_s=0.01)
    until(lambda: last_run(store), "it runs")
    kept.now += HOUR
    until(lambda: last_run(store)["at"] == kept.now, "it runs again")
    work.close()
    assert work.failure is None


def test_what_goes_wrong_is_kept_and_tried_again(tmp_path: Path):
    path = tmp_path / "there" / "memory.sqlite"
    tmp_path.joinpath("there").write_text("in the way")
    work = HourlyJob(lambda: Memory(SqliteStore(str(path)), "agent", lambda: NOW), every_s=0.01)
    until(lambda: work.failure, "it fails")
    tmp_path.joinpath("there").unlink()
    until(lambda: path.exists() and work.failure is None, "it works")
    work.close()


def test_a_memory_that_is_dropped_takes_its_thread_along():
    memory = Memory(InMemoryStore(), "agent", lambda: NOW, job="hourly")
    assert len(threads()) == 1
    del memory
    gc.collect()
    until(lambda: not threads(), "the thread has ended")


def test_another_job_is_refused():
    with pytest.raises(ValueError, match="hourly"):
        Memory(InMemoryStore(), job="daily")
