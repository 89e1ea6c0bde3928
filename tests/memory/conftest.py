from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from popkit_retention.memory.stores.in_memory import InMemoryStore
from popkit_retention.memory.stores.protocol import Store
from popkit_retention.memory.stores.sqlite import SqliteStore

from .remembering import Remembering
from .taught import Session


@pytest.fixture(params=["in memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = InMemoryStore() if request.param == "in memory" else SqliteStore(str(tmp_path / "memory.sqlite"))
    yield opened
    opened.close()


@pytest.fixture
def remembering(store: Store) -> Remembering:
    return Remembering(store)


@pytest.fixture
def session() -> Session:
    begun = Session()
    begun.prompt("go on")
    return begun
