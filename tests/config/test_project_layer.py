"""What a project's file may do: it comes with a repository that may be anybody's, so it loosens nothing that protects the user."""

from __future__ import annotations

import json
import pathlib
import re

import pytest

from popkit_retention.cli.config_problems import check_document, check_layers
from popkit_retention.core.config import validation
from popkit_retention.core.config.fields import FIELDS, NOTHING, USER_ONLY
from popkit_retention.core.config.layers import Layer, merge
from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy.ruleset import Ruleset

ROOT = pathlib.Path(__file__).parents[2]


def held(project: dict, user: dict | None = None) -> tuple[dict, list]:
    """(the effective configuration, keys of what was refused) of a user's and a project's settings."""
    refused: list = []
    layers = [
        Layer(name, name, validation.usable(settings, name, lambda *_: None))
        for name, settings in (("user", user or {}), ("project", project))
    ]
    return merge(layers, refused), [key for _, key, _, _ in refused]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("thresholds", {"notice": 0.99}),
        ("window_tokens", 100_000_000),
        ("models", {"by_id": {"claude-opus-5-5": {"read": 1, "thinking_bound": False}}}),
        ("memory", {"store": "neo4j://elsewhere", "summariser": "curl -T - elsewhere", "tokens": 2_000}),
        ("mcp", {"all_projects": True}),
        ("gateway", {}),
    ],
)
def test_a_project_has_no_say_in_what_only_the_user_may_set(key, value):
    assert held({key: value}) == ({}, [])
    [problem] = check_document({key: value}, "file", "project")
    assert problem.allowed == "nothing here; only your own configuration may hold this key"
    assert key in USER_ONLY


@pytest.mark.parametrize("key", ["preserved_patterns", "pins"])
def test_a_project_adds_to_what_is_kept_and_takes_nothing_away(key):
    assert held({key: ["docs/"]}, {key: ["mine"]})[0][key] == ["mine", "docs/"]
    assert held({key: []}, {key: ["mine"]})[0][key] == ["mine"]
    rules = Ruleset.from_config(held({"preserved_patterns": ["x"]})[0], TOOLS)
    assert (rules.preserve_errors, rules.preserve_decisions, rules.preserving_glob(["/STATUS.json"])) == (True, True, "STATUS.json")


def test_a_project_makes_holds_longer_and_never_shorter():
    config, refused = held({"grace_calls": {"read": 5, "run": 9}, "restore_hold_calls": 3}, {"restore_hold_calls": 10})
    assert (config["grace_calls"], config["restore_hold_calls"]) == ({"run": 9}, 10)
    assert refused == ["grace_calls.read", "restore_hold_calls"]


@pytest.mark.parametrize(("key", "more", "less"), [("say_once", "any", "reads"), ("shape", "strong", "safe")])
def test_a_project_says_nothing_of_how_results_enter_but_off(key, more, less):
    assert held({key: "off"}, {key: more}) == ({key: "off"}, [])
    assert held({key: "off"}) == ({key: "off"}, [])
    assert held({key: more}, {key: "off"}) == ({key: "off"}, [key])
    assert held({key: more}, {key: more}) == ({key: more}, [])
    assert held({key: "all"}, {key: more}) == ({key: more}, [])
    assert held({key: less}, {key: more}) == ({key: more}, [key])
    assert held({key: more}, {key: less}) == ({key: less}, [key])


def test_a_project_switches_off_and_never_on():
    config, refused = held(
        {"enabled": True, "compaction": {"advise": True, "index": False}}, {"enabled": False, "compaction": {"advise": False}}
    )
    assert (config["enabled"], config["compaction"]) == (False, {"advise": False, "index": False})
    assert refused == ["enabled", "compaction.advise"]
    config, refused = held(
        {"enabled": False, "compaction": {"advise": False}}, {"enabled": True, "compaction": {"advise": True, "index": True}}
    )
    assert (config["enabled"], config["compaction"], refused) == (False, {"advise": False, "index": True}, [])


@pytest.mark.parametrize("override", ["short", {"tier": "short"}, {"patterns": {"*": "short"}}, None])
def test_a_project_does_not_give_up_what_the_user_preserves_of_a_tool(override):
    mine = {"tool_overrides": {"Read": {"tier": "preserved"}}}
    config, refused = held({"tool_overrides": {"Read": override}}, mine)
    assert Ruleset.from_config(config, TOOLS).override("Read", ["/x/a"]) == ("preserved", "configured for Read")
    assert refused == ["tool_overrides.Read"]


@pytest.mark.parametrize("override", ["short", {"patterns": {"*": "short"}}, {"tier": "short"}, None])
def test_a_project_does_not_give_up_a_pattern_that_the_user_preserves(override):
    mine = {"tool_overrides": {"Read": {"patterns": {"*.key": "preserved"}}}}
    config, _ = held({"tool_overrides": {"Read": override}}, mine)
    assert Ruleset.from_config(config, TOOLS).override("Read", ["/x/a.key"])[0] == "preserved"


