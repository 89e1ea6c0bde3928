"""What can be done from the page: only what is offered, with the sum said before."""

from __future__ import annotations

import json
import re

from tests.dashboard.board import Board
from tests.reclaim.shops import EXPIRED, LATER_S, SESSION, worked


def _offered(board: Board) -> dict[str, dict]:
    return {operation["id"]: operation for operation in board.session()["operations"]}


def test_a_clear_says_its_sum_takes_that_and_can_be_undone(board: Board) -> None:
    board.worked()
    before = board.shop.transcript.read_bytes()
    offered = _offered(board)["clear"]
    assert "leave" in offered["sum"]
    assert offered["danger"]
    done = board.do("clear")
    assert done["done"], done
    assert "when the session is resumed in Claude Code 2.1.326 or later" in " ".join(done["text"].split())
    assert "popkit context --session " in done["text"], "a session that does not run is named as in a shell"
    assert "/popkit" not in done["text"]
    assert set(board.shop.noted().only) == EXPIRED
    assert board.session()["report"]["verdict"]["kind"] == "noted", "and it is not advised again"
    assert "clear" not in _offered(board)
    assert _offered(board)["undo"]["label"] == "Cancel the clear"
    assert board.do("undo")["done"]
    assert board.shop.noted().only == []
    assert board.session()["report"]["verdict"]["kind"] == "clear"
    assert "clear" in _offered(board)
    assert board.shop.transcript.read_bytes() == before


def test_where_waiting_is_the_advice_a_clear_is_offered_with_its_price(board: Board) -> None:
    board.shop.configure(profile="auto")
    board.worked()
    board.shop.at -= LATER_S - 10  # the cache is warm
    answer = board.session()
    offered = {operation["id"]: operation for operation in answer["operations"]}
    assert answer["report"]["verdict"]["kind"] == "wait"
    assert "clear" not in offered
    price = offered["clear --now"]["sum"]
    assert re.match(
        r"~[\d,]+ tokens leave the context now\. ~[\d,]+ tokens must be written to the cache again, which costs as much as ", price
    )
    assert re.search(
        r"\. It (does not pay off|pays off after \d+ requests?)\. They leave when the session is resumed in Claude Code ", price
    )
    assert not price.endswith(".")
    assert board.do("clear --now")["done"]
    assert board.shop.noted().only


def test_a_result_is_pinned_and_released(board: Board) -> None:
    board.worked()
    number = next(bar["number"] for bar in board.session()["bars"] if bar["state"] == "live")
    operations = board.get(f"/api/sessions/{SESSION}/results/{number}")["operations"]
    assert [operation["id"] for operation in operations] == [f"pin T{number}"]
    assert board.do(f"pin T{number}")["done"]
    assert [bar["number"] for bar in board.session()["bars"] if bar["pinned"]] == [number]
    assert board.do(f"unpin T{number}")["done"]
    assert not any(bar["pinned"] for bar in board.session()["bars"])


def test_what_was_cleared_is_shown_and_put_back(board: Board) -> None:
    board.worked()
    whole = board.shop.contents()
    board.shop.clear()
    bar = next(bar for bar in board.session()["bars"] if bar["state"] == "cleared")
    details = board.get(f"/api/sessions/{SESSION}/results/{bar['number']}")
    shown = board.get(f"/api/sessions/{SESSION}/content/{details['handle']}")
    assert shown["text"] == whole[details["row"]["id"]]
    assert shown["truncated"] == 0
    assert board.do(f"restore T{bar['number']} --in-place")["done"]
    assert board.shop.noted().back == [details["handle"]]
    session = board.session()
    assert session["report"]["verdict"]["kind"] == "returning"
    assert [operation["label"] for operation in session["operations"] if operation["id"] == "undo"] == ["Cancel the way back"]
    assert board.do("undo")["done"]
    assert board.shop.noted().back == []
    assert board.app_state.contexts.site(board.app_state.session(SESSION)).home == str(board.shop.home)


def test_nothing_is_put_back_into_a_transcript_that_is_gone_or_not_understood(board: Board) -> None:
    board.worked()
    board.shop.clear()
    number = next(bar["number"] for bar in board.session()["bars"] if bar["state"] == "cleared")
    operation, path = f"restore T{number} --in-place", f"/api/sessions/{SESSION}/results/{number}"
    whole = board.shop.transcript.read_text()
    assert [each["id"] for each in board.get(path)["operations"]] == [operation]
    board.shop.transcript.write_text(whole + "no JSON\n")
    assert board.session()["doubt"]
    assert board.get(path)["operations"] == []
    board.shop.transcript.unlink()
    rows = board.session()["bars"]
    assert not rows or board.get(path)["operations"] == []
    board.do(operation, 409)


