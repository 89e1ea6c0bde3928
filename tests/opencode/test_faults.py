"""A helper that fails, in the real OpenCode: the session goes on as it would without PopKit."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.conformance.faults import SERVE, STAND_IN, line

from .client import PLUGIN, Project, Server
from .conversations import big_file, bodies, broken, results, twice
from .scripted_api import BothApis


@pytest.fixture(scope="module")
def hasty(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that waits for no helper for long."""
    with Server(tmp_path_factory.mktemp("hasty"), program, door_ms=150) as server:
        yield server


@pytest.mark.parametrize("fault", [*SERVE, "gone"])
def test_whatever_is_wrong_with_the_helper_results_enter_as_they_came(hasty: Server, api: BothApis, fault: str, tmp_path: Path) -> None:
    program, stand_in = tmp_path / "popkit", tmp_path / "stand_in.py"
    stand_in.write_text(STAND_IN)
    with tempfile.TemporaryDirectory(prefix="popkit-") as short:
        if fault != "gone":
            program.write_text(f"#!/bin/sh\n{line(fault, stand_in, short)}\n")
            program.chmod(0o755)
        project = Project(hasty, tmp_path.name, api.url, "anthropic", [[PLUGIN.as_uri(), {"command": str(program)}]])
        (project.work / "src" / "big.js").write_text(big_file())
        api.places["work"] = str(project.work)
        api.scripts["twice"] = twice()
        answer = project.say("[[SCRIPT:twice]] go")
        assert "Both are the same." in str(answer["parts"])
        requests = bodies(api, project)
        _, second = results(requests[-1]).values()
        assert second.rstrip("\n") == big_file().rstrip("\n")
        assert broken(requests) == []
        project.leave()
