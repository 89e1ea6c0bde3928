"""What GET /api/changes tells: what has changed since a token was given, once, whole and within bounds, and nothing else."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from popkit_retention.dashboard.changes import MOST_GONE, MOST_REPORTED, STATS_S, History
from popkit_retention.memory.place import Place
from tests.dashboard.board import Board, Served, book
from tests.patience import until
from tests.reclaim.shops import SESSION, Talk, spoke, worked

PAGES = 50
LIST, ONE, STATS = "/api/sessions?", f"/api/sessions/{SESSION}", "/api/stats"


class Asker:
    """Who asks again and again, with the token of the answer before."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._token = ""

    def changes(self) -> list[str]:
        """What has changed since it asked last."""
        answer = self._board.get("/api/changes", since=self._token)
        assert answer["everything"] is (self._token == "")
        self._token = answer["token"]
        return answer["changed"]


@pytest.fixture
def asker(board: Board) -> Asker:
    board.worked()
    return _begun(board)


def _begun(board: Board) -> Asker:
    asker = Asker(board)
    assert asker.changes() == [], "the first answer gives a token"
    return asker


def _goes_on(board: Board, calls: int = 1) -> None:
    talk = worked(str(board.shop.project))
    for number in range(calls):
        talk.bash(f"more-{number}", "mkdir -p more")
    talk.write(board.shop.transcript)


def test_nothing_changes_and_nothing_is_reported(board: Board, asker: Asker) -> None:
    board.session()
    board.get("/api/sessions")
    board.get("/api/retention")
    board.get("/api/stats")
    assert asker.changes() == []


def test_a_session_that_goes_on_is_reported_once_to_everybody_who_asks(board: Board, asker: Asker) -> None:
    other = _begun(board)
    _goes_on(board)
    assert asker.changes() == [ONE, LIST, STATS]
    assert asker.changes() == []
    assert other.changes() == [ONE, LIST, STATS]
    assert other.changes() == []


def test_fifty_pages_that_ask_at_once_are_all_told(tmp_path: Path) -> None:
    served = Served(tmp_path)
    try:
        served.worked()
        token = served.get("/api/changes")["token"]
        _goes_on(served)
        request = served.request(f"/api/changes?since={token}", "GET", "Connection: close")
        with ThreadPoolExecutor(PAGES) as pages:
            answers = list(pages.map(lambda _: served.raw(request, goes_on=True).partition(b"\r\n\r\n")[2], range(PAGES)))
    finally:
        served.close()
    assert {tuple(json.loads(each)["changed"]) for each in answers} == {(ONE, LIST, STATS)}


def test_who_has_no_token_or_one_of_another_start_is_told_of_everything(board: Board, asker: Asker) -> None:
    token = board.get("/api/changes")["token"]
    assert board.get("/api/changes", since=token)["everything"] is False
    board.restart()
    for nonsense in (token, "", "nonsense", "0-0", "\0", "ü" * 100):
        answer = board.get("/api/changes", since=nonsense)
        assert (answer["everything"], answer["changed"], answer["at"]) == (True, [], board.shop.at)


def test_what_can_be_no_token_is_refused(board: Board) -> None:
    assert board.get("/api/changes", 400, since="x" * 101).keys() == {"error"}


def test_a_session_stops_running_by_itself(board: Board, asker: Asker) -> None:
    spoke(board.shop.transcript, board.shop.at - 10)
    assert ONE in asker.changes()
    assert board.session()["session"]["running"] is True
    board.shop.at += 400
    assert ONE in asker.changes()
    assert board.session()["session"]["running"] is False


def test_a_session_that_has_gone_is_reported(board: Board, asker: Asker) -> None:
    board.shop.transcript.unlink()
    assert asker.changes() == [ONE, LIST, STATS]
    assert asker.changes() == []


def test_sessions_of_others_are_listed(board: Board, asker: Asker) -> None:
    book(board, "their/first", "erik")
    assert asker.changes() == ["/api/budgets", "/api/sessions/their%2Ffirst", LIST]
    assert asker.changes() == []
    assert board.get("/api/sessions/their%2Ffirst")["session"]["requests"] == 1
    book(board, "their/first", "erik", number=2)
    assert asker.changes() == ["/api/budgets", "/api/sessions/their%2Ffirst", LIST]
    assert board.get("/api/sessions/their%2Ffirst")["session"]["requests"] == 2
    board.shop.at += 400
    assert asker.changes() == ["/api/sessions/their%2Ffirst", LIST]
    assert board.get("/api/sessions/their%2Ffirst")["session"]["running"] is False


def test_worth_is_reported_once_for_many_changes_and_once_more_when_they_are_over(board: Board, asker: Asker) -> None:
    has_stats = []
    for number in range(5):
        _goes_on(board, number + 1)
        has_stats.append(STATS in asker.changes())
    assert has_stats == [True, False, False, False, False]
    board.shop.at += STATS_S
    assert STATS in asker.changes()
    board.shop.at += STATS_S
    assert STATS not in asker.changes()


