"""An archive of its own for each test."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from popkit_retention.core import archive


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    """An archive in memory, through a connection as sqlite3 makes it by default."""
    connection = sqlite3.connect(":memory:")
    archive.migrate(connection)
    yield connection
    connection.close()


@pytest.fixture
def opened(tmp_path) -> Iterator[sqlite3.Connection]:
    """An archive in a file."""
    connection = archive.open_archive(str(tmp_path / "archive.sqlite"))
    yield connection
    connection.close()
