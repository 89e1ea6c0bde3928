"""The official SDK's client: the handshake, requests that speak for themselves, progress, cancellation, schemas that it checks itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.patience import HANG_S

from .homes import Place
from .talking import COMMAND

if TYPE_CHECKING:
    from mcp.client.client import Client

pytestmark = pytest.mark.skipif(not find_spec("mcp"), reason="the SDK needs Python 3.10")
OLD = {"id": "old", "created_at": "2020-01-01T00:00:00Z", "source_type": "context"}


def talk(place: Place, mode: str, what: Callable[[Client], Awaitable[None]]) -> None:
    """Starts the server and lets a client do something with it."""
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def run() -> None:
        server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=place.environ, cwd=place.shop)
        with Path(place.folder / "errors").open("w+") as errors:
            async with Client(stdio_client(server, errlog=errors), mode=mode) as client:
                await what(client)
            errors.seek(0)
            assert errors.read() == ""

    asyncio.run(run())


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")])
def test_it_lists_and_calls_tools_in_every_mode(mode: str, version: str, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    # In the mode `auto` it takes a server that is late for an old one.
    monkeypatch.setattr("mcp.client.session.DISCOVER_TIMEOUT_SECONDS", HANG_S)

    async def what(client: Client) -> None:
        assert client.protocol_version == version
        assert client.server_info is None or client.server_info.name == "popkit"
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["memory_forget"].annotations.destructive_hint is True
        assert tools["retention_get"].annotations.read_only_hint is True
        # The client checks structured content against the output schema.
        found = await client.call_tool("retention_apply", {"domain": "rag", "resources": [OLD, {}]})
        assert found.structured_content["counts"] == {"eligible": 1, "protected": 1, "total": 2}
        wrong = await client.call_tool("retention_apply", {"domain": "both"})
        assert wrong.is_error
        assert wrong.content[0].text == "arguments.domain must be one of memory, rag"

    talk(place, mode, what)


def test_a_ping_is_answered(place: Place) -> None:
    async def what(client: Client) -> None:
        from mcp.shared.exceptions import MCPDeprecationWarning

        with pytest.warns(MCPDeprecationWarning, match="only works under mode='legacy'"):
            await client.send_ping()

    talk(place, "legacy", what)


def test_an_unknown_tool_is_a_protocol_error(place: Place) -> None:
    async def what(client: Client) -> None:
        from mcp import MCPError

        with pytest.raises(MCPError, match="unknown tool"):
            await client.call_tool("nonsense", {})

    talk(place, "legacy", what)


def test_every_tool_answers_as_its_output_schema_says(place: Place) -> None:
    handle = place.clear_from(place.shop, "Read a.ts", "the old text")
    place.turn_memory_on(place.shop)

    async def what(client: Client) -> None:
        added = await client.call_tool("memory_add", {"text": "Run make check."})
        calls = {
            "context_restore": {"handle": handle}, "memory_search": {"query": "make"}, "memory_status": {},
            "memory_forget": {"ids": [added.structured_content["id"]]}, "retention_get": {"domain": "memory"}, "retention_policies": {},
            "retention_configure": {"domain": "memory", "config": {"limit": 0}}, "retention_apply": {"domain": "memory"},
        }  # fmt: skip
        for name, arguments in calls.items():
            found = await client.call_tool(name, arguments)
            assert not found.is_error, (name, found.content)
            assert found.structured_content, name

    talk(place, "auto", what)


def test_a_call_that_the_client_gives_up_leaves_the_connection_in_order(place: Place) -> None:
    async def what(client: Client) -> None:
        many = [{**OLD, "id": f"r{number}"} for number in range(20_000)]
        call = asyncio.create_task(client.call_tool("retention_apply", {"domain": "rag", "resources": many}))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await client.call_tool("retention_get", {"domain": "rag"})).structured_content["limit"] == 5_000

    talk(place, "legacy", what)
