"""The real OpenCode with both kinds of provider: panel, bill, advice, memory and the command inside a session; what a result says when it
enters, and that nothing sent is ever changed; a helper that fails, without which the session goes on as it would; and what OpenCode stores
of its sessions, read where it lies."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.core.hosts.opencode import stored_sessions
from popkit_retention.core.hosts.transcripts import entries, transcript, usage
from popkit_retention.core.state import memory, store
from tests.client.scripted_api import call, say
from tests.hosts.conformance.faults import ALIKE, SERVE, STAND_IN, line
from tests.hosts.test_opencode_storage import everything, lines
from tests.opencode.client import MODELS, PLUGIN, WINDOWS, Project, Server
from tests.opencode.conversations import HANDLE, LINES, big_file, bodies, broken, results, twice
from tests.opencode.scripted_api import BothApis
from tests.patience import until
from tests.policy.door_laws import OURS

ANTHROPIC = "anthropic"
ONCE = pytest.mark.parametrize("provider", [ANTHROPIC], indirect=True)


@pytest.fixture
def big(project: Project) -> str:
    """A file of the project, and its text."""
    text = big_file()
    (project.work / "src" / "big.js").write_text(text)
    return text


READ = call(("read", {"filePath": "{work}/src/big.js"}))


class Worked:
    """A session in which a file is read twice and `/popkit` is typed; OpenCode ends, panel and bill and a clear are asked for; then the
    session goes on and reads the file again."""

    def __init__(self, project: Project, api: BothApis) -> None:
        self.project = project
        self.big = big_file()
        (project.work / "src" / "big.js").write_text(self.big)
        api.scripts.update(twice=twice(), again=[READ, say("Still the same.")])
        project.say("[[SCRIPT:twice]] go")
        sent = len(api.requests)
        project.command("popkit", "")
        self.sent_by_the_command = len(api.requests) - sent
        *_, last = project.messages()
        (self.shown,) = last["parts"]
        self.kept = project.kept()
        self.requests_before = len(bodies(api, project))
        self.panel = json.loads(project.popkit_says("context", "--json").stdout)
        self.used = usage.newest_usage(str(self.kept))
        self.bill = json.loads(project.popkit_says("bill", str(self.kept), "--json").stdout)
        before = self.kept.read_bytes()
        self.refused = project.popkit_says("context", "clear")
        self.is_as_before = project.kept().read_bytes() == before
        project.say("[[SCRIPT:again]] go on")  # a resumed session knows what it has shown
        self.requests = bodies(api, project)
        project.leave()


@pytest.fixture(scope="module", params=MODELS)
def worked(request: pytest.FixtureRequest, server: Server) -> Iterator[Worked]:
    """Played once for each kind of provider."""
    with BothApis() as api:
        project = Project(server, f"worked-{request.param}", api.url, request.param)
        api.places["work"] = str(project.work)
        yield Worked(project, api)


def test_panel_and_bill_tell_of_the_session(worked: Worked) -> None:
    assert (worked.panel["session"], worked.panel["calls"]) == (worked.project.session, 2)
    assert worked.used is not None
    assert worked.panel["context"]["tokens"] == worked.used.tokens
    assert worked.panel["context"]["window"] == WINDOWS[worked.project.provider]
    assert worked.bill["whole"]["requests"] == worked.requests_before


def test_what_is_kept_is_private_and_never_cleared(worked: Worked) -> None:
    assert "OpenCode keeps this session itself" in " ".join(worked.refused.stderr.split())
    assert worked.is_as_before
    assert broken(worked.requests) == []
    assert worked.kept.stat().st_mode & 0o777 == 0o600
    assert worked.kept.parent.stat().st_mode & 0o777 == 0o700
    said = [json.loads(line) for line in worked.kept.read_text().splitlines()]
    ids = [entry["uuid"] for entry in said]
    assert len(ids) == len(set(ids))
    assert [entry["parentUuid"] for entry in said] == [None, *ids[:-1]]
    assert [event.name for event in transcript.events_of(str(worked.kept))] == ["prompted", "call", "call", "prompted", "call"]


def test_the_command_answers_without_a_request(worked: Worked) -> None:
    assert worked.sent_by_the_command == 0
    assert "Expired" in worked.shown["text"]
    assert worked.shown["ignored"] is True
    assert "Expired" not in json.dumps(worked.requests[-1]["messages"])


def test_what_the_context_shows_enters_as_a_reference_and_comes_back_by_its_handle(worked: Worked) -> None:
    first, second, third = results(worked.requests[-1]).values()
    assert f"{LINES}: " in first
    assert f"lines as in your read of src/big.js above, there 2–{LINES}" in second
    assert len(second) < len(worked.big) / 5
    handle = HANDLE.search(second)
    assert handle is not None
    assert worked.project.popkit_says("restore", handle[1]).stdout.rstrip("\n").endswith(worked.big.rstrip("\n"))
    assert "lines 2–119 as in your read of src/big.js above" in third


@ONCE
@pytest.mark.usefixtures("big")
def test_a_call_that_would_write_a_reference_fails_and_the_model_reads_its_meaning(project: Project, api: BothApis) -> None:
    api.scripts["twice"] = twice()
    project.say("[[SCRIPT:twice]] go")
    shown = results(bodies(api, project)[-1])
    line = next(line for text in shown.values() for line in text.split("\n") if " lines as in your read of " in line)
    handle = HANDLE.search(line)
    assert handle is not None
    writes = [
        ("write", {"filePath": "{work}/broken.js", "content": f"let a;\n{line}\n"}),
        ("bash", {"command": f"cat > broken.js <<'EOF'\n{line}\nEOF", "description": "write it"}),
        ("write", {"filePath": "{work}/guide.md", "content": "\n".join(OURS)}),
    ]
    api.scripts["back"] = [*[call(one) for one in writes], say("done")]
    project.say("[[SCRIPT:back]] write it back")
    *_, write, shell, guide = results(bodies(api, project)[-1]).values()
    for denied in (write, shell):
        assert " of bash cat " in denied
        assert f": `popkit restore {handle[1]}`" in denied
    assert not (project.work / "broken.js").exists()
    assert (project.work / "guide.md").read_text() == "\n".join(OURS), guide


@pytest.mark.usefixtures("big")
def test_the_summariser_is_told_what_is_dead_and_what_must_survive(project: Project, api: BothApis) -> None:
    fails = call(("bash", {"command": "npm test", "description": "test"}))
    api.scripts["work"] = [call(("read", {"filePath": "{work}/src/app.js"})), fails, fails, say("It fails.")]
    project.say("[[SCRIPT:work]]")
    project.compact()
    project.say("[[SCRIPT:work]]")
    (asked,) = [request.text for request in api.requests if "anchored summary" in request.text]
    assert "npm test" in asked.partition("</conversation>")[2], "behind the conversation stands what PopKit says of it"
    events = [event.name for event in transcript.events_of(str(project.kept()))]
    assert events.count("compacted") == 1


@ONCE
@pytest.mark.usefixtures("big")
def test_what_one_session_taught_is_in_the_next_once_and_stays(project: Project, api: BothApis) -> None:
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
    counts = [json.dumps(body["messages"]).count("# Project memory") for body in requests]
    assert counts == [1, 1]
    assert f"sh {counted} --all" in json.dumps(requests[0]["messages"][0])
    assert broken(requests) == []
    booked = store.read_lines(store.ContextFiles(str(project.popkit), project.session).journal)
    assert [entry["event"] for entry in booked].count("memory") == 1


# --- at the door -------------------------------------------------------------------------------------------------------------------------


def test_what_was_taken_back_or_compacted_away_is_leaned_on_no_more(project: Project, api: BothApis, big: str) -> None:
    api.scripts.update(hello=[say("Hello.")], read=[READ, say("Read.")])
    project.say("[[SCRIPT:hello]]")
    project.say("[[SCRIPT:read]] once")
    project.take_back()
    project.say("[[SCRIPT:read]] again")
    (shown,) = results(bodies(api, project)[-1]).values()
    assert f"{LINES}: " in shown
    assert " as in your" not in shown
    project.compact()
    project.say("[[SCRIPT:read]]")
    (shown,) = results(bodies(api, project)[-1]).values()
    assert " as in your" not in shown


@ONCE
def test_a_subagent_has_a_context_of_its_own(project: Project, api: BothApis, big: str) -> None:
    task = {"description": "look", "prompt": "[[SCRIPT:twice]]", "subagent_type": "general"}
    api.scripts.update(main=[READ, call(("task", task)), say("Done.")], twice=twice())
    project.say("[[SCRIPT:main]] go")
    of_subagent = [body for body in bodies(api, project) if "[[SCRIPT:twice]]" in json.dumps(body["messages"][0])]
    first, second = results(of_subagent[-1]).values()
    assert " as in your" not in first, "the subagent has not seen what the main thread has"
    assert "as in your read of src/big.js above" in second
    (agent,) = (project.kept().with_suffix("") / "subagents").iterdir()
    assert '"tool_result"' in agent.read_text()


# --- faults ------------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hasty(opencode_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that waits for no helper for long."""
    with Server(tmp_path_factory.mktemp("hasty"), opencode_program, door_ms=150) as server:
        yield server


