"""Fixtures for tests against the real OpenCode: one server for all, one project and one API a test, for each kind of provider."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.installs import npm

from . import installs
from .client import MODELS, Project, Server
from .scripted_api import BothApis


@pytest.fixture(scope="session")
def program() -> Path:
    """The real OpenCode, installed once; only a machine without npm skips."""
    if npm() is None:
        pytest.skip("npm is not on PATH, so OpenCode cannot be installed")
    return installs.install()


@pytest.fixture(scope="session")
def server(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """OpenCode, started once."""
    with Server(tmp_path_factory.mktemp("opencode"), program) as server:
        yield server


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
def project(tmp_path: Path, server: Server, api: BothApis, provider: str) -> Iterator[Project]:
    """A fresh project with the plugin and no session yet; `{work}` in scripts is its folder."""
    made = Project(server, tmp_path.name, api.url, provider)
    api.places["work"] = str(made.work)
    yield made
    made.leave()
