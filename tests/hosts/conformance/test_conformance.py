"""The same laws in every real host: what was sent stays, references lead somewhere, results hold their own lines, all comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client import installs as claude_code
from tests.client.scripted_api import ScriptedApi
from tests.opencode import installs as opencode
from tests.opencode.client import Server
from tests.opencode.scripted_api import BothApis

from .drivers import in_claude_code, in_opencode
from .laws import LAWS, Played, check

if claude_code.npm() is None:
    pytest.skip("npm is not on PATH, so no host can be installed", allow_module_level=True)

HOSTS = {"Claude Code": "", "OpenCode, Anthropic": "anthropic", "OpenCode, compatible": "compatible"}


def play(host: str, folder: Path) -> Played:
    """The scene in a host."""
    provider = HOSTS[host]
    if not provider:
        with ScriptedApi() as api:
            return in_claude_code(folder, claude_code.install(claude_code.newest_version()), api)
    with BothApis() as apis, Server(folder, opencode.install()) as server:
        return in_opencode(server, "shop", provider, apis)


@pytest.mark.parametrize("host", HOSTS)
def test_the_laws_hold(host: str, tmp_path: Path) -> None:
    found = check(play(host, tmp_path))
    assert {law: checked.broken for law, checked in found.items()} == {law: [] for law in LAWS}
    assert all(checked.count for checked in found.values()), "each law had something to say"
