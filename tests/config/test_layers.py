"""The tolerant reader of the hooks."""

import json
import pathlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core.config import layers
from popkit_retention.core.config.layers import load, merge, read_layer, read_layers
from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy.calls import Call, Outcome
from popkit_retention.core.policy.classify import classify
from popkit_retention.core.policy.ruleset import TIERS, Ruleset

ROOT = pathlib.Path(__file__).parents[2]

SPECIFIED = """\
// In power-mode/config.json or hooks/retention-config.json
{
  "retention": {
    "enabled": true,
    "tiers": {
      "ephemeral": {"ttl_tools": 1, "description": "Immediate acknowledgments"},
      "short": {"ttl_tools": 5, "ttl_seconds": 300, "description": "Discovery/search results"},
      "medium": {"expiry_events": ["edit_file", "commit"], "description": "File contents for reference"},
      "session": {"expiry_events": ["supersede", "session_end"], "description": "Test/build output"},
      "preserved": {"expiry_events": ["manual"], "description": "Critical context"}
    },
    "tool_overrides": {
      "Read": {"tier": "medium", "patterns": {"*.md": "short", "*.json": "medium", "*.test.*": "session"}}
    },
    "preserved_patterns": ["error", "fail", "decision", "STATUS.json"]
  }
}
"""


def read(tmp_path, text, name="user"):
    path = tmp_path / "retention-config.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_layer(name, str(path))


class Tree:
    """A plugin folder, a state home and a project in a temporary folder."""

    def __init__(self, base):
        self.root, self.home, self.project = (base / name for name in ("root", "home", "project"))

    def write(self, layer, document):
        path = pathlib.Path(dict(layers.layer_paths(*self.folders))[layer])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document))

    @property
    def folders(self):
        return str(self.root), str(self.home), str(self.project)

    def load(self):
        return load(*self.folders)


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_the_document_of_the_specification_is_valid_as_it_stands_with_its_comment(tmp_path):
    layer = read(tmp_path, SPECIFIED)
    assert (layer.error, layer.ignored) == (None, ())
    bare = json.loads(SPECIFIED.partition("\n")[2])
    assert layer.values == bare["retention"]


def test_what_is_shipped_gives_the_rules_of_the_specification():
    specified = Ruleset.from_config(json.loads(SPECIFIED.partition("\n")[2])["retention"], TOOLS, "spec")
    shipped = Ruleset.from_config(load(str(ROOT), None, None), TOOLS, "spec")
    for tier in TIERS:
        rules = [(rule.ttl_calls, rule.ttl_s, rule.events) for rule in (specified.tier_rule(tier), shipped.tier_rule(tier))]
        assert rules[0] == rules[1]
    for path in ("/p/a.py", "/p/a.md", "/p/a.json", "/p/a.test.ts", "/p/a.test.md"):
        tiers = [classify(Call("", TOOLS.of("Read"), {"file_path": path}, Outcome()), "/p", rules).tier for rules in (specified, shipped)]
        assert tiers[0] == tiers[1]
    assert [specified.preserve_errors, specified.preserve_decisions] == [shipped.preserve_errors, shipped.preserve_decisions]
    assert specified.preserving_glob(["STATUS.json"]) == shipped.preserving_glob(["STATUS.json"]) == "STATUS.json"


@pytest.mark.parametrize(("layer", "file"), [("shipped", "retention-config.json"), ("power-mode", "power-mode/config.json")])
def test_the_shipped_files_are_sound(layer, file):
    shipped = read_layer(layer, str(ROOT / file))
    assert (shipped.error, shipped.ignored, bool(shipped.values)) == (None, (), layer == "shipped")


def test_the_content_may_stand_without_the_retention_object(tmp_path):
    assert read(tmp_path, '{"profile": "aggressive"}').values == {"profile": "aggressive"}


def test_in_the_power_mode_file_only_the_retention_object_is_ours(tmp_path):
    layer = read(tmp_path, '{"enabled": false, "agents": 7, "retention": {"profile": "aggressive"}}', "power-mode")
    assert (layer.values, layer.ignored) == ({"profile": "aggressive"}, ())
    assert read(tmp_path, '{"enabled": false}', "power-mode").values == {}


