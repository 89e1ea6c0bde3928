"""What the tests of the rules begin with."""

from __future__ import annotations

import pytest

from tests.policy.scenario import Scenario


@pytest.fixture
def session() -> Scenario:
    """A context in which nothing has happened, under the shipped configuration."""
    return Scenario()
