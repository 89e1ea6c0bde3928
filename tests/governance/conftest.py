"""What the tests of governance share: a home, and a process whose forks may be killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from popkit_retention.governance.folder import Folder
from tests.reclaim.errands import Errands


@pytest.fixture(scope="module")
def errands():
    errands = Errands()
    yield errands
    errands.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """$POPKIT_HOME, not made yet."""
    return tmp_path / "home"


@pytest.fixture
def folder(home: Path) -> Folder:
    return Folder(str(home))
