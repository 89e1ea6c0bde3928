"""The built-in tables say what the specification says."""

import pytest

from hooks.utils.hosts.claude_code.tools import TOOLS
from hooks.utils.policy import ruleset
from hooks.utils.policy.ruleset import Ruleset

RULES = Ruleset.from_config({}, TOOLS)


def test_the_tier_table_has_the_values_of_the_specification_and_lets_a_success_end_an_error():
    assert ruleset.TIER_CONFIG == {
        "ephemeral": {"ttl_tools": 1, "ttl_seconds": None},
        "short": {"ttl_tools": 5, "ttl_seconds": 300},
        "medium": {"ttl_tools": None, "ttl_seconds": None, "expiry_events": ["edit", "commit"]},
        "session": {"ttl_tools": None, "ttl_seconds": None, "expiry_events": ["supersede", "session_end"]},
        "preserved": {"ttl_tools": None, "ttl_seconds": None, "expiry_events": ["success", "manual"]},
    }


def test_tiers_are_in_order_of_lifetime():
    assert ruleset.TIERS == ("ephemeral", "short", "medium", "session", "preserved")
    assert tuple(ruleset.TIER_CONFIG) == ruleset.TIERS


SPECIFIED = {
    "Read": "medium",
    "Grep": "short",
    "Glob": "short",
    "Edit": "ephemeral",
    "Write": "ephemeral",
    "Bash": {
        "default": "session",
        "patterns": {
            "git commit": "ephemeral",
            "git push": "ephemeral",
            "npm test": "session",
            "npm run build": "session",
            "mkdir": "ephemeral",
            "rm": "ephemeral",
        },
    },
}


@pytest.mark.parametrize("tool", SPECIFIED)
def test_a_tool_of_the_specification_has_its_tier(tool):
    assert TOOLS.tiers[tool] == SPECIFIED[tool]


@pytest.mark.parametrize("tool", ["mcp__github__search_issues", "SomethingNew", ""])
def test_a_tool_that_no_table_names_is_session(tool):
    assert RULES.tier_of_tool(tool) == "session"


@pytest.mark.parametrize("tool", TOOLS.tiers)
def test_every_tool_has_a_tier_that_exists(tool):
    assert RULES.tier_of_tool(tool) in ruleset.TIERS


def test_every_event_of_the_tier_table_is_an_event():
    for entry in ruleset.TIER_CONFIG.values():
        assert set(entry.get("expiry_events", ())) <= {*ruleset.EVENTS, *ruleset.PRESERVED_EVENTS}
    assert set(ruleset.EVENT_ALIASES.values()) <= set(ruleset.EVENTS)
