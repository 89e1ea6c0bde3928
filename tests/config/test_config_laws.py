"""The laws of configuration: what is read of a document, what of it is a problem, what the JSON Schema says of it, how layers merge."""

import copy
import json

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.cli.config_command import BUILT_IN, leaves, sources
from popkit_retention.cli.config_problems import check_document, check_text
from popkit_retention.core.config.fields import NOTES, USER_ONLY
from popkit_retention.core.config.layers import LAYERS, Layer, merge, read_layer
from popkit_retention.core.config.schema import json_schema
from popkit_retention.core.config.validation import usable
from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy.ruleset import TIERS, Ruleset
from tests.examples import examples

JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([10**6, 10**6 + 1, 10**8, 31_536_001, 10**400, "short", "edit", "5", "\ud800", "x" * 257])
    | st.floats()
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)


def seldom(rare, usual):
    # Not one_of, which takes each of its alternatives as often as the others; 17, because bounds are favoured.
    return st.sampled_from(range(40)).flatmap(lambda n: rare if n == 17 else usual)


def mostly(good):
    """Documents are interesting when nearly all of them is right."""
    return seldom(JUNK, good)


def members(fields):
    """An object with some of the fields, and seldom one more."""
    known = st.fixed_dictionaries({}, optional=fields)
    more = st.builds(lambda value, key, entry: {**value, key: entry}, known, st.text(max_size=3), JUNK)
    return seldom(more, known)


TIER_NAMES = mostly(st.sampled_from(TIERS))
PATTERNS = st.text("ab*/.", min_size=1, max_size=4)
PROSE = mostly(st.text(max_size=5) | st.just("x" * 2000))
EVENTS = ["edit", "edit_file", "commit", "supersede", "session_end", "manual"]


def tier(events):
    return members(
        {
            "ttl_tools": mostly(st.none() | st.integers(1, 1_000_000)),
            "ttl_seconds": mostly(st.none() | st.integers(1, 31_536_000)),
            "expiry_events": mostly(st.lists(mostly(st.sampled_from(events)), max_size=3)),
            "description": PROSE,
        }
    )


