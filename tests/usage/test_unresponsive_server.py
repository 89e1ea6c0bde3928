"""A database that falls silent: the server stops, the network swallows everything, nobody answers. Requests go out, nothing hangs, and what
was to be written is written once the server speaks again."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.clients import with_context
from popkit_retention.context import usage_writer
from popkit_retention.context.configured_service import configured_service
from popkit_retention.context.service import ContextService
from popkit_retention.usage import postgres
from popkit_retention.usage.configured_database import open_store
from popkit_retention.usage.server_address import Server
from popkit_retention.usage.usage_store import DatabaseUnavailable
from tests.context import postgresql
from tests.context.clients.callers import KINDS, Kind
from tests.context.clients.providers import TEXT, Providers
from tests.context.hostile import Way
from tests.patience import HANG_S, until
from tests.usage.records import cut_off, rows

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is silent is known to be so after a second, and is tried again soon. A connection that was left open fails here, not in whatever
    test comes next."""
    monkeypatch.setattr(postgres, "PATIENCE_S", 1.0)
    monkeypatch.setattr(usage_writer, "AGAIN_S", (0.1,))
    yield
    gc.collect()


@pytest.fixture
def api() -> Iterator[Providers]:
    with Providers() as running:
        yield running


@pytest.fixture
def serve() -> Iterator[Callable[[dict[str, str]], ContextService]]:
    """Makes services as a user has configured them, which end with the test."""
    services: list[ContextService] = []

    def start(environ: dict[str, str]) -> ContextService:
        services.append(configured_service(environ))
        return services[-1]

    yield start
    for service in services:
        service.close()


@pytest.fixture
def way(server: postgresql.Server) -> Iterator[Way]:
    opened = Way(server.port)
    yield opened
    opened.close()


def environ_of(server: postgresql.Server, port: int, name: str, folder: Path) -> dict[str, str]:
    address = f"postgresql://127.0.0.1:{port}/{name}"
    limits = {"POPKIT_HOME": str(folder / "home"), "LOGNAME": "dana"}
    (folder / "home").mkdir(exist_ok=True)
    (folder / "home" / "retention-config.json").write_text('{"retention": {"context": {"month_tokens": 1000000}}}')
    return {**limits, **server.environ(name), "POPKIT_DATABASE_URL": address}


def asks(api: Providers, service: ContextService, kind: Kind, count: int = 2) -> None:
    """Requests that go out, whatever the database does."""
    for number in range(count):
        client = with_context(kind.make(api), user_id="dana", session_id=f"s{number}", service=service)
        assert kind.text(kind.ask(client)) == TEXT


def booked(environ: dict[str, str]) -> list[int]:
    with open_store(environ) as store:
        return rows(store)


def processes_of(server: postgresql.Server) -> list[int]:
    """Those of the server, its own first."""
    ((folder,),) = server.ask("SHOW data_directory")
    main = int((Path(folder) / "postmaster.pid").read_text().splitlines()[0])
    listing = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in listing.splitlines()]
    return [main, *(pid for pid, parent in pairs if parent == main)]


