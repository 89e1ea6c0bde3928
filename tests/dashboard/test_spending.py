"""Limits, usage, and sessions that only the database tells of, which a team may share."""

from __future__ import annotations

import gc
import json
import re
import socket
import threading
import uuid
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from popkit_retention.context.tile import strategy_of
from popkit_retention.core.io.system import day_of
from popkit_retention.core.state import session
from popkit_retention.dashboard.shapes import StoreUnusable
from popkit_retention.usage import postgres, tile_ingestion
from popkit_retention.usage.configured_database import open_store
from popkit_retention.usage.records import SessionUsage, Snapshot, Sum
from popkit_retention.usage.tile import UsageTile
from popkit_retention.usage.tile_ingestion import ingest, sweep
from popkit_retention.usage.tile_sessions import AGAIN_S, TeamSessions
from tests import debian
from tests.context import postgresql
from tests.dashboard.board import Board, book
from tests.patience import HANG_S, until
from tests.reclaim.shops import SESSION

BREAKDOWN = {**{f"tier{number}": {"tokens": number * 100, "items": 1} for number in (1, 2, 3, 4)}, "total": 1_000}
STRATEGY = {"budgetRange": "60-80%", "tier1Messages": 1, "tier2Items": "all", "tier3Mode": "full", "tier4Messages": 5}


def _build(board: Board, session: str, ago_s: float = 10.0, **env: str) -> None:
    snapshot = Snapshot(str(uuid.uuid4()), session, "dana", BREAKDOWN, 1_000, 30.0, STRATEGY, board.shop.at - ago_s, 70.0, 4_000)
    with open_store({**board.shop.environ(), **env}) as store:
        store.write(snapshots=[snapshot])


def test_nothing_is_shown_and_nothing_made_where_there_is_no_database(board: Board) -> None:
    answer = board.get("/api/budgets")
    assert (answer["configured"], answer["limits"], answer["users"]) == ({}, [], [])
    assert not any(day["input_tokens"] or day["usd"] for day in answer["usage"])
    assert "popkit budget" in answer["how"]
    assert not (board.shop.home / "usage.sqlite").exists()
    assert board.get("/api/me")["database"] == "SQLite on this machine"


def test_a_limit_that_is_set_is_shown_before_anything_is_used(board: Board) -> None:
    board.shop.configure(context={"user": "dana", "month_usd": 10, "session_tokens": 4_000})
    answer = board.get("/api/budgets")
    assert answer["configured"] == {"session_tokens": 4_000, "month_usd": 10}
    (limit,) = answer["limits"]
    assert (limit["scope"], limit["of"], limit["used"], limit["limit"], limit["range"]) == ("month", "dana", 0, 10, ">80%")


def test_limits_are_shown_with_what_is_used_and_what_remains(board: Board) -> None:
    board.shop.configure(context={"user": "dana", "session_tokens": 4_000, "month_usd": 10})
    book(board, "s1", "dana", tokens=2_990)
    book(board, "s2", "erik", tokens=990)
    limits = board.get("/api/budgets")["limits"]
    budgets = {
        (limit["scope"], limit["of"]): (limit["used"], limit["used_percent"], limit["remaining_percent"], limit["range"])
        for limit in limits
    }
    assert budgets[("session", "s1")] == (3_000, 75.0, 25.0, "<40%")
    assert budgets[("session", "s2")] == (1_000, 25.0, 75.0, "60-80%")
    assert budgets[("month", "dana")] == (0.5, 5.0, 95.0, ">80%")
    assert {each["of"] for each in board.get("/api/budgets", user="erik")["limits"]} == {"erik", "s2"}


def test_usage_is_shown_by_day_for_all_and_for_one(board: Board) -> None:
    for user, tokens in (("dana", 100), ("erik", 900)):
        book(board, f"of-{user}", user, tokens=tokens)
    answer = board.get("/api/budgets")
    assert answer["users"] == ["dana", "erik"]
    today = day_of(board.shop.at)
    assert [day["day"] for day in answer["usage"]] == [today], "nothing is known of the days before"
    used = {day["day"]: (day["input_tokens"], day["usd"], day["unpriced"]) for day in answer["usage"]}
    assert used.pop(day_of(board.shop.at - 10)) == (1_000, 1.0, 0)
    assert set(used.values()) <= {(0, 0.0, 0)}
    theirs = board.get("/api/budgets", user="erik")
    assert (answer["user"], theirs["user"]) == ("", "erik")
    assert sum(day["input_tokens"] for day in theirs["usage"]) == 900


