"""What PopKit knows of a session of the real OpenCode: panel, bill, advice, memory, and the command inside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hooks.utils.hosts.claude_code import entries, usage
from hooks.utils.hosts.opencode import host
from hooks.utils.state import memory, store
from tests.client.scripted_api import call, say
from tests.patience import until

from .client import WINDOWS, Project
from .conversations import big_file, bodies, broken, twice
from .scripted_api import BothApis

ONCE = pytest.mark.parametrize("provider", ["anthropic"], indirect=True)


@pytest.fixture(autouse=True)
def _big(project: Project) -> None:
    (project.work / "src" / "big.js").write_text(big_file())


def test_panel_and_bill_tell_of_the_session_and_what_is_kept_is_private(project: Project, api: BothApis) -> None:
    api.scripts.update(twice=twice(), again=[say("Yes.")])
    project.say("[[SCRIPT:twice]] go")
    kept = project.kept()
    panel = json.loads(project.popkit_says("context", "--json").stdout)
    assert (panel["session"], panel["calls"]) == (project.session, 2)
    sent = usage.newest_usage(str(kept))
    assert sent is not None
    assert panel["context"]["tokens"] == sent.tokens
    assert panel["context"]["window"] == WINDOWS[project.provider]
    bill = json.loads(project.popkit_says("bill", str(kept), "--json").stdout)
    assert bill["whole"]["requests"] == len(bodies(api, project))
    project.say("[[SCRIPT:again]] go on")
    kept = project.kept()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    said = [json.loads(line) for line in kept.read_text().splitlines()]
    ids = [entry["uuid"] for entry in said]
    assert len(ids) == len(set(ids))
    assert [entry["parentUuid"] for entry in said] == [None, *ids[:-1]]
    assert [event.name for event in host.events_of(str(kept))] == ["prompted", "call", "call", "prompted"]


@ONCE
def test_nothing_of_the_past_is_ever_cleared(project: Project, api: BothApis) -> None:
    api.scripts["twice"] = twice()
    project.say("[[SCRIPT:twice]] go")
    before = project.kept().read_bytes()
    refused = project.popkit_says("context", "clear")
    assert "OpenCode keeps this session itself" in " ".join(refused.stderr.split())
    assert project.kept().read_bytes() == before
    project.say("[[SCRIPT:twice]] go")
    assert broken(bodies(api, project)) == []


@ONCE
def test_an_export_is_read_as_the_session_is(project: Project, api: BothApis, tmp_path: Path) -> None:
    api.scripts["twice"] = twice()
    project.say("[[SCRIPT:twice]] go")
    export = tmp_path / "export.json"
    export.write_text(project.opencode("export", project.session).stdout)

    def told(path: Path) -> list[dict[str, Any]]:
        names = ("type", "uuid", "parentUuid", "timestamp", "message", "sessionId")
        return [{name: entry.get(name) for name in names} for entry in entries.read(str(path), path.stat().st_size)]

    assert told(export) == told(project.kept())
    tried = json.loads(project.popkit_says("try", str(export), "--json").stdout)
    assert tried["calls"] == 2


def test_the_summariser_is_told_what_is_dead_and_what_must_survive(project: Project, api: BothApis) -> None:
    fails = call(("bash", {"command": "npm test", "description": "test"}))
    api.scripts["work"] = [call(("read", {"filePath": "{work}/src/app.js"})), fails, fails, say("It fails.")]
    project.say("[[SCRIPT:work]]")
    project.compact()
    project.say("[[SCRIPT:work]]")
    (asked,) = [request.text for request in api.requests if "anchored summary" in request.text]
    assert "npm test" in asked.partition("</conversation>")[2], "behind the conversation stands what PopKit says of it"
    events = [event.name for event in host.events_of(str(project.kept()))]
    assert events.count("compacted") == 1


def test_the_command_answers_without_a_request(project: Project, api: BothApis) -> None:
    api.scripts.update(twice=twice(), hello=[say("Hello.")])
    project.say("[[SCRIPT:twice]]")
    count = len(api.requests)
    project.command("popkit", "")
    assert len(api.requests) == count
    *_, last = project.messages()
    (part,) = last["parts"]
    assert "Expired" in part["text"]
    assert part["ignored"] is True
    project.say("[[SCRIPT:hello]]")
    requests = bodies(api, project)
    assert "Expired" not in json.dumps(requests[-1]["messages"])
    assert broken(requests) == []


@ONCE
def test_what_one_session_taught_the_next_is_told_once_and_goes_on_saying(project: Project, api: BothApis) -> None:
    counted = "tools/count_the_lines.sh"
    run = call(("bash", {"command": f"sh {counted} --all", "description": "count"}))
    api.scripts.update(
        first=[call(("write", {"filePath": f"{{work}}/{counted}", "content": "wc -l src/app.js\n"})), run, say("Counted.")],
        more=[say("Yes.")],
    )
    project.popkit_says("memory", "on")
    project.say("[[SCRIPT:first]] go")
    project.leave()
    known = memory.project_of(str(project.popkit), str(project.work))
    until(lambda: not known.to_learn() and known.document(), "the session is learnt")
    project.session = ""
    api.clear()
    project.say("[[SCRIPT:more]] go")
    project.say("[[SCRIPT:more]] go on")
    requests = bodies(api, project)
    told = [json.dumps(body["messages"]).count("# Project memory") for body in requests]
    assert told == [1, 1]
    assert f"sh {counted} --all" in json.dumps(requests[0]["messages"][0])
    assert broken(requests) == []
    booked = store.read_lines(store.ContextFiles(str(project.popkit), project.session).journal)
    assert [entry["event"] for entry in booked].count("memory") == 1
