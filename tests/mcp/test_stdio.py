"""`popkit mcp` as a client starts it: standard output is for messages alone, and the server ends with its client."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import HANG_S

from .talking import COMMAND, ROOT, Program, environ_of, hello, notice, request, tool_call


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    with Program(tmp_path, environ_of(tmp_path)) as started:
        yield started


def test_it_shakes_hands_lists_its_tools_and_ends_with_its_input(program: Program) -> None:
    assert program.ask(hello())["result"]["serverInfo"]["name"] == "popkit"
    program.say(notice("notifications/initialized"))
    assert "context_search" in {tool["name"] for tool in program.ask(request("tools/list"))["result"]["tools"]}
    assert program.end() == (0, "")


@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGINT], ids=lambda each: each.name)
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
    said = b"".join(json.dumps(message).encode() + b"\n" for message in (hello(), tool_call("memory_status", {}, 1), request("ping", id=2)))
    command = [sys.executable, "-S", "-E", str(ROOT / "hooks" / "popkit.py"), "mcp"]
    done = subprocess.run(
        command, input=said.rstrip(), capture_output=True, env=environ_of(tmp_path), cwd=tmp_path, timeout=HANG_S, check=True
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
    found = program.ask(tool_call("memory_search", {"query": "y" * (10 << 20)}))["result"]
    assert found["isError"]
    assert found["content"][0]["text"] == "arguments.query must have at most 1,000 characters"


def with_tools(body: str) -> list[str]:
    """A command that serves other tools: the body of a class."""
    code = (
        f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'power-mode')!r}]; import os, threading\n"
        f"from popkit_retention.mcp import service\nreal = service.Tools\n"
        f"class Tools(real):\n    {body}\n"
        f"service.Tools = Tools\nservice.serve(dict(os.environ), '1')\n"
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
        code, said = program.end()
        assert (code, said.count("stray")) == (0, 2)


def test_the_help_says_how_a_client_gets_it(tmp_path: Path) -> None:
    shown = subprocess.run([ROOT / "bin" / "popkit", "mcp", "--help"], capture_output=True, text=True, check=True, timeout=HANG_S).stdout
    assert "claude mcp add popkit -- popkit mcp" in shown
    assert "claude plugin install popkit-mcp@popkit" in shown
    assert "standard input and output" in shown
