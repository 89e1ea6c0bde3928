"""What the real OpenCode stores of its sessions, read where it lies, also while OpenCode runs."""

from __future__ import annotations

import json

import pytest

from hooks.utils.hosts.claude_code import entries
from hooks.utils.hosts.opencode import storage
from tests.client.scripted_api import call, say
from tests.hosts.test_opencode_storage import everything, lines

from .client import OpenCodeHome
from .conversations import big_file, bodies, twice
from .scripted_api import BothApis
from .serving import Serving

pytestmark = pytest.mark.parametrize("provider", ["anthropic"], indirect=True)


def test_its_storage_says_what_its_export_says_and_is_left_as_it_was(home: OpenCodeHome, api: BothApis) -> None:
    (home.work / "src" / "big.js").write_text(big_file())
    api.scripts["twice"] = twice()
    session = home.run("[[SCRIPT:twice]] go").session_id
    (home.root / "export.json").write_text(home.opencode("export", session).stdout)
    before = everything(home.home / ".data")
    (stored,) = storage.every(home.env())
    assert (stored.id, stored.project, stored.parent) == (session, str(home.work), "")
    assert lines(stored.address) == lines(str(home.root / "export.json"))
    shown = json.loads(home.popkit_says("try", "--host", "opencode", "--json").stdout)
    assert (shown["session"], shown["calls"], shown["host"]) == (session, 2, "OpenCode")
    assert shown["installed"]["requests"] == len(bodies(api, home))
    assert everything(home.home / ".data") == before


def test_it_is_read_while_opencode_writes(home: OpenCodeHome, api: BothApis) -> None:
    api.scripts["look"] = [call(("bash", {"command": "echo one", "description": "say it"})), say("One.")]
    with Serving(home) as opencode:
        opencode.say("[[SCRIPT:look]] go")
        (stored,) = storage.every(home.env())
        assert [entry["type"] for entry in entries.read(stored.address, entries.ALL)] == ["user", "assistant", "user", "assistant"]
        opencode.say("[[SCRIPT:look]] again")
        assert len(list(entries.read(stored.address, entries.ALL))) > 4