def test_requests_of_unknown_price_are_counted_by_day(board: Board) -> None:
    book(board, "s1", "dana", number=1, usd=None)
    (day,) = _used(board)
    assert (day["usd"], day["unpriced"]) == (None, 1)
    book(board, "s1", "dana", number=2)
    (day,) = _used(board)
    assert (day["usd"], day["unpriced"]) == (0.5, 1)


def _used(board: Board) -> list[dict]:
    """The days on which anything was used."""
    return [day for day in board.get("/api/budgets")["usage"] if day["input_tokens"]]


def _answer(board: Board, id: str, **tokens: int) -> None:
    """An answer in the session's transcript, as the host writes it."""
    message = {"id": id, "model": "claude-opus-5-5", "usage": {"input_tokens": 1, "output_tokens": 1, **tokens}, "content": []}
    stamp = datetime.fromtimestamp(board.shop.at - 5, timezone.utc).isoformat()
    with board.shop.transcript.open("a") as file:
        file.write(json.dumps({"type": "assistant", "timestamp": stamp, "message": message}) + "\n")


def _knows(board: Board) -> None:
    """The home knows the session, which has used nothing yet."""
    board.shop.transcript.write_text("")
    session.update(str(board.shop.home), SESSION, transcript=str(board.shop.transcript), project="/shop")


def test_what_sessions_use_is_booked_while_the_dashboard_runs(board: Board) -> None:
    board.shop.configure(context={"user": "dana"})
    assert ingest(board.app_state), "there is nothing"
    assert not (board.shop.home / "usage.sqlite").exists()
    _knows(board)
    _answer(board, "msg_1", input_tokens=40, cache_read_input_tokens=400, cache_creation_input_tokens=60, output_tokens=7)
    assert _used(board) == []
    assert ingest(board.app_state)
    (day,) = _used(board)
    assert (day["input_tokens"], day["cache_read_tokens"], day["cache_write_tokens"], day["output_tokens"]) == (40, 400, 60, 7)
    before = (board.shop.home / "usage.sqlite").stat()
    assert ingest(board.app_state)
    assert (board.shop.home / "usage.sqlite").stat() == before, "nothing is written where nothing has changed"


def test_a_server_that_cannot_be_told_is_left_alone_for_a_while(board: Board) -> None:
    board.shop.configure(context={"user": "dana", "database": "postgresql://127.0.0.1:1/x"})
    _knows(board)
    _answer(board, "msg_1")
    assert not ingest(board.app_state)
    assert board.app_state.failed == 0, "the page says so where it asks"


def test_what_is_old_is_removed_while_the_dashboard_runs(board: Board) -> None:
    sweep(board.app_state)
    assert not (board.shop.home / "usage.sqlite").exists(), "nobody has booked anything yet"
    for user, ago_days in (("dana", 0), ("erik", 401)):
        book(board, f"of-{user}", user, ago_days * 86_400 + 10)
    sweep(board.app_state)
    with open_store(board.shop.environ()) as store:
        assert store.users() == ["dana"]


def test_a_fault_while_booking_is_noted_and_harms_nothing(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile_ingestion, "catch_up", lambda environ: 1 / 0)
    assert not ingest(board.app_state)
    assert board.app_state.failed == 1
    assert _used(board) == []


def test_the_status_is_the_newest_snapshot(board: Board) -> None:
    _build(board, SESSION, 500.0)
    _build(board, SESSION, 20.0)
    answer = board.get("/api/context/status", sessionId=SESSION)
    assert answer["sessionId"] == SESSION
    assert answer["tierBreakdown"] == BREAKDOWN
    assert (answer["budgetPercent"], answer["budgetRemainingPercent"]) == (30.0, 70.0)
    assert answer["currentContext"]["pruningStrategy"] == STRATEGY
    assert answer["lastUpdated"].endswith("Z")


