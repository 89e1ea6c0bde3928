"""Whether a session runs goes by the last entry of its transcript, and not by the times of files or what a killed helper left behind."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from tempfile import TemporaryDirectory

import pytest

from popkit_retention.core.state import sockets
from popkit_retention.dashboard.catalog import RUNS_S
from popkit_retention.dashboard.transcript_ends import end_of
from tests.dashboard.board import Board
from tests.reclaim.shops import SESSION, Talk, stamp


@pytest.fixture
def asked(board: Board) -> Talk:
    """A session in the middle of a turn: a tool has yet to return."""
    talk = Talk(str(board.shop.project))
    talk.prompt("build it")
    talk.use("build", "Bash", {"command": "make"})
    board.shop.write(talk)
    board.shop.at = talk.now + 10
    return talk


def runs(board: Board) -> bool:
    (row,) = board.get("/api/sessions")["sessions"]
    return row["running"]


def helper_of(board: Board) -> None:
    """The socket of a helper, named after a process that runs."""
    folder = board.shop.home / "run"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{sockets.stem(SESSION)}-{os.getpid()}.sock").touch()


def test_a_session_does_not_count_as_running_because_its_transcript_was_rewritten(board: Board) -> None:
    board.worked()
    os.utime(board.shop.transcript, (board.shop.at,) * 2)
    (row,) = board.get("/api/sessions")["sessions"]
    assert not row["running"]
    assert row["changed_at"] < board.shop.at - 3_000, "nor was it changed just now"


def test_a_socket_that_was_left_behind_makes_nothing_run(board: Board) -> None:
    board.worked()
    helper_of(board)
    assert not runs(board)


@pytest.fixture
def listening(board: Board) -> Iterator[None]:
    """A helper that listens, in a folder whose path is short enough."""
    with TemporaryDirectory(prefix="popkit-") as folder, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(f"{folder}/s")
        server.listen(8)
        (board.shop.home / "run").mkdir(parents=True, exist_ok=True)
        (board.shop.home / "run" / f"{sockets.stem(SESSION)}-{os.getpid()}.sock").symlink_to(f"{folder}/s")
        yield


def test_a_session_that_stands_open_runs_however_long_nothing_is_said(board: Board, listening: None) -> None:
    board.worked()
    board.shop.at = board.session()["session"]["changed_at"] + 10 * RUNS_S
    assert runs(board)


def test_a_session_runs_for_five_minutes_after_its_last_entry(board: Board) -> None:
    board.worked()
    board.shop.at = board.session()["session"]["changed_at"] + RUNS_S - 1
    assert runs(board)
    board.shop.at += 2
    assert not runs(board)


@pytest.mark.parametrize("after", [b"", b"not JSON\n", b'{"type": "last-prompt"}\n', b'{"type": "user", "torn'])
def test_the_end_is_the_last_entry_with_a_time_however_long_what_follows(board: Board, asked: Talk, after: bytes) -> None:
    long = json.dumps({"type": "custom-title", "customTitle": "x" * 200_000}).encode() + b"\n"
    board.shop.transcript.write_bytes(board.shop.transcript.read_bytes() + long + after)
    assert end_of(str(board.shop.transcript)) == pytest.approx(asked.now)


def test_what_a_subagent_says_happened_in_the_session(board: Board) -> None:
    board.worked()
    line = {"type": "assistant", "isSidechain": True, "timestamp": stamp(board.shop.at), "message": {"content": [{"type": "tool_use"}]}}
    with board.shop.transcript.open("a") as file:
        file.write(json.dumps(line) + "\n")
    assert end_of(str(board.shop.transcript)) == board.shop.at


def test_a_file_without_a_time_has_no_end(board: Board) -> None:
    board.worked()
    board.shop.transcript.write_text('{"type": "custom-title"}\n')
    assert end_of(str(board.shop.transcript)) is None
    assert end_of(str(board.shop.folder)) is None
    assert not runs(board)
