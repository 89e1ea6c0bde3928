"""A served home."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dashboard.board import Board


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return Board(tmp_path)
