"""The bill and the savings on the page: what they show is what the commands show."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from popkit_retention.core import efficiency_tracker as tracker
from popkit_retention.core.io.system import day_of, days_before
from popkit_retention.core.operations import context_words
from popkit_retention.core.state import session
from popkit_retention.core.views import savings
from popkit_retention.dashboard.app import application
from popkit_retention.dashboard.app_state import AppState
from popkit_retention.dashboard.security import Access
from tests.bill.conversations import breakdown
from tests.bill.test_bill_command import Shop
from tests.cli import inside
from tests.dashboard.board import Board
from tests.reclaim.shops import LATER_S, SESSION, Later, worked


def test_the_bill_and_the_lost_caches_are_those_of_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Shop(tmp_path, known=breakdown())
    now = max(digest["ended"] for digest in shop.digests) + 60
    environ = {"CLAUDE_CONFIG_DIR": str(shop.folder / "claude"), "POPKIT_HOME": str(shop.home)}
    app = application(AppState(environ, lambda: now), Access(8000, "a-token", "another", "a-secret"), "1.2.3")
    client = TestClient(app, "http://127.0.0.1:8000", headers={"authorization": "Bearer a-token"})
    answer = client.get("/api/bill").json()
    while answer["reading"] is not None:
        answer = client.get("/api/bill").json()
    with monkeypatch.context() as patch:
        patch.setattr("time.time", lambda: now)
        assert answer["bill"] == shop.data()
        assert {**answer["misses"], "left_out": []} == json.loads(inside.run(["bill", "misses", "--json"], environ, shop.project).stdout)
    assert answer["project"] == str(shop.project)
    assert answer["projects"] == [str(shop.project)]
    assert answer["bill"]["rows"]
    assert answer["bill"]["proposals"]
    assert answer["bill"]["whole"]["requests"] == answer["misses"]["requests"] > 0
    assert len(answer["phrases"]["rows"]) == len(answer["bill"]["rows"])
    assert answer["phrases"]["parts"]["output"] == "What Claude wrote, thinking included"
    assert client.get("/api/bill", params={"project": "/nowhere"}).status_code == 404


def _paid_off(board: Board) -> None:
    """A session of which something was cleared, and that has gone on without it."""
    talk = worked(str(board.shop.project))
    board.shop.write(talk)
    board.shop.clear()
    later = Later(str(board.shop.project), tokens=talk.tokens - 4_000)
    later.entries = board.shop.entries()
    later.last = later.entries[-1]["uuid"]
    later.prompt("go on")
    for number in range(40):
        later.bash(f"later-{number}", f"mkdir -p later/{number}")
    later.say("Done.")
    later.write(board.shop.transcript)
    board.shop.at += 3 * LATER_S
    # As the hooks note it.
    session.update(str(board.shop.home), SESSION, transcript=str(board.shop.transcript), project=str(board.shop.project))


def test_the_sums_are_those_of_stats(board: Board) -> None:
    _paid_off(board)
    answer = board.get("/api/stats")  # nobody has settled what the session did since the clear
    stats = json.loads(context_words.answer("stats --json", board.shop.site(), str(board.shop.transcript), board.shop.at))
    assert answer["headline"] == savings.headline(stats["worth"])
    installed = stats["worth"]["installed"]
    assert answer["saved_by_usd"] == installed["saved_by_usd"]
    assert sum(answer["saved_by_usd"].values()) > 0
    assert answer["gains"].keys() == answer["saved_by_usd"].keys()
    assert answer["causes"].keys() == answer["cost_by_usd"].keys()
    assert answer["figures"] == {name: installed[name] for name in answer["figures"]}
    (project,) = answer["projects"]
    assert (project["project"], project["sessions"]) == (str(board.shop.project), 1)
    assert project["figures"] == answer["figures"]
    for name in ("kept_out_tokens", "cleared_tokens", "saved_usd", "cost_usd", "net_usd"):
        assert sum(day[name] for day in answer["days"]) == pytest.approx(answer["figures"][name], abs=1e-5)


def test_what_a_session_did_since_is_settled_at_the_next_question(board: Board) -> None:
    _paid_off(board)
    before = board.get("/api/stats")
    assert board.get("/api/stats") == before
    entries = board.shop.entries()
    talk = Later(str(board.shop.project))
    talk.entries, talk.last = entries, entries[-1]["uuid"]
    for number in range(10):
        talk.bash(f"last-{number}", f"mkdir -p last/{number}")
    talk.write(board.shop.transcript)
    assert board.get("/api/stats")["figures"]["saved_usd"] > before["figures"]["saved_usd"]


def test_days_end_today_have_no_gaps_and_begin_with_the_installation(board: Board) -> None:
    today = day_of(board.shop.at)
    for ago in (0, 3, 29, 400):
        for path in board.shop.home.iterdir():
            os.utime(path, (board.shop.at - 86_400 * ago,) * 2)
        days = [day["day"] for day in board.get("/api/stats", days=30)["days"]]
        assert days == [days_before(today, back) for back in reversed(range(min(30, ago + 1)))]


def test_days_before_anything_was_saved_are_not_shown(board: Board) -> None:
    answer = board.get("/api/stats", days=30)
    assert [day["day"] for day in answer["days"]] == [day_of(board.shop.at)]
    assert answer["projects"] == []
    assert answer["headline"] == "Net: PopKit has saved and cost nothing yet"
    board.get("/api/stats", 400, days=0)


def test_what_was_swept_still_counts(board: Board) -> None:
    _paid_off(board)
    context_words.answer("stats", board.shop.site(), str(board.shop.transcript), board.shop.at)
    before = board.get("/api/stats")
    folder = board.shop.home / "sessions" / board.shop.session_id
    state = json.loads((folder / "main.state.json").read_text())
    kept = {"agent_id": "", "calibration": state["calibration"], "counts": state["counts"]}
    line = {"session": board.shop.session_id, "project": "gone", "contexts": [kept]}
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    (board.shop.home / "past.jsonl").write_text(json.dumps(line) + "\n")
    after = board.get("/api/stats")
    assert (after["headline"], after["figures"]) == (before["headline"], before["figures"])
    assert [project["project"] for project in after["projects"]] == ["gone"]
    assert tracker.all_metrics(str(board.shop.home)).sessions == 1
