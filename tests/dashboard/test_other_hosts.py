"""Sessions that other hosts have recorded of the same projects: in the list beside ours, by the name of their host, and left alone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention.dashboard import other_hosts
from tests.dashboard.board import Board
from tests.hosts import stores
from tests.hosts.rollouts import SESSION as ROLLOUT
from tests.hosts.rollouts import worked as rollout
from tests.hosts.test_opencode import SESSION as OPENCODE
from tests.hosts.test_opencode import worked as opencode
from tests.hosts.test_opencode_storage import OTHER, everything
from tests.reclaim.shops import SESSION


@pytest.fixture
def shared(board: Board, monkeypatch: pytest.MonkeyPatch) -> Board:
    """A project in which Claude Code, OpenCode and Codex have worked; the latter two somewhere else, too."""
    board.worked()
    project, folder = str(board.shop.project), Path(board.shop.environ()["HOME"])
    stores.database(folder / ".local" / "share" / "opencode", opencode(project=project), opencode(OTHER, "/somewhere/else"))
    for name, where in ((ROLLOUT, f"{project}/src"), (ROLLOUT[:-1] + "7", "/somewhere/else")):
        path = folder / ".codex" / "sessions" / "2026" / "09" / "21" / f"rollout-2026-09-21T10-00-00-{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rollout(project=where).data())
    monkeypatch.setattr(other_hosts, "FRESH_S", 0.0)
    return board


def listed(board: Board) -> dict[str, dict]:
    """The list, once the other hosts' sessions have been looked up."""
    board.get("/api/sessions")
    board.app_state.other_hosts.wait()
    return {row["id"]: row for row in board.get("/api/sessions")["sessions"]}


def theirs(board: Board) -> list[dict]:
    """All that the other hosts have."""
    return [everything(Path(board.shop.environ()["HOME"]) / folder) for folder in (".local", ".codex")]


def test_those_of_the_same_projects_are_in_the_list_with_their_hosts(shared: Board) -> None:
    rows = listed(shared)
    assert {id: row["host"] for id, row in rows.items()} == {SESSION: "Claude Code", OPENCODE: "OpenCode", ROLLOUT: "Codex"}
    assert rows[OPENCODE]["project"] == str(shared.shop.project)
    assert rows[ROLLOUT]["project"] == f"{shared.shop.project}/src"
    assert rows[OPENCODE]["title"] == "Fix the prices."
    for id in (OPENCODE, ROLLOUT):
        context = shared.session(id)["session"]["context"]
        assert {name: rows[id]["context"][name] for name in ("tokens", "words")} == {name: context[name] for name in ("tokens", "words")}


def test_the_first_list_waits_for_none_of_them(shared: Board) -> None:
    assert [row["id"] for row in shared.get("/api/sessions")["sessions"]] == [SESSION]


def test_a_page_is_told_once_they_are_there(shared: Board) -> None:
    token = shared.get("/api/changes")["token"]
    shared.app_state.other_hosts.wait()
    changed = shared.get("/api/changes", since=token)["changed"]
    assert {"/api/sessions?", f"/api/sessions/{OPENCODE}", f"/api/sessions/{ROLLOUT}"} <= set(changed)


@pytest.mark.parametrize(("id", "calls"), [(OPENCODE, 4), (ROLLOUT, 8)])
def test_one_of_them_is_shown_whole_and_offers_nothing(shared: Board, id: str, calls: int) -> None:
    host = listed(shared)[id]["host"]
    before = theirs(shared)
    answer = shared.session(id)
    assert (answer["report"]["calls"], answer["report"]["host"], answer["operations"]) == (calls, host, [])
    assert answer["session"]["verdict"]["words"] == f"Nothing to do: {host} keeps this session itself, so only /compact removes anything"
    assert answer["doubt"] == ""
    assert answer["session"]["context"]["tokens"] > 0
    assert shared.get(f"/api/sessions/{id}/series")["points"]
    assert shared.get(f"/api/sessions/{id}/results/1")["operations"] == []
    shared.do("clear", 409, id)
    assert theirs(shared) == before


def test_one_that_goes_on_is_read_again(shared: Board) -> None:
    listed(shared)
    first = shared.session(OPENCODE)["report"]["calls"]
    database = next(Path(shared.shop.environ()["HOME"]).rglob("opencode.db"))
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.execute("INSERT INTO message SELECT 'msg_9', session_id, 2e12, 0, data FROM message WHERE id = 'msg_0002'")
        db.execute(
            "INSERT INTO part SELECT 'prt_9', 'msg_9', session_id, 0, 0, replace(data, 'c2', 'c9') FROM part WHERE id = 'prt_0002_0'"
        )
        db.execute("UPDATE session SET time_updated = time_updated + 1 WHERE id = ?", (OPENCODE,))
    listed(shared)
    listed(shared)
    assert shared.session(OPENCODE)["report"]["calls"] == first + 1


def test_a_database_that_cannot_be_read_takes_none_of_the_others(shared: Board) -> None:
    database = next(Path(shared.shop.environ()["HOME"]).rglob("opencode.db"))
    database.write_bytes(b"no database")
    assert set(listed(shared)) == {SESSION, ROLLOUT}
    listed(shared)
    assert shared.app_state.failed == 1, "the same failure is noted once"


def test_a_link_is_not_followed(shared: Board, tmp_path: Path) -> None:
    folder = Path(shared.shop.environ()["HOME"])
    for path in (next(folder.rglob("opencode.db")), next(folder.rglob(f"*{ROLLOUT}.jsonl"))):
        path.rename(tmp_path / path.name)
        path.symlink_to(tmp_path / path.name)
    assert set(listed(shared)) == {SESSION}


def test_what_we_keep_of_an_opencode_session_comes_before_its_own_storage(shared: Board) -> None:
    kept = shared.shop.home / "transcripts" / "-shop" / f"{OPENCODE}.jsonl"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(shared.shop.transcript.read_bytes())
    rows = listed(shared)
    assert rows[OPENCODE]["host"] == "OpenCode"
    assert shared.app_state.catalog.sessions()[OPENCODE].transcript == str(kept)


@pytest.mark.parametrize(
    ("folder", "is_one"), [("/a/b", True), ("/a/b/c/d", True), ("/a", False), ("/a/bc", False), ("", False), ("/", False), ("b", False)]
)
def test_a_project_is_a_folder_and_all_below_it(folder: str, is_one: bool) -> None:
    assert other_hosts.is_of({"/a/b"}, folder) == is_one
