"""The built-in tables say what the specification says, and a configuration is compiled over them for the engine."""

import copy
import json
import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import ruleset
from popkit_retention.core.policy.ruleset import (
    EVENT_ALIASES,
    EVENTS,
    GRACE_CALLS,
    PRESERVED_EVENTS,
    PROFILES,
    RESTORE_HOLD_CALLS,
    THRESHOLDS,
    TIER_CONFIG,
    TIERS,
    Ruleset,
    outlives,
)

ROOT = pathlib.Path(__file__).parents[2]
RULES = Ruleset.from_config({}, TOOLS)
SHIPPED = json.loads((ROOT / "retention-config.json").read_text())["retention"]


def test_the_tier_table_has_the_specified_values_and_a_success_ends_an_error():
    assert tuple(TIER_CONFIG) == TIERS == ("ephemeral", "short", "medium", "session", "preserved"), "in order of lifetime"
    assert TIER_CONFIG == {
        "ephemeral": {"ttl_tools": 1, "ttl_seconds": None},
        "short": {"ttl_tools": 5, "ttl_seconds": 300},
        "medium": {"ttl_tools": None, "ttl_seconds": None, "expiry_events": ["edit", "commit"]},
        "session": {"ttl_tools": None, "ttl_seconds": None, "expiry_events": ["supersede", "session_end"]},
        "preserved": {"ttl_tools": None, "ttl_seconds": None, "expiry_events": ["success", "manual"]},
    }


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


def test_the_tools_of_the_specification_have_their_tiers():
    assert {tool: TOOLS.tiers[tool] for tool in SPECIFIED} == SPECIFIED


@pytest.mark.parametrize("tool", ["mcp__github__search_issues", "SomethingNew", ""])
def test_a_tool_that_no_table_names_is_session(tool):
    assert RULES.tier_of_tool(tool) == "session"


def test_every_tool_has_a_tier_that_exists():
    assert {RULES.tier_of_tool(tool) for tool in TOOLS.tiers} <= set(TIERS)


def test_every_event_of_the_tier_table_is_an_event():
    for entry in TIER_CONFIG.values():
        assert set(entry.get("expiry_events", ())) <= {*EVENTS, *PRESERVED_EVENTS}
    assert set(EVENT_ALIASES.values()) <= set(EVENTS)


# Compiled.


def lifetimes(rules):
    return {tier: (rules.tier_rule(tier).ttl_calls, rules.tier_rule(tier).ttl_s) for tier in TIERS}


def events(rules):
    return {tier: set(rules.tier_rule(tier).events) for tier in TIERS}


def test_without_configuration_the_rules_are_the_specified_ones_and_a_clear_weighs():
    rules = Ruleset.from_config({}, TOOLS)
    assert rules.enabled is True
    assert (rules.profile, rules.weighs) == ("auto", True)
    assert rules.thresholds == {"notice": 0.60, "warning": 0.80, "critical": 0.90, "emergency": 0.95}
    assert rules.window_tokens is None
    assert rules.pins == ()
    assert rules.preserve_errors
    assert rules.preserve_decisions
    assert rules.preserving_glob(["/x/STATUS.json"]) == "STATUS.json"
    assert events(rules)["session"] == {"supersede", "session_end"}
    assert lifetimes(rules) == lifetimes(Ruleset.from_config(SHIPPED, TOOLS))


def test_the_events_of_profile_spec_are_the_specified_ones_with_edit_under_one_name():
    assert events(Ruleset.from_config(SHIPPED, TOOLS, "spec")) == {
        "ephemeral": set(),
        "short": set(),
        "medium": {"edit", "commit"},
        "session": {"supersede", "session_end"},
        "preserved": {"manual"},
    }


@pytest.mark.parametrize("profile", ["auto", "conservative", "aggressive"])
def test_under_every_other_profile_a_success_ends_what_was_preserved_of_a_failure(profile):
    assert events(Ruleset.from_config(SHIPPED, TOOLS, profile))["preserved"] == {"success", "manual"}
    alone = {"tiers": {"preserved": {"expiry_events": ["manual"]}}}
    assert events(Ruleset.from_config(alone, TOOLS, profile))["preserved"] == {"manual"}


