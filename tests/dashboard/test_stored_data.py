"""Policies, holds, zones, sizes and the log on the page: what `popkit retention` would say."""

from __future__ import annotations

from popkit_retention.governance.controller import Controller
from tests.dashboard.board import Board
from tests.reclaim.shops import SESSION


def _hold(board: Board, status: int = 200, **how: object) -> dict:
    return board.post("/api/retention/deeds", {"id": "hold", "session": SESSION, "why": "for the audit", **how}, status)


def test_an_empty_home_has_the_default_policies_and_nothing_else(board: Board) -> None:
    told = board.get("/api/retention")
    assert [policy["domain"] for policy in told["policies"]] == ["memory", "rag"]
    assert told["policies"][0]["values"]["older_than_days"] > 0
    assert (told["holds"], told["problems"], told["log_whole"]) == ([], [], True)
    assert {zone["name"]: zone["records"] for zone in told["zones"]} == {"hot": 0, "warm": 0, "cold": 0}
    assert board.get("/api/retention/log") == {"entries": [], "total": 0}
    assert not (board.shop.home / "data").exists(), "looking makes nothing"


def test_a_policys_values_are_said_as_the_command_prints_them(board: Board) -> None:
    with Controller(board.shop.environ(), now=lambda: board.shop.at) as controller:
        controller.configure("rag", {"older_than_days": 7.5})
    (policy,) = [each for each in board.get("/api/retention")["policies"] if each["domain"] == "rag"]
    assert policy["said"].keys() == policy["values"].keys()
    assert (policy["values"]["older_than_days"], policy["said"]["older_than_days"]) == (7.5, "7.5")


def test_files_that_popkit_has_not_made_are_among_the_sizes(board: Board) -> None:
    board.shop.home.mkdir(exist_ok=True)
    (board.shop.home / "notes.txt").write_text("mine")
    assert board.get("/api/retention")["sizes"][""] == 4


def test_the_zones_hold_what_a_clear_has_archived(board: Board) -> None:
    board.worked()
    board.deed("clear")
    told = board.get("/api/retention")
    zones = {zone["name"]: zone for zone in told["zones"]}
    assert zones["hot"]["records"] == 3
    assert zones["hot"]["original_bytes"] == zones["hot"]["stored_bytes"] > 1_000
    assert told["sizes"]["archive"] > 0
    assert {policy["domain"]: policy["words"][0] for policy in told["policies"] if policy["domain"] == "rag"} == {
        "rag": "stored: 3 results"
    }


def test_a_session_is_held_until_it_is_released(board: Board) -> None:
    board.worked()
    until = board.shop.at + 3_600
    assert _hold(board, until=until)["done"]
    holds = board.get("/api/retention")["holds"]
    assert [(hold["domain"], hold["scope"], hold["target"], hold["until"]) for hold in holds] == [
        ("memory", "session", SESSION, until),
        ("rag", "session", SESSION, until),
    ]
    log = board.get("/api/retention/log")
    assert [entry["action"] for entry in log["entries"]] == ["held", "held"]
    assert log["total"] == 2
    assert "for the audit" in log["entries"][0]["words"]
    sums = [hold["deeds"][0]["sum"] for hold in holds]
    assert sums == [f"the {name} policy applies to this session's data again" for name in ("memory", "archive")]
    for hold in holds:
        (deed,) = hold["deeds"]
        assert deed["danger"]
        assert board.post("/api/retention/deeds", {"id": deed["id"]})["done"]
    assert board.get("/api/retention")["holds"] == []
    assert [entry["number"] for entry in board.get("/api/retention/log", limit=1)["entries"]] == [4]


def test_a_hold_needs_a_reason_a_known_session_and_a_time_to_come(board: Board) -> None:
    board.worked()
    assert "error" in _hold(board, 400, why=" ")
    assert "error" in _hold(board, 404, session="../../etc")
    assert not _hold(board, until=board.shop.at - 1)["done"]
    assert not _hold(board, why="a\x1bb")["done"]
    assert board.get("/api/retention")["holds"] == []


def test_what_is_not_offered_is_not_done(board: Board) -> None:
    for id in ("gc", "undo", "undo x", "release", "hold x", "remove y", "rollback 0", "HOLD"):
        assert "error" in board.post("/api/retention/deeds", {"id": id}, 409), id


def test_a_release_of_nothing_says_so(board: Board) -> None:
    told = board.post("/api/retention/deeds", {"id": "release habc"})
    assert not told["done"]
    assert "no hold" in told["text"]


def test_marks_are_taken_back(board: Board) -> None:
    board.worked()
    board.deed("clear")
    with Controller(board.shop.environ(), now=lambda: board.shop.at + 400 * 86_400) as controller:
        controller.gc("rag", placeholders=True)
    told = board.get("/api/retention")
    assert {policy["domain"]: policy["marked"] for policy in told["policies"]} == {"memory": 0, "rag": 3}
    (deed,) = told["deeds"]
    assert (deed["id"], deed["label"]) == ("undo rag", "Unmark the archive")
    assert deed["sum"] == "3 results marked for deletion will be kept"
    assert board.post("/api/retention/deeds", {"id": "undo rag"})["done"]
    assert board.get("/api/retention")["deeds"] == []
    assert not board.post("/api/retention/deeds", {"id": "undo rag"})["done"]


def test_a_log_that_was_changed_is_told(board: Board) -> None:
    board.worked()
    _hold(board)
    assert board.get("/api/retention")["log_whole"]
    path = board.shop.home / "data" / "state" / "retention-log.sqlite"
    path.write_bytes(path.read_bytes().replace(b"for the audit", b"for the fun!!"))
    told = board.get("/api/retention")
    assert not told["log_whole"]
    assert told["problems"]
