"""Fixtures for tests against the real client: both ends of the supported range (see ends.py), one home and one API per test."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import installs
from .client import ClientHome
from .compacted import Worked, work
from .ends import OLDEST_IF_SLOW
from .kept import Kept, kept
from .plugin_copy import copied
from .probe import Probe
from .scripted_api import ScriptedApi
from .watching import Watch


@pytest.fixture(scope="session")
def clients() -> dict[str, installs.Installed]:
    """The oldest supported and the newest client, installed once; only a machine without npm skips."""
    if installs.npm() is None:
        pytest.skip("npm is not on PATH, so the real client cannot be installed")
    versions = {"oldest": installs.OLDEST_SUPPORTED, "newest": installs.newest_version()}
    return {end: installs.install(version) for end, version in versions.items()}


@pytest.fixture(scope="session", autouse=True)
def watch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watch]:
    """Over PopKit's processes in all homes of these tests."""
    ClientHome.watch = Watch(tmp_path_factory.mktemp("watch"))
    yield ClientHome.watch
    ClientHome.watch = None


@pytest.fixture(autouse=True)
def promises(request: pytest.FixtureRequest, watch: Watch) -> Iterator[None]:
    """PopKit writes into no file of the client's, but where a person asks for it (`asked_to_write`: the names of those files), and sends
    nothing."""
    yield
    asked = request.node.get_closest_marker("asked_to_write")
    allowed = asked.args if asked else ()
    assert [note for note in watch.seen() if not any(f"/{name}" in note for name in allowed)] == []


@pytest.fixture(params=OLDEST_IF_SLOW)
def client_version(request: pytest.FixtureRequest) -> str:
    """Which end of the supported range the test runs against."""
    return request.param


@pytest.fixture
def installed(clients: dict[str, installs.Installed], client_version: str) -> installs.Installed:
    """The client of this parameter."""
    return clients[client_version]


@pytest.fixture(scope="session")
def hooks_alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin without code inside the client, as in those that know none."""
    copy = copied(tmp_path_factory.mktemp("hooks_alone") / "popkit")
    hooks = copy / "hooks" / "hooks.json"
    config = json.loads(hooks.read_text())
    del config["modules"]
    hooks.write_text(json.dumps(config))
    return copy


@pytest.fixture
def api() -> Iterator[ScriptedApi]:
    """An empty scripted API; the test adds scripts."""
    with ScriptedApi() as server:
        yield server


@pytest.fixture
def probe(tmp_path: Path) -> Probe:
    """The shipped hook probe with a record folder of its own."""
    return Probe(tmp_path / "probe_records")


@pytest.fixture
def home(tmp_path: Path, installed: installs.Installed, api: ScriptedApi, probe: Probe) -> ClientHome:
    """A fresh home and project; `{work}` in scripts is the project folder."""
    client_home = ClientHome(tmp_path, installed, api.url, probe.env)
    api.places["work"] = str(client_home.work)
    return client_home


@pytest.fixture(scope="session")
def kept_work(clients: dict[str, installs.Installed]) -> Iterator[Kept]:
    """A session that has worked in the newest client, played once for all files that go on from it: one worker gets them all."""
    with kept(clients["newest"], work) as session:
        yield session


@pytest.fixture
def worked(kept_work: Kept) -> Worked:
    """As it was when it had been played."""
    return kept_work.as_it_was()
