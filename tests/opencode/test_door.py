"""The door in the real OpenCode, with both kinds of provider: what a result says when it enters, and that nothing sent is ever changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.client.scripted_api import call, say

from .client import PLUGIN, OpenCodeHome
from .conversations import HANDLE, LINES, big_file, bodies, broken, results, twice
from .scripted_api import BothApis
from .serving import Serving


@pytest.fixture
def big(home: OpenCodeHome) -> str:
    """A file of the project, and its text."""
    text = big_file()
    (home.work / "src" / "big.js").write_text(text)
    return text


def test_what_the_context_shows_enters_as_a_reference_and_comes_back_by_its_handle(home: OpenCodeHome, api: BothApis, big: str) -> None:
    api.scripts["twice"] = twice()
    ran = home.run("[[SCRIPT:twice]] go")
    assert ran.returncode == 0, ran.stderr
    requests = bodies(api, home)
    first, second = results(requests[-1]).values()
    assert f"{LINES}: " in first
    assert f"lines as in your read of src/big.js above, there 2–{LINES}" in second
    assert len(second) < len(big) / 5
    assert broken(requests) == []
    handle = HANDLE.search(second)
    assert handle is not None
    assert home.popkit_says("restore", handle[1]).stdout.rstrip("\n").endswith(big.rstrip("\n"))


def test_a_resumed_session_knows_what_it_has_shown(home: OpenCodeHome, api: BothApis, big: str) -> None:
    api.scripts.update(twice=twice(), again=[call(("read", {"filePath": "{work}/src/big.js"})), say("Still the same.")])
    session = home.run("[[SCRIPT:twice]] go").session_id
    home.run("[[SCRIPT:again]] go", "-s", session)
    requests = bodies(api, home)
    *_, third = results(requests[-1]).values()
    assert "lines 2–119 as in your read of src/big.js above" in third
    assert broken(requests) == []


def test_what_was_taken_back_is_leaned_on_no_more(home: OpenCodeHome, api: BothApis, big: str) -> None:
    api.scripts.update(hello=[say("Hello.")], read=[call(("read", {"filePath": "{work}/src/big.js"})), say("Read.")])
    with Serving(home) as server:
        server.say("[[SCRIPT:hello]]")
        server.say("[[SCRIPT:read]] once")
        server.take_back()
        server.say("[[SCRIPT:read]] again")
    (shown,) = results(bodies(api, home)[-1]).values()
    assert f"{LINES}: " in shown
    assert " as in your" not in shown


def test_after_a_compaction_a_file_enters_whole(home: OpenCodeHome, api: BothApis, big: str) -> None:
    api.scripts.update(twice=twice(), read=[call(("read", {"filePath": "{work}/src/big.js"})), say("Read.")])
    with Serving(home) as server:
        server.say("[[SCRIPT:twice]]")
        server.compact()
        server.say("[[SCRIPT:read]]")
    (shown,) = results(bodies(api, home)[-1]).values()
    assert " as in your" not in shown


def test_a_subagent_has_a_context_of_its_own(home: OpenCodeHome, api: BothApis, big: str) -> None:
    task = {"description": "look", "prompt": "[[SCRIPT:twice]]", "subagent_type": "general"}
    api.scripts.update(main=[call(("read", {"filePath": "{work}/src/big.js"})), call(("task", task)), say("Done.")], twice=twice())
    session = home.run("[[SCRIPT:main]] go").session_id
    of_subagent = [body for body in bodies(api, home) if "[[SCRIPT:twice]]" in json.dumps(body["messages"][0])]
    first, second = results(of_subagent[-1]).values()
    assert " as in your" not in first, "the subagent has not seen what the main thread has"
    assert "as in your read of src/big.js above" in second
    (kept,) = (home.popkit / "transcripts").rglob(f"{session}.jsonl")
    (agent,) = (kept.with_suffix("") / "subagents").iterdir()
    assert '"tool_result"' in agent.read_text()


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


@pytest.mark.parametrize("provider", ["anthropic"], indirect=True)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_helper_that_fails_changes_nothing(home: OpenCodeHome, api: BothApis, big: str, fault: str, tmp_path: Path) -> None:
    program, code = tmp_path / "popkit", FAULTS[fault]
    if code is not None:
        program.write_text("#!/usr/bin/env python3\n" + code)
        program.chmod(0o755)
    home.configure(plugin=[[PLUGIN.as_uri(), {"command": str(program)}]])
    home.extra_env["POPKIT_DOOR_MS"] = "150"
    api.scripts["twice"] = twice()
    ran = home.run("[[SCRIPT:twice]] go")
    assert ran.returncode == 0, ran.stderr
    assert "Both are the same." in ran.stdout
    requests = bodies(api, home)
    _, second = results(requests[-1]).values()
    assert second.rstrip("\n") == big.rstrip("\n")
    assert broken(requests) == []
