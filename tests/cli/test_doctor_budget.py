"""`popkit doctor` on limits, database and traces: what the configuration asks for, and what waits to be sent."""

from __future__ import annotations

import json

import pytest

from hooks.utils.state import outbox
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
    assert not (played.home / "context.sqlite").exists()


def test_it_tells_how_many_limits_there_are_and_where_usage_is_kept(played: Played) -> None:
    played.start()
    configured(played, month_usd=50.0, session_tokens=1_000_000)
    check = found(played, "budget")
    assert (check["level"], check["limits"], check["waiting_bytes"]) == ("ok", 2, 0)
    assert check["text"].startswith("2 limits; ")
    (played.home / outbox.NAME).write_text("{}\n" * 400)
    assert found(played, "budget")["text"].endswith("; 1.2 kB wait to be sent")
    assert not (played.home / "context.sqlite").exists(), "it changes nothing"


def test_a_database_that_cannot_be_used_is_a_warning_without_credentials(played: Played) -> None:
    played.start()
    configured(played, database="postgresql://127.0.0.1:9/team")
    check = found(played, "budget", PGUSER="dana", PGPASSWORD="hunter2hunter2")
    assert check["level"] == "warning"
    assert "hunter2" not in json.dumps(check)
    assert check["advice"] == "Contexts are built without limits, and nothing is booked, until then."


def test_an_outbox_that_takes_no_more_is_a_warning(played: Played) -> None:
    played.start()
    configured(played, month_usd=50.0)
    with (played.home / outbox.NAME).open("wb") as file:
        file.truncate(outbox.MOST_BYTES + 1)
    check = found(played, "budget")
    assert (check["level"], check["advice"]) == ("warning", "popkit budget send says what hinders it.")
