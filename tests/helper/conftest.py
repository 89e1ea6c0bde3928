"""A helper for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.kit.forks import Forks

from .asking import Helper


@pytest.fixture(scope="session", autouse=True)
def forked(forks: Forks) -> Iterator[None]:
    """Helpers are forks of a process that has loaded what they load, which is most of the time that one takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Helper, "forks", forks)
        yield


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Helpers are started as a client starts them."""
    monkeypatch.setattr(Helper, "forks", None)


@pytest.fixture
def helper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Helper]:
    """A helper in a folder of its own, whose short path is good for a socket."""
    running = Helper(tmp_path_factory.mktemp("h"))
    yield running
    running.stop()


@pytest.fixture
def helper_with(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[dict[str, Any]], Helper]]:
    """A helper under a configuration."""
    helpers: list[Helper] = []

    def start(config: dict[str, Any]) -> Helper:
        helpers.append(Helper(tmp_path_factory.mktemp("h"), config=config))
        return helpers[-1]

    yield start
    for each in helpers:
        each.stop()