BAD_VALUES = [
    ({"enabled": 1}, {}),
    ({"profile": "agressive"}, {}),
    ({"tiers": []}, {}),
    ({"tiers": {"shrot": {"ttl_tools": 3}}}, {"tiers": {}}),
    ({"tiers": {"short": 5}}, {"tiers": {}}),
    ({"tiers": {"short": {"ttl_tools": -1, "ttl_seconds": 60}}}, {"tiers": {"short": {"ttl_seconds": 60}}}),
    ({"tiers": {"short": {"ttl_tools": 0}}}, {"tiers": {"short": {}}}),
    ({"tiers": {"short": {"ttl": 5}}}, {"tiers": {"short": {}}}),
    ({"tiers": {"short": {"expiry_events": "edit"}}}, {"tiers": {"short": {}}}),
    ({"tiers": {"short": {"expiry_events": ["edti", "commit", 3]}}}, {"tiers": {"short": {"expiry_events": ["commit"]}}}),
    ({"tiers": {"preserved": {"ttl_tools": 3}}}, {"tiers": {"preserved": {}}}),
    ({"tiers": {"preserved": {"expiry_events": ["edit"]}}}, {"tiers": {"preserved": {"expiry_events": []}}}),
    ({"tool_overrides": {"Read": "shrot", "Grep": "short"}}, {"tool_overrides": {"Grep": "short"}}),
    ({"tool_overrides": {"Read": ["short"]}}, {"tool_overrides": {}}),
    (
        {"tool_overrides": {"Read": {"tier": "x", "patterns": {"*.md": "y", "*.py": "short", "": "short"}}}},
        {"tool_overrides": {"Read": {"patterns": {"*.py": "short"}}}},
    ),
    ({"tool_overrides": {"Bash": {"tier": "short", "default": "medium"}}}, {"tool_overrides": {"Bash": {"tier": "short"}}}),
    ({"preserved_patterns": ["error", 5, "", "x" * 257]}, {"preserved_patterns": ["error"]}),
    ({"preserved_patterns": "error"}, {}),
    ({"thresholds": {"notice": 0.5, "warning": True, "critical": -1, "emergency": 2}}, {"thresholds": {"notice": 0.5}}),
    ({"thresholds": {"notice": 0.9, "warning": 0.8}}, {"thresholds": {}}),
    ({"window_tokens": 999}, {}),
    ({"pins": ["a\ud800"]}, {"pins": []}),
    ({"pins": ["p"] * 201}, {"pins": ["p"] * 200}),
    ({"grace_calls": 20}, {}),
    ({"grace_calls": {"read": -1, "search": 0, "run": True, "ack": 1.0, "other": None}}, {"grace_calls": {"search": 0}}),
    ({"grace_calls": {"reads": 3}}, {"grace_calls": {}}),
    ({"restore_hold_calls": -1}, {}),
    ({"compaction": False}, {}),
    ({"compaction": {"advise": 0, "index": False, "advice": True}}, {"compaction": {"index": False}}),
    ({"models": {"by_id": {"claude-a-1": {"read": 1.5, "window": 0}, "claude-b-1": 3}}}, {"models": {"by_id": {"claude-a-1": {}}}}),
    ({"models": {"claude-a-1": {"read": 0.1}}}, {"models": {}}),
    ({"unknown": 1, "profile": "spec"}, {"profile": "spec"}),
    ([], {}),
    (None, {}),
    ({"retention": []}, {}),
]


@pytest.mark.parametrize(("document", "values"), BAD_VALUES, ids=lambda value: json.dumps(value)[:60])
def test_a_bad_value_is_left_out_alone(tmp_path, document, values):
    layer = read(tmp_path, json.dumps(document))
    assert layer.values == values
    assert layer.error is None
    assert layer.ignored


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_json_lacks_is_left_out_and_does_not_reset_the_layer_below(tmp_path, constant):
    layer = read(tmp_path, f'{{"tiers": {{"short": {{"ttl_tools": {constant}}}}}, "pins": ["NaN\\"", "Infinity"]}}')
    assert layer.values == {"tiers": {"short": {}}, "pins": ['NaN"', "Infinity"]}


UNREADABLE = [
    (b"", "not JSON"),
    (b"{", "not JSON"),
    (b'{"retention": {},}', "not JSON"),
    (b"\xff\xfe{}", "not UTF-8"),
    (b"[" * 100_000, "not JSON"),
    (b'{"pins": ["' + b"x" * 256 * 1024 + b'"]}', "larger than 256 KB"),
    (b'{"retention": ' + b"9" * 5000, "not JSON"),
]


@pytest.mark.parametrize(("data", "error"), UNREADABLE, ids=range(len(UNREADABLE)))
def test_a_file_that_cannot_be_read_is_ignored_whole_and_its_layer_says_why(tmp_path, data, error):
    layer = read(tmp_path, data)
    assert layer.values == {}
    assert layer.error.startswith(error)


def test_a_file_with_a_byte_order_mark_is_read(tmp_path):
    assert read(tmp_path, b'\xef\xbb\xbf{"profile": "spec"}').values == {"profile": "spec"}


def test_a_file_that_does_not_exist_is_no_error(tmp_path):
    layer = read_layer("user", str(tmp_path / "none.json"))
    assert (layer.values, layer.error) == ({}, None)
    assert read_layer("user", str(tmp_path / "a\0b")).error.startswith("cannot be read")


def test_a_folder_is_an_error(tmp_path):
    assert read_layer("user", str(tmp_path)).error == "cannot be read: not a regular file"


def test_layers_lie_in_the_documented_order(tree):
    assert [layer.name for layer in read_layers(*tree.folders)] == ["shipped", "power-mode", "user", "project"]
    for count, layer in enumerate(layers.LAYERS, 1):
        tree.write(layer, {"retention": {"restore_hold_calls": 1000 * count}})
        assert tree.load()["restore_hold_calls"] == 1000 * count


