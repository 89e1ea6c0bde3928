"""PopKit sends no request: what it runs in a session has nothing to send one with."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = [path for tree in ("hooks", "power-mode/popkit_retention") for path in (ROOT / tree).rglob("*.py")]
TREES = ("hooks", "power-mode/opencode", "power-mode/pi")
HELPER = ROOT / "power-mode" / "helper.ts"  # of both extensions
SCRIPTS = [path for tree in TREES for path in (ROOT / tree).rglob("*.ts*") if ".test." not in path.name] + [HELPER]
OVER_A_NETWORK = re.compile(
    r"(socket|ssl|http\.client|urllib\.request|httpx|requests|aiohttp|websockets|anthropic|openai|litellm|fsspec)(\.|$)"
)
# Words without which no module can import one of them: only such a module is parsed.
NAMED = re.compile(
    r"\b(import|from)\s+(socket|ssl|http|urllib|httpx|requests|aiohttp|websockets|anthropic|openai|litellm|fsspec)\b|^\s*import .*,",
    re.MULTILINE,
)
# What opens a connection, and for what.
KNOWN = {
    "hooks/utils/state/asking.py": "the helper's own socket",
    "power-mode/popkit_retention/dashboard/server.py": "the page, on this machine",
    "power-mode/popkit_retention/dashboard/instance.py": "the page that is running, by the address in our folder",
    "power-mode/popkit_retention/usage/postgres.py": "the database that the user names",
    "power-mode/popkit_retention/parallel/sources.py": "the folder of transcripts that the user names",
    "power-mode/popkit_retention/clients/litellm.py": "a plugin of a proxy that the user runs",
}


def imported(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    if not NAMED.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_module_opens_a_connection_but_those_that_are_known():
    found = {path.relative_to(ROOT).as_posix() for path in MODULES if any(map(OVER_A_NETWORK.match, imported(path)))}
    assert found == set(KNOWN)


def test_the_code_in_the_client_asks_no_model_and_fetches_from_the_helper_alone():
    assert SCRIPTS
    for path in SCRIPTS:
        script = path.read_text(encoding="utf-8")
        assert not re.search(r"\$\.model\.|\bmodel\.fork\b|\$\.agent\.|\bcomplete\(", script), path
        for line in script.splitlines():
            assert "fetch(" not in line or "socketPath" in line or "unix: socket" in line, (path, line)


def test_the_code_in_opencode_adds_texts_to_a_session_without_requesting_an_answer():
    (script,) = [text for path in SCRIPTS if "session.prompt(" in (text := path.read_text(encoding="utf-8"))]
    assert script.count("session.prompt(") == script.count("noReply: true") == 1


def test_the_code_in_pi_and_opencode_starts_no_turn_and_asks_the_helper_alone():
    scripts = {path: path.read_text(encoding="utf-8") for path in SCRIPTS if path == HELPER or path.parent.name in ("opencode", "pi")}
    assert len(scripts) > 2
    starting = (
        r"sendMessage|sendUserMessage|triggerTurn|continue: true|streamSimple|\.complete\(|ctx\.compact|from 'node:(?:https|net|dgram)'"
    )
    assert [name for name, script in scripts.items() if re.search(starting, script)] == []
    assert [path for path, script in scripts.items() if "request(" in script] == [HELPER]
    assert scripts[HELPER].count("request({ socketPath") == scripts[HELPER].count("= request(") == 1