def test_a_status_needs_a_session_and_a_snapshot(board: Board) -> None:
    assert board.get("/api/context/status", 400) == {"error": "sessionId is missing"}
    board.get("/api/context/status", 400, sessionId="")
    assert "no context" in board.get("/api/context/status", 404, sessionId="nobody")["error"]
    _build(board, "somebody")
    assert "no context" in board.get("/api/context/status", 404, sessionId="nobody")["error"]


def test_a_session_that_only_the_database_knows_is_listed_and_shown(board: Board) -> None:
    board.worked()
    book(board, "theirs", "erik", 20.0)
    book(board, "theirs", "erik", 10.0, number=2)
    book(board, SESSION, "me")
    _build(board, "theirs", 15.0)
    listed = {row["id"]: row for row in board.get("/api/sessions")["sessions"]}
    assert set(listed) == {"theirs", SESSION}
    assert listed[SESSION]["here"]
    row = listed["theirs"]
    assert (row["here"], row["user"], row["project"], row["running"]) == (False, "erik", "/their/shop", True)
    assert (row["requests"], row["calls"], listed[SESSION]["requests"]) == (2, 0, None)
    assert [row["id"] for row in board.get("/api/sessions", q="erik")["sessions"]] == ["theirs"]
    answer = board.session("theirs")
    assert (answer["report"], answer["bars"], answer["operations"]) == ({}, [], [])
    assert answer["layers"] == {"tier1": 100, "tier2": 200, "tier3": 300, "tier4": 400}
    assert answer["lines"][0] == "Requests  2, for $1.00"
    assert [point["layers"] for point in board.get("/api/sessions/theirs/series")["points"]] == [answer["layers"]]
    board.do("clear", 404, session="theirs")
    board.get("/api/sessions/theirs/results/1", 404)


def test_a_session_tells_its_assembly_strategy_and_what_the_next_would_change(board: Board) -> None:
    board.worked()
    assert board.session(SESSION)["strategy"] is None
    book(board, "theirs", "erik")
    _build(board, "theirs")
    answer = board.session("theirs")["strategy"]
    assert (answer["range"], answer["used_percent"], answer["sent"]) == ("60-80%", 30.0, 5)
    assert (answer["next_range"], answer["next_at_percent"]) == ("40-60%", 40.0)
    assert [(rule["layer"], rule["now"], rule["next"]) for rule in answer["rules"]] == [
        ("tier1", "always whole", ""),
        ("tier2", "all that matter", "at most 3"),
        ("tier3", "whole", "their outlines"),
        ("tier4", "5 newest exchanges, 60% in all", "2 newest exchanges, 50% in all"),
    ]


def test_the_tightest_strategy_has_none_behind_it(board: Board) -> None:
    least = {**STRATEGY, "budgetRange": "<40%", "tier4Messages": 0}
    answer = strategy_of(Snapshot("1", "s", "dana", BREAKDOWN, 1_000, 120.0, least, 0.0, 0.0, 4_000))
    assert answer is not None
    assert (answer.next_range, answer.next_at_percent, answer.sent) == ("", None, 0)
    assert {rule.next for rule in answer.rules} == {""}
    assert strategy_of(Snapshot("1", "s", "dana", BREAKDOWN, 1_000, 120.0, {"budgetRange": "?"}, 0.0, 0.0, 4_000)) is None


def test_a_session_whose_id_has_slashes_is_shown(board: Board) -> None:
    book(board, "team/shop/1", "erik")
    assert [row["id"] for row in board.get("/api/sessions")["sessions"]] == ["team/shop/1"]
    answer = board.session("team%2Fshop%2F1")
    assert (answer["session"]["id"], answer["session"]["requests"]) == ("team/shop/1", 1)
    assert board.get("/api/sessions/team%2Fshop%2F1/series")["points"] == []
    board.get("/api/sessions/team/shop/1", 404)