OVERRIDE = (
    st.none()
    | TIER_NAMES
    | members(
        {
            "tier": TIER_NAMES,
            "default": TIER_NAMES,
            "patterns": mostly(st.dictionaries(PATTERNS | st.just("p" * 257), st.none() | TIER_NAMES, max_size=3)),
        }
    )
)
SHARES = mostly(st.floats(0.01, 1) | st.sampled_from([1, 0.01]))
GRACE = members(dict.fromkeys(("read", "search", "run", "ack", "other"), mostly(st.integers(0, 1_000_000))))
COMPACTION = members(dict.fromkeys(("advise", "index"), mostly(st.booleans())))
PRICE = mostly(st.floats(0, 10) | st.integers(0, 10))
MODEL = members(
    {
        "read": mostly(st.floats(0, 1)),
        **dict.fromkeys(("write_5m", "write_1h"), mostly(st.floats(1, 10))),
        **dict.fromkeys(("input", "output", "long_input", "long_output"), PRICE),
        "long_prompt": mostly(st.integers(1, 10**8)),
        "window": mostly(st.integers(1000, 10**8)),
        "thinking_bound": mostly(st.booleans()),
    }
)
MODELS = members(
    {
        "dated": mostly(st.text(max_size=10)),
        "by_id": mostly(st.dictionaries(st.sampled_from(["claude-a", "b*"]), st.none() | MODEL, max_size=2)),
    }
)
ADDRESS = st.sampled_from(
    ["", "postgresql://db", "postgresql://db:5433/x", "postgresql://me:secret@db/x", "http://127.0.0.1:4318", "http://", "db"]
)
BUDGET = mostly(st.none() | st.integers(0, 10**12 + 1))
CONTEXT = members(
    {
        **dict.fromkeys(("database", "traces"), mostly(ADDRESS)),
        "user": PROSE,
        **dict.fromkeys(("session_tokens", "month_tokens"), BUDGET),
        **dict.fromkeys(("session_usd", "month_usd"), mostly(st.none() | st.floats(0, 10**6))),
        "snapshot_days": st.integers(-1, 40_000),
    }
)
RETENTION = members(
    {
        "enabled": mostly(st.booleans()),
        "profile": mostly(st.sampled_from(["auto", "spec", "default", "aggressive", "conservative"])),
        "tiers": mostly(members({**{name: tier(EVENTS) for name in TIERS[:4]}, "preserved": tier(["success", "manual"])})),
        "tool_overrides": mostly(st.dictionaries(st.sampled_from(["Read", "Bash", "mcp__*"]), OVERRIDE, max_size=3)),
        "preserved_patterns": mostly(st.lists(mostly(PATTERNS), max_size=3)),
        "thresholds": mostly(members(dict.fromkeys(("notice", "warning", "critical", "emergency"), SHARES))),
        "window_tokens": mostly(st.none() | st.integers(1000, 100_000_000)),
        "pins": mostly(st.lists(mostly(PATTERNS), max_size=3)),
        "grace_calls": mostly(GRACE),
        "restore_hold_calls": mostly(st.integers(0, 1_000_000)),
        "compaction": mostly(COMPACTION),
        "say_once": mostly(st.sampled_from(["off", "reads", "any"])),
        "shape": mostly(st.sampled_from(["off", "safe", "strong"])),
        "keep_days": mostly(members({"originals": st.integers(-1, 40_000), "sessions": st.integers(-1, 40_000)})),
        "memory": mostly(members({"store": PROSE, "tokens": st.integers(-1, 2_100), "summariser": PROSE})),
        "mcp": mostly(members({"all_projects": st.booleans()})),
        "context": mostly(CONTEXT),
        "models": mostly(MODELS),
        "$schema": PROSE,
        "$comment": PROSE,
    }
)
DOCUMENTS = mostly(RETENTION | members({"retention": RETENTION, "$schema": PROSE}))
PARTS = {
    **{f"tiers.{name}": tier(EVENTS).map(lambda value, name=name: {"tiers": {name: value}}) for name in ("short", "preserved")},
    "tool_overrides": OVERRIDE.map(lambda value: {"tool_overrides": {"Read": value}}),
    "thresholds": members(dict.fromkeys(("notice", "warning", "critical", "emergency"), SHARES)).map(lambda value: {"thresholds": value}),
    "grace_calls": GRACE.map(lambda value: {"grace_calls": value}),
    "compaction": COMPACTION.map(lambda value: {"compaction": value}),
    "models": MODELS.map(lambda value: {"models": value}),
    "context": CONTEXT.map(lambda value: {"context": value}),
}


SCHEMA = jsonschema.Draft202012Validator(json_schema())


def same(document, layer):
    """What is free of problems is read as it stands, and an editor finds nothing wrong with it."""
    if check_document(document, "file", layer):
        return
    values = usable(document, layer, None)
    written = document.get("retention", {} if layer == "power-mode" else document)
    expected = {key: value for key, value in (written or {}).items() if key not in NOTES}
    assert values == expected, document
    assert orders(values) == orders(expected), document
    # == does not tell 1 from True.
    assert json.dumps(values, sort_keys=True).count("true") == json.dumps(expected, sort_keys=True).count("true"), document
    if layer != "power-mode":
        assert list(SCHEMA.iter_errors(document)) == [], document


def orders(values):
    """The order of patterns decides which one wins."""
    overrides = values.get("tool_overrides", {})
    return [(tool, list(entry.get("patterns", {})) if isinstance(entry, dict) else entry) for tool, entry in overrides.items()]


@settings(max_examples=examples(60, 1500), deadline=None)
@given(DOCUMENTS, st.sampled_from(LAYERS))
def test_a_document_without_problems_is_read_as_it_stands_and_satisfies_the_schema(document, layer):
    same(document, layer)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_free_of_problems_is_read_as_it_stands(part):
    @settings(max_examples=examples(30, 500), deadline=None)
    @given(PARTS[part])
    def holds(document):
        same(document, "user")

    holds()


