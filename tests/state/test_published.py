"""What is kept in small files of ours: alerts, marks, when collections were, what a person was told and wants."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.core.io import home
from popkit_retention.core.io.repository import Repository
from popkit_retention.core.state import collection, marked, memory, memory_alerts, opening, status_line, told_once

NOW = 1_800_000_000.0


def test_an_alert_is_shown_once(tmp_path: Path) -> None:
    project = memory.Project(str(tmp_path), Repository("shop-0123456789ab", "/shop", "shop"))
    project.turn_on(NOW)
    assert memory_alerts.unseen_alerts(project) == {}
    for _ in range(2):
        memory_alerts.set_alerts(project, {"m1": 5.0, "m2": 6.0})
    assert memory_alerts.unseen_alerts(project) == {"m1": 5.0, "m2": 6.0}
    memory_alerts.note_alerts_seen(project, ["m1"])
    memory_alerts.set_alerts(project, {"m1": 5.0, "m3": 7.0})
    assert memory_alerts.unseen_alerts(project) == {"m3": 7.0}
    memory_alerts.set_alerts(project, {"m3": 7.0})
    memory_alerts.set_alerts(project, {"m1": 9.0})
    assert memory_alerts.unseen_alerts(project) == {"m1": 9.0}


def test_where_nothing_is_marked_nothing_is_written(tmp_path: Path) -> None:
    marked.replace_marked(str(tmp_path), marked.RAG, list)
    assert list(tmp_path.iterdir()) == []
    marked.replace_marked(str(tmp_path), marked.RAG, lambda: marked.marked_rows([("p", "job", "r1", NOW)]))
    marked.replace_marked(str(tmp_path), marked.MEMORY, lambda: marked.marked_rows([("p", "tool", "m1", NOW)]))
    marked.replace_marked(str(tmp_path), marked.RAG, list)
    assert [part for part, _ in marked.marked_of(str(tmp_path), "p")] == [marked.MEMORY]


def test_a_row_counts_what_one_has_marked_in_a_project_and_names_the_first() -> None:
    marks = [("q", "tool", "z", 9.0), *(("p", "job", f"r{number}", 50.0 - number) for number in range(6)), ("p", "tool", "m", 1.0)]
    assert marked.marked_rows(marks) == [
        {"project": "p", "by": "job", "count": 6, "ids": ["r0", "r1", "r2", "r3", "r4"], "first": 45.0},
        {"project": "p", "by": "tool", "count": 1, "ids": ["m"], "first": 1.0},
        {"project": "q", "by": "tool", "count": 1, "ids": ["z"], "first": 9.0},
    ]
    assert marked.marked_rows([]) == []


ROW = {"project": "p", "by": "job", "count": (1 << 53) - 1, "ids": ["r1"], "first": 1e11 - 1}


@pytest.mark.parametrize(
    "change",
    [
        {"project": 1}, {"by": "me"}, {"count": 0}, {"count": 1 << 53}, {"count": "1"}, {"count": True}, {"first": None}, {"first": 1e11},
        {"ids": "r1"}, {"ids": [1]}, {"ids": None},
    ],
)  # fmt: skip
def test_a_row_that_somebody_has_edited_into_none_is_left_out(tmp_path: Path, change: dict) -> None:
    folder = tmp_path / home.GOVERNANCE
    folder.mkdir(parents=True)
    parts = {"memory": [{**ROW, **change}, ROW, None], "rag": ROW, "other": [ROW], "forgotten": [{**ROW, "by": "tool", "first": 1}]}
    for version, shown in ((1, [("forgotten", {**ROW, "by": "tool", "first": 1}), ("memory", ROW)]), (2, []), (None, [])):
        (folder / marked.MARKED_FILE).write_text(json.dumps({"version": version, "parts": parts}))
        assert marked.marked_of(str(tmp_path), "p") == shown
        assert marked.marked_of(str(tmp_path), "q") == []
    (folder / marked.MARKED_FILE).write_text(json.dumps({"version": 1, "parts": []}))
    assert marked.marked_of(str(tmp_path), "p") == []


@pytest.mark.parametrize(
    ("alerts", "due"),
    [
        ({"due": {"a": 1, "b": 2.5, "c": True, "d": "1"}, "told": ["b", 3]}, {"a": 1}),
        ({"due": {"a": 1}, "told": {}}, {}),
        ({"due": [], "told": []}, {}),
        ({"due": {"a": 1}}, {}),
        ([], {}),
    ],
)
def test_alerts_that_cannot_be_read_are_none(tmp_path: Path, alerts: object, due: dict) -> None:
    project = memory.Project(str(tmp_path), Repository("shop-0123456789ab", "/shop", "shop"))
    project.turn_on(NOW)
    path = Path(project.folder, memory_alerts.ALERTS)
    path.write_text(json.dumps(alerts))
    assert memory_alerts.unseen_alerts(project) == due
    memory_alerts.note_alerts_seen(project, list(due))
    assert memory_alerts.unseen_alerts(project) == {}


@pytest.mark.parametrize(
    ("at", "due"),
    [(NOW, False), (NOW - 3_599, False), (NOW - 3_600, True), (NOW + 1, True), (None, True), ("1", True), ([], True), (10**400, True)],
)
def test_a_collection_is_due_an_hour_after_the_last_or_when_that_lies_ahead(tmp_path: Path, at: object, due: bool) -> None:
    assert collection.is_collection_due(str(tmp_path), NOW)
    note = Path(collection.collection_note_path(str(tmp_path)))
    note.parent.mkdir(parents=True)
    note.write_text(collection.collection_note(at) if isinstance(at, float) else json.dumps({"at": at}))
    assert collection.is_collection_due(str(tmp_path), NOW) == due


AUTO, OFF = {"auto_gc": True}, {"auto_gc": False}


@pytest.mark.parametrize(
    ("policies", "wanted"),
    [
        ({"memory": AUTO}, True), ({"memory": OFF, "archive": AUTO}, True), ({"memory": OFF}, False), ({"memory": {"auto_gc": 1}}, False),
        ({"projects": {"memory": [{"config": AUTO}]}}, False),
        ({"projects": {"memory": {"/p": {"config": OFF}, "/q": {"config": AUTO}}}}, True),
        ({"projects": {"memory": [{"config": OFF}, AUTO]}}, False), ({"projects": {"memory": "x"}, "archive": [AUTO]}, False),
        ({}, False), ([{"auto_gc": True}], False), ("auto_gc", False), (None, False),
    ],
)  # fmt: skip
def test_a_collection_is_wanted_where_any_policy_says_so(tmp_path: Path, policies: object, wanted: bool) -> None:
    assert not collection.is_collection_wanted(str(tmp_path))
    (tmp_path / home.GOVERNANCE).mkdir(parents=True)
    (tmp_path / home.GOVERNANCE / collection.POLICIES).write_text(json.dumps(policies))
    assert collection.is_collection_wanted(str(tmp_path)) == wanted


def test_policies_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / home.GOVERNANCE / collection.POLICIES
    path.parent.mkdir(parents=True)
    path.write_text("{")
    with pytest.raises(ValueError, match="line 1"):
        collection.is_collection_wanted(str(tmp_path))
    path.write_text("")
    assert not collection.is_collection_wanted(str(tmp_path))


def test_a_transcript_that_a_hook_has_time_for_is_small(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    for size, small in ((0, True), (16 << 20, True), ((16 << 20) + 1, False)):
        with path.open("wb") as file:
            file.truncate(size)
        assert opening.is_small(str(path)) == small
    for none in ("", str(tmp_path / "none"), "\0"):
        assert not opening.is_small(none)


def test_a_person_is_told_once(tmp_path: Path) -> None:
    assert [told_once.is_news(str(tmp_path), name) for name in ("a", "a", "b/c", "b/c", "b", "a")] == [
        True,
        False,
        True,
        False,
        True,
        False,
    ]
    noted = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "cache").iterdir()}
    assert noted == {"told-" + home.safe_name(name): 0o600 for name in ("a", "b/c", "b")}
    (tmp_path / "file").touch()
    assert not told_once.is_news(str(tmp_path / "file"), "a"), "what cannot be noted would be told in each session"


def test_a_line_and_its_place_are_kept_apart(tmp_path: Path) -> None:
    kept = str(tmp_path / "popkit")
    assert (status_line.is_on(kept), status_line.has_site(kept)) == (False, False)
    status_line.note_site(kept)
    status_line.turn(kept, True)
    assert (status_line.is_on(kept), status_line.has_site(kept)) == (True, True)
    status_line.turn(kept, False)
    assert all(stored.owns(kept, path.name) for path in Path(kept).iterdir() for stored in status_line.STORAGE)
    assert json.loads(Path(kept, status_line.FILE).read_text()) == {"on": False, "site": True}
    before = Path(kept, status_line.FILE).stat().st_mtime_ns
    status_line.note_site(kept)
    assert (status_line.is_on(kept), status_line.has_site(kept)) == (False, True)
    assert Path(kept, status_line.FILE).stat().st_mtime_ns == before
    Path(kept, status_line.FILE).write_text('{"on": 1, "site": "yes"}')
    assert (status_line.is_on(kept), status_line.has_site(kept)) == (False, False)