def test_where_hundreds_have_changed_everything_has(board: Board, asker: Asker) -> None:
    token = board.get("/api/changes")["token"]
    for number in range(MOST_REPORTED):
        talk = Talk(str(board.shop.project), session_id=f"s{number}")
        talk.prompt("go")
        talk.write(board.shop.transcript.with_name(f"s{number}.jsonl"))
    answer = board.get("/api/changes", since=token)
    assert (answer["everything"], answer["changed"]) == (True, [])


def test_each_part_is_named_by_its_own_address(board: Board, asker: Asker) -> None:
    board.do("clear")
    assert set(asker.changes()) >= {ONE, LIST, STATS}
    assert asker.changes() == []
    board.post("/api/retention/operations", {"id": "hold", "session": SESSION, "why": "audit"})
    assert "/api/retention" in asker.changes()
    with Place(board.shop.environ(), str(board.shop.project)) as place:
        place.project.turn_on(board.shop.at)
        place.memory.add("Run the tests with make check.")
    assert "/api/memory" in asker.changes()
    board.shop.configure(context={"month_tokens": 1_000})
    assert "/api/budgets" in asker.changes()


def test_the_list_has_changed_when_a_context_is_read_that_it_was_without(board: Board, asker: Asker) -> None:
    assert board.get("/api/sessions")["sessions"][0]["verdict"] is None
    assert asker.changes() == []
    row = board.session()["session"]
    assert asker.changes() == [LIST]
    assert board.get("/api/sessions")["sessions"] == [row]
    assert asker.changes() == []


def test_a_large_context_is_reported_at_once_and_again_when_it_was_read(board: Board, asker: Asker) -> None:
    talk = worked(str(board.shop.project))
    for number in range(70):
        talk.read(f"big-{number}", f"{board.shop.project}/big-{number}.ts", "x" * 60_000)
    talk.write(board.shop.transcript)
    assert board.shop.transcript.stat().st_size > 4 << 20
    spoke(board.shop.transcript, board.shop.at - 1)
    assert ONE in asker.changes()
    (row,) = board.get("/api/sessions")["sessions"]
    assert (row["context"] is not None, row["verdict"]) == (True, None), "it was not waited for"
    until(lambda: asker.changes() == [LIST], "its reading")
    (row,) = board.get("/api/sessions")["sessions"]
    assert row["verdict"] is not None
    assert row == board.session()["session"]
    assert asker.changes() == []


# --- the history -------------------------------------------------------------------------------------------------------------------------


SOME, OTHER = ("/api/one", ""), ("/api/one/", "other")


@pytest.fixture
def history() -> History:
    begun = History("run")
    begun.note({SOME: "1", OTHER: "1"})
    return begun


def test_what_has_not_changed_is_not_reported(history: History) -> None:
    token = history.token
    history.note({SOME: "1", OTHER: "1"})
    assert (history.since(token), history.token) == ([], token)


def test_each_asker_is_told_what_has_changed_since_it_asked(history: History) -> None:
    first = history.token
    history.note({SOME: "2", OTHER: "1"})
    second = history.token
    history.note({SOME: "2", OTHER: "2"})
    assert [history.since(token) for token in (first, second, history.token)] == [[SOME, OTHER], [OTHER], []]


def test_a_name_that_comes_goes_or_is_said_to_have_changed_has(history: History) -> None:
    token = history.token
    history.note({SOME: "1"})
    assert history.since(token) == [OTHER]
    token = history.token
    history.note({SOME: "1", OTHER: "1"})
    assert history.since(token) == [OTHER]
    token = history.token
    history.note({SOME: "1", OTHER: "1"}, also=[SOME])
    assert history.since(token) == [SOME]


def test_a_stamp_of_none_is_a_stamp(history: History) -> None:
    token = history.token
    history.note({SOME: "1", OTHER: "1", ("/api/two", ""): None})
    assert history.since(token) == [("/api/two", "")]


@pytest.mark.parametrize(
    "token", ["", "-", "run", "run-", "run-2", "run--1", "run-x", "run-²", "other-1", "run-1-1", "\0", "run-" + "9" * 90]
)
def test_what_is_no_token_of_this_run_tells_of_everything(history: History, token: str) -> None:
    assert history.since(token) is None


def test_where_much_has_changed_everything_is_reported(history: History) -> None:
    token = history.token
    names = {("/api/one/", str(number)): "1" for number in range(MOST_REPORTED)}
    history.note({SOME: "1", OTHER: "1", **names})
    assert history.since(token) == sorted(names)
    history.note({SOME: "2", OTHER: "1", **names})
    assert history.since(token) is None


def test_what_is_remembered_of_names_that_have_gone_is_bounded(history: History) -> None:
    tokens = []
    for number in range(3 * MOST_GONE):
        tokens.append(history.token)
        history.note({SOME: "1", ("/api/one/", str(number)): "1"})
    assert len(history._changed) <= 2 + MOST_GONE
    assert history.since(tokens[0]) is None, "it may not be told of what has gone"
    assert history.since(tokens[-1]) == [("/api/one/", str(number - 1)), ("/api/one/", str(number))]