def test_contents_are_those_of_the_session_alone(board: Board) -> None:
    board.worked()
    talk = worked(str(board.shop.project), session_id="another")
    talk.write(board.shop.transcript.with_name("another.jsonl"))
    board.shop.clear()
    number = next(bar["number"] for bar in board.session()["bars"] if bar["state"] == "cleared")
    theirs = board.get(f"/api/sessions/{SESSION}/results/{number}")["handle"]
    board.get(f"/api/sessions/{SESSION}/content/{theirs}")
    board.get(f"/api/sessions/another/content/{theirs}", 404)
    for handle, status in (("k0000000", 404), ("%2e%2e%2f", 404), ("T1", 404), ("x" * 101, 400)):
        assert board.client.get(f"/api/sessions/{SESSION}/content/{handle}").status_code == status, handle


def test_what_is_not_offered_is_not_done(board: Board) -> None:
    board.worked()
    before = board.shop.transcript.read_bytes()
    for id in (
        "undo", "clear --now", "clear --tier session", "pin /etc/passwd", "pin T999", "restore T1", "restore T1 --in-place", "stats",
        "help", "memory forget --all", "auto off", "cold off", "native on", "retention --profile off", "clear; undo", "Clear", " clear",
        "clear ", "hold x", "release h1",
    ):  # fmt: skip
        assert "error" in board.do(id, 409), id
        assert board.shop.transcript.read_bytes() == before, id
        assert not (board.shop.home / "archive.sqlite").exists(), id


def test_a_body_that_is_none_is_refused(board: Board) -> None:
    board.worked()
    for body in ([], "clear", 1, None, {}, {"id": 1}, {"id": ""}, {"id": "x" * 401}, {"id": "clear", "more": 1}, {"id": None}):
        assert board.post(f"/api/sessions/{SESSION}/operations", body, 400).keys() == {"error"}, body


def test_a_body_that_is_no_json_is_refused(board: Board) -> None:
    board.worked()
    headers = {"X-PopKit-Change": "a-second-token", "Content-Type": "application/json"}
    for body in (b"", b"{", b"\xff\xfe", b'{"id": NaN}', b"[" * 10_000):
        answer = board.client.post(f"/api/sessions/{SESSION}/operations", content=body, headers=headers)
        assert answer.status_code == 400, (body, answer.text)
        assert answer.json().keys() == {"error"}


def test_a_refused_operation_says_why_and_changes_nothing(board: Board) -> None:
    board.worked()
    board.session()
    entry = {"type": "user", "uuid": "u-odd", "parentUuid": "nowhere", "message": {"role": "user", "content": "?"}}
    with board.shop.transcript.open("a") as file:
        file.write(json.dumps(entry) + "\n")
    before = board.shop.transcript.read_bytes()
    session = board.session()
    if session["doubt"]:
        assert "clear" not in {operation["id"] for operation in session["operations"]}
        board.do("clear", 409)
    assert board.shop.transcript.read_bytes() == before


def test_a_session_is_held_and_released(board: Board) -> None:
    board.worked()
    assert board.post(f"/api/sessions/{SESSION}/operations", {"id": "hold", "why": "for the audit"})["done"]
    holds = board.get("/api/retention")["holds"]
    assert [(hold["domain"], hold["target"], hold["why"]) for hold in holds] == [
        ("memory", SESSION, "for the audit"),
        ("rag", SESSION, "for the audit"),
    ]
    assert _holding(board) == ["release"]
    board.do("hold", 409)
    assert board.do("release")["done"]
    assert board.get("/api/retention")["holds"] == []
    assert _holding(board) == ["hold"]
    board.do("release", 409)


def test_where_a_hold_is_missing_in_one_domain_holding_adds_that_one(board: Board) -> None:
    board.worked()
    board.do("hold")
    first = board.get("/api/retention")["holds"][0]
    board.post("/api/retention/operations", {"id": first["operations"][0]["id"]})
    assert _holding(board) == ["hold", "release"]
    assert board.do("hold")["done"]
    assert sorted(hold["domain"] for hold in board.get("/api/retention")["holds"]) == ["memory", "rag"]
    assert board.do("release")["done"]
    assert board.get("/api/retention")["holds"] == []


def test_a_damaged_store_takes_holds_away_and_nothing_else_of_a_session(board: Board) -> None:
    board.worked()
    board.do("hold")
    (board.shop.home / "memory.sqlite").write_bytes(b"no database" * 1_000)
    offered = _offered(board)
    assert "clear" in offered
    assert _holding(board) == []
    for id in ("hold", "release"):
        assert board.do(id, 503).keys() == {"error"}
    board.post("/api/retention/operations", {"id": "hold", "session": SESSION, "why": "audit"}, 503)
    assert board.do("clear")["done"]


def _holding(board: Board) -> list[str]:
    return [id for id in _offered(board) if id in ("hold", "release")]
