"""What the real OpenCode stores of its sessions, read where it lies, also while OpenCode runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hooks.utils.hosts.claude_code import entries
from hooks.utils.hosts.opencode import storage
from tests.client.scripted_api import call, say
from tests.hosts.test_opencode_storage import everything, lines

from .client import MODELS, Project, Server
from .conversations import big_file, bodies, twice
from .scripted_api import BothApis

ANTHROPIC = "anthropic"


def test_its_storage_says_what_its_export_says_and_is_left_as_it_was(program: Path, api: BothApis, tmp_path: Path) -> None:
    alone = Server(tmp_path, program)  # no other session is in its storage, and no process writes to it
    project = Project(alone, "shop", api.url, ANTHROPIC)
    (project.work / "src" / "big.js").write_text(big_file())
    api.places["work"] = str(project.work)
    api.scripts["twice"] = twice()
    ran = project.opencode("run", "--format", "json", "-m", MODELS[ANTHROPIC], "[[SCRIPT:twice]] go")
    assert ran.returncode == 0, ran.stderr
    session = json.loads(ran.stdout.splitlines()[-1])["sessionID"]
    alone.until_helpers_have_ended()
    (alone.root / "export.json").write_text(project.opencode("export", session).stdout)
    before = everything(alone.home / ".data")
    (stored,) = storage.every(alone.env())
    assert (stored.id, stored.project, stored.parent) == (session, str(project.work), "")
    assert lines(stored.address) == lines(str(alone.root / "export.json"))
    shown = json.loads(project.popkit_says("try", "--host", "opencode", "--json").stdout)
    assert (shown["session"], shown["calls"], shown["host"]) == (session, 2, "OpenCode")
    assert shown["installed"]["requests"] == len(bodies(api, project))
    assert everything(alone.home / ".data") == before


@pytest.mark.parametrize("provider", [ANTHROPIC], indirect=True)
def test_it_is_read_while_opencode_writes(project: Project, api: BothApis) -> None:
    api.scripts["look"] = [call(("bash", {"command": "echo one", "description": "say it"})), say("One.")]
    project.say("[[SCRIPT:look]] go")
    (stored,) = [each for each in storage.every(project.server.env()) if each.id == project.session]
    assert [entry["type"] for entry in entries.read(stored.address, entries.ALL)] == ["user", "assistant", "user", "assistant"]
    project.say("[[SCRIPT:look]] again")
    assert len(list(entries.read(stored.address, entries.ALL))) > 4
