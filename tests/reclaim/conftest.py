"""What the tests of the operations share: a shop, and a process that runs commands and hooks for it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from tests.kit.forks import Forks
from tests.reclaim.looks import looked
from tests.reclaim.shops import Shop, worked

_MEMORY = Path("/dev/shm")  # noqa: S108  files that are in no need of a disk


@pytest.fixture
def profile() -> str:
    """The profile that the shop's user has configured; a module about another one sets it for its tests."""
    return "spec"


@pytest.fixture
def shop(tmp_path: Path, forks: Forks, profile: str) -> Shop:
    return Shop(tmp_path, forks, profile=profile)


@pytest.fixture
def cold(shop: Shop) -> Shop:
    """A session that looked around long ago, whose prompt cache is cold."""
    shop.write(looked(str(shop.project)))
    return shop


@pytest.fixture
def working(shop: Shop) -> Shop:
    """A session with a result of every fate."""
    shop.write(worked(str(shop.project)))
    return shop


@pytest.fixture
def cleared(working: Shop) -> Shop:
    """A session after a clear."""
    working.clear()
    working.at += 60
    return working


@pytest.fixture
def memory():
    """A folder in memory, where there is one."""
    folder = Path(tempfile.mkdtemp(dir=_MEMORY if _MEMORY.is_dir() else None))
    yield folder
    shutil.rmtree(folder)