EDGES = [
    *[{"tiers": {"short": {"ttl_tools": n}}} for n in (0, 1, 1_000_000, 1_000_001, True, 1.0, "1", None, float("nan"))],
    *[{"tiers": {"short": {"ttl_seconds": n}}} for n in (0, 1, 31_536_000, 31_536_001)],
    *[{"tiers": {"preserved": {"ttl_tools": n}}} for n in (None, 1)],
    *[{"window_tokens": n} for n in (999, 1000, 100_000_000, 100_000_001, None, False)],
    *[{"thresholds": {"notice": n}} for n in (0, 0.009, 0.01, 1, 1.0, 1.01, True, float("inf"), 10**400)],
    {"thresholds": {"notice": 0.5, "warning": 0.5}},
    {"thresholds": {"notice": 0.5, "emergency": 0.4}},
    *[{"pins": ["p" * n]} for n in (0, 1, 256, 257)],
    *[{"pins": ["p"] * n} for n in (200, 201)],
    *[{"tool_overrides": {str(n): "short" for n in range(count)}} for count in (200, 201)],
    *[{"tool_overrides": {"Read": {"patterns": {str(n): "short" for n in range(count)}}}} for count in (200, 201)],
    {"tool_overrides": {"": "short"}},
    {"tool_overrides": {"Read": {"tier": "short", "default": "short"}}},
    {"tiers": {"short": {"expiry_events": ["edit"] * 201}}},
    *[{"$comment": "c" * n} for n in (2000, 2001)],
    *[{"retention": value} for value in (None, [], {}, {"retention": {}})],
    *[None, [], "", 0, {}],
    {"retention": {}, "tiers": {}},
    *[{"grace_calls": {"read": n}} for n in (-1, 0, 1_000_000, 1_000_001, True, 1.0, None)],
    *[{"restore_hold_calls": n} for n in (-1, 0, 1_000_000, 1_000_001, None, False)],
    *[{"compaction": value} for value in (None, {}, {"advise": 1}, {"advise": None}, {"index": False})],
    *[{key: {}} for key in USER_ONLY],
    *[{"say_once": value} for value in ("off", "reads", "any", "all", None, True, [])],
    *[{"shape": value} for value in ("off", "safe", "strong", "all", None, False, {})],
    {"retention": {"enabled": True}},
    *[{"models": {"by_id": {"a": {"read": n}}}} for n in (-0.1, 0, 1, 1.01, True, None, "1", 10**400)],
    *[{"models": {"by_id": {"a": {"write_5m": n}}}} for n in (0.99, 1, 10, 10.01)],
    *[{"models": {"by_id": {"a": {"input": n}}}} for n in (-1, 0, 10_000, 10_001)],
    *[{"models": {"by_id": {"a": {"window": n}}}} for n in (0, 1, 999, 1000, 1e6)],
    *[{"models": value} for value in (None, {}, {"by_id": None}, {"by_id": {"": {}}}, {"by_id": {"a": None}}, {"dated": 2026})],
]