def test_default_is_the_profile_that_is_shipped():
    assert Ruleset.from_config({"profile": "default"}, TOOLS).profile == Ruleset.from_config(SHIPPED, TOOLS).profile == "auto"


@pytest.mark.parametrize(("profile", "weighs"), [("auto", True), ("spec", False), ("aggressive", False), ("conservative", False)])
def test_under_auto_alone_a_clear_weighs(profile, weighs):
    assert Ruleset.from_config({"profile": profile}, TOOLS).weighs is Ruleset.from_config({}, TOOLS, profile).weighs is weighs


def test_what_reclaiming_may_do_comes_from_the_configuration_and_has_defaults():
    rules = Ruleset.from_config({}, TOOLS)
    assert rules.grace_calls == {"read": 20, "search": 5, "run": 1, "ack": 0, "other": 5}
    assert rules.restore_hold_calls == 20
    assert (rules.compaction_advise, rules.compaction_index) == (True, True)
    config = {"grace_calls": {"read": 0}, "restore_hold_calls": 0, "compaction": {"advise": False}}
    rules = Ruleset.from_config(config, TOOLS)
    assert rules.grace_calls == {"read": 0, "search": 5, "run": 1, "ack": 0, "other": 5}
    assert rules.restore_hold_calls == 0
    assert (rules.compaction_advise, rules.compaction_index) == (False, True)


def test_how_results_enter_comes_from_the_configuration_and_has_defaults():
    assert (Ruleset.from_config({}, TOOLS).say_once, Ruleset.from_config({}, TOOLS).shape) == ("any", "safe")
    rules = Ruleset.from_config({"say_once": "any", "shape": "off"}, TOOLS)
    assert (rules.say_once, rules.shape) == ("any", "off")
    assert Ruleset.from_config({"shape": "strong"}, TOOLS).shape == "strong"
    for junk in (None, True, "all", [], {}):
        rules = Ruleset.from_config({"say_once": junk, "shape": junk}, TOOLS)
        assert (rules.say_once, rules.shape) == ("any", "safe")


@pytest.mark.parametrize("junk", [None, [], "x", -1, True, {"read": -1, "advise": None}])
def test_what_is_not_understood_of_reclaiming_leaves_the_defaults(junk):
    rules = Ruleset.from_config({"grace_calls": junk, "restore_hold_calls": junk, "compaction": junk}, TOOLS)
    assert rules.grace_calls == GRACE_CALLS
    assert rules.restore_hold_calls == RESTORE_HOLD_CALLS
    assert (rules.compaction_advise, rules.compaction_index) == (True, True)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_does_not_scale_grace(profile):
    assert Ruleset.from_config(SHIPPED, TOOLS, profile).grace_calls == SHIPPED["grace_calls"] == GRACE_CALLS


def test_the_profile_of_the_session_beats_the_configured_one():
    assert Ruleset.from_config({"profile": "aggressive"}, TOOLS, "conservative").profile == "conservative"
    assert Ruleset.from_config({"profile": "aggressive"}, TOOLS, "spec").tier_rule("short").ttl_calls == 5


def test_a_profile_that_does_not_exist_changes_nothing():
    assert Ruleset.from_config({"profile": "aggressive"}, TOOLS, "agressive").profile == "aggressive"
    assert Ruleset.from_config({"profile": ["x"]}, TOOLS, "nonsense").profile == "auto"


