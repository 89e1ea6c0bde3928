"""`popkit mcp` as a process: its streams and its end; the official SDK's client, which does the handshake, lets requests speak for
themselves, shows progress, cancels and checks schemas itself; and the MCP Inspector's command line."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from popkit_retention.mcp.tool_service import table
from tests.client import installs
from tests.mcp import inspector
from tests.mcp.homes import Place
from tests.mcp.talking import COMMAND, ROOT, Program, environ_of, hello, notice, request, tool_call
from tests.patience import HANG_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp.client.client import Client


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    with Program(tmp_path, environ_of(tmp_path)) as started:
        yield started


def test_it_shakes_hands_lists_its_tools_and_ends_with_its_input(program: Program) -> None:
    assert program.ask(hello())["result"]["serverInfo"]["name"] == "popkit"
    program.say(notice("notifications/initialized"))
    assert "context_search" in {tool["name"] for tool in program.ask(request("tools/list"))["result"]["tools"]}
    assert program.end() == (0, "")


@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGINT], ids=lambda signal_: signal_.name)
def test_a_signal_ends_it_quietly(program: Program, signal_: signal.Signals) -> None:
    program.ask(hello())
    assert program.end(lambda: program.process.send_signal(signal_)) == (0, "")


def test_a_client_that_reads_no_more_ends_it_quietly(tmp_path: Path) -> None:
    from_it, its_output = os.pipe()
    with subprocess.Popen(
        COMMAND, cwd=tmp_path, env=environ_of(tmp_path), stdin=subprocess.PIPE, stdout=its_output, stderr=subprocess.PIPE
    ) as it:
        os.close(its_output)
        os.close(from_it)
        it.stdin.write(json.dumps(hello()).encode() + b"\n")
        it.stdin.flush()  # and it stays open
        assert it.wait(HANG_S) == 0
        assert it.stderr.read() == b""


def test_what_was_asked_before_the_input_ended_is_still_answered(tmp_path: Path) -> None:
    sent = b"".join(json.dumps(message).encode() + b"\n" for message in (hello(), tool_call("memory_status", {}, 1), request("ping", id=2)))
    command = [sys.executable, "-S", "-E", str(ROOT / "hooks" / "popkit.py"), "mcp"]
    done = subprocess.run(
        command, input=sent.rstrip(), capture_output=True, env=environ_of(tmp_path), cwd=tmp_path, timeout=HANG_S, check=True
    )
    assert sorted(json.loads(line)["id"] for line in done.stdout.splitlines()) == [0, 1, 2]
    assert done.stderr == b""


def test_a_message_that_is_too_long_is_refused_and_the_next_one_answered(program: Program) -> None:
    program.ask(hello())
    program.write(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"y" * (17 << 20) + b'"}}\n')
    assert "longer than 16,777,216 bytes and was skipped" in program.hear()["error"]["message"]
    assert program.ask(request("ping", id=2)) == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_ten_megabytes_of_arguments_are_a_clear_error(program: Program) -> None:
    program.ask(hello())
    result = program.ask(tool_call("memory_search", {"query": "y" * (10 << 20)}))["result"]
    assert result["isError"]
    assert result["content"][0]["text"] == "arguments.query must have at most 1,000 characters"


def with_tools(body: str) -> list[str]:
    """A command that serves other tools: the body of a class."""
    code = (
        f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'power-mode')!r}]; import os, threading\n"
        f"from popkit_retention.mcp import standard_streams\nreal = standard_streams.Tools\n"
        f"class Tools(real):\n    {body}\n"
        f"standard_streams.Tools = Tools\nstandard_streams.serve(dict(os.environ), '1')\n"
    )
    return [sys.executable, "-c", code]


DEAF = with_tools("def call(self, name, arguments, dialect, progress):\n        progress(1)\n        threading.Event().wait()")


@pytest.mark.parametrize("how", ["a signal", "its input ends and nobody reads"])
def test_a_tool_that_hears_nothing_keeps_no_server_alive(tmp_path: Path, how: str) -> None:
    from_it, its_output = os.pipe()
    with subprocess.Popen(
        DEAF, cwd=tmp_path, env=environ_of(tmp_path), stdin=subprocess.PIPE, stdout=its_output, stderr=subprocess.PIPE
    ) as it:
        os.close(its_output)
        with os.fdopen(from_it) as heard:
            for message in (hello(), tool_call("memory_status", {}, progressToken=1)):
                it.stdin.write(json.dumps(message).encode() + b"\n")
            it.stdin.flush()
            heard.readline()
            assert "progress" in heard.readline(), "it runs"
            if how == "a signal":
                it.send_signal(signal.SIGTERM)
        it.stdin.close()
        assert it.wait(HANG_S) == 0
        assert it.stderr.read() == b""


def test_nothing_else_can_print_to_a_client(tmp_path: Path) -> None:
    body = "def listed(self, dialect):\n        print('stray'); os.write(1, b'stray'); sys.stdout.flush()\n        return []"
    with Program(tmp_path, environ_of(tmp_path), with_tools(body)) as program:
        program.ask(hello())
        assert program.ask(request("tools/list"))["result"] == {"tools": []}
        code, output = program.end()
        assert (code, output.count("stray")) == (0, 2)


def test_the_help_says_how_a_client_gets_it(tmp_path: Path) -> None:
    env = {**environ_of(tmp_path), "PATH": "/usr/bin:/bin"}
    shown = subprocess.run(
        ["bin/popkit", "mcp", "--help"], cwd=ROOT, env=env, capture_output=True, text=True, check=True, timeout=HANG_S
    ).stdout
    assert f"claude mcp add popkit -- {ROOT}/bin/popkit mcp" in shown
    assert "claude plugin install popkit-mcp@popkit" in shown
    assert "standard input and output" in shown


# --- the client of the SDK ---------------------------------------------------------------------------------------------------------------


with_sdk = pytest.mark.skipif(not find_spec("mcp"), reason="the SDK needs Python 3.10")
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


@with_sdk
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
        result = await client.call_tool("retention_apply", {"domain": "rag", "resources": [OLD, {}]})
        assert result.structured_content["counts"] == {"eligible": 1, "protected": 1, "total": 2}
        wrong = await client.call_tool("retention_apply", {"domain": "both"})
        assert wrong.is_error
        assert wrong.content[0].text == "arguments.domain must be one of memory, rag"

    talk(place, mode, what)


@with_sdk
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
            result = await client.call_tool(name, arguments)
            assert not result.is_error, (name, result.content)
            assert result.structured_content, name

    talk(place, "auto", what)


@with_sdk
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


# --- the Inspector -----------------------------------------------------------------------------------------------------------------------


POPKIT = ROOT / "bin" / "popkit"


@pytest.fixture(scope="module")
def inspecting() -> Path:
    if installs.npm() is None:
        pytest.skip("npm is not on PATH, so the Inspector cannot be installed")
    return inspector.install()


@pytest.fixture
def ask(inspecting: Path, place: Place):
    environ = {name: value for name, value in place.environ.items() if name != "PATH"}
    return lambda *words: inspector.inspect(inspecting, POPKIT, environ, place.shop, *words)


def test_it_lists_every_tool(ask) -> None:
    listed = inspector.answer(ask("tools/list"))["tools"]
    assert [tool["name"] for tool in listed] == list(table())
    assert all(tool["outputSchema"] for tool in listed)


def test_it_calls_a_tool_and_finds_its_answer_to_fit_the_schema(ask) -> None:
    resources = json.dumps([{"id": "a", "created_at": "2020-01-01T00:00:00Z", "source_type": "context"}, {"id": "b"}])
    words = ("--tool-name", "retention_apply", "--tool-arg", "domain=rag", f"resources={resources}")
    answer = inspector.answer(ask("tools/call", *words))
    assert answer["structuredContent"]["counts"] == {"eligible": 1, "protected": 1, "total": 2}
