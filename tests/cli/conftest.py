"""Homes with memories in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.governed import Governed
from tests.cli.played import Played
from tests.cli.remembered import DAY_S, Remembered


@pytest.fixture
def played(tmp_path: Path) -> Played:
    return Played(tmp_path)


@pytest.fixture
def shop(tmp_path: Path) -> Remembered:
    return Remembered(tmp_path)


@pytest.fixture
def filled(shop: Remembered) -> Remembered:
    """Two sessions were learnt, and the user has said three things; a day later."""
    for id in ("first", "second"):
        shop.memory("admin", "learn", str(shop.session(id)))
    shop.add("Run the tests with make check before you commit, because the hooks do not.")
    shop.add("Ids are UUIDs of version 7, so that they sort by the time they were made.", "--key")
    shop.add("make check", "--kind", "command")
    shop.now += DAY_S
    return shop


@pytest.fixture
def house(tmp_path: Path) -> Governed:
    return Governed(tmp_path)
