"""The same laws in every real host: what was sent stays, references lead somewhere, results hold their own lines, all comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.client import installs as claude_code
from tests.client.scripted_api import ScriptedApi
from tests.opencode.client import Server
from tests.opencode.scripted_api import BothApis
from tests.pi.installs import Program

from .drivers import in_claude_code, in_opencode, in_pi
from .laws import LAWS, Played, check

HOSTS = {
    "Claude Code": "", "OpenCode, Anthropic": "anthropic", "OpenCode, compatible": "compatible", "pi, Anthropic": "anthropic",
    "pi, OpenAI": "openai",
}  # fmt: skip


@contextmanager
def hosts(folder: Path, opencode: Server, pi: Program) -> Iterator[Callable[[str], Played]]:
    """`play(host)` plays the scene in a host. OpenCode has a project for each provider."""
    with BothApis() as apis:

        def play(host: str) -> Played:
            provider = HOSTS[host]
            if host.startswith("pi"):
                return in_pi(folder / f"pi-{provider}", pi, provider, apis)
            if provider:
                return in_opencode(opencode, f"{provider}-scene", provider, apis)
            with ScriptedApi() as api:
                return in_claude_code(folder / "claude_code", claude_code.install(claude_code.newest_version()), api)

        yield play


@pytest.fixture(scope="module")
def play(opencode_program: Path, pi_program: Program, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Played]]:
    folder = tmp_path_factory.mktemp("hosts")
    with Server(folder / "opencode", opencode_program) as server, hosts(folder, server, pi_program) as play:
        yield play


@pytest.mark.parametrize("host", HOSTS)
def test_the_laws_hold(host: str, play: Callable[[str], Played]) -> None:
    checks = check(play(host))
    assert {law: checked.broken for law, checked in checks.items()} == {law: [] for law in LAWS}
    assert all(checked.count for checked in checks.values()), "each law had something to say"