def test_a_database_that_is_damaged_keeps_nothing_else_from_being_shown(board: Board) -> None:
    board.worked()
    (board.shop.home / "usage.sqlite").write_bytes(b"no database" * 100)
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
    assert "Trying again within 30 seconds" in board.get("/api/budgets", 503)["error"]
    assert board.get("/api/sessions")["total"] == 1
    for path in ("", "/series"):
        assert board.get(f"/api/sessions/theirs{path}", 503).keys() == {"error"}, "nobody knows whether there is one"
    board.get(f"/api/sessions/{SESSION}")


@pytest.mark.server
def test_another_database_is_asked_as_soon_as_another_one_is_configured(board: Board) -> None:
    board.worked()
    book(board, "theirs", "erik")
    assert board.get("/api/sessions")["total"] == 2
    board.shop.configure(context={"database": "postgresql://127.0.0.1:1/popkit"})
    assert board.get("/api/sessions")["total"] == 1
    board.get("/api/budgets", 503)
    board.shop.configure(context={"database": ""})
    assert board.get("/api/sessions")["total"] == 2
    assert board.get("/api/budgets")["users"] == ["erik"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the driver drops a socket that it could not use
def test_a_server_that_hangs_stalls_neither_the_list_nor_who_asks_for_changes(board: Board) -> None:
    board.worked()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        board.environ = {"POPKIT_DATABASE_URL": f"postgresql://dana@127.0.0.1:{silent.getsockname()[1]}/popkit"}
        board.restart()
        token = board.get("/api/changes")["token"]
        assert board.get("/api/sessions")["total"] == 1
        board.shop.transcript.unlink()
        assert f"/api/sessions/{SESSION}" in board.get("/api/changes", since=token)["changed"]
        assert re.search("is not responding|timed out", board.get("/api/sessions/theirs", 503)["error"])
    until(lambda: not any(each.name == "popkit-others" for each in threading.enumerate()), "the end of the question")
    gc.collect()


def test_while_a_database_is_asked_its_last_answer_is_shown() -> None:
    goes_on, answers = threading.Event(), [[_session("first")], [_session("second")]]

    def ask() -> list[SessionUsage]:
        if len(answers) == 1:
            goes_on.wait(HANG_S)
        return answers.pop(0)

    others = TeamSessions(ask, print)
    until(lambda: others.known(1, 0.05), "the first answer")
    assert [each.session_id for each in others.known(2, 0.05)] == ["first"]
    assert others.problem == "", "it has yet to answer"
    goes_on.set()
    until(lambda: [each.session_id for each in others.known(2, 0.05)] == ["second"], "the second answer")
    assert others.problem is None


def test_a_question_that_came_to_nothing_is_asked_again_though_nothing_has_changed() -> None:
    now, answers = [0.0], [[_session("theirs")]]

    def ask() -> list[SessionUsage]:
        if now[0] < AGAIN_S:
            raise StoreUnusable("it is locked")
        return answers.pop()

    others = TeamSessions(ask, print, lambda: now[0])
    assert others.known("as it was", None) == []
    assert others.problem
    now[0] = AGAIN_S - 0.1
    assert others.known("as it was", None) == [], "not at once"
    now[0] = AGAIN_S
    assert [each.session_id for each in others.known("as it was", None)] == ["theirs"]
    assert others.problem is None


def _session(id: str) -> SessionUsage:
    return SessionUsage(id, "erik", "", 0.0, Sum())


# --- a shared one ----------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[postgresql.Server]:
    if debian.postgresql() is None:
        pytest.skip("there is no PostgreSQL here")
    with postgresql.running() as server:
        yield server


def test_the_page_reads_a_postgresql_that_a_team_shares(server: postgresql.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "PATIENCE_S", HANG_S)
    board = Board(tmp_path)
    board.worked()
    board.environ = server.environ(server.new_database())
    board.restart()
    book(board, "theirs", "erik", **board.environ)
    _build(board, "theirs", **board.environ)
    assert board.get("/api/me")["shared"] is True
    until(lambda: {row["id"] for row in board.get("/api/sessions")["sessions"]} == {"theirs", SESSION}, "the server's answer")
    assert board.get("/api/context/status", sessionId="theirs")["tierBreakdown"] == BREAKDOWN
    assert [day["input_tokens"] for day in _used(board)] == [1_000]
    assert not (board.shop.home / "usage.sqlite").exists()
    board.app_state.tile(UsageTile).close()
