"""`popkit budget`: how limits stand, and setting them on the user's word."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils import text
from popkit_retention import extras
from popkit_retention.cli import budget_command, main, own_configuration
from popkit_retention.usage.database import open_store
from popkit_retention.usage.report import report
from popkit_retention.views import budget as views
from tests.paths import ROOT
from tests.patience import HANG_S
from tests.usage.homes import House, answer, append
from tests.usage.records import NOW, used

GOLDENS = Path(__file__).parent / "goldens" / "budget"
SUM = {
    "requests": 3, "input_tokens": 1_200, "cache_read_tokens": 250_000, "cache_write_tokens": 30_000, "output_tokens": 4_000, "usd": 1.25,
    "unpriced": 0,
}  # fmt: skip
HEAD = {"database": "SQLite on this machine", "user": "alice", "session": "5a1f", "month": "2026-11"}


def limit(scope: str, unit: str, used: float, most: float, budget_range: str) -> dict[str, Any]:
    percent = used / most * 100
    remaining = {"remaining": max(0, most - used), "remaining_percent": max(0, 100 - percent), "range": budget_range}
    return {"scope": scope, "of": "alice", "unit": unit, "used": used, "limit": most, "used_percent": percent, **remaining}


SHOWN = {
    "none": {**HEAD, "limits": [], "used_percent": None, "remaining_percent": 100, "range": ">80%",
             "usage": {"session": SUM, "month": {**SUM, "requests": 1, "unpriced": 1, "usd": 0.0}}},
    "some": {**HEAD, "database": "PostgreSQL at db.example", "limits": [limit("session", "tokens", 285_200, 1_000_000, "60-80%"),
             limit("month", "usd", 42.5, 50, "<40%")], "used_percent": 85, "remaining_percent": 15, "range": "<40%", "on_exceeded": "warn",
             "usage": {"session": SUM, "month": SUM}},
    "over": {**HEAD, "session": "", "limits": [limit("month", "tokens", 2_400_000, 2_000_000, "<40%")], "used_percent": 120,
             "remaining_percent": 0, "range": "<40%", "on_exceeded": "refuse", "usage": {"session": None, "month": SUM}},
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_what_people_see(name: str, golden) -> None:
    shown = "\n".join(text.laid_out(views.budgets(SHOWN[name]))) + "\n"
    assert all(len(line) <= 76 for line in shown.splitlines())
    golden(GOLDENS / f"{name}.txt", shown)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"POPKIT_HOME": str(tmp_path), "LOGNAME": "alice", "PATH": "/usr/bin:/bin"}


def configuration(environ: dict[str, str]) -> Path:
    return Path(environ["POPKIT_HOME"]) / "retention-config.json"


def test_the_report_has_what_is_used_and_what_remains_of_each_limit(environ: dict[str, str]) -> None:
    configuration(environ).write_text('{"context": {"session_tokens": 100, "month_usd": 1}}')
    with open_store(environ) as store:
        store.write([used("1"), used("2", "t", NOW - 5), used("3", "t", user="bob")])
    found = report(environ, now=NOW)
    assert (found["user"], found["session"]) == ("alice", "s")
    assert [(each["used"], each["remaining"], each["remaining_percent"], each["range"]) for each in found["limits"]] == [
        (15, 85, 85.0, ">80%"),
        (0.5, 0.5, 50.0, "40-60%"),
    ]
    assert (found["used_percent"], found["remaining_percent"], found["range"]) == (50.0, 50.0, "40-60%")
    assert report(environ, "t", "bob", NOW)["usage"]["session"]["requests"] == 2


def test_a_bare_interpreter_tells_what_sessions_have_used(tmp_path: Path) -> None:
    house = House(tmp_path)
    append(house.begin(), answer("m1"), answer("m2"))
    command = [sys.executable, "-X", "utf8", "-S", "-E", str(ROOT / "hooks" / "popkit.py"), "budget", "--json"]
    done = subprocess.run(command, env=house.environ, capture_output=True, text=True, check=True, timeout=HANG_S)
    found = json.loads(done.stdout)
    assert (found["session"], found["usage"]["session"]["requests"], found["usage"]["month"]["output_tokens"]) == ("s1", 2, 10)
    assert done.stderr == "", "no bar where there is no terminal"


def test_where_nothing_has_the_driver_of_a_server_it_is_said_how_to_get_it(
    environ: dict[str, str], capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget_command, "find_spec", lambda name: None)
    monkeypatch.setattr(extras, "place_of", lambda name, environ: "")
    assert main.main(["budget"], {**environ, "POPKIT_DATABASE_URL": "postgresql://me:swordfish@127.0.0.1:1/x"}) == 1
    assert "Install it with: popkit setup postgres" in " ".join(capsys.readouterr().err.split())


def test_whether_the_database_can_be_used_is_checked_without_making_one(environ: dict[str, str], capsys: pytest.CaptureFixture) -> None:
    assert main.main(["budget", "--check"], environ) == 0
    assert capsys.readouterr().out == "SQLite on this machine can be used.\n"
    assert main.main(["budget", "--check", "--json"], {**environ, "POPKIT_DATABASE_URL": "postgresql://me@127.0.0.1:1/x"}) == 1
    assert "cannot be used" in json.loads(capsys.readouterr().out)["error"]
    assert not (Path(environ["POPKIT_HOME"]) / "usage.sqlite").exists()


def test_the_command_tells_of_the_user_who_is_asked_for(environ: dict[str, str], capsys: pytest.CaptureFixture) -> None:
    assert main.main(["budget", "--json", "--user", "bob"], environ) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["user"], found["limits"], found["database"]) == ("bob", [], "SQLite on this machine")
    assert main.main(["budget"], environ) == 0
    assert "No limit is set" in capsys.readouterr().out


def test_a_database_that_cannot_be_used_is_said_with_what_to_do(environ: dict[str, str], capsys: pytest.CaptureFixture) -> None:
    assert main.main(["budget"], {**environ, "POPKIT_DATABASE_URL": "postgresql://me:swordfish@127.0.0.1:1/x"}) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "PostgreSQL at 127.0.0.1:1 cannot be used" in told
    assert "swordfish" not in told


def test_the_change_that_is_shown_has_no_password_in_it(environ: dict[str, str], capsys: pytest.CaptureFixture) -> None:
    configuration(environ).write_text('{"context": {"database": "postgresql://bob:hunter2secret@db/x"}}\n')
    assert main.main(["budget", "set", "session_tokens=5", "--yes"], environ) == 0
    shown = capsys.readouterr().out
    assert "postgresql://bob:****@db/x" in shown
    assert "hunter2secret" not in shown
    assert "hunter2secret" in configuration(environ).read_text()


def test_limits_are_set_only_on_the_users_word(environ: dict[str, str], capsys: pytest.CaptureFixture) -> None:
    assert main.main(["budget", "set", "month_usd=50", "--dry-run"], environ) == 0
    assert main.main(["budget", "set", "month_usd=50"], environ) == 1
    assert not configuration(environ).exists()
    assert main.main(["budget", "set", "month_usd=50", "session_tokens=2,000,000", "--yes"], environ) == 0
    assert json.loads(configuration(environ).read_text()) == {"retention": {"context": {"month_usd": 50.0, "session_tokens": 2_000_000}}}
    assert main.main(["budget", "set", "month_usd=none", "--yes"], environ) == 0
    assert json.loads(configuration(environ).read_text())["retention"]["context"]["month_usd"] is None
    assert "asks for just that" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "word", ["month_usd", "weeks=3", "month_usd=0", "session_tokens=1.5", "month_tokens=-1", "month_usd=much", "database=x"]
)
def test_what_is_no_limit_is_refused_and_changes_nothing(environ: dict[str, str], word: str, capsys: pytest.CaptureFixture) -> None:
    assert main.main(["budget", "set", word, "--yes"], environ) == 1
    assert "popkit budget: " in capsys.readouterr().err
    assert not configuration(environ).exists()


def test_a_file_with_comments_is_left_alone_and_the_line_is_told(environ: dict[str, str], capsys: pytest.CaptureFixture) -> None:
    configuration(environ).write_text('{\n// mine\n"retention": {}\n}\n')
    assert main.main(["budget", "set", "month_usd=50", "--yes"], environ) == 1
    assert '"context": {"month_usd": 50.0}' in " ".join(capsys.readouterr().err.split())
    assert "// mine" in configuration(environ).read_text()


others = st.dictionaries(st.sampled_from(["profile", "pins", "memory"]), st.integers() | st.text("ab", max_size=3), max_size=3)


@given(others, st.booleans(), st.booleans())
def test_what_else_the_file_says_stays(other: dict, wrapped: bool, has_database: bool) -> None:
    settings = {**other, **({"context": {"database": "postgresql://db/x"}} if has_database else {})}
    before = json.dumps({"retention": settings} if wrapped else settings, indent=2)
    after = json.loads(own_configuration.with_settings(before, {"context": {"month_usd": 5.0}}))
    held = after["retention"] if wrapped or not settings else after
    assert held["context"] == {**settings.get("context", {}), "month_usd": 5.0}
    assert {**held, "context": settings.get("context")} == {**settings, "context": settings.get("context")}


def test_asking_leaves_one_private_file(environ: dict[str, str]) -> None:
    report(environ, now=NOW)
    (path,) = Path(environ["POPKIT_HOME"]).glob("usage.sqlite")
    assert path.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM context_usage").fetchone() == (0,)
