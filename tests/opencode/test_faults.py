"""A helper that fails, in the real OpenCode: the session goes on as it would without PopKit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .client import PLUGIN, Project, Server
from .conversations import big_file, bodies, broken, results, twice
from .scripted_api import BothApis

LISTEN = """import json, os, socket, tempfile, time
path = os.path.join(tempfile.mkdtemp(), "s")
s = socket.socket(socket.AF_UNIX)
s.bind(path)
s.listen(16)
print(json.dumps({"socket": path, "protocol": 1}), flush=True)
"""
ANSWER = (
    LISTEN
    + """while True:
    c, _ = s.accept()
    c.recv(65536)
    body = BODY
    c.sendall(b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
    c.close()
"""
)
# A helper that fails, and the program that is started in its place.
FAULTS = {
    "absent": None,
    "ends at once": "raise SystemExit(3)\n",
    "says nothing": "import time\ntime.sleep(600)\n",
    "says rubbish": "print('{\"socket\": 7}', flush=True)\nimport time\ntime.sleep(600)\n",
    "does not answer": LISTEN + "time.sleep(600)\n",
    "answers rubbish": ANSWER.replace("BODY", "b'[\"output\"'"),
    "answers another shape": ANSWER.replace("BODY", 'b\'{"output": 7, "text": []}\''),
}


@pytest.fixture(scope="module")
def hasty(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that waits for no helper for long."""
    with Server(tmp_path_factory.mktemp("hasty"), program, door_ms=150) as server:
        yield server


@pytest.mark.parametrize("fault", FAULTS)
def test_a_helper_that_fails_changes_nothing(hasty: Server, api: BothApis, fault: str, tmp_path: Path) -> None:
    program, code = tmp_path / "popkit", FAULTS[fault]
    if code is not None:
        program.write_text("#!/usr/bin/env python3\n" + code)
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
