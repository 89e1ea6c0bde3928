"""What the watcher tells of: what has changed, once, and nothing else."""

from __future__ import annotations

import pytest

from popkit_retention.cli.memory_place import Place
from popkit_retention.dashboard.watching import MOST_ROWS, STATS_S, Watcher
from tests.dashboard.board import Board, book
from tests.patience import until
from tests.reclaim.shops import SESSION, Talk, spoke, worked


@pytest.fixture
def watcher(board: Board) -> Watcher:
    board.worked()
    watcher = Watcher(board.desk, print)
    assert watcher.poll() == [], "the first poll learns how things stand"
    return watcher


def _types(watcher: Watcher) -> list[str]:
    return [event.type for event in watcher.poll()]


def _goes_on(board: Board, calls: int = 1) -> None:
    talk = worked(str(board.shop.project))
    for number in range(calls):
        talk.bash(f"more-{number}", "mkdir -p more")
    talk.write(board.shop.transcript)


def test_nothing_changes_and_nothing_is_told(board: Board, watcher: Watcher) -> None:
    board.session()
    board.get("/api/retention")
    board.get("/api/stats")
    assert watcher.poll() == []


def test_a_session_that_goes_on_is_told_with_its_new_row(board: Board, watcher: Watcher) -> None:
    spoke(board.shop.transcript, board.shop.at - 1_000)
    watcher.poll()
    _goes_on(board)
    spoke(board.shop.transcript, board.shop.at - 1)
    (event,) = watcher.poll()
    (row,) = event.sessions
    told = board.session()["session"]
    assert row.model_dump() == told
    assert row.running
    assert row.verdict is not None
    assert watcher.poll() == []


def test_a_session_stops_running_by_itself(board: Board, watcher: Watcher) -> None:
    spoke(board.shop.transcript, board.shop.at - 10)
    assert [row.running for event in watcher.poll() for row in event.sessions] == [True]
    board.shop.at += 400
    assert [row.running for event in watcher.poll() for row in event.sessions] == [False]


def test_a_session_that_has_gone_is_told_by_its_id(board: Board, watcher: Watcher) -> None:
    board.shop.transcript.unlink()
    (event, _) = watcher.poll()
    assert (event.type, event.sessions, event.gone) == ("sessions", [], [SESSION])
    assert watcher.poll() == []


def test_sessions_of_others_are_told_with_their_new_rows(board: Board, watcher: Watcher) -> None:
    book(board, "theirs", "erik")
    (event, budgets) = watcher.poll()
    assert (event.type, budgets.type) == ("sessions", "budgets")
    assert [(row.id, row.requests) for row in event.sessions] == [("theirs", 1)]
    assert watcher.poll() == []
    book(board, "theirs", "erik", number=2)
    (row,) = watcher.poll()[0].sessions
    assert row.model_dump() == board.session("theirs")["session"]
    assert row.requests == 2
    board.shop.at += 400
    assert [row.running for event in watcher.poll() for row in event.sessions] == [False]


def test_worth_is_told_once_for_many_changes_and_once_more_when_they_are_over(board: Board, watcher: Watcher) -> None:
    told = []
    for number in range(5):
        _goes_on(board, number + 1)
        told.append("stats" in _types(watcher))
    assert told == [True, False, False, False, False]
    board.shop.at += STATS_S
    assert "stats" in _types(watcher)
    board.shop.at += STATS_S
    assert "stats" not in _types(watcher)


def test_a_change_of_hundreds_sends_some_rows(board: Board, watcher: Watcher) -> None:
    for number in range(MOST_ROWS + 30):
        talk = Talk(str(board.shop.project), session_id=f"s{number}")
        talk.prompt("go")
        talk.write(board.shop.transcript.with_name(f"s{number}.jsonl"))
    (event, _) = watcher.poll()
    assert len(event.sessions) == MOST_ROWS


def test_each_part_is_told_of_by_its_own_event(board: Board, watcher: Watcher) -> None:
    board.deed("clear")
    told = _types(watcher)
    assert set(told) >= {"sessions", "retention", "stats"}
    assert watcher.poll() == []
    board.post("/api/retention/deeds", {"id": "hold", "session": SESSION, "why": "audit"})
    assert "retention" in _types(watcher)
    with Place(board.shop.environ(), str(board.shop.project)) as place:
        place.project.turn_on(board.shop.at)
        place.memory.add("Run the tests with make check.")
    assert "memory" in _types(watcher)
    board.shop.configure(context={"month_tokens": 1_000})
    assert "budgets" in _types(watcher)


def test_a_large_context_is_told_at_once_and_again_when_it_was_read(board: Board, watcher: Watcher) -> None:
    talk = worked(str(board.shop.project))
    for number in range(70):
        talk.read(f"big-{number}", f"{board.shop.project}/big-{number}.ts", "x" * 60_000)
    talk.write(board.shop.transcript)
    assert board.shop.transcript.stat().st_size > 4 << 20
    spoke(board.shop.transcript, board.shop.at - 1)
    rows = [row for event in watcher.poll() for row in event.sessions]
    assert [row.verdict for row in rows if row.context] == [None], "it was not waited for"
    found: list = []
    until(lambda: found.extend(row for event in watcher.poll() for row in event.sessions if row.verdict) or found, "its reading")
    assert found[0].model_dump() == board.session()["session"]
