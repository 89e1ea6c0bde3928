"""What a configuration may say: every problem has its key, its value and what is allowed, over all layers."""

from __future__ import annotations

import json
import pathlib
import sys

import pytest

from popkit_retention.cli.config_problems import Problem, check_file, check_layers, check_text, dotted, layer_of

ROOT = pathlib.Path(__file__).parents[2]


def problems(document, layer="user"):
    text = document if isinstance(document, str) else json.dumps(document)
    return [tuple(problem)[1:] for problem in check_text(text, "file", layer)]


def test_a_sound_document_has_no_problems():
    assert problems((ROOT / "retention-config.json").read_text()) == []
    assert problems("{}") == []


CALLS = "a whole number from 1 to 1000000, or null for no limit"
TIERS = "one of ephemeral, short, medium, session, preserved"
WINDOW = "a whole number from 1000 to 100000000, or null for what they say, else the window of the model"
GRACE = "a whole number from 0 to 1000000"
SHARE = "a number from 0.01 to 1, a share of the context window"
ONE_EACH = [
    ({"enabled": "yes"}, ("enabled", '"yes"', "true or false", "")),
    ({"retention": {"enabled": 1}}, ("retention.enabled", "1", "true or false", "")),
    (
        {"profile": "agressive"},
        ("profile", '"agressive"', "one of auto, spec, aggressive, conservative, default", 'Did you mean "aggressive"?'),
    ),
    ({"tiers": {"short": {"ttl_tools": -1}}}, ("tiers.short.ttl_tools", "-1", CALLS, "")),
    (
        {"tiers": {"short": {"ttl_seconds": 1e9}}},
        ("tiers.short.ttl_seconds", "1000000000.0", "a whole number from 1 to 31536000, or null for no limit", ""),
    ),
    (
        {"tiers": {"medium": {"expiry_events": ["edit", "comit"]}}},
        (
            "tiers.medium.expiry_events[1]",
            '"comit"',
            "one of edit, commit, supersede, session_end, manual, edit_file",
            'Did you mean "commit"?',
        ),
    ),
    (
        {"tiers": {"shrot": {}}},
        (
            "tiers.shrot",
            "{}",
            "one of the keys ephemeral, short, medium, session, preserved",
            'There is no such key. Did you mean "short"?',
        ),
    ),
    (
        {"tiers": {"preserved": {"ttl_tools": 9}}},
        ("tiers.preserved.ttl_tools", "9", "only null; preserved results never expire by age", ""),
    ),
    (
        {"tool_overrides": {"Read": {"patterns": {"*.md": "shrot"}}}},
        ('tool_overrides.Read.patterns["*.md"]', '"shrot"', TIERS + ", or null for no such pattern", 'Did you mean "short"?'),
    ),
    (
        {"tool_overrides": {"Read": 5}},
        ("tool_overrides.Read", "5", "a tier, an object with tier and patterns, or null for no override", ""),
    ),
    (
        {"tool_overrides": {"Bash": {"tier": "short", "default": "medium"}}},
        ("tool_overrides.Bash.default", '"medium"', 'nothing beside "tier": both name the tier of the tool', ""),
    ),
    ({"preserved_patterns": [""]}, ("preserved_patterns[0]", '""', "text of at most 256 characters, not empty", "")),
    ({"preserved_patterns": "x"}, ("preserved_patterns", '"x"', "a list of patterns", "")),
    ({"thresholds": {"notice": 60}}, ("thresholds.notice", "60", SHARE, "")),
    (
        {"thresholds": {"notice": 0.9, "warning": 0.8}},
        ("thresholds", '{"notice": 0.9, "warning": 0.8}', "rising shares: notice < warning < critical < emergency", ""),
    ),
    ({"window_tokens": 200}, ("window_tokens", "200", WINDOW, "")),
    ('{"window_tokens": NaN}', ("window_tokens", "NaN", WINDOW, "")),
    ({"pins": ["p"] * 201}, ("pins", '["p", "p", "p", "p", "p", "p", "p", "p", "p", "p", "p", "p"…', "at most 200 entries", "")),
    ({"grace_calls": {"read": -1}}, ("grace_calls.read", "-1", GRACE, "")),
    ({"grace_calls": {"search": None}}, ("grace_calls.search", "null", GRACE, "")),
    (
        {"grace_calls": {"reads": 3}},
        ("grace_calls.reads", "3", "one of the keys read, search, run, ack, other", 'There is no such key. Did you mean "read"?'),
    ),
    ({"grace_calls": 5}, ("grace_calls", "5", "an object with read, search, run, ack, other", "")),
    ({"restore_hold_calls": 2.5}, ("restore_hold_calls", "2.5", GRACE, "")),
    ({"compaction": True}, ("compaction", "true", "an object with advise, index", "")),
    ({"compaction": {"advise": "no"}}, ("compaction.advise", '"no"', "true or false", "")),
    ('{"pins": [], "pins": ["a"]}', ("pins", '["a"]', "each key once", "The last one counts.")),
    (
        '{"tool_overrides": {"Read": "short", "Read": "medium"}}',
        ("tool_overrides.Read", '"medium"', "each key once", "The last one counts."),
    ),
]


