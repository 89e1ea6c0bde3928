"""When the collection of retention policies is wanted and due; which sessions have been closed; what children are started with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.core.io.home import GOVERNANCE
from popkit_retention.core.policy.occasions import RESUMED_WITHIN_S
from popkit_retention.core.state import closed, collection

NOW = 1_800_000_000.0
WANTS = {"auto_gc": True}


@pytest.mark.parametrize(
    ("policies", "wanted"),
    [
        (None, False), ([], False), (7, False), ({}, False), ({"memory": WANTS}, True), ({"memory": {"auto_gc": 1}}, False),
        ({"auto_gc": True}, False), ({"version": 2, "memory": {"auto_gc": False}, "rag": WANTS}, True),
        ({"projects": {"memory": {"shop": {"config": WANTS}}}}, True), ({"projects": {"memory": {"shop": {"config": {}}}}}, False),
        ({"projects": {"memory": [{"config": WANTS}]}}, False), ({"projects": {"memory": {"shop": WANTS}}}, False),
        ({"projects": {"memory": {"shop": {"config": 7}}}}, False), ({"projects": 7}, False), ({"projects": {"memory": 7}}, False),
    ],
)  # fmt: skip
def test_a_collection_is_wanted_by_any_policy_that_asks_for_it(tmp_path: Path, policies: object, wanted: bool) -> None:
    (tmp_path / GOVERNANCE).mkdir(parents=True)
    if policies is not None:
        (tmp_path / GOVERNANCE / collection.POLICIES).write_text(json.dumps(policies))
    assert collection.is_collection_wanted(str(tmp_path)) == wanted


def test_policies_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    (tmp_path / GOVERNANCE).mkdir(parents=True)
    path = tmp_path / GOVERNANCE / collection.POLICIES
    path.write_text("{")
    with pytest.raises(ValueError, match="line 1"):
        collection.is_collection_wanted(str(tmp_path))
    path.write_text("")
    assert not collection.is_collection_wanted(str(tmp_path))


@pytest.mark.parametrize(("since", "due"), [(0.0, False), (3_599.9, False), (3_600.0, True), (-0.1, True), (1e9, True)])
def test_a_collection_is_due_an_hour_after_the_last_began_or_when_the_clock_goes_back(tmp_path: Path, since: float, due: bool) -> None:
    path = Path(collection.collection_note_path(str(tmp_path)))
    assert path == tmp_path / GOVERNANCE / collection.NOTE
    assert collection.is_collection_due(str(tmp_path), NOW)
    path.parent.mkdir(parents=True)
    path.write_text(collection.collection_note(NOW))
    assert collection.is_collection_due(str(tmp_path), NOW + since) == due
    for odd in ("{", '{"at": "now"}', "{}", "7"):
        path.write_text(odd)
        assert collection.is_collection_due(str(tmp_path), NOW)


# --- sessions that have ended ----------------------------------------------------------------------------------------------------------


def test_a_session_is_listed_with_its_project_from_its_end_until_it_goes_on(tmp_path: Path) -> None:
    home = str(tmp_path)
    assert (closed.is_any(home), closed.listed(home)) == (False, {})
    closed.add(home, "one", "/shop", NOW)
    closed.add(home, "two", "/other", NOW + 1)
    closed.add(home, "one", "/shop", NOW + 2)
    assert (closed.is_any(home), closed.listed(home)) == (True, {"two": ["/other", NOW + 1], "one": ["/shop", NOW + 2]})
    closed.remove(home, "two")
    assert list(closed.listed(home)) == ["one"]
    before = (tmp_path / closed.NAME).stat().st_mtime_ns, (tmp_path / closed.NAME).stat().st_ino
    closed.remove(home, "two")
    assert ((tmp_path / closed.NAME).stat().st_mtime_ns, (tmp_path / closed.NAME).stat().st_ino) == before, "nothing is written"


def test_who_can_no_longer_be_resumed_leaves_the_list(tmp_path: Path) -> None:
    for number, age in enumerate((RESUMED_WITHIN_S, RESUMED_WITHIN_S - 1, 0)):
        closed.add(str(tmp_path), f"s{number}", "/shop", NOW - age)
    assert list(closed.listed(str(tmp_path))) == ["s1", "s2"]


def test_a_thousand_sessions_are_listed_the_oldest_leave(tmp_path: Path) -> None:
    rows = {f"s{number}": ["/shop", NOW] for number in range(1_000)}
    (tmp_path / closed.NAME).write_text(json.dumps(rows))
    closed.remove(str(tmp_path), "s0")
    closed.add(str(tmp_path), "s1000", "/shop", NOW)
    listed = list(closed.listed(str(tmp_path)))
    assert (len(listed), listed[0], listed[-1]) == (1_000, "s1", "s1000")
    closed.add(str(tmp_path), "s1001", "/shop", NOW)
    listed = list(closed.listed(str(tmp_path)))
    assert (len(listed), listed[0], listed[-1]) == (1_000, "s2", "s1001")


@pytest.mark.parametrize("row", [7, [], ["/shop"], ["/shop", "now"], ["/shop", 1.0, 2], {"at": 1}, None])
def test_a_row_that_is_none_is_not_listed(tmp_path: Path, row: object) -> None:
    (tmp_path / closed.NAME).write_text(json.dumps({"odd": row, "one": ["/shop", NOW]}))
    assert closed.listed(str(tmp_path)) == {"one": ["/shop", NOW]}


def test_where_the_list_cannot_be_written_time_alone_tells(tmp_path: Path) -> None:
    (tmp_path / closed.NAME).mkdir()
    closed.add(str(tmp_path), "one", "/shop", NOW)
    closed.remove(str(tmp_path), "one")
    assert closed.listed(str(tmp_path)) == {}
