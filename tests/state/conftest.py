"""What the tests of state share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hooks.processes import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Our folder, below one where nothing else may appear."""
    return Home(tmp_path)
