"""A real PostgreSQL for the tests: Debian's server programs, run by an ordinary user in a folder of their own, on the loopback.

For vectors, those with the extension pgvector: Debian's, else those of the package pgserver."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pg8000.dbapi

from tests import debian
from tests.listening import on_a_free_port
from tests.patience import until

USER, PASSWORD = "popkit", "hunter2-only-for-tests"
# The server refuses to run as root; it runs as one of these then.
ORDINARY = ("postgres", "nobody")
# The server ends with its input, so it ends with the tests, however they do. It heeds INT once it runs, TERM also before.
_SCRIPT = (
    'exec 3<&0; "$@" </dev/null 3<&- & server=$!; { cat <&3 >/dev/null; kill -TERM $server; kill -INT $server; } & exec 3<&-; wait $server'
)
_FAST = ("-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "max_connections=60")


class Server:
    """A running one."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._made = 0

    def connect(self, name: str = "postgres") -> Any:
        """A connection of the driver's to a database."""
        connection = pg8000.dbapi.connect(USER, host="127.0.0.1", port=self.port, database=name, password=PASSWORD)
        connection.autocommit = True
        return connection

    def ask(self, statement: str, name: str = "postgres") -> list[Any]:
        """The rows that a statement answers with."""
        connection = self.connect(name)
        try:
            cursor = connection.cursor()
            cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []
        finally:
            connection.close()

    def crash(self, name: str) -> None:
        """Kills it where it waits for a lock of a database, in the middle of a statement: all connections are cut, and it recovers."""
        waits = f"SELECT pid FROM pg_stat_activity WHERE datname = '{name}' AND wait_event_type = 'Lock'"  # noqa: S608  our own name

        def is_killed() -> bool:
            for (pid,) in self.ask(waits):
                with suppress(ProcessLookupError):  # it waits no longer
                    os.kill(pid, signal.SIGKILL)
                    return True
            return False

        until(is_killed, "somebody to wait for a lock")

    @property
    def version(self) -> str:
        """What it says its version is."""
        return str(self.ask("SHOW server_version")[0][0])

    def new_database(self, like: str = "template1") -> str:
        """The name of a new database: an empty one, or one that is like another."""
        self._made += 1
        name = f"popkit_{os.getpid()}_{self._made}"
        self.ask(f"CREATE DATABASE {name} TEMPLATE {like}")
        return name

    def environ(self, name: str) -> dict[str, str]:
        """What tells PopKit of a database."""
        address = f"postgresql://127.0.0.1:{self.port}/{name}"
        return {"POPKIT_DATABASE_URL": address, "PGUSER": USER, "PGPASSWORD": PASSWORD}


def with_vectors() -> Path | None:
    """The folder with the programs of a server that has the extension pgvector; None where there is none."""
    packaged = find_spec("pgserver")
    folders = [Path(folder) / "pginstall" / "bin" for folder in (packaged and packaged.submodule_search_locations) or ()]
    for programs in filter(None, [debian.postgresql(), *folders]):
        asked = [programs / "pg_config", "--sharedir"]
        shared = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() if asked[0].exists() else ""
        if (Path(shared) / "extension" / "vector.control").exists():
            return programs
    return None


@contextmanager
def running(programs: Path | None = None) -> Iterator[Server]:
    """A server of these programs (by default Debian's) that ends with the `with`, or with this process."""
    programs = programs or debian.postgresql()
    assert programs is not None, "look before with tests.debian.postgresql()"
    folder = Path(tempfile.mkdtemp(prefix="popkit-pg-"))
    as_user = _ordinary_user(folder)
    try:
        _make(programs, folder, as_user)

        def start(port: int) -> subprocess.Popen:
            command = [programs / "postgres", "-D", folder / "data", "-p", str(port), "-h", "127.0.0.1", "-k", folder, *_FAST]
            with (folder / "log").open("w") as log:
                return subprocess.Popen(
                    ["sh", "-c", _SCRIPT, "sh", *command], stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=folder, env=_ENV, **as_user
                )

        with on_a_free_port(start, lambda _port: _is_ready(folder / "data"), folder / "log") as port:
            yield Server(port)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_ENV = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


def _ordinary_user(folder: Path) -> dict[str, Any]:
    """How the programs are started so that they are not root's, and the folder is theirs."""
    if os.geteuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = next(known[name] for name in ORDINARY if name in known)
    os.chown(folder, entry.pw_uid, entry.pw_gid)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _make(programs: Path, folder: Path, as_user: dict[str, Any]) -> None:
    secret = folder / "secret"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    options = ["--username", USER, "--auth", "scram-sha-256", "--pwfile", secret, "--encoding", "UTF8", "--locale", "C", "--no-sync"]
    done = subprocess.run(
        [programs / "initdb", "-D", folder / "data", *options], capture_output=True, text=True, check=False, cwd=folder, env=_ENV, **as_user
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _is_ready(data: Path) -> bool:
    """Whether the server says so in the file that it keeps while it runs."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return False
    return lines[-1:] != [] and lines[-1].strip() == "ready"
