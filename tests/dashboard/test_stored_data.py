"""Stored data on the page: policies, holds, zones, sizes and the log as `popkit retention` would say it, memory as `popkit memory` would;
and what can be done."""

from __future__ import annotations

from pathlib import Path

import pytest

from popkit_retention.governance.controller import Controller
from popkit_retention.memory.items import AGENT, COLD, Item
from popkit_retention.memory.memory import Memory
from popkit_retention.memory.place import Place
from tests.dashboard.board import Board
from tests.reclaim.shops import SESSION


def _hold(board: Board, status: int = 200, **how: object) -> dict:
    return board.post("/api/retention/operations", {"id": "hold", "session": SESSION, "why": "for the audit", **how}, status)


def test_an_empty_home_has_the_default_policies_and_nothing_else(board: Board) -> None:
    answer = board.get("/api/retention")
    assert [policy["domain"] for policy in answer["policies"]] == ["memory", "rag"]
    assert answer["policies"][0]["values"]["older_than_days"] > 0
    assert (answer["holds"], answer["problems"], answer["log_whole"]) == ([], [], True)
    assert {zone["name"]: zone["records"] for zone in answer["zones"]} == {"hot": 0, "warm": 0, "cold": 0}
    assert board.get("/api/retention/log") == {"entries": [], "total": 0}
    assert not (board.shop.home / "data").exists(), "looking makes nothing"


