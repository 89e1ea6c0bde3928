"""How long a page waits for its first list among a thousand sessions, and what it costs to ask what has changed among them."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest

from tests.dashboard.board import Board
from tests.reclaim.shops import SESSION, spoke, worked

MANY = 1_000
FIRST_S, CHANGES_S = 0.5, 0.03
pytestmark = pytest.mark.bench


def _fill(board: Board) -> None:
    """A thousand sessions, of which one runs."""
    board.worked()
    whole = board.shop.transcript.read_bytes()
    for number in range(MANY - 1):
        folder = board.shop.transcript.parent.parent / f"project-{number % 40}"
        folder.mkdir(exist_ok=True)
        path = folder / f"{number:08d}.jsonl"
        path.write_bytes(whole)
        spoke(path, board.shop.at - 10_000 - number)


def test_the_first_list_of_a_thousand_sessions_is_there_at_once(tmp_path: Path) -> None:
    board = Board(tmp_path)
    _fill(board)
    took = []
    for _ in range(5):
        board.restart()
        began = time.process_time()
        assert board.get("/api/sessions")["total"] == MANY
        took.append(time.process_time() - began)
    print(f"first list of {MANY:,} sessions: {min(took):.3f} s of processor time, then {_seconds(board):.3f} s")
    assert min(took) < FIRST_S


def _seconds(board: Board) -> float:
    began = time.process_time()
    board.get("/api/sessions")
    return time.process_time() - began


def test_what_has_changed_among_a_thousand_sessions_costs_few_milliseconds(board: Board) -> None:
    _fill(board)
    token = board.get("/api/changes")["token"]
    took = []
    talk = worked(str(board.shop.project))
    for number in range(15):
        talk.bash(f"more-{number}", "mkdir -p more")
        talk.write(board.shop.transcript)
        began = time.process_time()
        answer = board.get("/api/changes", since=token)
        took.append(time.process_time() - began)
        assert f"/api/sessions/{SESSION}" in answer["changed"]
        token = answer["token"]
    print(f"a question for what has changed among {MANY:,} sessions: {statistics.median(took) * 1000:.1f} ms of processor time")
    assert statistics.median(took) < CHANGES_S
