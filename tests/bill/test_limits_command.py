"""`popkit bill limits`: how full the windows are, and what used them; `popkit budget`: how the user's own limits stand, and setting them on
a yes."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention import extras
from popkit_retention.bill import limit_views
from popkit_retention.bill.digest import digest_of
from popkit_retention.bill.limit_window import took
from popkit_retention.bill.sums import SLOT_S
from popkit_retention.cli import main, settings_file
from popkit_retention.core import text
from popkit_retention.core.policy.models import Models
from popkit_retention.core.state import shipped
from popkit_retention.core.views.plan_limits import limits_pane_lines
from popkit_retention.usage import views as budget_views
from popkit_retention.usage.budgets import Standing
from popkit_retention.usage.configured_database import BudgetReport, open_store, report
from popkit_retention.usage.records import Sum
from tests.bill.conversations import BASE, Conversation, at_work
from tests.cli import inside
from tests.lab.transcripts import BEGAN
from tests.paths import ROOT
from tests.patience import HANG_S
from tests.usage.homes import House, answer, append
from tests.usage.records import NOW, used

GOLDENS = Path(__file__).parent / "goldens"
HOUR = 3_600.0
MODELS = Models({"claude-opus-4-6": {"read": 0.1, "write_5m": 1.25, "write_1h": 2.0, "input": 5, "output": 25}}, "2026-09")
RESETS = BEGAN + 4 * HOUR  # of the five hours in the middle of which the conversations begin


def worked(home: Path) -> dict[str, str]:
    """Sessions of a user, one with a subagent, one that began before the window: their environment an hour after they began."""
    project = home / "claude" / "projects" / "-shop"
    (project / "one" / "subagents").mkdir(parents=True)
    one = Conversation()
    one.request(output=300)
    one.write(project / "one.jsonl")
    agent = Conversation("claude-haiku-4-5")
    for entry in agent.entries:
        entry["isSidechain"] = True
    agent.write(project / "one" / "subagents" / "agent-a.jsonl")
    early = Conversation()
    for entry in early.entries:
        entry["timestamp"] = entry["timestamp"].replace("2026-09-21", "2026-09-20")
    early.request(output=700)
    early.write(project / "early.jsonl")
    return {"CLAUDE_CONFIG_DIR": str(home / "claude"), "POPKIT_HOME": str(home / "popkit"), "POPKIT_CLOCK": str(BEGAN + HOUR)}


def has_read(home: Path, rows: list[list[object]]) -> None:
    (home / "popkit").mkdir(exist_ok=True)
    (home / "popkit" / "limits.json").write_text(json.dumps(rows))


def steady(kind: str, resets_at: float, percent: float, an_hour: float) -> list[list[object]]:
    """Readings of the hour until now."""
    return [[kind, BEGAN + part * HOUR, percent - an_hour * (1 - part), resets_at] for part in (0, 0.25, 0.5, 0.75, 1)]


def data(home: Path, environ: dict[str, str]) -> dict:
    done = inside.run(["bill", "limits", "--json"], environ, home)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_each_window_has_its_pace_its_end_and_what_used_it(tmp_path: Path):
    environ = worked(tmp_path)
    has_read(tmp_path, steady("five_hour", RESETS, 62, 38) + steady("seven_day", BEGAN + 90 * HOUR, 31, 0.1))
    five, seven = data(tmp_path, environ)["windows"]
    assert (five["kind"], five["percent"], five["percent_per_hour"]) == ("five_hour", 62, pytest.approx(38))
    assert five["full_at"] == pytest.approx(BEGAN + 2 * HOUR)
    assert seven["full_at"] is None
    # What the session of the day before had used by then is of the longer window alone.
    assert seven["took"]["tokens"] - five["took"]["tokens"] == BASE + 2_000 + 50


def test_subagents_stand_apart_and_the_sums_agree(tmp_path: Path):
    environ = worked(tmp_path)
    has_read(tmp_path, [["five_hour", BEGAN + HOUR, 62, RESETS]])
    (window,) = data(tmp_path, environ)["windows"]
    sums = window["took"]
    assert {(part["session"], part["subagents"]): part["used"]["output"] for part in sums["parts"]} == {
        ("one", False): 350, ("one", True): 50, ("early", False): 700,
    }  # fmt: skip
    assert sums["tokens"] == sum(part["tokens"] for part in sums["parts"]) == sum(sums["used"].values())
    assert sum(part["share"] for part in sums["parts"]) == pytest.approx(1)
    assert window["percent_per_hour"] is None
    assert sum(sums["sources"].values()) == sums["tokens"]
    assert {row["kind"] for row in sums["kinds"]} == {"said", "wrote", "other"}
    assert sum(row["tokens"] for row in sums["kinds"]) == sums["sources"]["conversation"]
    assert sums["sources"]["subagents"] == sum(part["tokens"] for part in sums["parts"] if part["subagents"])


def test_the_share_of_a_session_is_that_of_the_price_of_its_tokens(tmp_path: Path):
    environ = worked(tmp_path)
    has_read(tmp_path, [["five_hour", BEGAN + HOUR, 62, RESETS]])
    (window,) = data(tmp_path, environ)["windows"]
    parts = {(part["session"], part["subagents"]): part for part in window["took"]["parts"]}
    one, agent = parts["one", False], parts["one", True]
    assert one["usd"] == pytest.approx((24_000 * 2 + 22_000 * 0.1) * 5e-6 + 350 * 25e-6)
    assert agent["tokens"] * 3 > one["tokens"], "but a token of its model costs a fifth"
    assert agent["share"] < one["share"] / 5
    assert sum(part["usd"] for part in parts.values()) == pytest.approx(window["took"]["usd"])


def test_of_a_model_without_a_known_price_the_tokens_are_named(tmp_path: Path):
    priced, unknown = Conversation(), Conversation("claude-unheard-1")
    priced.request()
    paths = [each.written(tmp_path / f"{name}.jsonl") for name, each in (("a", priced), ("b", unknown))]
    sums = took([digest_of(str(path), path.stat().st_size) for path in paths], 0.0, MODELS)
    assert [(part["usd"] is None, part["share"]) for part in sums["parts"]] == [(False, 1.0), (True, None)]
    assert sums["unpriced"] == sums["parts"][1]["tokens"] > 0


def test_what_requests_used_by_time_is_all_that_they_used(tmp_path: Path):
    conversation = Conversation()
    conversation.wait(4_000)
    conversation.request(reads=0)
    digest = conversation.digest(tmp_path)
    (used,) = digest["used"]
    assert [at % SLOT_S for at, *_ in digest["by_time"]] == [0, 0]
    assert [sum(slot[column] for slot in digest["by_time"]) for column in (1, 2, 3, 4)] == [
        used["plain"], used["read"], used["write_5m"] + used["write_1h"], used["output"],
    ]  # fmt: skip
    kinds = ("plain", "read", "write_5m", "write_1h", "output")
    assert [sum(slot[3 + column] for slot in digest["by_price"]) for column in range(5)] == [used[kind] for kind in kinds]


def test_without_a_reading_it_says_what_reports_them(tmp_path: Path):
    environ = worked(tmp_path)
    assert data(tmp_path, environ) == {"last_reading_at": None, "prices_of": shipped.models().dated, "windows": []}
    assert "There is no reading of a limit yet." in inside.run(["bill", "limits"], environ, tmp_path).stdout
    has_read(tmp_path, [["five_hour", BEGAN - HOUR, 62, BEGAN]])
    assert "No window runs now." in inside.run(["bill", "limits"], environ, tmp_path).stdout


@pytest.mark.parametrize("columns", [40, 72])
def test_people_read_the_windows_and_what_used_them(columns: int, tmp_path: Path, golden):
    now = time.mktime((2026, 11, 24, 14, 0, 0, 0, 0, -1))
    worked(tmp_path)
    project = tmp_path / "claude" / "projects" / "-shop"
    at_work().write(project / "two.jsonl")
    sums = took([digest_of(str(path), path.stat().st_size) for path in sorted(project.rglob("*.jsonl"))], 0.0, MODELS)
    five = {"kind": "five_hour", "percent": 62.4, "at": now - 240, "percent_per_hour": 14.1, "full_at": now + 160 * 60,
            "resets_at": now + 4 * HOUR, "began": now - HOUR, "took": sums}  # fmt: skip
    seven = {**five, "kind": "seven_day", "percent": 31, "percent_per_hour": None, "full_at": None, "at": now,
             "resets_at": now + 90 * HOUR, "began": now - 78 * HOUR, "took": took([], 0.0, MODELS)}  # fmt: skip
    spent = {**seven, "kind": "spend_limit", "percent": 104.5, "resets_at": None, "began": None, "took": None}
    limits = {"last_reading_at": now, "prices_of": MODELS.dated, "windows": [five, seven, spent]}
    lines = text.laid_out(limit_views.windows(limits, now), columns)
    in_pane = text.laid_out(limits_pane_lines(limits, now), columns)
    assert max(map(text.width, [*lines, *in_pane])) <= columns
    golden(GOLDENS / f"limits-{columns}.txt", "\n".join(lines) + "\n")
    golden(GOLDENS / f"limits-pane-{columns}.txt", "\n".join(in_pane) + "\n")


def test_what_was_written_again_after_a_pause_is_a_source(tmp_path: Path):
    conversation = Conversation()
    conversation.request()
    conversation.wait(4_000)
    conversation.request(reads=0)
    digest = conversation.digest(tmp_path)
    sums = took([digest], 0.0, MODELS)
    assert sums["sources"]["standing"] > 0
    assert sums["sources"]["pauses"] == sum(loss["tokens"] for loss in digest["losses"]) > 0
    assert min(sums["sources"].values()) >= 0
    assert sum(sums["sources"].values()) == sums["tokens"]


# --- budget ------------------------------------------------------------------------------------------------------------------------------


BUDGET_GOLDENS = Path(__file__).parent / "goldens" / "budget"
SUM = Sum(3, 1_200, 250_000, 30_000, 4_000, 1.25)
SHOWN = {
    "none": BudgetReport("SQLite on this machine", "alice", "5a1f", "2026-11", [], "warn", None, SUM,
                         SUM._replace(requests=1, unpriced=1, usd=0.0)),
    "some": BudgetReport("PostgreSQL at db.example", "alice", "5a1f", "2026-11",
                         [Standing("session", "5a1f", "tokens", 285_200, 1_000_000), Standing("month", "alice", "usd", 42.5, 50)], "warn",
                         None, SUM, SUM),
    "over": BudgetReport("SQLite on this machine", "alice", "", "2026-11", [Standing("month", "alice", "tokens", 2_400_000, 2_000_000)],
                         "refuse", None, None, SUM),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_what_people_see(name: str, golden) -> None:
    shown = "\n".join(text.laid_out(budget_views.budgets(SHOWN[name]))) + "\n"
    assert all(len(line) <= 76 for line in shown.splitlines())
    golden(BUDGET_GOLDENS / f"{name}.txt", shown)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"POPKIT_HOME": str(tmp_path), "LOGNAME": "alice", "PATH": "/usr/bin:/bin"}


def configuration(environ: dict[str, str]) -> Path:
    return Path(environ["POPKIT_HOME"]) / "retention-config.json"


def test_the_report_has_what_is_used_and_what_remains_of_each_limit(environ: dict[str, str]) -> None:
    configuration(environ).write_text('{"context": {"session_tokens": 100, "month_usd": 1}}')
    with open_store(environ) as store:
        store.write([used("1"), used("2", "t", NOW - 5), used("3", "t", user="bob")])
    status = report(environ, now=NOW).to_json()
    assert (status["user"], status["session"]) == ("alice", "s")
    assert [(each["used"], each["remaining"], each["remaining_percent"], each["range"]) for each in status["limits"]] == [
        (15, 85, 85.0, ">80%"),
        (0.5, 0.5, 50.0, "40-60%"),
    ]
    assert (status["used_percent"], status["remaining_percent"], status["range"]) == (50.0, 50.0, "40-60%")
    assert report(environ, "t", "bob", NOW).to_json()["usage"]["session"]["requests"] == 2


def test_before_the_first_session_the_limit_of_a_session_is_shown_unused(environ: dict[str, str], capsys: pytest.CaptureFixture) -> None:
    configuration(environ).write_text('{"context": {"session_tokens": 1000}}')
    assert main.main(["budget"], environ) == 0
    shown = capsys.readouterr().out
    assert "0 of 1,000 tokens" in shown
    assert "No limit is set" not in shown
    assert report(environ).of_session is None


def test_a_bare_interpreter_tells_what_sessions_have_used(tmp_path: Path) -> None:
    house = House(tmp_path)
    append(house.begin(), answer("m1"), answer("m2"))
    command = [sys.executable, "-X", "utf8", "-S", "-E", str(ROOT / "hooks" / "popkit.py"), "budget", "--json"]
    done = subprocess.run(command, env=house.environ, capture_output=True, text=True, check=True, timeout=HANG_S)
    printed = json.loads(done.stdout)
    assert (printed["session"], printed["usage"]["session"]["requests"], printed["usage"]["month"]["output_tokens"]) == ("s1", 2, 10)
    assert done.stderr == "", "no bar where there is no terminal"


def test_where_nothing_has_the_driver_of_a_server_the_message_says_how_to_get_it(
    environ: dict[str, str], capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
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
    printed = json.loads(capsys.readouterr().out)
    assert (printed["user"], printed["limits"], printed["database"]) == ("bob", [], "SQLite on this machine")
    assert main.main(["budget"], environ) == 0
    assert "No limit is set" in capsys.readouterr().out


def test_a_database_that_cannot_be_used_is_reported_with_what_to_do(environ: dict[str, str], capsys: pytest.CaptureFixture) -> None:
    assert main.main(["budget"], {**environ, "POPKIT_DATABASE_URL": "postgresql://me:swordfish@127.0.0.1:1/x"}) == 1
    message = " ".join(capsys.readouterr().err.split())
    assert "PostgreSQL at 127.0.0.1:1 cannot be used" in message
    assert "swordfish" not in message


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
    assert json.loads(configuration(environ).read_text()) == {"retention": {"context": {"session_tokens": 2_000_000}}}
    assert "already has these settings" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "word", ["month_usd", "weeks=3", "month_usd=0", "session_tokens=1.5", "month_tokens=-1", "month_usd=much", "database=x"]
)
def test_an_invalid_limit_is_refused_and_changes_nothing(environ: dict[str, str], word: str, capsys: pytest.CaptureFixture) -> None:
    assert main.main(["budget", "set", word, "--yes"], environ) == 1
    assert "popkit budget: " in capsys.readouterr().err
    assert not configuration(environ).exists()


def test_a_file_with_comments_is_left_alone_and_the_line_is_shown(environ: dict[str, str], capsys: pytest.CaptureFixture) -> None:
    configuration(environ).write_text('{\n// mine\n"retention": {}\n}\n')
    assert main.main(["budget", "set", "month_usd=50", "--yes"], environ) == 1
    assert '"context": {"month_usd": 50.0}' in " ".join(capsys.readouterr().err.split())
    assert "// mine" in configuration(environ).read_text()


others = st.dictionaries(st.sampled_from(["profile", "pins", "memory"]), st.integers() | st.text("ab", max_size=3), max_size=3)


@given(others, st.booleans(), st.booleans())
def test_other_settings_in_the_file_stay(other: dict, wrapped: bool, has_database: bool) -> None:
    settings = {**other, **({"context": {"database": "postgresql://db/x"}} if has_database else {})}
    before = json.dumps({"retention": settings} if wrapped else settings, indent=2)
    after = json.loads(settings_file.with_settings(before, {"context": {"month_usd": 5.0}}))
    held = after["retention"] if wrapped or not settings else after
    assert held["context"] == {**settings.get("context", {}), "month_usd": 5.0}
    assert {**held, "context": settings.get("context")} == {**settings, "context": settings.get("context")}


def test_asking_leaves_one_private_file(environ: dict[str, str]) -> None:
    report(environ, now=NOW)
    (path,) = Path(environ["POPKIT_HOME"]).glob("usage.sqlite")
    assert path.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM context_usage").fetchone() == (0,)