@pytest.mark.parametrize(("document", "problem"), ONE_EACH, ids=range(len(ONE_EACH)))
def test_a_problem_has_its_key_its_value_and_what_is_allowed(document, problem):
    assert problems(document) == [problem]


def test_every_problem_is_reported_at_once():
    document = {"enabled": 1, "tiers": {"short": {"ttl_tools": 0, "ttl_seconds": "x"}}, "pins": [1, "ok", 2], "nope": 0}
    keys = [key for key, *_ in problems(document)]
    assert keys == ["enabled", "tiers.short.ttl_tools", "tiers.short.ttl_seconds", "pins[0]", "pins[2]", "nope"]


@pytest.mark.parametrize(
    ("document", "hint"),
    [
        ({"enabeld": True}, 'There is no such key. Did you mean "enabled"?'),
        ({"retension": {}}, 'There is no such key. Did you mean "retention"?'),
        ({"xyzzy": 1}, "There is no such key."),
        ({"retention": {}, "tiers": {}}, 'Move it inside "retention".'),
        ({"retention": {"tier": {}}}, 'There is no such key. Did you mean "tiers"?'),
    ],
)
def test_an_unknown_key_gets_advice(document, hint):
    assert [problem[-1] for problem in problems(document)] == [hint]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('{\n  "pins": [1 2]\n}', "at line 2, column 14."),
        ('// a comment\n{\n  "pins": [\n}', "at line 4, column 1."),
        ("", "at line 1, column 1."),
    ],
)
def test_a_text_that_is_not_json_is_reported_with_line_and_column(text, hint):
    [(key, value, allowed, position)] = problems(text)
    assert (key, value, allowed) == ("", "", "JSON; the whole file is ignored")
    assert position.endswith(hint)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"pins": ' + "[" * 5_000 + "]" * 5_000 + "}"])
def test_a_text_that_is_nested_too_deeply_is_reported_in_plain_words(text):
    advice = "It holds lists or objects that are nested too deeply to be read. Remove the inner ones."
    assert problems(text) == [("", "", "JSON; the whole file is ignored", advice)]


@pytest.mark.skipif(not hasattr(sys, "set_int_max_str_digits"), reason="this Python reads numbers of any length")
@pytest.mark.parametrize("before", ["", "// 1\n", '{"a": 1},\n'])
def test_a_number_with_too_many_digits_is_reported_with_its_line(before):
    text = '{"pins": [],\n' + before.replace("{", '"x": {') + '"window_tokens": -' + "9" * 5_000 + "}"
    line = 2 + before.count("\n")
    assert problems(text) == [
        ("", "", "JSON; the whole file is ignored", f"The number -99999999999… at line {line} has 5,000 digits. Write a smaller one.")
    ]


def test_of_the_power_mode_file_only_the_retention_object_is_checked():
    assert problems('{"agents": 3, "agents": 4, "retention": {}}', "power-mode") == []
    assert [key for key, *_ in problems({"agents": 3, "retention": {"pin": []}}, "power-mode")] == ["retention.pin"]


