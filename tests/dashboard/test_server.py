"""`popkit dashboard` as a process: what it prints, where it listens, how it ends."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from popkit_retention.dashboard import server
from popkit_retention.dashboard.command import has_browser
from popkit_retention.dashboard.instance import Instance
from tests.dashboard.board import Board
from tests.kit.forks import Command, Forks
from tests.patience import HANG_S, until
from tests.reclaim.shops import ROOT

# The environment that has the packages: of the interpreter that runs the tests.
VENV = Path(sys.prefix)


class Process:
    """A `popkit dashboard` that runs."""

    def __init__(self, board: Board, *words: str, **env: str) -> None:
        environ = {**board.shop.environ(), "VIRTUAL_ENV": str(VENV), **env}
        self.command = [str(ROOT / "bin" / "popkit"), "dashboard", "--no-open", *words]
        self.started = subprocess.Popen(
            self.command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=str(board.shop.project)
        )
        self.printed: list[str] = []

    def address(self) -> str:
        """Waits for the address that it prints."""
        assert self.started.stdout
        for line in self.started.stdout:
            self.printed.append(line)
            if "http://" in line:
                return "http://" + line.partition("http://")[2].split('"')[0].strip()
        raise AssertionError(self.started.communicate())

    def end(self, sig: int = signal.SIGINT) -> tuple[int, str, str]:
        """(exit code, what else it printed, what it said of errors)."""
        self.started.send_signal(sig)
        output, errors = self.started.communicate(timeout=HANG_S)
        return self.started.returncode, "".join(self.printed) + output, errors


def ask(address: str, path: str = "/api/me") -> tuple[int, bytes]:
    """What is answered under a printed address."""
    parts = urlsplit(address)
    asked = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=HANG_S)
    asked.request("GET", path, headers={"Authorization": "Bearer " + parse_qs(parts.query)["token"][0]})
    answer = asked.getresponse()
    answered = answer.status, answer.read()
    asked.close()
    return answered


@pytest.fixture
def begin(board: Board) -> Iterator:
    running: list[Process] = []

    def start(*words: str, **env: str) -> Process:
        running.append(Process(board, *words, **env))
        return running[-1]

    yield start
    for process in running:
        if process.started.poll() is None:
            process.started.kill()
        process.started.communicate()


def test_an_interpreter_that_has_only_the_extra_finds_us_by_the_servers_own_place(tmp_path: Path) -> None:
    environ = {"POPKIT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    command = [sys.executable, "-S", server.__file__, "{}"]  # without site-packages, the extra is missing too
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environ, check=False, timeout=HANG_S)
    assert done.returncode != 0
    assert "could not start" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_its_address_and_a_signal_ends_it_despite_open_connections(board: Board, begin, sig: int) -> None:
    process = begin("--port", "0")
    address = process.address()
    assert urlsplit(address).hostname == "127.0.0.1"
    status, body = ask(address)
    assert (status, json.loads(body)["home"]) == (200, str(board.shop.home))
    page = http.client.HTTPConnection("127.0.0.1", urlsplit(address).port, timeout=HANG_S)
    page.request("GET", "/api/changes", headers={"Authorization": "Bearer " + parse_qs(urlsplit(address).query)["token"][0]})
    answer = page.getresponse()
    assert (answer.status, answer.getheader("connection")) == (200, None), "the connection is kept"
    answer.read()
    note = board.shop.home / "dashboard.json"
    assert note.stat().st_mode & 0o777 == 0o600
    code, output, errors = process.end(sig)
    assert (code, errors) == (0, "")
    assert output.count("\n") <= 3
    assert not note.exists()
    page.close()


@contextlib.contextmanager
def opening(board: Board, folder: Path, line: str) -> Iterator[tuple[subprocess.Popen, str]]:
    """The dashboard, started where a browser is that does a line of a shell; its address."""
    browser = folder / "browser"
    browser.write_text(f"#!/bin/sh\n{line}\n")
    browser.chmod(0o755)
    environ = {**board.shop.environ(), "VIRTUAL_ENV": str(VENV), "DISPLAY": ":99", "BROWSER": str(browser)}
    command = [str(ROOT / "bin" / "popkit"), "dashboard", "--port", "0"]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True, cwd=str(board.shop.project)) as process:
        assert process.stdout
        yield process, process.stdout.readline().partition(": ")[2].strip()


def test_the_token_is_no_argument_of_the_browser_that_is_opened(board: Board, tmp_path: Path) -> None:
    argument = tmp_path / "told"
    with opening(board, tmp_path, f'printf %s "$*" > "{argument}.new" && mv "{argument}.new" "{argument}"') as (process, address):
        until(argument.exists, "the browser")
        door = Path(urlsplit(argument.read_text()).path)
        assert parse_qs(urlsplit(address).query)["token"][0] not in argument.read_text()
        assert address in door.read_text()
        assert door.stat().st_mode & 0o777 == 0o600
        process.send_signal(signal.SIGTERM)
    assert not door.exists()


def test_it_serves_while_a_browser_blocks(board: Board, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    with opening(board, tmp_path, f'until [ -e "{closed}" ]; do sleep 0.1; done') as (process, address):
        try:
            assert ask(address)[0] == 200
        finally:
            closed.touch()
            process.send_signal(signal.SIGTERM)


def test_a_second_start_tells_where_the_first_one_is(begin) -> None:
    first = begin("--port", "0", "--json")
    address = first.address()
    second = begin("--port", "0")
    assert second.address() == address
    _, errors = second.started.communicate(timeout=HANG_S)
    assert (second.started.returncode, errors) == (0, "")
    assert ask(address)[0] == 200


def test_what_a_killed_one_has_left_keeps_nobody_from_starting(board: Board, begin) -> None:
    first = begin("--port", "0")
    first.address()
    first.started.kill()
    first.started.communicate()
    assert (board.shop.home / "dashboard.json").exists()
    second = begin("--port", "0")
    assert ask(second.address())[0] == 200


def test_nobody_is_sent_to_who_has_taken_the_port_of_a_killed_one(board: Board) -> None:
    class Impostor(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers["Authorization"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    asked: list[str] = []
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait(HANG_S)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Impostor) as impostor:
        threading.Thread(target=impostor.serve_forever, daemon=True).start()
        note = {"address": f"http://127.0.0.1:{impostor.server_port}/?token=old", "pid": gone.pid}
        (board.shop.home / "dashboard.json").write_text(json.dumps(note))
        assert Instance(board.shop.environ()).other() == ""
        impostor.shutdown()
    assert asked == []


def test_a_port_that_is_taken_is_refused_in_a_line(begin) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = begin("--port", str(port))
        output, errors = process.started.communicate(timeout=HANG_S)
    assert (process.started.returncode, output) == (1, "")
    assert errors == f"popkit dashboard: port {port} cannot be used (Address already in use). Give another --port, or omit it\n"


def test_the_usual_port_gives_way_to_a_free_one() -> None:
    first, note = server.bound(None)
    second, why = server.bound(None)
    try:
        assert second[0].getsockname()[1] != first[0].getsockname()[1]
        assert why == f"Port {server.PORT} is in use, so another one was chosen."
        assert {each.getsockname()[0] for each in (*first, *second)} == {"127.0.0.1"}
        assert note == "" or first[0].getsockname()[1] != server.PORT
    finally:
        for each in (*first, *second):
            each.close()


def test_nothing_but_loopback_listens_also_with_ipv6() -> None:
    try:
        listening, _ = server.bound(0, ipv6=True)
    except server.CannotListen:
        pytest.skip("this machine has no ::1")
    assert {each.getsockname()[0] for each in listening} == {"127.0.0.1", "::1"}
    assert len({each.getsockname()[1] for each in listening}) == 1
    for each in listening:
        each.close()


def test_where_ipv6_cannot_be_had_it_says_so_and_frees_the_port() -> None:
    (free,), _ = server.bound(0)
    port = free.getsockname()[1]
    free.close()
    with socket.socket(socket.AF_INET6) as taken, contextlib.suppress(OSError):  # without ::1 it cannot be had anyway
        taken.bind(("::1", port))
        taken.listen()
        with pytest.raises(server.CannotListen, match=rf"^\[::1\]:{port} cannot be used .*omit --ipv6$"):
            server.bound(port, ipv6=True)
    (again,), _ = server.bound(port)
    again.close()


def test_without_its_packages_it_says_what_to_install(board: Board, begin, tmp_path: Path) -> None:
    bare = Path("/usr/bin/python3")
    if not bare.exists() or not subprocess.run([bare, "-c", "import fastapi"], capture_output=True, check=False).returncode:
        pytest.skip("there is no interpreter here without the packages")
    environ = {**board.shop.environ(), "PATH": "/usr/bin:/bin"}
    command = [str(bare), "-S", str(ROOT / "hooks" / "popkit.py"), "dashboard"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert (done.returncode, done.stdout) == (1, "")
    assert "popkit setup dashboard" in done.stderr
    done = subprocess.run([*command, "--json"], env=environ, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert "popkit setup dashboard" in json.loads(done.stdout)["error"]


@pytest.mark.parametrize("port", ["-1", "65536", "x", "1e3", "٣"])
def test_a_port_that_is_none_is_refused(board: Board, forks: Forks, port: str) -> None:
    done = forks.run(Command(["dashboard", f"--port={port}"]), board.shop.environ())
    assert done.code == 1
    assert "--port takes a whole number from 0 to 65,535" in done.err
    assert "Traceback" not in done.err


def test_no_browser_is_opened_over_ssh() -> None:
    assert not has_browser({"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"})
    assert has_browser({"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22", "DISPLAY": ":10"})
    assert has_browser({"WAYLAND_DISPLAY": "wayland-0"})
    assert has_browser({}) == (sys.platform == "darwin")


def test_a_home_that_cannot_be_named_is_reported(begin) -> None:
    process = begin("--port", "0", POPKIT_HOME="relative/folder")
    output, errors = process.started.communicate(timeout=HANG_S)
    assert (process.started.returncode, output) == (1, "")
    assert "POPKIT_HOME" in errors
    assert "Traceback" not in errors
