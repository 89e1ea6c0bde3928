"""What the tests of governance share: a home and a desk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention.governance.data_folder import Folder
from tests.governance.archived import LONG, NOISE
from tests.governance.collectors import Desk
from tests.governance.stored import KeptDomain, Thing


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """$POPKIT_HOME, not made yet."""
    return tmp_path / "home"


@pytest.fixture
def folder(home: Path) -> Folder:
    return Folder(str(home))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """With four things that can be archived."""
    things = {"aaaa": Thing(LONG), "bbbb": Thing(NOISE, session="session-2"), "cccc": Thing(b""), "dddd": Thing(b"\xff\x00 no text")}
    desk = Desk(tmp_path / "home", KeptDomain(things))
    with closing(desk.log):
        yield desk
