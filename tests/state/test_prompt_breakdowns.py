"""What the client says of its prompts: what of it is kept, in which words, and for how long."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.core.policy.composition import ADDED, CALLED, OTHER, RESULT, SAID, WROTE
from popkit_retention.core.state import prompt_breakdowns, prompt_contents
from popkit_retention.core.state.prompt_breakdowns import counted_messages, keep_breakdown, load_breakdown, parsed_breakdown
from tests.bill.conversations import breakdown
from tests.views.written import Written

DAY = 86_400
NOW = 1_800_000_000.0
MOST = 10**8


def sums(**told: object) -> dict[str, int]:
    return parsed_breakdown(breakdown(messageBreakdown=told))["messages"]


def tool(**more: object) -> dict[str, object]:
    return {"name": "mcp__s__find", "serverName": "s", "tokens": 7, **more}


def test_a_breakdown_is_kept_in_our_words() -> None:
    parsed = parsed_breakdown(breakdown(skills=None, mcpTools=[tool(isLoaded=True), tool(isLoaded=1), tool()]))
    assert parsed["model"] == "claude-opus-4-6"
    assert parsed["categories"][0] == {"name": "System prompt", "kind": "used", "tokens": 1_642}
    assert parsed["categories"][-1] == {"name": "Free space", "kind": "free", "tokens": 900_000}
    assert parsed["memory"][0] == {"name": "/shop/CLAUDE.md", "source": "Project", "tokens": 1_700}
    assert parsed["tools"] == [{"name": "mcp__s__find", "server": "s", "tokens": 7, "loaded": loaded} for loaded in (True, False, False)]
    assert parsed["agents"] == [{"name": "reviewer", "source": "projectSettings", "tokens": 60}]
    assert (parsed["skills"], parsed["commands"], parsed["messages"], parsed["missing"]) == ([], 90, {}, [])
    assert parsed_breakdown(breakdown())["skills"][1] == {"name": "docs:write", "source": "plugin", "tokens": 375}


@pytest.mark.parametrize(
    ("tokens", "kept"),
    [(0, 0), (7.5, 8), (MOST - 1, MOST - 1), (MOST, None), (-1, None), ("7", None), (True, None), (None, None), (float("nan"), None)],
)
def test_a_row_says_a_number_of_tokens_or_its_list_is_marked(tokens: object, kept: int | None) -> None:
    parsed = parsed_breakdown(breakdown(mcpTools=[tool(), tool(tokens=tokens)], slashCommands={"tokens": tokens}))
    assert [row["tokens"] for row in parsed["tools"]] == ([7] if kept is None else [7, kept])
    assert parsed["missing"] == (["mcpTools"] if kept is None else [])
    assert parsed["commands"] == kept


@pytest.mark.parametrize("row", [{}, 7, None, {"tokens": 7}, {"name": "", "tokens": 7}, {"name": 7, "tokens": 7}])
def test_a_row_without_a_name_is_missing_as_the_client_names_its_list(row: object) -> None:
    lists = {"memoryFiles": "memory", "mcpTools": "tools", "agents": "agents"}
    parsed = parsed_breakdown(breakdown(**{name: [row] for name in lists}, skills={"skillFrontmatter": [row]}))
    assert parsed["missing"] == [*lists, "skillFrontmatter"]
    assert [parsed[name] for name in (*lists.values(), "skills")] == [[], [], [], []]


def test_a_name_is_cut_and_a_list_too() -> None:
    parsed = parsed_breakdown(breakdown(mcpTools=[tool(name="x" * 301)] * 1_000, model="m" * 301))
    assert (len(parsed["tools"]), len(parsed["tools"][0]["name"]), len(parsed["model"]), parsed["missing"]) == (1_000, 300, 300, [])
    assert parsed_breakdown(breakdown(model=7))["model"] == ""
    assert parsed_breakdown(breakdown(mcpTools=[tool()] * 1_001))["missing"] == ["mcpTools"]


@pytest.mark.parametrize("told", [None, [], {}, {"categories": []}, {"categories": [{"name": "Free", "kind": "free", "tokens": 1}]}])
def test_what_says_nothing_of_the_window_is_refused_with_a_reason(told: object) -> None:
    why = "it has no categories in use" if isinstance(told, dict) else "it is empty"
    with pytest.raises(ValueError, match=f"^{why}$"):
        parsed_breakdown(told)


# --- messages --------------------------------------------------------------------------------------------------------------------------


def test_messages_are_told_by_what_they_are_in_a_conversation() -> None:
    told = {
        "toolCallTokens": 1, "attachmentTokens": 20, "assistantMessageTokens": 3, "userMessageTokens": 4, "unattributedTokens": 5,
        "redirectedContextTokens": 600,
        "attachmentsByType": [{"name": "x", "tokens": 9}, {"name": "prompt_snapshot", "tokens": 7}, {"name": "skill_listing", "tokens": 8},
                              {"name": "skill_listing", "tokens": "many"}],
        "toolCallsByType": [{"name": "Read", "callTokens": 2, "resultTokens": 70}, {"name": "Bash", "resultTokens": 0}, 7],
    }  # fmt: skip
    assert sums(**told) == {CALLED: 1, ADDED: 605, WROTE: 3, SAID: 4, OTHER: 5, RESULT + "Read": 70}


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("toolCallTokens", CALLED), ("attachmentTokens", ADDED), ("redirectedContextTokens", ADDED), ("assistantMessageTokens", WROTE),
        ("userMessageTokens", SAID), ("unattributedTokens", OTHER),
    ],
)  # fmt: skip
def test_a_kind_that_is_told_alone_is_all_there_is(key: str, kind: str) -> None:
    assert sums(**{key: 1}) == {kind: 1}


@pytest.mark.parametrize(
    "told",
    [
        {"attachmentTokens": 5, "attachmentsByType": [{"name": "skill_listing", "tokens": 5}]},
        {"attachmentTokens": 5, "attachmentsByType": [{"name": "skill_listing", "tokens": 6}]},
        {"toolCallTokens": "7", "redirectedContextTokens": -1, "attachmentsByType": 7, "toolCallsByType": {"name": "Read"}},
    ],
)
def test_a_kind_of_which_nothing_is_left_is_not_told(told: dict[str, Any]) -> None:
    assert sums(**told) == {}
    assert sums(**{**told, "userMessageTokens": 1}) == {SAID: 1}


def test_of_a_list_of_messages_a_thousand_are_read() -> None:
    rows = [{"name": f"tool{number}", "resultTokens": 1} for number in range(1_001)]
    assert len(sums(toolCallsByType=rows)) == 1_000


# --- the file --------------------------------------------------------------------------------------------------------------------------


def files(home: Path) -> list[Path]:
    return sorted((home / prompt_breakdowns.BREAKDOWNS).iterdir())


def test_a_breakdown_is_kept_for_its_project_with_its_session_and_time(tmp_path: Path) -> None:
    keep_breakdown(str(tmp_path), "/shop", "s1", breakdown(), NOW)
    keep_breakdown(str(tmp_path), "/other", "s2", breakdown(), NOW)
    kept = load_breakdown(str(tmp_path), "/shop")
    assert kept == {**parsed_breakdown(breakdown()), "project": "/shop", "session": "s1", "at": NOW}
    assert load_breakdown(str(tmp_path), "/other")["session"] == "s2"
    assert load_breakdown(str(tmp_path), "/shop/src") == {}
    assert [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "standing", *files(tmp_path))] == [0o700, 0o600, 0o600]
    assert all(stored.owns("", f"standing/{path.name}") for path in files(tmp_path) for stored in prompt_breakdowns.STORAGE)


def test_of_no_project_nothing_is_kept(tmp_path: Path) -> None:
    keep_breakdown(str(tmp_path), "", "s1", breakdown(), NOW)
    assert list(tmp_path.iterdir()) == []


def test_one_that_says_nothing_is_a_problem_beside_the_one_before(tmp_path: Path) -> None:
    problem = {"why": "it is empty", "at": NOW + 1}
    keep_breakdown(str(tmp_path), "/shop", "s1", None, NOW + 1)
    assert load_breakdown(str(tmp_path), "/shop") == {"project": "/shop", "problem": problem}
    keep_breakdown(str(tmp_path), "/shop", "s1", breakdown(), NOW)
    before = load_breakdown(str(tmp_path), "/shop")
    assert "problem" not in before
    keep_breakdown(str(tmp_path), "/shop", "s2", [], NOW + 1)
    assert load_breakdown(str(tmp_path), "/shop") == {**before, "problem": problem}


def test_a_file_that_is_larger_than_any_of_ours_is_not_read(tmp_path: Path) -> None:
    keep_breakdown(str(tmp_path), "/shop", "s1", breakdown(), NOW)
    (path,) = files(tmp_path)
    text = path.read_text()
    path.write_text(text[:-1].ljust((4 << 20) - 1) + text[-1])
    assert load_breakdown(str(tmp_path), "/shop")["session"] == "s1"
    path.write_text(text[:-1].ljust(4 << 20) + text[-1])
    assert load_breakdown(str(tmp_path), "/shop") == {}


def test_a_breakdown_goes_once_its_project_has_rested_for_a_year(tmp_path: Path) -> None:
    ages = {"/older": 365 * DAY + 1, "/old": 365 * DAY, "/new": 0}
    for project in ages:
        keep_breakdown(str(tmp_path), project, "s", breakdown(), NOW)
    folder = tmp_path / prompt_breakdowns.BREAKDOWNS
    (folder / "other.json").write_text("{}")
    (folder / "b.breakdown.json").mkdir()
    for name in ("other.json", "b.breakdown.json"):
        os.utime(folder / name, (1.0, 1.0))
    for project, age in ages.items():
        os.utime(prompt_breakdowns.path_of(str(tmp_path), project, "breakdown"), (NOW - age,) * 2)
    keep_breakdown(str(tmp_path), "/shop", "s", breakdown(), NOW)
    assert [project for project in ages if load_breakdown(str(tmp_path), project)] == ["/old", "/new"]
    assert {"other.json", "b.breakdown.json"} < {path.name for path in folder.iterdir()}, "what is no file of ours stays, and stops nothing"


@pytest.mark.parametrize(
    ("kept", "messages"),
    [
        ({"session": "s", "at": 5.0, "messages": {SAID: 1}}, {SAID: 1}),
        ({"session": "s", "at": 4.9, "messages": {SAID: 1}}, {}),
        ({"session": "other", "at": 5.0, "messages": {SAID: 1}}, {}),
        ({"session": "s", "messages": {SAID: 1}}, {}),
        ({"session": "s", "at": 6.0, "messages": None}, {}),
        ({}, {}),
    ],
)
def test_messages_count_for_their_session_as_long_as_nothing_newer_came(kept: dict[str, Any], messages: dict[str, int]) -> None:
    assert counted_messages(json.loads(json.dumps(kept)), "s", 5.0) == messages
    assert counted_messages({"session": "s", "messages": messages}, "s", 1.0) == {}
    assert counted_messages({**kept, "at": None}, "s", 0.0) == (kept.get("messages") or {} if kept.get("session") == "s" else {})


def test_the_newest_prompt_holds_what_its_host_counted_or_what_is_estimated(tmp_path: Path) -> None:
    written, home = Written(tmp_path / "p"), str(tmp_path)

    def held(project: str = "/shop") -> dict[str, Any]:
        return prompt_contents.contents_of(home, project, str(written.path))

    written.say("go")
    assert prompt_contents.contents_of(home, "/shop", str(tmp_path / "none")) == held() == {}, "no request has been sent"
    written.read("a.py")
    written.read("b.py")
    estimated = held()
    assert estimated["is_counted"] is False
    assert {row["name"] or row["kind"] for row in estimated["rows"]} >= {"Read", SAID}
    assert estimated["added"] == {"times": 0, "tokens": 0, "times_again": 0, "tokens_again": 0}
    counted = breakdown(messageBreakdown={"userMessageTokens": 300})
    keep_breakdown(home, os.path.realpath("/shop"), written.session, counted, written.now)
    assert (held()["is_counted"], [(row["kind"], row["tokens"]) for row in held()["rows"]]) == (True, [(SAID, 300)])
    assert held("") == estimated, "without a project nobody has counted"
    written.read("c.py")
    assert held()["is_counted"] is False, "another request has been sent since"
