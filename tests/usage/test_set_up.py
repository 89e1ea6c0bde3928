"""A mistake in the set-up of the database stops a client at its start, and says what to do; a database that falls silent later stops
nothing, and the answers, the log and `popkit budget` say so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.cli import main
from popkit_retention.clients import with_context
from popkit_retention.context.configured_service import configured_service
from popkit_retention.core.errors import PopkitError
from popkit_retention.usage import budgets, postgres
from popkit_retention.usage.configured_database import open_store
from tests.context import postgresql
from tests.context.clients.callers import KINDS, Kind
from tests.context.clients.providers import Providers
from tests.context.hostile import Way
from tests.paths import PYTHONPATH
from tests.patience import HANG_S, until
from tests.usage.records import cut_off, used

OPENAI = Kind("openai", False)
LIMITS = {"month_tokens": 1_000_000, "on_exceeded": "refuse"}


@pytest.fixture
def api() -> Iterator[Providers]:
    with Providers() as running:
        yield running


def environ_of(folder: Path, address: str = "", **context: Any) -> dict[str, str]:
    (folder / "retention-config.json").write_text(json.dumps({"retention": {"context": context}}))
    return {"POPKIT_HOME": str(folder), "LOGNAME": "dana", **({"POPKIT_DATABASE_URL": address} if address else {})}


@cut_off
@pytest.mark.parametrize(
    ("address", "advice"),
    [
        ("mysql://db/x", "POPKIT_DATABASE_URL is not the address of a PostgreSQL. Set it to postgresql://"),
        ("postgresql://127.0.0.1:1/x", "Check context.database (popkit config show) or POPKIT_DATABASE_URL, and that it runs"),
        ("postgresql://dana:swordfish@127.0.0.1:{port}/postgres", "Set PGUSER and PGPASSWORD to a user of that server"),
        (f"postgresql://{postgresql.USER}:{postgresql.PASSWORD}@127.0.0.1:{{port}}/none", 'database "none" does not exist'),
    ],
)
def test_a_mistake_of_the_set_up_is_an_error_at_the_start(server: postgresql.Server, tmp_path: Path, address: str, advice: str):
    with pytest.raises(PopkitError) as raised:
        configured_service(environ_of(tmp_path, address.format(port=server.port)))
    assert advice in str(raised.value)
    assert "swordfish" not in str(raised.value)


def test_a_user_who_may_not_make_the_tables_is_told_so_at_the_start(server: postgresql.Server, tmp_path: Path):
    name = server.new_database()
    server.ask("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    server.ask("REVOKE CREATE ON SCHEMA public FROM PUBLIC", name)
    with pytest.raises(PopkitError, match="permission denied for schema public"):
        configured_service(environ_of(tmp_path, f"postgresql://guest:guest@127.0.0.1:{server.port}/{name}"))


WITHOUT_DRIVER = """
import sys
class Blocked:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "pg8000":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
import openai
from popkit_retention.clients import with_context
with_context(openai.OpenAI(api_key="none"), user_id="dana")
print("it has started")
"""


def test_without_the_driver_a_client_does_not_start_and_says_how_to_install_it(tmp_path: Path):
    environ = {**os.environ, **environ_of(tmp_path, "postgresql://127.0.0.1/x"), "PYTHONPATH": PYTHONPATH}
    done = subprocess.run([sys.executable, "-c", WITHOUT_DRIVER], env=environ, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install '/path/of/popkit[postgres]'" in done.stderr.splitlines()[-1]


def test_a_damaged_file_is_an_error_at_the_start_where_a_limit_needs_it(tmp_path: Path):
    (tmp_path / "usage.sqlite").write_bytes(b"no database " * 500)
    configured_service(environ_of(tmp_path)).close()
    with pytest.raises(PopkitError, match="Move it away"):
        configured_service(environ_of(tmp_path, **LIMITS))


@cut_off
def test_answers_log_and_budget_tell_of_a_database_that_falls_silent_later(
    api: Providers,
    server: postgresql.Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture,
):
    monkeypatch.setattr(postgres, "PATIENCE_S", 1.0)
    name, way = server.new_database(), Way(server.port)
    address = f"postgresql://{postgresql.USER}:{postgresql.PASSWORD}@127.0.0.1:{way.port}/{name}"
    environ = environ_of(tmp_path, address, **LIMITS)
    service = configured_service(environ)

    def ask(kind: Kind) -> Any:
        return getattr(kind.ask(with_context(kind.make(api), user_id="dana", session_id="s1", service=service)), "popkit", None)

    monkeypatch.setattr(budgets, "FIRST_WAIT_S", HANG_S)
    assert ask(OPENAI) is None
    way.speaks.clear()
    silent = [ask(kind)["unchecked"] for kind in KINDS]
    assert [unchecked["requests"] for unchecked in silent] == [1, 2, 3, 4]
    assert len({unchecked["since"] for unchecked in silent}) == 1
    assert set(silent[0]) == {"since", "requests"}, "the server's name is not for whoever asks a proxy"
    assert main.main(["budget"], environ) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "cannot be used" in told
    assert "This month 4 requests on this machine were not checked against the limits, from 20" in told
    way.speaks.set()
    until(lambda: ask(OPENAI) is None, "the limits to be checked again")
    assert main.main(["budget"], environ) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "requests on this machine were not checked against the limits" in shown
    assert "The reason: PostgreSQL at 127.0.0.1" in shown
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("PopKit: limits")]
    assert [("cannot be checked" in line, "checked again" in line) for line in lines] == [(True, False), (False, True)]
    assert postgresql.PASSWORD not in caplog.text + told + shown
    service.close()
    way.close()


def test_a_limit_that_was_used_up_before_refuses_while_the_database_is_silent(
    server: postgresql.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(postgres, "PATIENCE_S", 1.0)
    name, way = server.new_database(), Way(server.port)
    address = f"postgresql://{postgresql.USER}:{postgresql.PASSWORD}@127.0.0.1:{way.port}/{name}"
    service = configured_service(environ_of(tmp_path, address, session_tokens=10, on_exceeded="refuse"))
    log: Any = service._usage
    with open_store(environ_of(tmp_path, address, session_tokens=10, on_exceeded="refuse")) as store:
        store.write([used("1", "s1", user="dana")])
    until(lambda: log.used_percent("dana", "s1"), "what is used to be known")
    way.speaks.clear()
    assert log.check_limits("dana", "s1").refuses
    service.close()
    way.close()
