"""What the client reports is kept as far as it can be understood: the history of limits, and what stands in prompts. Nothing else harms."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.state import hidden_tools, limit_readings, prompt_breakdowns
from tests.bill.conversations import breakdown

T = 1_800_000_000.0
RESETS = "2027-01-15T12:00:00Z"  # four hours after T
NEXT = "2027-01-15T17:00:00.000Z"


def limit(percent: object, resets: object = RESETS, kind: object = "five_hour") -> dict[str, object]:
    return {"kind": kind, "percentUsed": percent, "resetsAt": resets}


def note(home: Path, percent: float, at: float, resets: str = RESETS, fresh: bool = True) -> None:
    limit_readings.note_limits(str(home), [limit(percent, resets)], at, fresh)


def kept(home: Path) -> list[float]:
    return [reading.percent for reading in limit_readings.readings(str(home))]


def test_a_reading_is_kept_whole_in_a_private_file(tmp_path: Path):
    home = tmp_path / "popkit"
    limit_readings.note_limits(str(home), [limit(62.5), limit(31, "2027-01-20T08:00:00Z", "seven_day")], T, fresh=True)
    five, seven = limit_readings.readings(str(home))
    assert (five.kind, five.at, five.percent, five.resets_at) == ("five_hour", T, 62.5, T + 4 * 3_600)
    assert (seven.kind, seven.percent) == ("seven_day", 31)
    assert stat.S_IMODE((home / "limits.json").stat().st_mode) == 0o600
    assert all(stored.owns(str(home), path.name) for path in home.iterdir() for stored in limit_readings.STORAGE)


def test_what_has_not_moved_is_kept_again_after_a_while_only(tmp_path: Path):
    for seconds in range(0, 601, 60):
        note(tmp_path, 10, T + seconds)
    assert [reading.at - T for reading in limit_readings.readings(str(tmp_path))] == [0, 300, 600]


def test_an_idle_session_does_not_take_back_what_another_has_seen(tmp_path: Path):
    note(tmp_path, 50, T)
    note(tmp_path, 30, T + 60, fresh=False)
    assert kept(tmp_path) == [50]
    note(tmp_path, 30, T + 60)  # its provider has given some back
    assert kept(tmp_path) == [50, 30]


def test_the_next_window_begins_low_and_the_one_before_does_not_come_again(tmp_path: Path):
    note(tmp_path, 80, T)
    note(tmp_path, 1, T + 5 * 3_600, NEXT, fresh=False)
    note(tmp_path, 80, T + 5 * 3_600 + 60, fresh=False)  # its reset has passed
    assert kept(tmp_path) == [80, 1]


def test_it_is_bounded(tmp_path: Path):
    rows = [["five_hour", T + number, number / 100, T + 4 * 3_600] for number in range(2_000)]
    (tmp_path / limit_readings.LIMITS_FILE).write_text(json.dumps(rows))
    note(tmp_path, 99, T + 5_000)
    readings = limit_readings.readings(str(tmp_path))
    assert (len(readings), readings[0].percent, readings[-1].percent) == (2_000, 0.01, 99)
    assert (tmp_path / limit_readings.LIMITS_FILE).stat().st_size < limit_readings.MOST_BYTES


CORRUPT = [
    "",
    "{",
    "[]",
    "{}",
    "null",
    '[1, [], ["five_hour"], ["five_hour", 1, null, 0], ["five_hour", true, 1, 0], [[], 1, 1, 1]]',
    "\0",
    "[" * 9_999,
]


@pytest.mark.parametrize("content", CORRUPT, ids=range(len(CORRUPT)))
def test_a_corrupt_file_holds_nothing_and_is_rewritten(content: str, tmp_path: Path):
    (tmp_path / limit_readings.LIMITS_FILE).write_text(content)
    assert kept(tmp_path) == []
    note(tmp_path, 10, T)
    assert kept(tmp_path) == [10]


ODD = [
    None,
    "x",
    {},
    [1],
    [{}],
    [limit("7")],
    [limit(True)],
    [limit(-1)],
    [limit(float("nan"))],
    [limit(7, kind="one_day")],
    [limit(7, kind=[])],
]


@pytest.mark.parametrize("reported", ODD, ids=range(len(ODD)))
def test_what_is_no_reading_is_not_kept(reported: object, tmp_path: Path):
    limit_readings.note_limits(str(tmp_path), reported, T, fresh=True)
    assert not (tmp_path / limit_readings.LIMITS_FILE).exists()


def test_a_reset_that_nobody_can_read_is_as_if_none_were_given(tmp_path: Path):
    limit_readings.note_limits(str(tmp_path), [limit(7, "soon")], T, fresh=True)
    assert [reading.resets_at for reading in limit_readings.readings(str(tmp_path))] == [0.0]


@pytest.mark.parametrize(
    ("percent", "after", "fresh", "resets", "is_news"),
    [
        (50, 299.9, True, RESETS, False), (50, 300, True, RESETS, True), (50.1, 1, False, RESETS, True), (49, 300, False, RESETS, False),
        (49, 1, True, RESETS, True), (1, 1, False, NEXT, True), (1, 1, False, "2027-01-15T12:30:00Z", False),
        (60, 1, False, "2027-01-15T12:30:01Z", True), (1, 1, False, "2027-01-15T09:00:00Z", False),
        (1, 1, True, "2027-01-15T09:00:00Z", True), (1, 1, False, "", False),
    ],
)  # fmt: skip
def test_a_reading_is_news_where_it_says_more_than_the_one_before(
    percent: float, after: float, fresh: bool, resets: str, is_news: bool, tmp_path: Path
):
    note(tmp_path, 50, T)
    note(tmp_path, percent, T + after, resets, fresh)
    assert kept(tmp_path) == [50, percent][: 1 + is_news]


def test_a_window_that_is_over_tells_nothing_and_the_next_one_begins(tmp_path: Path):
    note(tmp_path, 50, T + 4 * 3_600)
    assert kept(tmp_path) == []
    note(tmp_path, 50, T + 4 * 3_600 - 1)
    note(tmp_path, 40, T + 4 * 3_600, "", fresh=False)
    assert kept(tmp_path) == [50, 40], "what came before holds no longer"


def test_each_kind_of_window_has_readings_of_its_own(tmp_path: Path):
    for kind in ("five_hour", "seven_day", "spend_limit"):
        limit_readings.note_limits(str(tmp_path), [limit(7, kind=kind), {"kind": kind}, 7], T, fresh=False)
    assert [(reading.kind, reading.percent) for reading in limit_readings.readings(str(tmp_path))] == [
        ("five_hour", 7), ("seven_day", 7), ("spend_limit", 7),
    ]  # fmt: skip
    rows = json.loads((tmp_path / limit_readings.LIMITS_FILE).read_text())
    assert rows[0] == ["five_hour", T, 7, T + 4 * 3_600]


@pytest.mark.parametrize(
    ("row", "is_kept"),
    [
        (["five_hour", 1, 2, 3], True), (["five_hour", 1, 2], False), (["five_hour", 1, 2, 3, 4], False), (["five_hour", 1, 1e5, 3], False),
        (["five_hour", 1, 99_999, 3], True), (["five_hour", 1e11, 2, 3], False), (["five_hour", 1, 2, 1e11], False),
        (["five_hour", None, 2, 3], False), (["five_hour", 1, None, 3], False), (["five_hour", 1, 2, None], False), (["x", 1, 2, 3], False),
        ("five", False),
    ],
)  # fmt: skip
def test_a_row_that_is_no_reading_is_passed_over(row: object, is_kept: bool, tmp_path: Path):
    (tmp_path / limit_readings.LIMITS_FILE).write_text(json.dumps([row, ["seven_day", 1, 5, 0]]))
    assert kept(tmp_path) == ([row[2]] if is_kept else []) + [5]


def test_a_file_that_is_larger_than_any_of_ours_holds_nothing(tmp_path: Path):
    path = tmp_path / limit_readings.LIMITS_FILE
    note(tmp_path, 7, T)
    text = path.read_text()
    for more, found in ((0, [7]), (1, [7]), (2, [])):
        path.write_text(" " * (512 * 1024 - len(text) + more) + text)
        assert kept(tmp_path) == found


def test_two_that_write_at_once_lose_nothing(tmp_path: Path):
    def write(first: int) -> None:
        for number in range(first, 100, 2):
            limit_readings.note_limits(str(tmp_path), [limit(number)], T + number, fresh=True)

    threads = [threading.Thread(target=write, args=(first,)) for first in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(kept(tmp_path)) == list(range(100))


# --- prompts --------------------------------------------------------------------------------------------------------------------------

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def test_a_whole_breakdown_misses_nothing():
    parsed = prompt_breakdowns.parsed_breakdown(breakdown())
    assert parsed["missing"] == []
    assert [len(parsed[name]) for name in ("memory", "tools", "agents", "skills")] == [2, 5, 1, 2]
    assert prompt_breakdowns.parsed_breakdown(breakdown(skills=None))["missing"] == []


@given(st.sampled_from(["categories", "memoryFiles", "mcpTools", "agents", "skills", "slashCommands", "model"]), anything)
def test_whatever_a_part_holds_it_is_kept_or_reported_as_missing(part: str, value: object):
    try:
        parsed = prompt_breakdowns.parsed_breakdown(breakdown(**{part: value}))
    except ValueError:
        assert part == "categories"
        return
    for name in ("categories", "memory", "tools", "agents", "skills"):
        assert all(isinstance(row["tokens"], int) and row["name"] for row in parsed[name])
    listed = value.get("skillFrontmatter") if part == "skills" and isinstance(value, dict) else value
    if part not in ("slashCommands", "model") and not isinstance(listed, list) and not (part == "skills" and value is None):
        assert parsed["missing"]


@given(anything)
def test_what_is_no_breakdown_is_refused(value: object):
    with pytest.raises(ValueError, match="it "):
        prompt_breakdowns.parsed_breakdown(value)


def test_a_list_without_an_end_is_cut_and_marked_as_cut():
    many = [{"name": f"mcp__s__{number}", "serverName": "s", "tokens": 1} for number in range(5_000)]
    parsed = prompt_breakdowns.parsed_breakdown(breakdown(mcpTools=many))
    assert (len(parsed["tools"]), parsed["missing"]) == (1_000, ["mcpTools"])


@pytest.mark.parametrize("content", [b"", b"[]", b"no json", b'{"hidden": [1]}', b"\xff\xfe"])
def test_a_damaged_file_is_as_if_there_were_none(content: bytes, tmp_path: Path):
    hidden_tools.hide(str(tmp_path), "/shop", "mcp__a__", {"name": "a"})
    (path,) = (tmp_path / prompt_breakdowns.BREAKDOWNS).glob("*.json")
    path.write_bytes(content)
    assert hidden_tools.hidden(str(tmp_path), "/shop") == {}


@pytest.mark.parametrize(
    ("server", "tool", "key"),
    [
        ("linear", "mcp__linear__find", "mcp__linear__"), ("plugin:docs:docs", "mcp__plugin_docs_docs__find", "mcp__plugin_docs_docs__"),
        ("claude.ai Jira", "mcp__claude_ai_Jira__find", "mcp__claude_ai_Jira__"), ("my__own", "mcp__my__own__find", "mcp__my__own__"),
        ("linear", "mcp__lin__find", ""),
    ],
)  # fmt: skip
def test_a_server_s_tools_begin_with_its_name_as_the_client_writes_it(server: str, tool: str, key: str):
    assert hidden_tools.server_key(server, tool) == key


def test_hidden_are_a_tool_itself_and_all_of_a_server():
    keys = {"mcp__a__": {}, "mcp__b__find": {}}
    hidden = [
        name
        for name in ("mcp__a__x", "mcp__a__x__y", "mcp__ab__x", "mcp__b__find", "mcp__b__other", "Read")
        if hidden_tools.is_among(name, keys)
    ]
    assert hidden == ["mcp__a__x", "mcp__a__x__y", "mcp__b__find"]


def test_a_breakdown_goes_a_year_after_its_project_s_last_session(tmp_path: Path):
    """What is hidden stays."""
    prompt_breakdowns.keep_breakdown(str(tmp_path), "/old", "s", breakdown(), 1e9)
    row = {"name": "a", "tokens": 7, "at": 5.0}
    hidden_tools.hide(str(tmp_path), "/old", "mcp__a__", row)
    (path,) = (tmp_path / prompt_breakdowns.BREAKDOWNS).glob("*.hidden.json")
    assert json.loads(path.read_text()) == {"project": "/old", "hidden": {"mcp__a__": row}}
    for path in (tmp_path / prompt_breakdowns.BREAKDOWNS).iterdir():
        os.utime(path, (1e9, 1e9))
    prompt_breakdowns.keep_breakdown(str(tmp_path), "/new", "s", breakdown(), 1e9 + 366 * 86_400)
    assert prompt_breakdowns.load_breakdown(str(tmp_path), "/old") == {}
    assert hidden_tools.hidden(str(tmp_path), "/old") == {"mcp__a__": row}
    assert prompt_breakdowns.load_breakdown(str(tmp_path), "/new")["session"] == "s"
