"""`popkit doctor` on limits, database and traces: whether what the configuration asks for can be used."""

from __future__ import annotations

import json

import pytest

from popkit_retention import extras
from tests.cli.healthy import found, machine
from tests.cli.played import Played


@pytest.fixture
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return machine(tmp_path_factory.mktemp("p"))


def configured(played: Played, **context: object) -> None:
    played.home.mkdir(exist_ok=True)
    (played.home / "retention-config.json").write_text(json.dumps({"retention": {"context": context}}))


def test_where_nothing_is_asked_for_no_database_is_opened(played: Played) -> None:
    played.start()
    check = found(played, "budget")
    assert (check["level"], check["text"]) == ("ok", "no limits and no traces. To set a limit: popkit budget set month_usd=50")
    assert not (played.home / "usage.sqlite").exists()


def test_it_tells_how_many_limits_there_are_and_where_usage_is_kept(played: Played) -> None:
    played.start()
    configured(played, month_usd=50.0, session_tokens=1_000_000)
    check = found(played, "budget")
    assert (check["level"], check["limits"], check["waiting"]) == ("ok", 2, 0)
    assert check["text"] == "2 limits; SQLite on this machine"
    assert not (played.home / "usage.sqlite").exists(), "it changes nothing"


def test_a_database_that_cannot_be_used_is_a_warning_without_credentials(played: Played) -> None:
    played.start()
    configured(played, database="postgresql://127.0.0.1:9/team")
    check = found(played, "budget", PGUSER="dana", PGPASSWORD="hunter2hunter2")
    assert check["level"] == "warning"
    assert "hunter2" not in json.dumps(check)
    assert check["advice"] == "Contexts are built without limits, and nothing is booked, until then."


def test_it_tells_how_many_requests_a_server_has_yet_to_be_told_of(played: Played) -> None:
    played.start()
    played.read("a.ts", "const a = 1")
    configured(played, database="postgresql://127.0.0.1:9/team")
    assert played.run("budget").returncode == 1
    assert found(played, "budget")["waiting"] > 0


def test_a_file_that_is_damaged_is_a_warning(played: Played) -> None:
    played.start()
    configured(played, month_usd=50.0)
    (played.home / "usage.sqlite").write_bytes(b"no database " * 500)
    check = found(played, "budget")
    assert (check["level"], "Move it away" in check["text"]) == ("warning", True)


def test_traces_that_nothing_can_send_are_a_warning(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    played.start()
    configured(played, traces="http://127.0.0.1:4318")
    monkeypatch.setattr(extras, "place_of", lambda name, environ: "")
    assert found(played, "budget")["advice"] == "popkit setup traces"
