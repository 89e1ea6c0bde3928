"""In a session that goes on the hourly jobs run, too."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.memory.job import last_run
from popkit_retention.memory.stores import StoreUnavailable
from popkit_retention.memory.stores.sqlite import SqliteStore
from tests.patience import until

from .asking import Helper, Transcript


@pytest.fixture
def helped(tmp_path: Path) -> Iterator[Callable[..., Helper]]:
    started: list[Helper] = []

    def start(**env: str) -> Helper:
        started.append(Helper(tmp_path, **env))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def asked_of_store(helper: Helper, what: Callable[[SqliteStore], Any]) -> Any:
    path = helper.home / "memory.sqlite"
    if not path.exists():
        return None
    try:
        with closing(SqliteStore(str(path))) as store:
            return what(store)
    except StoreUnavailable:  # it is in the making
        return None


def texts(helper: Helper) -> list[str]:
    return asked_of_store(helper, lambda store: [item.text for item in store.scan()]) or []


def test_what_a_session_teaches_is_learnt_and_the_job_runs_while_it_goes_on(helped):
    helper = helped(POPKIT_HOURLY_S="0.5")
    assert "on" in helper.run("memory", "on")
    for name in ("cart_total.ts", "later_on.ts"):
        (helper.project / "src").mkdir(exist_ok=True)
        (helper.project / "src" / name).write_text("x\n")
    said: Transcript = helper.has_read("src/cart_total.ts", ["x"])
    until(lambda: "src/cart_total.ts" in texts(helper), "the session is learnt")
    until(lambda: asked_of_store(helper, last_run), "the job has run")
    said.called("toolu_01", "Read", {"file_path": str(helper.project / "src/later_on.ts")}, "1\ty")
    until(lambda: "src/later_on.ts" in texts(helper), "it is learnt again")
    assert asked_of_store(helper, lambda store: [item.sessions for item in store.scan()]) == [1, 1]
    assert helper.failures() == ""


def test_without_an_hour_gone_or_where_memory_is_off_nothing_is_started(helped):
    helper = helped()
    helper.run("memory", "on")
    helper.has_read("src/cart_total.ts", ["x"])
    helper.ask("/health")
    assert texts(helper) == []
    helper.run("memory", "off")
    off = helped(POPKIT_HOURLY_S="0.05")
    for _ in range(20):
        off.ask("/health")
    assert texts(off) == []
    assert off.failures() == ""


def test_what_tokens_are_worth_is_fitted_as_a_session_begins_once_there_are_windows_enough(tmp_path: Path, helped):
    home = tmp_path / "popkit"
    home.mkdir()
    now = time.time()
    rows = [
        ["five_hour", now - window * 20_000 - back, 62 - back / 60, now - window * 20_000 + 900] for window in range(9) for back in (600, 0)
    ]
    (home / "limits.json").write_text(json.dumps(sorted(rows[:-2], key=lambda row: row[1])))
    helper = helped()
    until((home / "limit-weights.json").exists, "a fit was tried")
    assert json.loads((home / "limit-weights.json").read_text())["weights"] == []
    assert helper.failures() == ""
