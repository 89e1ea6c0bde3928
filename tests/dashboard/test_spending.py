"""Limits, usage, and sessions that only the database tells of, which a team may share."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from hooks.utils.state import days
from hooks.utils.state.outbox import Outbox
from popkit_retention.context.database import snapshots, usage
from popkit_retention.context.database.opening import open_database
from popkit_retention.dashboard import posting
from tests import debian
from tests.context import postgresql
from tests.dashboard.board import Board
from tests.reclaim.shops import SESSION

BREAKDOWN = {**{f"tier{number}": {"tokens": number * 100, "items": 1} for number in (1, 2, 3, 4)}, "total": 1_000}
STRATEGY = {"budgetRange": "60-80%", "tier1Messages": 1, "tier2Items": "all", "tier3Mode": "full", "tier4Messages": 5}


def _book(board: Board, session: str, user: str, ago_s: float = 10.0, tokens: int = 1_000, number: int = 1, **env: str) -> None:
    at, spent = board.shop.at - ago_s, usage.Tokens(input=tokens, output=10)
    used = usage.Used(usage.CLIENT, f"{session}-{number}", session, user, "claude-opus-5-5", at, spent, 0.5, "/their/shop")
    with open_database({**board.shop.environ(), **env}) as database, database.writing() as connection:
        usage.book(connection, [used])


def _build(board: Board, session: str, ago_s: float = 10.0, **env: str) -> None:
    found = snapshots.Snapshot(str(uuid.uuid4()), session, "dana", BREAKDOWN, 1_000, 30.0, STRATEGY, board.shop.at - ago_s, 70.0, 4_000)
    with open_database({**board.shop.environ(), **env}) as database, database.writing() as connection:
        snapshots.put(connection, [found])


def test_nothing_is_told_and_nothing_made_where_there_is_no_database(board: Board) -> None:
    told = board.get("/api/budgets")
    assert (told["limits"], told["usage"], told["users"]) == ([], [], [])
    assert "popkit budget" in told["how"]
    assert not (board.shop.home / "context.sqlite").exists()
    assert board.get("/api/me")["database"] == "SQLite on this machine"


def test_limits_are_told_with_what_is_used_and_what_remains(board: Board) -> None:
    board.shop.configure(context={"user": "dana", "session_tokens": 4_000, "month_usd": 10})
    _book(board, "s1", "dana", tokens=2_990)
    _book(board, "s2", "erik", tokens=990)
    limits = board.get("/api/budgets")["limits"]
    found = {
        (limit["scope"], limit["of"]): (limit["used"], limit["used_percent"], limit["remaining_percent"], limit["range"])
        for limit in limits
    }
    assert found[("session", "s1")] == (3_000, 75.0, 25.0, "<40%")
    assert found[("session", "s2")] == (1_000, 25.0, 75.0, "60-80%")
    assert found[("month", "dana")] == (0.5, 5.0, 95.0, ">80%")
    assert {each["of"] for each in board.get("/api/budgets", user="erik")["limits"]} == {"erik", "s2"}


def test_usage_is_told_by_day_for_all_and_for_one(board: Board) -> None:
    for user, tokens in (("dana", 100), ("erik", 900)):
        _book(board, f"of-{user}", user, tokens=tokens)
    told = board.get("/api/budgets")
    assert told["users"] == ["dana", "erik"]
    assert [(day["day"], day["input_tokens"], day["usd"]) for day in told["usage"]] == [(days.day_of(board.shop.at - 10), 1_000, 1.0)]
    assert [day["input_tokens"] for day in board.get("/api/budgets", user="erik")["usage"]] == [900]


def test_what_hooks_have_left_is_sent_while_the_dashboard_runs(board: Board) -> None:
    board.shop.configure(context={"user": "dana", "month_usd": 10})
    assert posting.send(board.desk), "nothing waits"
    site = board.shop.site()
    Outbox(str(board.shop.home), site.config, board.shop.environ(), "s1").used(board.shop.at - 5, "claude-opus-5-5", 500, 400, 60, 7, 300)
    assert board.get("/api/budgets")["usage"] == []
    assert posting.send(board.desk)
    (day,) = board.get("/api/budgets")["usage"]
    assert (day["input_tokens"], day["cache_read_tokens"], day["cache_write_tokens"], day["output_tokens"]) == (40, 400, 60, 7)
    assert not (board.shop.home / "outbox.jsonl").exists()


def test_a_database_that_cannot_be_reached_is_left_alone_for_a_while(board: Board) -> None:
    board.shop.configure(context={"user": "dana", "database": "postgresql://127.0.0.1:1/x"})
    site = board.shop.site()
    Outbox(str(board.shop.home), site.config, board.shop.environ(), "s1").used(board.shop.at - 5, "claude-opus-5-5", 500, 400, 60, 7, 300)
    assert not posting.send(board.desk)


def test_what_is_old_is_removed_while_the_dashboard_runs(board: Board) -> None:
    posting.sweep(board.desk)
    assert not (board.shop.home / "context.sqlite").exists(), "nobody has booked anything yet"
    for user, ago_days in (("dana", 0), ("erik", 401)):
        _book(board, f"of-{user}", user, ago_days * 86_400 + 10)
    posting.sweep(board.desk)
    with open_database(board.shop.environ()) as database, database.reading() as connection:
        assert usage.users(connection) == ["dana"]


def test_an_outbox_that_cannot_be_read_is_noted_and_harms_nothing(board: Board) -> None:
    (board.shop.home / "outbox.sending").mkdir(parents=True)
    assert not posting.send(board.desk)
    assert board.desk.failed == 1
    assert board.get("/api/budgets")["usage"] == []


def test_the_status_is_the_newest_snapshot(board: Board) -> None:
    _build(board, SESSION, 500.0)
    _build(board, SESSION, 20.0)
    told = board.get("/api/context/status", sessionId=SESSION)
    assert told["sessionId"] == SESSION
    assert told["tierBreakdown"] == BREAKDOWN
    assert (told["budgetPercent"], told["budgetRemainingPercent"]) == (30.0, 70.0)
    assert told["currentContext"]["pruningStrategy"] == STRATEGY
    assert told["lastUpdated"].endswith("Z")


def test_a_status_needs_a_session_and_a_snapshot(board: Board) -> None:
    assert board.get("/api/context/status", 400) == {"error": "sessionId is missing"}
    board.get("/api/context/status", 400, sessionId="")
    assert "no context" in board.get("/api/context/status", 404, sessionId="nobody")["error"]
    _build(board, "somebody")
    assert "no context" in board.get("/api/context/status", 404, sessionId="nobody")["error"]


def test_a_session_that_only_the_database_knows_is_listed_and_told(board: Board) -> None:
    board.worked()
    _book(board, "theirs", "erik", 20.0)
    _book(board, "theirs", "erik", 10.0, number=2)
    _book(board, SESSION, "me")
    _build(board, "theirs", 15.0)
    listed = {row["id"]: row for row in board.get("/api/sessions")["sessions"]}
    assert set(listed) == {"theirs", SESSION}
    assert listed[SESSION]["here"]
    row = listed["theirs"]
    assert (row["here"], row["user"], row["project"], row["calls"], row["running"]) == (False, "erik", "/their/shop", 2, True)
    assert [row["id"] for row in board.get("/api/sessions", q="erik")["sessions"]] == ["theirs"]
    told = board.session("theirs")
    assert (told["report"], told["bars"], told["deeds"]) == ({}, [], [])
    assert told["layers"] == {"tier1": 100, "tier2": 200, "tier3": 300, "tier4": 400}
    assert told["lines"][0] == "Requests  2, for $1.00"
    assert [point["layers"] for point in board.get("/api/sessions/theirs/series")["points"]] == [told["layers"]]
    board.deed("clear", 404, session="theirs")
    board.get("/api/sessions/theirs/results/1", 404)


def test_a_database_that_is_damaged_keeps_nothing_else_from_being_told(board: Board) -> None:
    board.worked()
    (board.shop.home / "context.sqlite").write_bytes(b"no database" * 100)
    assert board.get("/api/budgets", 503).keys() == {"error"}
    assert board.get("/api/sessions")["total"] == 1
    assert board.session()["lines"]


def test_a_server_that_does_not_answer_is_left_alone_and_named_without_its_password(board: Board) -> None:
    board.worked()
    address = "postgresql://dana:hunter2@127.0.0.1:1/popkit"
    board.environ = {"POPKIT_DATABASE_URL": address}
    board.restart()
    assert (board.get("/api/me")["database"], board.get("/api/me")["shared"]) == ("PostgreSQL at 127.0.0.1:1", True)
    error = board.get("/api/budgets", 503)["error"]
    assert "hunter2" not in error
    assert board.get("/api/sessions")["total"] == 1


# --- a shared one ----------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[postgresql.Server]:
    if debian.postgresql() is None:
        pytest.skip("there is no PostgreSQL here")
    with postgresql.running() as server:
        yield server


def test_the_page_stands_on_a_postgresql_that_a_team_shares(server: postgresql.Server, tmp_path: Path) -> None:
    board = Board(tmp_path)
    board.worked()
    board.environ = server.environ(server.new_database())
    board.restart()
    _book(board, "theirs", "erik", **board.environ)
    _build(board, "theirs", **board.environ)
    assert board.get("/api/me")["shared"] is True
    assert {row["id"] for row in board.get("/api/sessions")["sessions"]} == {"theirs", SESSION}
    assert board.get("/api/context/status", sessionId="theirs")["tierBreakdown"] == BREAKDOWN
    assert [day["input_tokens"] for day in board.get("/api/budgets")["usage"]] == [1_000]
    assert not (board.shop.home / "context.sqlite").exists()
    board.desk.spending.close()
