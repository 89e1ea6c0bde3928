"""Fixtures for tests against the real pi: one API and one project a test, for each kind of provider."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.opencode.scripted_api import BothApis

from .client import PROVIDERS, Machine, Project
from .installs import Program


@pytest.fixture
def api() -> Iterator[BothApis]:
    """An empty scripted API; the test adds scripts."""
    with BothApis() as server:
        yield server


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    """The kind of provider that the test runs with."""
    return request.param


@pytest.fixture
def machine(tmp_path: Path, pi_program: Program) -> Machine:
    """A fresh home."""
    return Machine(tmp_path, pi_program)


@pytest.fixture
def project(machine: Machine, api: BothApis, provider: str) -> Iterator[Project]:
    """A fresh project with the extension and no session yet; `{work}` in scripts is its folder."""
    opened = Project(machine, "shop", api.url, provider)
    api.places["work"] = str(opened.work)
    yield opened
    opened.leave()