def runs(code: str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A process of its own."""
    environ = {**os.environ, **environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "power-mode")))}
    return subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=HANG_S, check=False)


@contextlib.contextmanager
def stopped(server: postgresql.Server) -> Iterator[None]:
    """The server's processes stand still: the system accepts connections for it, and nobody answers."""
    held = processes_of(server)
    try:
        _signal(held, signal.SIGSTOP)
        yield
    finally:
        _signal(held, signal.SIGCONT)


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # one that answered who they are may have ended since
            os.kill(pid, number)


@cut_off
def test_while_nobody_answers_requests_go_out_and_what_they_used_waits(
    api: Providers, serve: Any, server: postgresql.Server, tmp_path: Path
):
    nobody = Way()
    service = serve(environ_of(server, nobody.port, "none", tmp_path))
    log: Any = service._usage
    try:
        for kind in KINDS:
            asks(api, service, kind, 1)
        assert not log.flush(3.0)
        assert len(log._writer._queue) + log._writer._writing == 2 * len(KINDS)
        service.close()
    finally:
        nobody.close()


@cut_off
def test_a_server_that_is_stopped_holds_up_no_request_and_gets_everything_later(
    api: Providers, serve: Any, server: postgresql.Server, tmp_path: Path
):
    environ = environ_of(server, server.port, server.new_database(), tmp_path)
    service = serve(environ)
    log: Any = service._usage
    for kind in KINDS:
        asks(api, service, kind, 1)
    assert log.flush(HANG_S)
    with stopped(server):
        for kind in KINDS:
            asks(api, service, kind, 2)
        assert not log.flush(3.0)
    assert log.flush(HANG_S)
    assert log._writer.lost == 0
    service.close()
    assert booked(environ) == [12, 12]


@cut_off
def test_a_half_open_connection_is_given_up_and_everything_is_written_over_another(
    api: Providers, serve: Any, server: postgresql.Server, way: Way, tmp_path: Path
):
    name = server.new_database()
    environ = environ_of(server, way.port, name, tmp_path)
    service = serve(environ)
    log: Any = service._usage
    asks(api, service, KINDS[0], 2)
    assert log.flush(HANG_S)
    way.speaks.clear()
    asks(api, service, KINDS[2], 2)
    assert not log.flush(3.0)
    way.speaks.set()
    assert log.flush(HANG_S)
    service.close()
    assert booked(environ) == [4, 4]


@cut_off
def test_a_server_that_falls_silent_within_a_statement_gets_all_of_it_once(
    api: Providers, serve: Any, server: postgresql.Server, way: Way, tmp_path: Path
):
    name = server.new_database()
    environ = environ_of(server, way.port, name, tmp_path)
    open_store(environ).close()
    holds = server.connect(name)
    holds.autocommit = False
    cursor = holds.cursor()
    cursor.execute("LOCK TABLE context_usage, context_snapshots")
    service = serve(environ)
    log: Any = service._usage
    asks(api, service, KINDS[0], 3)
    waits = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}' AND wait_event_type = 'Lock'"  # noqa: S608  our own name
    until(lambda: server.ask(waits)[0][0] > 0, "the writer to wait for the lock")
    way.speaks.clear()
    assert not log.flush(3.0)
    holds.rollback()
    holds.close()
    way.speaks.set()
    assert log.flush(HANG_S)
    service.close()
    assert booked(environ) == [3, 3]


@cut_off
def test_who_asks_a_silent_server_is_told_so_and_how_to_go_on(server: postgresql.Server, tmp_path: Path):
    nobody = Way()
    try:
        with pytest.raises(
            DatabaseUnavailable, match=r"PostgreSQL at 127\.0\.0\.1:\d+ cannot be used: .*\. Check context\.database"
        ) as raised:
            open_store(environ_of(server, nobody.port, "none", tmp_path))
        assert postgresql.PASSWORD not in str(raised.value)
    finally:
        nobody.close()


def test_the_command_ends_with_the_same_words(server: postgresql.Server, tmp_path: Path):
    nobody = Way()
    try:
        environ = environ_of(server, nobody.port, "none", tmp_path)
        code = "import sys; from popkit_retention.cli.main import main; sys.exit(main(['budget']))"
        done = runs(code, environ)
    finally:
        nobody.close()
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "cannot be used" in " ".join((done.stdout + done.stderr).split())


def test_a_process_that_ends_while_the_database_is_silent_ends(server: postgresql.Server, api: Providers, tmp_path: Path):
    nobody = Way()
    code = (
        "import anthropic\n"
        "from popkit_retention.clients import with_context\n"
        f"client = with_context(anthropic.Anthropic(base_url={api.url!r}, api_key='none'), user_id='dana')\n"
        "print(client.messages.create(model='m', max_tokens=9, messages=[{'role': 'user', 'content': 'x'}]).content[0].text)\n"
    )
    try:
        environ = environ_of(server, nobody.port, "none", tmp_path)
        done = runs(code, environ)
    finally:
        nobody.close()
    assert (done.returncode, done.stdout.strip()) == (0, TEXT)
    assert "Some snapshots and usage are not written" in done.stderr


def test_no_connection_stays_open_over_which_a_server_says_nothing():
    with socket.create_server(("127.0.0.1", 0)) as mute:
        with pytest.raises(DatabaseUnavailable) as refused:
            postgres.PostgresStore(Server("127.0.0.1", mute.getsockname()[1], "popkit", "dana", "", "prefer"))
        accepted, _ = mute.accept()
        with accepted:
            accepted.settimeout(HANG_S)
            assert accepted.recv(1_000) != b""
            assert accepted.recv(1_000) == b"", "it is closed although the error is known still"
    assert "timed out" in str(refused.value)
