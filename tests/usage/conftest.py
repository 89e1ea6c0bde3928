"""Databases to try: SQLite in a folder, and a real PostgreSQL that is started once."""

from __future__ import annotations

import gc
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from popkit_retention.usage import postgres, sqlite
from popkit_retention.usage.configured_database import open_store
from popkit_retention.usage.usage_store import UsageStore
from tests import debian
from tests.context import postgresql
from tests.kit.forks import Forks
from tests.patience import HANG_S, until

SQLITE, POSTGRESQL = "SQLite", "PostgreSQL"


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """A database is waited for as long as it takes: the machine may be busy."""
    with pytest.MonkeyPatch.context() as patch:
        for of in (postgres, sqlite):
            patch.setattr(of, "PATIENCE_S", HANG_S)
        yield


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """With the driver of PostgreSQL."""
    forks = Forks(installed=True)
    yield forks
    forks.close()


@pytest.fixture(scope="session")
def server() -> Iterator[postgresql.Server]:
    if debian.postgresql() is None:
        pytest.skip("no PostgreSQL here: apt-get install postgresql")
    with postgresql.running() as running:
        print(f"PostgreSQL {running.version}")
        yield running


@pytest.fixture(params=[SQLITE, POSTGRESQL])
def unopened(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """An environment that names a database which nobody has opened yet."""
    variables = {"POPKIT_HOME": str(tmp_path / "home"), "LOGNAME": "alice"}
    if request.param == POSTGRESQL:
        server = request.getfixturevalue("server")
        variables |= server.environ(server.new_database())
    return variables


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of ours with an empty database of today's tables."""
    folder = tmp_path_factory.mktemp("made") / "home"
    open_store({"POPKIT_HOME": str(folder)}).close()
    return folder


@pytest.fixture(scope="session")
def empty_on_server(server: postgresql.Server, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of an empty database of today's tables."""
    name = server.new_database()
    open_store({"POPKIT_HOME": str(tmp_path_factory.mktemp("none")), **server.environ(name)}).close()
    return name


@pytest.fixture(params=[SQLITE, POSTGRESQL])
def environ(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """An environment that names an empty database; its tables are copies, for making them takes longer than most tests."""
    variables = {"POPKIT_HOME": str(tmp_path / "home"), "LOGNAME": "alice"}
    if request.param == POSTGRESQL:
        server = request.getfixturevalue("server")
        variables |= server.environ(server.new_database(like=request.getfixturevalue("empty_on_server")))
    else:
        shutil.copytree(request.getfixturevalue("empty_file"), tmp_path / "home")
    return variables


@pytest.fixture
def store(environ: dict[str, str]) -> Iterator[UsageStore]:
    with open_store(environ) as opened:
        yield opened


@pytest.fixture
def collected() -> Iterator[None]:
    """What threads of this test leave behind does not wait for a later one."""
    before = set(threading.enumerate())
    yield
    until(lambda: not any(thread.name.startswith("popkit") for thread in set(threading.enumerate()) - before), "its threads to end")
    gc.collect()
