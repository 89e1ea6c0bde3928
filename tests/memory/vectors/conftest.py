"""Stores of vectors of every kind, each fresh; those that cannot be had here are skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from popkit_retention.extras import ExtraMissing
from popkit_retention.memory.stores.protocol import StoreUnavailable
from popkit_retention.memory.vectors.protocol import VectorStore
from popkit_retention.vector_stores.in_memory import InMemoryVectorStore
from popkit_retention.vector_stores.pgvector import PgVectorStore
from popkit_retention.vector_stores.sqlite_vec import SqliteVecStore
from tests.context import postgresql


class Kind(NamedTuple):
    """`make` makes a fresh store; `again`, one more connection to the contents of another, None where there is none."""

    make: Callable[[], VectorStore]
    again: Callable[[VectorStore], VectorStore] | None = None


@pytest.fixture(scope="session")
def vector_server() -> Iterator[postgresql.Server]:
    programs = postgresql.with_vectors()
    if programs is None:
        pytest.skip("no PostgreSQL with the extension vector here: pip install pgserver, or apt-get install postgresql-NN-pgvector")
    with postgresql.running(programs) as running:
        yield running


@pytest.fixture(scope="session")
def address(vector_server: postgresql.Server) -> str:
    """The address of a database on it."""
    name = vector_server.new_database()
    return f"postgresql://{postgresql.USER}:{postgresql.PASSWORD}@127.0.0.1:{vector_server.port}/{name}"


@pytest.fixture
def sqlite_vec(tmp_path: Path) -> Kind:
    numbers = iter(range(10_000))
    try:
        SqliteVecStore(":memory:").close()
    except (StoreUnavailable, ExtraMissing) as error:
        pytest.skip(str(error))
    return Kind(lambda: SqliteVecStore(tmp_path / f"{next(numbers)}.sqlite"), lambda store: SqliteVecStore(store.path, busy_s=60))


_TABLES = iter(range(1_000_000))


@pytest.fixture
def pgvector(address: str) -> Kind:
    return Kind(lambda: PgVectorStore(address, f"t{next(_TABLES)}"), lambda store: PgVectorStore(address, store.table))


@pytest.fixture(params=["this process", "sqlite-vec", "pgvector"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """A kind of store: the reference, and the two that databases keep."""
    if request.param == "this process":
        return Kind(InMemoryVectorStore)
    return request.getfixturevalue(request.param.replace("-", "_"))
