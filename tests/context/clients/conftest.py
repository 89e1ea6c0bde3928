"""The providers' own packages against a scripted API, with builds that tests can tell from the outside."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .providers import Providers


@pytest.fixture
def api() -> Iterator[Providers]:
    with Providers() as running:
        yield running
