"""The same laws in every real host: what was sent stays, references lead somewhere, results hold their own lines, all comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
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


@contextmanager
def hosts(folder: Path) -> Iterator[Callable[[str], Played]]:
    """`play(host)` plays the scene in a host. One OpenCode has a project for each provider."""
    with ExitStack() as stack:

        @cache
        def opened() -> tuple[Server, BothApis]:
            apis = stack.enter_context(BothApis())
            return stack.enter_context(Server(folder / "opencode", opencode.install())), apis

        def play(host: str) -> Played:
            provider = HOSTS[host]
            if provider:
                server, apis = opened()
                return in_opencode(server, provider, provider, apis)
            with ScriptedApi() as api:
                return in_claude_code(folder / "claude_code", claude_code.install(claude_code.newest_version()), api)

        yield play


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Played]]:
    with hosts(tmp_path_factory.mktemp("hosts")) as play:
        yield play


@pytest.mark.parametrize("host", HOSTS)
def test_the_laws_hold(host: str, play: Callable[[str], Played]) -> None:
    found = check(play(host))
    assert {law: checked.broken for law, checked in found.items()} == {law: [] for law in LAWS}
    assert all(checked.count for checked in found.values()), "each law had something to say"