# What the schema cannot say: that thresholds rise, that two names of one setting exclude each other, that 1.0 is no whole number.
BEYOND_THE_SCHEMA = {
    json.dumps({"thresholds": {"notice": 0.5, "warning": 0.5}}),
    json.dumps({"thresholds": {"notice": 0.5, "emergency": 0.4}}),
    json.dumps({"tool_overrides": {"Read": {"tier": "short", "default": "short"}}}),
    json.dumps({"tiers": {"short": {"ttl_tools": 1.0}}}),
    json.dumps({"grace_calls": {"read": 1.0}}),
    json.dumps({"models": {"by_id": {"a": {"window": 1e6}}}}),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_the_schema_draws_every_limit_at_the_same_place_but_those_it_cannot_say(layer):
    for document in EDGES:
        same(document, layer)
        if layer == "user" and json.dumps(document) not in BEYOND_THE_SCHEMA:
            assert bool(check_document(document, "file", layer)) == bool(list(SCHEMA.iter_errors(document))), document


@settings(max_examples=examples(30, 500), deadline=None)
@given(DOCUMENTS | JUNK, st.sampled_from(LAYERS))
def test_what_the_reader_keeps_of_a_wrong_document_is_a_document_without_problems(document, layer):
    before = copy.deepcopy(document)
    ignored = []
    kept = usable(document, layer, lambda *problem: ignored.append(problem))
    assert repr(document) == repr(before)
    assert check_document({"retention": kept}, "file", "user") == []
    assert usable({"retention": kept}, "user", None) == kept
    assert len(check_document(document, "file", layer)) == len(ignored)


@settings(max_examples=examples(40, 300), deadline=None)
@given(DOCUMENTS)
def test_a_file_says_the_same_as_its_document(tmp_path_factory, document):
    path = tmp_path_factory.getbasetemp() / "same.json"
    text = json.dumps(document)
    path.write_text(text)
    layer = read_layer("user", str(path))
    # Numbers that JSON does not have come to nothing in both, but an empty object can stand where one was.
    if "NaN" not in text and "Infinity" not in text:
        assert layer.values == usable(document, "user", lambda *problem: None)
    assert bool(layer.error or layer.ignored) == bool(check_text(text, str(path), "user"))


STACKS = st.lists(RETENTION, min_size=1, max_size=4)


def layers_of(documents):
    return [Layer(name, name, usable(document, name, lambda *problem: None)) for name, document in zip(LAYERS, documents)]


@settings(max_examples=examples(30, 500), deadline=None)
@given(STACKS)
def test_layers_that_are_valid_merge_to_something_valid(documents):
    assert check_document({"retention": merge(layers_of(documents))}, "file", "user") == []


@settings(max_examples=examples(30, 500), deadline=None)
@given(STACKS)
def test_each_value_shown_is_the_effective_one_and_comes_from_a_layer_that_says_it(documents):
    layers = layers_of(documents)
    built_in = Layer("built-in", "", BUILT_IN)
    shown = sources(layers)
    assert [value for _, value, _ in shown] == [value for _, value in leaves(merge([built_in, *layers]))]
    for _, value, layer in shown:
        config = {**merge([Layer("", "", layer.values)]), "thresholds": layer.values.get("thresholds", {})}
        held = [held for _, held in leaves(config)]
        # To a list that lies below it a project can only add what it does not hold yet.
        assert value == {} or value in held or (layer.name == "project" and any(isinstance(h, list) and set(h) <= set(value) for h in held))


@settings(max_examples=examples(40, 200), deadline=None)
@given(STACKS)
def test_what_is_shown_as_built_in_is_what_the_rules_hold_without_it(documents):
    layers = layers_of(documents)
    shown = Ruleset.from_config(merge([Layer("built-in", "", BUILT_IN), *layers]), TOOLS)
    used = Ruleset.from_config(merge(layers), TOOLS)
    assert described(shown) == described(used)


def test_a_project_lowers_no_grace_that_the_layers_below_leave_as_it_is_built_in():
    assert merge([Layer("user", "", {"grace_calls": {}}), Layer("project", "", {"grace_calls": {"read": 0}})]) == {"grace_calls": {}}


def described(rules):
    tiers = [(rule.ttl_calls, rule.ttl_s, rule.events) for rule in map(rules.tier_rule, TIERS)]
    rest = (rules.enabled, rules.profile, rules.window_tokens, rules.thresholds, rules.pins, rules.preserve_errors)
    rest += (rules.grace_calls, rules.restore_hold_calls, rules.compaction_advise, rules.compaction_index)
    rest += (rules.say_once, rules.shape)
    overrides = [rules.override(tool, ["/x/a", "b"]) for tool in ("Read", "Bash", "mcp__a")]
    return tiers, rest, overrides, rules.preserving_glob(["/x/a", "b"]), rules.preserve_decisions