@pytest.mark.parametrize(
    ("path", "layer"),
    [
        ("/x/.claude/retention-config.json", "project"),
        ("/x/power-mode/config.json", "power-mode"),
        ("/x/power-mode/retention-config.json", "user"),
        ("/x/retention-config.json", "user"),
    ],
)
def test_the_place_of_a_file_tells_its_layer(path, layer):
    assert layer_of(path) == layer


def test_a_file_that_is_named_and_missing_is_a_problem(tmp_path):
    path = str(tmp_path / "none.json")
    assert check_file(path) == [Problem(path, "", "", "a JSON file", "There is no such file.")]


def write(path, document):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return str(path)


def test_thresholds_that_do_not_rise_with_those_of_the_layers_below_are_reported(tmp_path):
    user = write(tmp_path / "retention-config.json", {"thresholds": {"warning": 0.5}})
    _, [problem] = check_layers(str(ROOT), str(tmp_path), None)
    assert (problem.file, problem.key, problem.value) == (user, "thresholds", '{"warning": 0.5}')
    assert "notice 0.6, warning 0.8, critical 0.9, emergency 0.95" in problem.allowed


def test_a_project_that_switches_the_compaction_partner_on_again_is_told_so(tmp_path):
    write(tmp_path / "retention-config.json", {"compaction": {"advise": False}})
    project = write(tmp_path / "p" / ".claude" / "retention-config.json", {"compaction": {"advise": True, "index": True}})
    _, reported = check_layers(str(ROOT), str(tmp_path), str(tmp_path / "p"))
    refused = "false; a project cannot switch on what your own configuration switched off"
    assert reported == [Problem(project, "compaction.advise", "true", refused, "")]


def test_a_file_where_the_specification_has_it_and_no_hook_reads_it_is_reported(tmp_path):
    (tmp_path / "hooks").mkdir()
    beside = tmp_path / "hooks" / "retention-config.json"
    beside.write_text('{"retention": {"profile": "spec"}}')
    _, problems = check_layers(str(tmp_path), None, None)
    place = str(tmp_path / "power-mode" / "config.json")
    assert Problem(str(beside), "", "", "no file here; it is not read", f'Move its "retention" to {place}.') in problems


def test_a_link_to_nowhere_is_reported(tmp_path):
    (tmp_path / "retention-config.json").symlink_to(tmp_path / "gone")
    _, reported = check_layers(str(ROOT), str(tmp_path), None)
    assert [problem.hint for problem in reported] == ["There is no such file."]


def test_a_plugin_without_its_shipped_file_is_reported(tmp_path):
    _, reported = check_layers(str(tmp_path), None, None)
    assert [problem.hint for problem in reported] == ["Install PopKit again."]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("tiers", "short"), "tiers.short"),
        (("pins", 0), "pins[0]"),
        (("tool_overrides", "mcp__a-b__*", "tier"), 'tool_overrides["mcp__a-b__*"].tier'),
        (("tool_overrides", "git commit"), 'tool_overrides["git commit"]'),
        (("", "a.b"), '[""]["a.b"]'),
    ],
)
def test_a_key_path_is_one_text(path, text):
    assert dotted(path) == text


@pytest.mark.parametrize(
    "document",
    [
        {"context": {"database": "postgresql://me:hunter22@db/popkit"}},
        {"context": {"database": "postgresql://db/popkit?password=hunter22"}},
        {"context": {"traces": "https://me:hunter22@receiver"}},
        {"database": "postgresql://me:hunter22@db/popkit"},
        '{"context": {"database": "postgresql://me:hunter22@db/x", "database": "postgresql://me:hunter22@db/x"}}',
    ],
)
def test_an_address_with_a_password_is_refused_and_not_repeated(document):
    reported = problems(document)
    assert reported
    assert "hunter22" not in repr(reported)


def test_who_puts_a_password_into_an_address_is_told_where_it_goes():
    (problem,) = problems({"context": {"database": "postgresql://me:hunter22@db/popkit"}})
    assert problem == (
        "context.database",
        '"postgresql:…"',
        'postgresql://host[:port]/name or "", without user and password: these come from PGUSER and PGPASSWORD in the environment',
        "",
    )
