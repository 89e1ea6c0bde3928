"""A served home."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dashboard.board import Board, Served


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A page that is really served, of a session that worked."""
    served = Served(tmp_path_factory.mktemp("served"))
    served.worked()
    yield served
    served.close()


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return Board(tmp_path)
