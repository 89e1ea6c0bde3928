"""What the client says of a prompt is taken as far as it can be understood, and nothing else is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.state import client_reports
from tests.bill.standing import breakdown

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def test_a_whole_breakdown_misses_nothing():
    found = client_reports.parsed_breakdown(breakdown())
    assert found["missing"] == []
    assert [len(found[name]) for name in ("memory", "tools", "agents", "skills")] == [2, 5, 1, 2]
    assert client_reports.parsed_breakdown(breakdown(skills=None))["missing"] == []


@given(st.sampled_from(["categories", "memoryFiles", "mcpTools", "agents", "skills", "slashCommands", "model"]), anything)
def test_whatever_a_part_holds_it_is_kept_or_said_to_be_missing(part: str, value: object):
    try:
        found = client_reports.parsed_breakdown(breakdown(**{part: value}))
    except ValueError:
        assert part == "categories"
        return
    for name in ("categories", "memory", "tools", "agents", "skills"):
        assert all(isinstance(row["tokens"], int) and row["name"] for row in found[name])
    listed = value.get("skillFrontmatter") if part == "skills" and isinstance(value, dict) else value
    if part not in ("slashCommands", "model") and not isinstance(listed, list) and not (part == "skills" and value is None):
        assert found["missing"]


@given(anything)
def test_what_is_no_breakdown_is_refused(value: object):
    with pytest.raises(ValueError, match="it "):
        client_reports.parsed_breakdown(value)


def test_a_list_without_an_end_is_cut_and_said_to_be():
    many = [{"name": f"mcp__s__{number}", "serverName": "s", "tokens": 1} for number in range(5_000)]
    found = client_reports.parsed_breakdown(breakdown(mcpTools=many))
    assert (len(found["tools"]), found["missing"]) == (1_000, ["mcpTools"])


@pytest.mark.parametrize("content", [b"", b"[]", b"no json", b'{"hidden": [1]}', b"\xff\xfe"])
def test_a_damaged_file_is_as_if_there_were_none(content: bytes, tmp_path: Path):
    client_reports.hide(str(tmp_path), "/shop", "mcp__a__", {"name": "a"})
    (path,) = (tmp_path / client_reports.BREAKDOWNS).glob("*.json")
    path.write_bytes(content)
    assert client_reports.hidden(str(tmp_path), "/shop") == {}


@pytest.mark.parametrize(
    ("server", "tool", "key"),
    [
        ("linear", "mcp__linear__find", "mcp__linear__"), ("plugin:docs:docs", "mcp__plugin_docs_docs__find", "mcp__plugin_docs_docs__"),
        ("claude.ai Jira", "mcp__claude_ai_Jira__find", "mcp__claude_ai_Jira__"), ("my__own", "mcp__my__own__find", "mcp__my__own__"),
        ("linear", "mcp__lin__find", ""),
    ],
)  # fmt: skip
def test_a_server_s_tools_begin_with_its_name_as_the_client_writes_it(server: str, tool: str, key: str):
    assert client_reports.server_key(server, tool) == key


def test_hidden_are_a_tool_itself_and_all_of_a_server():
    keys = {"mcp__a__": {}, "mcp__b__find": {}}
    hidden = [
        name
        for name in ("mcp__a__x", "mcp__a__x__y", "mcp__ab__x", "mcp__b__find", "mcp__b__other", "Read")
        if client_reports.is_among(name, keys)
    ]
    assert hidden == ["mcp__a__x", "mcp__a__x__y", "mcp__b__find"]


def test_a_breakdown_goes_a_year_after_the_project_s_last_session_and_what_is_hidden_stays(tmp_path: Path):
    client_reports.keep_breakdown(str(tmp_path), "/old", "s", breakdown(), 1e9)
    client_reports.hide(str(tmp_path), "/old", "mcp__a__", {"name": "a"})
    for path in (tmp_path / client_reports.BREAKDOWNS).iterdir():
        os.utime(path, (1e9, 1e9))
    client_reports.keep_breakdown(str(tmp_path), "/new", "s", breakdown(), 1e9 + 366 * 86_400)
    assert client_reports.load_breakdown(str(tmp_path), "/old") == {}
    assert list(client_reports.hidden(str(tmp_path), "/old")) == ["mcp__a__"]
    assert client_reports.load_breakdown(str(tmp_path), "/new")["session"] == "s"
