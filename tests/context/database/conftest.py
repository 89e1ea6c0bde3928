"""Databases to try: SQLite in a folder, and a real PostgreSQL that is started once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from popkit_retention.context.database.opening import Database, open_database
from tests import debian
from tests.context import postgresql

SQLITE, POSTGRESQL = "SQLite", "PostgreSQL"


@pytest.fixture(scope="session")
def server() -> Iterator[postgresql.Server]:
    if debian.postgresql() is None:
        pytest.skip("no PostgreSQL here: apt-get install postgresql")
    with postgresql.running() as found:
        print(f"PostgreSQL {found.version}")
        yield found


@pytest.fixture(params=[SQLITE, POSTGRESQL])
def environ(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """An environment that names a database which nobody has opened yet."""
    told = {"POPKIT_HOME": str(tmp_path / "home"), "LOGNAME": "alice"}
    if request.param == POSTGRESQL:
        server = request.getfixturevalue("server")
        told |= server.environ(server.new_database())
    return told


@pytest.fixture
def database(environ: dict[str, str]) -> Iterator[Database]:
    with open_database(environ) as found:
        yield found
