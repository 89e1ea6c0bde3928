"""What PopKit knows of a session of the real OpenCode: panel, bill, advice, memory, and the command inside it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hooks.utils.hosts.claude_code import entries, usage
from hooks.utils.hosts.opencode import host
from tests.client.scripted_api import call, say
from tests.patience import HANG_S

from .client import PLUGIN, OpenCodeHome
from .conversations import big_file, bodies, broken, twice
from .scripted_api import BothApis
from .serving import Serving


@pytest.fixture(autouse=True)
def _big(home: OpenCodeHome) -> None:
    (home.work / "src" / "big.js").write_text(big_file())


def kept(home: OpenCodeHome) -> Path:
    """The transcript that the helper keeps of the one session."""
    (found,) = [path for path in (home.popkit / "transcripts").rglob("*.jsonl") if "subagents" not in path.parts]
    return found


def test_the_panel_and_the_bill_tell_of_the_session(home: OpenCodeHome, api: BothApis) -> None:
    api.scripts["twice"] = twice()
    session = home.run("[[SCRIPT:twice]] go").session_id
    panel = json.loads(home.popkit_says("context", "--json").stdout)
    assert panel["session"] == session
    assert panel["calls"] == 2
    sent = usage.newest_usage(str(kept(home)))
    assert sent is not None
    assert panel["context"]["tokens"] == sent.tokens
    assert panel["context"]["window"] == (1_000_000 if home.provider == "anthropic" else 400_000)
    bill = json.loads(home.popkit_says("bill", "--json").stdout)
    assert bill["whole"]["requests"] == len(bodies(api, home))


def test_what_is_kept_is_private_and_holds_what_was_said_once(home: OpenCodeHome, api: BothApis) -> None:
    api.scripts.update(twice=twice(), again=[say("Yes.")])
    session = home.run("[[SCRIPT:twice]] go").session_id
    home.run("[[SCRIPT:again]] go on", "-s", session)
    assert kept(home).stat().st_mode & 0o777 == 0o600
    assert kept(home).parent.stat().st_mode & 0o777 == 0o700
    said = [json.loads(line) for line in kept(home).read_text().splitlines()]
    ids = [entry["uuid"] for entry in said]
    assert len(ids) == len(set(ids))
    assert [entry["parentUuid"] for entry in said] == [None, *ids[:-1]]
    assert [event.name for event in host.events_of(str(kept(home)))] == ["prompted", "call", "call", "prompted"]


def test_nothing_of_the_past_is_ever_cleared(home: OpenCodeHome, api: BothApis) -> None:
    api.scripts["twice"] = twice()
    session = home.run("[[SCRIPT:twice]] go").session_id
    before = kept(home).read_bytes()
    refused = home.popkit_says("context", "clear")
    assert "OpenCode keeps this session itself" in refused.stdout + refused.stderr
    assert kept(home).read_bytes() == before
    home.run("[[SCRIPT:twice]] go", "-s", session)
    assert broken(bodies(api, home)) == []


def test_an_export_is_read_as_the_session_is(home: OpenCodeHome, api: BothApis, tmp_path: Path) -> None:
    api.scripts["twice"] = twice()
    session = home.run("[[SCRIPT:twice]] go").session_id
    export = tmp_path / "export.json"
    export.write_text(home.opencode("export", session).stdout)

    def told(path: Path) -> list[dict[str, Any]]:
        names = ("type", "uuid", "parentUuid", "timestamp", "message", "sessionId")
        return [{name: entry.get(name) for name in names} for entry in entries.read(str(path), path.stat().st_size)]

    assert told(export) == told(kept(home))
    tried = json.loads(home.popkit_says("try", str(export), "--json").stdout)
    assert tried["calls"] == 2


def test_the_summariser_is_told_what_is_dead_and_what_must_survive(home: OpenCodeHome, api: BothApis) -> None:
    fails = call(("bash", {"command": "npm test", "description": "test"}))
    api.scripts["work"] = [call(("read", {"filePath": "{work}/src/app.js"})), fails, fails, say("It fails.")]
    with Serving(home) as server:
        server.say("[[SCRIPT:work]]")
        server.compact()
        server.say("[[SCRIPT:work]]")
    (asked,) = [request.text for request in api.requests if "anchored summary" in request.text]
    assert "npm test" in asked.partition("</conversation>")[2], "behind the conversation stands what PopKit says of it"
    events = [event.name for event in host.events_of(str(kept(home)))]
    assert events.count("compacted") == 1


def test_the_command_answers_without_a_request(home: OpenCodeHome, api: BothApis) -> None:
    api.scripts.update(twice=twice(), hello=[say("Hello.")])
    with Serving(home) as server:
        server.say("[[SCRIPT:twice]]")
        count = len(api.requests)
        server.command("popkit", "")
        assert len(api.requests) == count
        *_, last = server.messages()
        (part,) = last["parts"]
        assert "Expired" in part["text"]
        assert part["ignored"] is True
        server.say("[[SCRIPT:hello]]")
    requests = bodies(api, home)
    assert "Expired" not in json.dumps(requests[-1]["messages"])
    assert broken(requests) == []


@pytest.mark.parametrize("provider", ["anthropic"], indirect=True)
def test_the_package_has_the_types_that_opencode_declares(home: OpenCodeHome) -> None:
    modules = home.program.parents[2]
    options = json.loads((PLUGIN / "tsconfig.json").read_text())
    options["compilerOptions"].update(
        typeRoots=[str(modules / "@types")], paths={"@opencode-ai/plugin": [str(modules / "@opencode-ai/plugin/dist")]}
    )
    options["include"] = [str(PLUGIN / "*.ts")]
    config = home.root / "tsconfig.json"
    config.write_text(json.dumps(options))
    command = ["node", str(modules / "typescript" / "bin" / "tsc"), "-p", str(config)]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert checked.stdout == ""
