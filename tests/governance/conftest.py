"""Fixtures of the tests of governance: a home and a workspace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention.governance.data_folder import Folder
from popkit_retention.memory.stores.in_memory import InMemoryStore
from popkit_retention.memory.stores.protocol import Store
from popkit_retention.memory.stores.sqlite import SqliteStore
from tests.governance.collectors import LONG, NOISE, Workspace
from tests.governance.governed_memory import Governed
from tests.governance.stored import KeptDomain, Thing


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """$POPKIT_HOME, not made yet."""
    return tmp_path / "home"


@pytest.fixture
def folder(home: Path) -> Folder:
    return Folder(str(home))


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """With four things that can be archived."""
    things = {"aaaa": Thing(LONG), "bbbb": Thing(NOISE, session="session-2"), "cccc": Thing(b""), "dddd": Thing(b"\xff\x00 no text")}
    workspace = Workspace(tmp_path / "home", KeptDomain(things))
    with closing(workspace.log):
        yield workspace


@pytest.fixture(params=["in memory", "sqlite"])
def governed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Governed]:
    """Over a store in memory, or in SQLite."""
    store: Store = InMemoryStore() if request.param == "in memory" else SqliteStore(str(tmp_path / "memory.sqlite"))
    yield Governed(store).of(tmp_path)
    store.close()
