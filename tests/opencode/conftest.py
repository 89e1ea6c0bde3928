"""Fixtures for tests against the real OpenCode: one home and one API a test, for each kind of provider."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.installs import npm

from . import installs
from .client import MODELS, OpenCodeHome
from .scripted_api import BothApis


@pytest.fixture(scope="session")
def program() -> Path:
    """The real OpenCode, installed once; only a machine without npm skips."""
    if npm() is None:
        pytest.skip("npm is not on PATH, so OpenCode cannot be installed")
    return installs.install()


@pytest.fixture
def api() -> Iterator[BothApis]:
    """An empty scripted API; the test adds scripts."""
    with BothApis() as server:
        yield server


@pytest.fixture(params=MODELS)
def provider(request: pytest.FixtureRequest) -> str:
    """The kind of provider that the test runs with."""
    return request.param


@pytest.fixture
def home(tmp_path: Path, program: Path, api: BothApis, provider: str) -> OpenCodeHome:
    """A fresh home and project with the plugin; `{work}` in scripts is the project folder."""
    made = OpenCodeHome(tmp_path, program, api.url, provider)
    api.places["work"] = str(made.work)
    return made