@pytest.mark.parametrize("fault", [*(pytest.param(fault, marks=[pytest.mark.slow] if fault in ALIKE else []) for fault in SERVE), "gone"])
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


# --- storage -----------------------------------------------------------------------------------------------------------------------------


def contents_of(path: Path) -> list[dict[str, Any]]:
    """What the entries of a transcript say, whoever has written them."""
    names = ("type", "uuid", "parentUuid", "timestamp", "message", "sessionId")
    return [{name: entry.get(name) for name in names} for entry in entries.read(str(path), path.stat().st_size)]


def test_storage_and_state_agree_with_the_export_and_the_storage_is_left_untouched(
    opencode_program: Path, api: BothApis, tmp_path: Path
) -> None:
    alone = Server(tmp_path, opencode_program)  # no other session is in its storage, and no process writes to it
    project = Project(alone, "shop", api.url, ANTHROPIC)
    (project.work / "src" / "big.js").write_text(big_file())
    api.places["work"] = str(project.work)
    api.scripts["twice"] = twice()
    ran = project.opencode("run", "--format", "json", "-m", MODELS[ANTHROPIC], "[[SCRIPT:twice]] go")
    assert ran.returncode == 0, ran.stderr
    session = json.loads(ran.stdout.splitlines()[-1])["sessionID"]
    alone.until_helpers_have_ended()
    export = alone.root / "export.json"
    export.write_text(project.opencode("export", session).stdout)
    (kept,) = (alone.popkit / "transcripts").glob(f"*/{session}.jsonl")
    assert contents_of(export) == contents_of(kept)
    assert json.loads(project.popkit_says("try", str(export), "--json").stdout)["calls"] == 2
    before = everything(alone.home / ".data")
    (stored,) = stored_sessions.every(alone.env())
    assert (stored.id, stored.project, stored.parent) == (session, str(project.work), "")
    assert lines(stored.address) == lines(str(export))
    shown = json.loads(project.popkit_says("try", "--host", "opencode", "--json").stdout)
    assert (shown["session"], shown["calls"], shown["host"]) == (session, 2, "OpenCode")
    assert shown["installed"] is None, "PopKit has changed it: what it would have been without is not known"
    assert everything(alone.home / ".data") == before


@ONCE
def test_it_is_read_while_opencode_writes(project: Project, api: BothApis) -> None:
    api.scripts["look"] = [call(("bash", {"command": "echo one", "description": "say it"})), say("One.")]
    project.say("[[SCRIPT:look]] go")
    (stored,) = [each for each in stored_sessions.every(project.server.env()) if each.id == project.session]
    assert [entry["type"] for entry in entries.read(stored.address, entries.ALL)] == ["user", "assistant", "user", "assistant"]
    project.say("[[SCRIPT:look]] again")
    assert len(list(entries.read(stored.address, entries.ALL))) > 4