def test_a_folder_that_is_not_known_has_no_layer():
    assert read_layers(None, None, None) == []
    assert load(None, None, None) == {}


# what is merged -> (key, what each layer says of it, what holds)
MERGED = {
    "tiers field by field, and null resets a lifetime": (
        "tiers",
        {
            "shipped": {"short": {"ttl_tools": 5, "ttl_seconds": 300}, "ephemeral": {"ttl_tools": 1}},
            "project": {"short": {"ttl_tools": 9, "ttl_seconds": None}},
        },
        {"short": {"ttl_tools": 9, "ttl_seconds": None}, "ephemeral": {"ttl_tools": 1}},
    ),
    "a list replaces the one below": ("preserved_patterns", {"shipped": ["error", "fail"], "user": ["x"]}, ["x"]),
    "so does a list of a tier": (
        "tiers",
        {"shipped": {"medium": {"expiry_events": ["edit"]}}, "user": {"medium": {"expiry_events": ["commit"]}}},
        {"medium": {"expiry_events": ["commit"]}},
    ),
    "null takes a pattern or a tool of the layer below away": (
        "tool_overrides",
        {
            "shipped": {"Read": {"tier": "medium", "patterns": {"*.md": "short"}}, "Grep": "session"},
            "user": {"Read": {"patterns": {"*.md": None}}, "Grep": None},
        },
        {"Read": {"tier": "medium"}},
    ),
    "a plain tier replaces the whole override of a tool": (
        "tool_overrides",
        {"shipped": {"Read": {"tier": "medium", "patterns": {"*.md": "short"}}}, "user": {"Read": "session"}},
        {"Read": {"tier": "session"}},
    ),
    "default is another spelling of tier": (
        "tool_overrides",
        {"shipped": {"Bash": {"tier": "short"}}, "user": {"Bash": {"default": "session"}}},
        {"Bash": {"tier": "session"}},
    ),
    "thresholds that would not rise with those below are left out": (
        "thresholds",
        {"shipped": {"notice": 0.6, "warning": 0.8}, "power-mode": {"warning": 0.5}, "user": {"notice": 0.7}},
        {"notice": 0.7, "warning": 0.8},
    ),
    "a user switches on what the installation switched off": ("enabled", {"power-mode": False, "user": True}, True),
    "grace kind by kind": (
        "grace_calls",
        {"shipped": {"read": 20, "search": 5}, "user": {"read": 3}, "project": {"run": 4}},
        {"read": 3, "search": 5, "run": 4},
    ),
    "models field by field, and null takes a model away": (
        "models",
        {
            "shipped": {"dated": "2026-11", "by_id": {"claude-a-1": {"read": 0.1, "window": 200000}, "claude-b-1": {}}},
            "user": {"by_id": {"claude-a-1": {"read": 0.05}, "claude-b-1": None, "claude-c-1": {"thinking_bound": False}}},
        },
        {"dated": "2026-11", "by_id": {"claude-a-1": {"read": 0.05, "window": 200000}, "claude-c-1": {"thinking_bound": False}}},
    ),
}


@pytest.mark.parametrize(("key", "layers", "holds"), MERGED.values(), ids=MERGED)
def test_layers_merge(tree, key, layers, holds):
    for layer, value in layers.items():
        tree.write(layer, {"retention": {key: value}})
    assert tree.load()[key] == holds


def test_patterns_of_an_upper_layer_come_first(tree):
    tree.write("shipped", {"tool_overrides": {"Read": {"tier": "medium", "patterns": {"*.md": "short", "*.json": "medium"}}}})
    tree.write("user", {"tool_overrides": {"Read": {"patterns": {"CHANGELOG.md": "session", "*.json": "short"}}}})
    merged = tree.load()["tool_overrides"]
    assert merged == {"Read": {"tier": "medium", "patterns": {"CHANGELOG.md": "session", "*.json": "short", "*.md": "short"}}}
    assert list(merged["Read"]["patterns"]) == ["CHANGELOG.md", "*.json", "*.md"]


def test_merging_leaves_the_layers_as_they_were(tree):
    tree.write("shipped", {"tool_overrides": {"Read": {"patterns": {"a": "short"}}}, "tiers": {"short": {"ttl_tools": 5}}})
    tree.write("user", {"tool_overrides": {"Read": {"patterns": {"b": "short"}}}, "tiers": {"short": {"ttl_tools": 6}}})
    layers = read_layers(*tree.folders)
    before = [json.dumps(layer.values) for layer in layers]
    merge(layers)
    assert [json.dumps(layer.values) for layer in layers] == before


@settings(deadline=None)
@given(st.binary(max_size=200) | st.text('{}[]",:/ \n\\antNI1-', max_size=60).map(str.encode))
def test_no_content_makes_the_reader_raise(tmp_path_factory, data):
    layer = read(tmp_path_factory.getbasetemp(), data)
    assert isinstance(merge([layer]), dict)
