"""Fixtures for tests against the real OpenCode: one server for all, one project and one API a test, for each kind of provider."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .client import MODELS, Project, Server
from .scripted_api import BothApis


@pytest.fixture(scope="package")
def server(opencode_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """OpenCode, started once for this folder alone: it does something all the time, asked or not."""
    with Server(tmp_path_factory.mktemp("opencode"), opencode_program) as server:
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
    opened = Project(server, tmp_path.name, api.url, provider)
    api.places["work"] = str(opened.work)
    yield opened
    opened.leave()
