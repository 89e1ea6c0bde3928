"""A helper for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .asking import Helper


@pytest.fixture
def helper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Helper]:
    """A helper in a folder of its own, whose short path is good for a socket."""
    made = Helper(tmp_path_factory.mktemp("h"))
    yield made
    made.stop()