def test_a_policys_values_are_worded_as_the_command_prints_them(board: Board) -> None:
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
    board.shop.clear()
    answer = board.get("/api/retention")
    zones = {zone["name"]: zone for zone in answer["zones"]}
    assert zones["hot"]["records"] == 3
    assert zones["hot"]["original_bytes"] == zones["hot"]["stored_bytes"] > 1_000
    assert answer["sizes"]["archive"] > 0
    assert {policy["domain"]: policy["words"][0] for policy in answer["policies"] if policy["domain"] == "rag"} == {
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
    sums = [hold["operations"][0]["sum"] for hold in holds]
    assert sums == [f"the {name} policy applies to this session's data again" for name in ("memory", "archive")]
    for hold in holds:
        (operation,) = hold["operations"]
        assert operation["danger"]
        assert board.post("/api/retention/operations", {"id": operation["id"]})["done"]
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
        assert "error" in board.post("/api/retention/operations", {"id": id}, 409), id


def test_a_release_of_nothing_says_so(board: Board) -> None:
    answer = board.post("/api/retention/operations", {"id": "release habc"})
    assert not answer["done"]
    assert "no hold" in answer["text"]


def test_marks_are_taken_back(board: Board) -> None:
    board.worked()
    board.shop.clear()
    with Controller(board.shop.environ(), now=lambda: board.shop.at + 400 * 86_400) as controller:
        controller.gc("rag", placeholders=True)
    answer = board.get("/api/retention")
    assert {policy["domain"]: policy["marked"] for policy in answer["policies"]} == {"memory": 0, "rag": 3}
    (operation,) = answer["operations"]
    assert (operation["id"], operation["label"]) == ("undo rag", "Unmark the archive")
    assert operation["sum"] == "3 results marked for deletion will be kept"
    assert board.post("/api/retention/operations", {"id": "undo rag"})["done"]
    assert board.get("/api/retention")["operations"] == []
    assert not board.post("/api/retention/operations", {"id": "undo rag"})["done"]


def test_a_log_that_was_changed_is_reported(board: Board) -> None:
    board.worked()
    _hold(board)
    assert board.get("/api/retention")["log_whole"]
    path = board.shop.home / "data" / "state" / "retention-log.sqlite"
    path.write_bytes(path.read_bytes().replace(b"for the audit", b"for the fun!!"))
    answer = board.get("/api/retention")
    assert not answer["log_whole"]
    assert answer["problems"]


# --- memory ------------------------------------------------------------------------------------------------------------------------------


HOUR_S = 3_600.0


@pytest.fixture
def memory(board: Board) -> Memory:
    """Memory of the shop, switched on, with three items."""
    board.shop.configure(memory={"tokens": 400})
    with Place(board.shop.environ(), str(board.shop.project)) as place:
        place.project.turn_on(board.shop.at)
        for text in ("Run the tests with make check.", "Ids are UUIDs of version 7.", "The API speaks JSON."):
            place.memory.add(text)
        place.refresh()
    board.shop.at += HOUR_S
    return Memory.of(board.shop.environ(), str(board.shop.project))


def _key(board: Board) -> str:
    (project,) = board.get("/api/memory/projects")["projects"]
    return project["project"]


def _overview(board: Board, **wanted: object) -> dict:
    return board.get("/api/memory", project=_key(board), **wanted)


def _do(board: Board, id: str, status: int = 200) -> dict:
    return board.post("/api/memory/operations", {"project": _key(board), "id": id}, status)


def test_nothing_is_remembered_where_memory_was_never_on(board: Board) -> None:
    assert board.get("/api/memory/projects") == {"projects": []}
    board.get("/api/memory", 404, project="shop-000000000000")
    board.get("/api/memory", 400)
    assert not (board.shop.home / "memory.sqlite").exists(), "looking makes no store"


def test_a_project_is_shown_with_its_items_and_the_document(board: Board, memory: Memory) -> None:
    (project,) = board.get("/api/memory/projects")["projects"]
    assert (project["on"], project["items"], project["name"]) == (True, 3, "shop")
    answer = _overview(board)
    assert [item["id"] for item in answer["items"]] == [item.id for item in memory.list()]
    assert answer["document"] == memory.document(400).text
    assert (answer["document_most"], answer["total"]) == (400, 3)
    assert sum(tier["items"] for tier in answer["tiers"]) == 3
    why = memory.why(answer["items"][0]["id"])
    assert answer["items"][0]["retention"] == why["retention"]
    assert answer["items"][0]["next"]


def test_items_are_filtered_by_tier_and_words(board: Board, memory: Memory) -> None:
    assert [item["text"] for item in _overview(board, q="UUIDS version")["items"]] == ["Ids are UUIDs of version 7."]
    tiers = {item["tier"] for item in _overview(board)["items"]}
    assert {item["tier"] for tier in tiers for item in _overview(board, tier=tier)["items"]} == tiers
    assert _overview(board, tier="ARCHIVE")["items"] == []
    assert len(_overview(board, limit=2)["items"]) == 2
    board.get("/api/memory", 400, project=_key(board), tier="TEPID")


def test_looking_counts_as_no_access(board: Board, memory: Memory) -> None:
    before = [item.to_json() for item in memory.list()]
    _overview(board, q="make")
    assert [item.to_json() for item in memory.list()] == before


def test_an_item_is_pinned_moved_forgotten_and_brought_back(board: Board, memory: Memory) -> None:
    id = _overview(board, q="json")["items"][0]["id"]
    for word, holds in (
        ("pin", lambda item: item.held),
        ("unpin", lambda item: not item.held),
        ("demote", lambda item: item.tier == "WARM"),
        ("promote", lambda item: item.tier == "HOT"),
        ("forget", lambda item: item.marked_at == board.shop.at),
        ("undo", lambda item: item.marked_at is None),
    ):
        offered = {operation["id"]: operation for item in _overview(board)["items"] if item["id"] == id for operation in item["operations"]}
        assert offered[f"{word} {id}"]["sum"]
        assert _do(board, f"{word} {id}")["done"]
        assert holds(memory.find(id)), word


def test_an_operation_keeps_the_document_of_sessions_up_to_date(board: Board, memory: Memory) -> None:
    (document,) = (board.shop.home / "memory").glob("*/MEMORY.md")
    assert "The API speaks JSON." in document.read_text()
    _do(board, "forget " + _overview(board, q="json")["items"][0]["id"])
    assert "The API speaks JSON." not in document.read_text()


def test_what_is_not_offered_is_not_done_to_memory(board: Board, memory: Memory) -> None:
    item = memory.list()[0]
    before = [each.to_json() for each in memory.list()]
    for id in ("pin", "pin m000", "undo {}", "unpin {}", "forget", "forget --all", "run {}", "add {}", "close {}", "_change {}", " pin {}"):
        assert "error" in _do(board, id.format(item.id), 409), id
        assert [each.to_json() for each in memory.list()] == before, id


def test_items_of_another_project_are_out_of_reach(board: Board, memory: Memory, tmp_path: Path) -> None:
    other = Memory.of(board.shop.environ(), str(tmp_path / "other"))
    theirs = other.add("a secret plan")
    board.post("/api/memory/operations", {"project": memory.project, "id": f"forget {theirs.id}"}, 409)
    assert other.find(theirs.id).marked_at is None
    assert "secret plan" not in str(board.get("/api/memory", project=memory.project))
    assert {each["project"] for each in board.get("/api/memory/projects")["projects"]} == {memory.project, other.project}
    assert board.get("/api/memory", project=other.project)["on"] is False


def test_alerts_name_what_goes_soon(board: Board, memory: Memory) -> None:
    for number in range(10):  # so that the old one is not among the newest
        memory.add(f"Note {number}.")
    long_ago = dict.fromkeys(("created_at", "last_accessed", "tier_since"), board.shop.at - 28.5 * 24 * HOUR_S)
    answer = {"id": "old", "text": "Once pinned. " + "x" * 60, "project": memory.project, "source": "session"}
    memory.store.add([Item(**answer, tier=COLD, profile="code", was_held=True, **long_ago)])
    memory.run(force=True)
    (alert,) = _overview(board)["alerts"]
    assert alert.startswith("Once pinned.")
    assert "pin it to keep it" in alert


def test_what_an_agent_added_is_marked_and_can_be_accepted(board: Board, memory: Memory) -> None:
    id = memory.add("Deploy on Mondays.", source=AGENT).id
    shown = {item["id"]: item for item in _overview(board)["items"]}
    assert [each for each, item in shown.items() if item["waits"]] == [id]
    assert shown[id]["operations"][0]["id"] == f"accept {id}"
    assert "promote" not in str(shown[id]["operations"]), "nothing keeps it for good before"
    assert "Deploy" not in _overview(board)["document"]
    assert _do(board, f"accept {id}")["done"]
    assert "Deploy on Mondays." in _overview(board)["document"]
    _do(board, f"accept {id}", 409)


def test_levels_and_candidates_are_those_of_the_monitoring_queries(board: Board, memory: Memory) -> None:
    day, key = 24 * HOUR_S, _key(board)
    times = dict.fromkeys(("created_at", "last_accessed", "tier_since"), board.shop.at - 2 * day)
    memory.store.add(
        [
            Item("mhot", "leaves soon", key, tier="HOT", score=0.4, **times),
            Item("mwarm", "kept for good", key, tier="WARM", score=0.9, access_count=7, **times),
            Item("mcold", "short", key, tier="COLD", level="keywords", score=0.2, **times),
        ]
    )
    answer = _overview(board)
    assert answer["demotion"] == [{"id": "mhot", "text": "leaves soon", "score": 0.4, "accesses": 0}]
    assert answer["archive"] == [{"id": "mwarm", "text": "kept for good", "score": 0.9, "accesses": 7}]
    assert answer["levels"] == [{"level": "keywords", "items": 1, "mean_tokens": 2.0, "mean_score": 0.2}]