@given(st.integers(1, 10**9), st.sampled_from(sorted(PROFILES)))
def test_a_lifetime_is_never_scaled_to_nothing(lifetime, profile):
    config = {"tiers": {"short": {"ttl_tools": lifetime, "ttl_seconds": lifetime}}}
    rule = Ruleset.from_config(config, TOOLS, profile).tier_rule("short")
    expected = {"aggressive": max(1, lifetime // 2), "conservative": 2 * lifetime}.get(profile, lifetime)
    assert (rule.ttl_calls, rule.ttl_s) == (expected, expected)


def test_a_configured_field_replaces_the_built_in_one_and_null_takes_it_away():
    rules = Ruleset.from_config({"tiers": {"short": {"ttl_tools": 9}, "ephemeral": {"ttl_tools": None}}}, TOOLS)
    assert lifetimes(rules)["short"] == (9, 300)
    assert lifetimes(rules)["ephemeral"] == (None, None)


def test_preserved_never_expires_by_age_edit_or_commit_whatever_is_configured():
    config = {"tiers": {"preserved": {"ttl_tools": 1, "ttl_seconds": 1, "expiry_events": ["edit", "commit"]}}}
    rule = Ruleset.from_config(config, TOOLS, "aggressive").tier_rule("preserved")
    assert (rule.ttl_calls, rule.ttl_s, rule.events) == (None, None, frozenset(["manual"]))


def test_a_tier_that_does_not_exist_has_the_rule_of_preserved():
    rules = Ruleset.from_config(SHIPPED, TOOLS)
    assert rules.tier_rule("shrot") is rules.tier_rule("preserved")


READS = [
    ("/x/README.md", ("short", "configured for Read *.md")),
    ("/x/a.json", ("medium", "configured for Read *.json")),
    ("/x/auth.test.ts", ("session", "configured for Read *.test.*")),
    # The first pattern of the file that matches.
    ("/x/auth.test.md", ("short", "configured for Read *.md")),
    ("/x/main.py", None),
]


@pytest.mark.parametrize(("path", "expected"), READS)
def test_the_first_pattern_that_matches_decides(path, expected):
    assert Ruleset.from_config(SHIPPED, TOOLS).override("Read", [path]) == expected


def test_a_tool_that_the_configuration_does_not_name_has_no_override():
    rules = Ruleset.from_config(SHIPPED, TOOLS)
    assert rules.override("Grep", ["/x/README.md"]) is None
    assert rules.override("Bash", ["git commit"]) is None


@pytest.mark.parametrize(
    ("command", "tier"),
    [
        ("git commit -m x", "ephemeral"),
        ("git commit", "ephemeral"),
        ("git commits", "session"),
        ("git  commit", "session"),
        ("rm -rf build", "ephemeral"),
        ("rmdir build", "session"),
        ("npm run build", "session"),
        ("echo git commit", "session"),
    ],
)
def test_a_bash_pattern_matches_the_first_words_of_the_command(command, tier):
    rules = Ruleset.from_config({"tool_overrides": {"Bash": TOOLS.tiers["Bash"]}}, TOOLS)
    assert rules.override("Bash", [command])[0] == tier


def test_a_bash_pattern_may_be_a_glob_on_the_whole_command():
    rules = Ruleset.from_config({"tool_overrides": {"Bash": {"patterns": {"*--dry-run*": "short"}}}}, TOOLS)
    assert rules.override("Bash", ["make deploy/all --dry-run now"]) == ("short", "configured for Bash *--dry-run*")
    assert rules.override("Bash", ["make deploy/all"]) is None


def test_any_subject_may_match_but_the_order_of_the_patterns_decides():
    rules = Ruleset.from_config({"tool_overrides": {"Bash": {"patterns": {"mkdir": "short", "cd": "medium"}}}}, TOOLS)
    assert rules.override("Bash", ["cd x", "mkdir y"])[0] == "short"


def test_an_override_may_be_a_plain_tier():
    assert Ruleset.from_config({"tool_overrides": {"Grep": "session"}}, TOOLS).override("Grep", []) == (
        "session",
        "configured for Grep",
    )


def test_a_tool_name_may_hold_wildcards_and_the_exact_name_beats_them():
    rules = Ruleset.from_config({"tool_overrides": {"mcp__*": "short", "mcp__db__*": "medium", "mcp__db__get": "session"}}, TOOLS)
    assert rules.override("mcp__web__get", [])[0] == "short"
    assert rules.override("mcp__db__put", [])[0] == "short"
    assert rules.override("mcp__db__get", [])[0] == "session"


@pytest.mark.parametrize(
    ("patterns", "errors", "decisions"),
    [(["error"], True, False), (["fail"], True, False), (["decision"], False, True), ([], False, False)],
)
def test_the_words_among_the_preserved_patterns_switch_kinds_of_results(patterns, errors, decisions):
    rules = Ruleset.from_config({"preserved_patterns": patterns}, TOOLS)
    assert (rules.preserve_errors, rules.preserve_decisions) == (errors, decisions)


def test_the_words_among_the_preserved_patterns_are_no_globs():
    rules = Ruleset.from_config(SHIPPED, TOOLS)
    assert rules.preserving_glob(["/x/error", "/x/fail", "/x/decision"]) is None


def test_preserved_patterns_match_paths_and_commands():
    rules = Ruleset.from_config({"preserved_patterns": ["docs/adr/", "terraform plan*"]}, TOOLS)
    assert rules.preserving_glob(["/x/a.py", "/x/docs/adr/1.md"]) == "docs/adr/"
    assert rules.preserving_glob(["terraform plan -out x/y"]) == "terraform plan*"
    assert rules.preserving_glob(["/x/a.py"]) is None


def test_a_pin_is_one_of_the_session_or_of_the_configuration():
    rules = Ruleset.from_config({"pins": ["docs/spec.md"]}, TOOLS)
    assert rules.pinned_by(["/x/docs/spec.md"], []) == "docs/spec.md"
    assert rules.pinned_by(["/x/a.py"], ["*.py"]) == "*.py"
    assert rules.pinned_by(["/x/a.js"], ["*.py"]) is None


def test_some_thresholds_leave_the_others_as_they_are():
    assert Ruleset.from_config({"thresholds": {"notice": 0.5}}, TOOLS).thresholds == {**THRESHOLDS, "notice": 0.5}


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
_KEYS = st.sampled_from(["enabled", "profile", "tiers", "tool_overrides", "preserved_patterns", "pins", "thresholds"])


@given(st.dictionaries(_KEYS, _JSON | st.dictionaries(st.sampled_from([*TIERS, "Read"]), _JSON)))
def test_no_configuration_makes_it_raise_or_is_changed_by_it(config):
    before = copy.deepcopy(config)
    rules = Ruleset.from_config(config, TOOLS)
    override = rules.override("Read", ["/x/a.md"])
    assert override is None or override[0] in TIERS
    rules.preserving_glob(["/x/a.md"])
    rules.pinned_by(["/x/a.md"], [])
    assert repr(config) == repr(before)


# --- what each configuration makes ------------------------------------------------------------------------------------------------

GOLDENS = pathlib.Path(__file__).with_name("goldens")


def test_the_defaults_are_those_of_the_golden(golden):
    named = {
        name: value for name, value in vars(ruleset).items() if name.isupper() and not isinstance(value, bool) and name != "TYPE_CHECKING"
    }
    assert Ruleset.from_config({}, TOOLS).thresholds == named["THRESHOLDS"]
    golden(GOLDENS / "defaults.json", json.dumps(named, indent=1, default=sorted) + "\n")


CONFIGURATIONS = [
    {}, {"enabled": False}, {"enabled": None}, {"enabled": 0}, {"window_tokens": 3}, {"thresholds": {"advise": 0.1}}, {"thresholds": 3},
    *({"profile": profile} for profile in (*PROFILES, "default", "x", 3, None)),
    {"pins": ["*.md", 3, "b"]}, {"pins": "a"}, {"pins": ("a",)}, {"preserved_patterns": []}, {"preserved_patterns": None},
    *({"preserved_patterns": [word, "*.md"]} for word in ("error", "fail", "decision", "errors")),
    *({"tiers": {"short": {name: value}}} for name in ("ttl_tools", "ttl_seconds") for value in (None, 0, 1, 2, 3, True, "3", 2.5, -1)),
    *({"profile": profile, "tiers": {"short": {"ttl_tools": 3, "ttl_seconds": 1}}} for profile in PROFILES),
    *({"tiers": {"short": {"expiry_events": events}}} for events in ([], ["edit"], ["edit_file", "x"], ["commit", 3], "edit", None)),
    *({"profile": profile, "tiers": {"preserved": {"ttl_tools": 3, "expiry_events": events}}}
      for profile in ("auto", "spec") for events in ([], ["edit"], ["success"], ["manual"],
      ["success", "edit", "session_end", "supersede"])),
    {"tiers": 3}, {"tiers": {"short": 3}}, {"tiers": {"x": {"ttl_tools": 3}}},
    *({"grace_calls": {"read": calls, "x": 3}} for calls in (0, 1, -1, True, "1", None)), {"grace_calls": 3},
    *({"restore_hold_calls": calls} for calls in (0, 1, -1, True, "1", None)),
    *({"compaction": {name: value}} for name in ("advise", "index") for value in (True, False, None, 0)), {"compaction": 3},
    *({"say_once": value} for value in ("off", "reads", "any", "", None, 3)),
    *({"shape": value} for value in ("off", "safe", "strong", "", None, 3)),
]  # fmt: skip


def compiled(config: dict) -> dict:
    rules = Ruleset.from_config(config, TOOLS)
    names = ("compaction_advise", "compaction_index", "enabled", "grace_calls", "pins", "preserve_decisions", "preserve_errors", "profile",
             "restore_hold_calls", "say_once", "shape", "thresholds", "weighs", "window_tokens")  # fmt: skip
    tiers = {
        tier: f"{rule.ttl_calls} calls, {rule.ttl_s} s, {' '.join(sorted(rule.events))}{', by age' if rule.ends_by_age else ''}"
        for tier, rule in ((tier, rules.tier_rule(tier)) for tier in (*TIERS, "x"))
    }
    preserving = [rules.preserving_glob([subject]) for subject in ("/w/STATUS.json", "a.md", "errors")]
    return {**{name: getattr(rules, name) for name in names}, **tiers, "preserving": preserving, "pinned": rules.pinned_by(["/w/b"])}


def test_a_configuration_is_compiled_as_the_golden_shows(golden):
    plain = compiled({})
    rows = [f"{{}} => {plain}"]
    for config in CONFIGURATIONS[1:]:
        changed = {name: value for name, value in compiled(config).items() if value != plain[name]}
        rows.append(f"{config} => {changed or 'the same'}")
    golden(GOLDENS / "rulesets.txt", "".join(f"{row}\n" for row in rows))


OVERRIDES = {
    "Read": {"patterns": {"*.md": "short", "a*": "x", "a.py": "session"}, "tier": "medium", "default": "short"},
    "Grep": "ephemeral", "Glob": "x", "LS": 3, "Edit": {"patterns": 3}, "Write": {"tier": "x"}, "WebFetch": {"default": "short"},
    "mcp__*": {"patterns": {"x*": "short"}, "default": "session"}, "mcp__db__*": "short", "mcp__db__query": "preserved",
    "Web?earch": "medium",
    "Bash": {"patterns": {"npm test": "short", "git *": "medium", "npm": "ephemeral", "make ?": "preserved"}},
}  # fmt: skip


def test_an_override_and_a_tier_are_found_as_the_golden_shows(golden):
    rules, rows = Ruleset.from_config({"tool_overrides": OVERRIDES}, TOOLS), []
    for tool in (*OVERRIDES, "mcp__x", "mcp__", "WebSearch", "BashOutput"):
        rows += [
            f"{tool} {subjects} => {rules.override(tool, subjects)}"
            for subjects in (
                [], ["a.md"], ["/w/a.py"], ["b"], ["b", "a.md"], ["x"], ["npm test"], ["npm test -- a"], ["npm tests"], ["npm"], ["npx"],
                ["git x"],
                ["cd a && npm test", "npm test"], ["make a"], ["make ab"],
            )
        ]  # fmt: skip
    table = {
        "Bash": {"default": "x", "patterns": {"npm t": "short", "npm": "medium", "ls": "x"}},
        "Read": "x",
        "Grep": {"default": "medium"},
        "Glob": 3,
    }
    rules.use_tables(TIER_CONFIG, table)
    rows += [f"{tool} => {rules.tier_of_tool(tool)}" for tool in (*table, "Unknown")]
    rows += [f"{kind} {name} => {rules.tier_of_command(kind, name)}" for kind in ("run", "read", "search", "ack", "other")
             for name in ("npm t", "npm tx", "npm t x", "npm", "ls", "ls a", "")]  # fmt: skip
    rows += [f"{operation} => {rules.tier_of_operation(operation)}" for operation in ("read", "search", "find", "x")]
    for odd in ({}, {"Bash": 3}, {"Bash": {"patterns": 3}}):
        rules.use_tables({}, odd)
        rows.append(f"{odd} => {rules.tier_of_command('run', 'npm')} {rules.tier_rule('short').ttl_calls}")
    golden(GOLDENS / "overrides.txt", "".join(f"{row}\n" for row in rows))


def test_a_tier_outlives_those_before_it():
    assert [[outlives(tier, other) for other in TIERS] for tier in TIERS] == [[at > other for other in range(5)] for at in range(5)]