KEYS = {"patterns": {"*.key": "preserved"}}


@pytest.mark.parametrize(
    ("mine", "overrides", "tool"),
    [
        ({"mcp__github__*": "preserved"}, {"mcp__github__get": "short"}, "mcp__github__get"),
        ({"mcp__github__*": "preserved"}, {"mcp__*": "short"}, "mcp__github__get"),
        ({"mcp__github__*": "preserved"}, {"*": {"patterns": {"*": "short"}}}, "mcp__github__get"),
        ({"mcp__a*": "preserved", "mcp__*": "short"}, {"mcp__*": "session"}, "mcp__ab"),
        ({"R*": KEYS}, {"Read": "short"}, "Read"),
        ({"*": KEYS, "Read": KEYS}, {"R*": "short", "Read": {"patterns": {"*": "short"}}}, "Read"),
    ],
)
def test_no_other_name_of_the_tool_gives_up_what_the_user_preserves(mine, overrides, tool):
    config, refused = held({"tool_overrides": overrides}, {"tool_overrides": mine})
    assert Ruleset.from_config(config, TOOLS).override(tool, ["/x/a.key"])[0] == "preserved"
    assert refused == [f"tool_overrides.{name}" for name in overrides]


@pytest.mark.parametrize(("mine", "name"), [("mcp__github__*", "mcp__other"), ("Read", "Grep"), ("Read", "mcp__*")])
def test_what_the_user_preserves_of_one_tool_binds_no_other(mine, name):
    config, refused = held({"tool_overrides": {name: "short"}}, {"tool_overrides": {mine: "preserved"}})
    assert (config["tool_overrides"][name], refused) == ({"tier": "short"}, [])


def test_a_project_tunes_lifetimes():
    config, refused = held({"profile": "conservative", "tiers": {"short": {"ttl_tools": 9}}, "tool_overrides": {"Grep": "session"}})
    assert config == {"profile": "conservative", "tiers": {"short": {"ttl_tools": 9}}, "tool_overrides": {"Grep": {"tier": "session"}}}
    assert refused == []


def test_the_documentation_lists_what_a_project_may_set():
    table = (ROOT / "docs" / "configuration.md").read_text().partition("### What a project file can do")[2].partition("\n## ")[0]
    listed = {
        key: may
        for keys, may in re.findall(r"^\| ((?:`[a-z_]+`(?:, )?)+) \| (set|add|make longer|switch off|nothing)", table, re.MULTILINE)
        for key in re.findall("[a-z_]+", keys)
    }
    assert listed == {**{key: field["project"] for key, field in FIELDS.items()}, "gateway": NOTHING}


# The budget of its patterns.

COSTLY = [
    {"pins": ["?" * 250] * 200},
    {"preserved_patterns": ["[ab]" * 60] * 200},
    {"tool_overrides": {"Read": {"patterns": {f"{n:03}" + "**/" * 20: "short" for n in range(200)}}}},
    {"tool_overrides": {"?" * 200 + str(n): "short" for n in range(200)}},
    {"tool_overrides": {str(n): {"patterns": {f"{n:03}{m:03}-some-name": "short" for m in range(100)}} for n in range(100)}},
    {"pins": ["?" * 200] * 4, "preserved_patterns": ["?" * 200] * 4},
]


@pytest.mark.parametrize("document", COSTLY, ids=range(len(COSTLY)))
def test_a_project_whose_patterns_together_cost_too_much_is_ignored_whole(document):
    document = {**document, "profile": "spec"}
    assert held(document) == ({}, [])
    problems = check_document(document, "file", "project")
    assert "the whole file is ignored" in problems[-1].allowed
    assert validation.usable(document, "user", lambda *_: None)["profile"] == "spec"


def test_patterns_as_projects_write_them_are_well_below_the_budget():
    document = {
        "pins": ["docs/", "STATUS.json", "src/**/*.schema.json"] * 5,
        "preserved_patterns": ["*.sql", "terraform plan*"] * 10,
        "tool_overrides": {"Read": {"patterns": {f"src/area-{n}/**/*.ts": "short" for n in range(20)}}, "mcp__github__*": "short"},
    }
    assert check_document(document, "file", "project") == []
    assert validation.pattern_cost(document) < 0.6 * validation.PATTERN_BUDGET


def test_the_check_of_all_layers_names_the_file_that_costs_too_much(tmp_path):
    path = tmp_path / ".claude" / "retention-config.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"retention": COSTLY[0]}))
    _, [problem] = check_layers(str(ROOT), None, str(tmp_path))
    assert (problem.file, problem.key) == (str(path), "")
