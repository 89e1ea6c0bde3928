"""The MCP Inspector's command line: it lists the tools, calls them, and shows their mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.mcp.service import TABLE
from tests.client import installs

from . import inspector
from .homes import Place
from .talking import ROOT

POPKIT = ROOT / "bin" / "popkit"


@pytest.fixture(scope="module")
def program() -> Path:
    if installs.npm() is None:
        pytest.skip("npm is not on PATH, so the Inspector cannot be installed")
    return inspector.install()


@pytest.fixture
def ask(program: Path, place: Place):
    environ = {name: value for name, value in place.environ.items() if name != "PATH"}
    return lambda *words: inspector.inspect(program, POPKIT, environ, place.shop, *words)


def test_it_lists_every_tool(ask) -> None:
    listed = inspector.answer(ask("tools/list"))["tools"]
    assert [tool["name"] for tool in listed] == list(TABLE)
    assert all(tool["outputSchema"] for tool in listed)


def test_it_calls_a_tool_and_finds_its_answer_to_fit_the_schema(ask) -> None:
    resources = json.dumps([{"id": "a", "created_at": "2020-01-01T00:00:00Z", "source_type": "context"}, {"id": "b"}])
    words = ("--tool-name", "retention_apply", "--tool-arg", "domain=rag", f"resources={resources}")
    found = inspector.answer(ask("tools/call", *words))
    assert found["structuredContent"]["counts"] == {"eligible": 1, "protected": 1, "total": 2}


def test_it_shows_what_a_mistake_was(ask) -> None:
    done = ask("tools/call", "--tool-name", "retention_get", "--tool-arg", "domain=both")
    assert "arguments.domain must be one of memory, rag" in done.stdout + done.stderr
