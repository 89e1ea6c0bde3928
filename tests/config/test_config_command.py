"""`popkit config` on real files: what it shows, and `config check`, which names every problem with file, key, value and what is allowed."""

from __future__ import annotations

import json
import pathlib
import sys

import pytest

from hooks.utils.flag_parser import parse
from popkit_retention.cli import answering, config_command
from popkit_retention.cli.config_command import Problem, check_file, check_layers, check_text, dotted, layer_of
from popkit_retention.cli.main import main
from popkit_retention.operations.tables import CONFIG

ROOT = pathlib.Path(__file__).parents[2]


class Shell:
    """Runs `popkit config …` with a state home and a project of its own."""

    def __init__(self, base, capsys):
        self.home, self.project, self.capsys = base / "home", base / "project", capsys
        for folder in (self.home, self.project / ".claude"):
            folder.mkdir(parents=True)
        self.user = self.home / "retention-config.json"
        self.in_project = self.project / ".claude" / "retention-config.json"

    def run(self, *words, **more):
        environ = {"POPKIT_HOME": str(self.home), "CLAUDE_PROJECT_DIR": str(self.project)}
        parsed = parse(list(words), CONFIG)
        code = answering.show(config_command.run(parsed, environ, **more), "json" in parsed.flags, environ)
        return code, self.capsys.readouterr().out


@pytest.fixture
def shell(tmp_path, capsys):
    return Shell(tmp_path, capsys)


def rows(text):
    """key -> (value, source) of the table of `config show`."""
    return {words[0]: words[1:] for line in text.split("\n\n")[0].splitlines() if len(words := line.split()) == 3}


def test_check_of_sound_files_says_which_they_are_and_exits_0(shell):
    code, text = shell.run("check")
    assert code == 0
    assert text.splitlines()[0] == "No problems in 2 files:"
    assert str(ROOT / "retention-config.json") in text


def test_check_reports_problems_by_file_and_exits_1(shell):
    shell.user.write_text('{"pins": 1}')
    shell.in_project.write_text('{"profil": "spec"}')
    code, text = shell.run("check")
    assert code == 1
    assert text == (
        f"{shell.user}\n"
        "  pins: 1\n"
        "    allowed: a list of path patterns\n"
        f"{shell.in_project}\n"
        '  profil: "spec"\n'
        "    allowed: one of the keys enabled, profile, tiers, tool_overrides,\n"
        "      preserved_patterns, thresholds, window_tokens, pins,\n"
        "      grace_calls, restore_hold_calls, compaction, compact,\n"
        "      compact_manual, compact_auto, compact_agents, compact_when_cold,\n"
        "      compact_target, say_once, shape, hints, clear_at_exit,\n"
        "      keep_warm, keep_warm_requests, keep_warm_usd, keep_days, memory,\n"
        "      mcp, context, models, $schema, $comment\n"
        '    There is no such key. Did you mean "profile"?\n'
        "2 problems. Values that cannot be used are ignored; those of the layer below apply.\n"
    )


def test_check_as_json_has_the_same_problems(shell):
    shell.user.write_text('{"pins": 1}')
    code, text = shell.run("check", "--json")
    assert code == 1
    report = json.loads(text)
    assert report["ok"] is False
    assert str(shell.user) in report["files"]
    assert report["problems"] == [{"file": str(shell.user), "key": "pins", "value": "1", "allowed": "a list of path patterns", "hint": ""}]


def test_check_of_named_files_looks_at_nothing_else(shell, tmp_path):
    shell.user.write_text("broken")
    sound = tmp_path / "mine.json"
    sound.write_text("{}")
    assert shell.run("check", str(sound))[0] == 0
    assert shell.run("check", str(sound), str(tmp_path / "none.json"))[0] == 1


def test_show_says_where_each_value_comes_from(shell):
    shell.user.write_text('{"profile": "aggressive", "tiers": {"short": {"ttl_tools": 9}}, "window_tokens": 500000}')
    shell.in_project.write_text('{"tiers": {"short": {"ttl_tools": 7}}, "tool_overrides": {"Read": {"patterns": {"*.py": "session"}}}}')
    code, text = shell.run("show")
    assert code == 0
    found = rows(text)
    assert found["profile"] == ['"aggressive"', "user"]
    assert found["window_tokens"] == ["500000", "user"]
    assert found["tiers.short.ttl_tools"] == ["7", "project"]
    assert found["tiers.short.ttl_seconds"] == ["300", "built-in"]
    assert found["tiers.medium.ttl_tools"] == ["null", "built-in"]
    assert found['tool_overrides.Read.patterns["*.py"]'] == ['"session"', "project"]
    assert found['tool_overrides.Read.patterns["*.md"]'] == ['"short"', "shipped"]


def test_show_has_what_reclaiming_can_be_told(shell):
    shell.user.write_text('{"clear_at_exit": true, "grace_calls": {"read": 3}}')
    shell.in_project.write_text('{"compaction": {"advise": false}, "restore_hold_calls": 30}')
    code, text = shell.run("show")
    assert code == 0
    found = rows(text)
    assert found["clear_at_exit"] == ["true", "user"]
    assert found["grace_calls.read"] == ["3", "user"]
    assert found["grace_calls.search"] == ["5", "shipped"]
    assert found["compaction.advise"] == ["false", "project"]
    assert found["compaction.index"] == ["true", "shipped"]
    assert found["restore_hold_calls"] == ["30", "project"]


def test_the_table_of_show_fits_76_columns(shell):
    table = shell.run("show")[1].split("\n\n")[0]
    assert max(map(len, table.splitlines())) <= 76


def test_show_lists_the_files_and_points_to_check_when_something_is_left_out(shell):
    shell.user.write_text('{"pins": 1}')
    shell.in_project.write_text("{")
    code, text = shell.run("show")
    assert code == 1
    assert f"{shell.user} (1 value ignored)" in text
    assert f"{shell.in_project} (ignored: not JSON" in text
    assert text.endswith("Some values are ignored: popkit config check says which and why.\n")


def test_show_as_json_names_the_file_of_each_value(shell):
    shell.user.write_text('{"profile": "aggressive"}')
    code, text = shell.run("show", "--json")
    assert code == 0
    report = json.loads(text)
    [profile] = [value for value in report["values"] if value["key"] == "profile"]
    assert profile == {"key": "profile", "value": "aggressive", "source": "user", "file": str(shell.user)}
    assert [entry["layer"] for entry in report["files"]] == ["shipped", "power-mode", "user", "project"]


def test_path_lists_the_files_lowest_first(shell):
    code, text = shell.run("path")
    assert code == 0
    assert [line.split()[:2] for line in text.splitlines()] == [
        ["shipped", str(ROOT / "retention-config.json")],
        ["power-mode", str(ROOT / "power-mode" / "config.json")],
        ["user", str(shell.user)],
        ["project", str(shell.in_project)],
    ]
    assert text.count("(not there)") == 2


def test_another_project_can_be_named(shell, tmp_path):
    (tmp_path / "other" / ".claude").mkdir(parents=True)
    (tmp_path / "other" / ".claude" / "retention-config.json").write_text('{"profile": "conservative"}')
    assert rows(shell.run("show", "--project", str(tmp_path / "other"))[1])["profile"] == ['"conservative"', "project"]


def test_schema_prints_the_committed_schema(shell):
    code, text = shell.run("schema")
    assert code == 0
    assert text == (ROOT / "docs" / "retention-config.schema.json").read_text()


def test_show_leaves_the_shipped_models_out_and_has_those_that_a_user_corrected(shell):
    shell.user.write_text('{"models": {"by_id": {"claude-opus-5-5": {"read": 0.04}}}}')
    code, text = shell.run("show")
    assert code == 0
    assert {key: cells for key, cells in rows(text).items() if "by_id" in key} == {"models.by_id.claude-opus-5-5.read": ["0.04", "user"]}
    assert len(json.loads(shell.run("show", "--json")[1])["values"]) > 100


def test_without_any_home_the_user_has_no_layer(capsys, tmp_path):
    assert main(["config", "path", "--project", str(tmp_path)], {"HOME": "~"}) == 0
    assert "\nuser" not in capsys.readouterr().out


def test_what_a_terminal_would_obey_is_spelt_out(shell):
    shell.in_project.write_text(json.dumps({"pins": ["a\x1b[2Jb\u202e", "\x9b1m"], "profile": "\x07", "no\x1bpe": 1, "日本": 2}))
    for words in (["check"], ["show"]):
        text = shell.run(*words)[1]
        assert text.replace("\n", "").isprintable()
    assert "\\u001b[2Jb\\u202e" in shell.run("show")[1]
    assert "日本" in shell.run("check")[1]


def problems(document, layer="user"):
    text = document if isinstance(document, str) else json.dumps(document)
    return [tuple(problem)[1:] for problem in check_text(text, "file", layer)]


def test_a_sound_document_has_no_problems():
    assert problems((ROOT / "retention-config.json").read_text()) == []
    assert problems("{}") == []


CALLS = "a whole number from 1 to 1000000, or null for no limit"
TIERS = "one of ephemeral, short, medium, session, preserved"
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
        (
            'tool_overrides.Read.patterns["*.md"]',
            '"shrot"',
            TIERS + ", or null for no such pattern",
            'Did you mean "short"?',
        ),
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
        (
            "thresholds",
            '{"notice": 0.9, "warning": 0.8}',
            "rising shares: notice < warning < critical < emergency",
            "",
        ),
    ),
    (
        {"window_tokens": 200},
        ("window_tokens", "200", "a whole number from 1000 to 100000000, or null for the window of the model", ""),
    ),
    ('{"window_tokens": NaN}', ("window_tokens", "NaN", "a whole number from 1000 to 100000000, or null for the window of the model", "")),
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
    ({"retention": {"clear_at_exit": "yes"}}, ("retention.clear_at_exit", '"yes"', "true or false", "")),
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
    assert [found[-1] for found in problems(document)] == [hint]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('{\n  "pins": [1 2]\n}', "at line 2, column 14."),
        ('// a comment\n{\n  "pins": [\n}', "at line 4, column 1."),
        ("", "at line 1, column 1."),
    ],
)
def test_a_text_that_is_not_json_is_reported_with_line_and_column(text, hint):
    [(key, value, allowed, found)] = problems(text)
    assert (key, value, allowed) == ("", "", "JSON; the whole file is ignored")
    assert found.endswith(hint)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"pins": ' + "[" * 5_000 + "]" * 5_000 + "}"])
def test_a_text_that_is_nested_too_deeply_is_said_in_plain_words(text):
    said = "It holds lists or objects that are nested too deeply to be read. Remove the inner ones."
    assert problems(text) == [("", "", "JSON; the whole file is ignored", said)]


@pytest.mark.skipif(not hasattr(sys, "set_int_max_str_digits"), reason="this Python reads numbers of any length")
@pytest.mark.parametrize("before", ["", "// 1\n", '{"a": 1},\n'])
def test_a_number_with_too_many_digits_is_said_with_its_line(before):
    text = '{"pins": [],\n' + before.replace("{", '"x": {') + '"window_tokens": -' + "9" * 5_000 + "}"
    line = 2 + before.count("\n")
    assert problems(text) == [
        ("", "", "JSON; the whole file is ignored", f"The number -99999999999… at line {line} has 5,000 digits. Write a smaller one.")
    ]


@pytest.mark.parametrize("document", [{"gateway": {}}, {"retention": {"clear_at_exit": True}}])
def test_a_key_of_the_user_alone_is_a_problem_in_a_project_file(document):
    [(_, _, allowed, _)] = problems(document, "project")
    assert allowed == "nothing here; only your own configuration may hold this key"


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


def test_all_layers_are_checked_and_those_that_are_there_are_named(tmp_path):
    user = write(tmp_path / "retention-config.json", {"pins": 1})
    project = write(tmp_path / "p" / ".claude" / "retention-config.json", {"profil": "spec"})
    files, found = check_layers(str(ROOT), str(tmp_path), str(tmp_path / "p"))
    assert files[-2:] == [user, project]
    assert [(problem.file, problem.key) for problem in found] == [(user, "pins"), (project, "profil")]


def test_what_only_the_layers_together_make_a_problem_is_reported_at_the_upper_one(tmp_path):
    write(tmp_path / "retention-config.json", {"enabled": False})
    project = write(tmp_path / "p" / ".claude" / "retention-config.json", {"enabled": True})
    _, found = check_layers(str(ROOT), str(tmp_path), str(tmp_path / "p"))
    assert [(problem.file, problem.key, problem.value) for problem in found] == [
        (project, "enabled", "true"),
    ]


def test_thresholds_that_do_not_rise_with_those_of_the_layers_below_are_reported(tmp_path):
    user = write(tmp_path / "retention-config.json", {"thresholds": {"warning": 0.5}})
    _, [found] = check_layers(str(ROOT), str(tmp_path), None)
    assert (found.file, found.key, found.value) == (user, "thresholds", '{"warning": 0.5}')
    assert "notice 0.6, warning 0.8, critical 0.9, emergency 0.95" in found.allowed


def test_a_project_that_switches_the_compaction_partner_on_again_is_told_so(tmp_path):
    write(tmp_path / "retention-config.json", {"compaction": {"advise": False}})
    project = write(tmp_path / "p" / ".claude" / "retention-config.json", {"compaction": {"advise": True, "index": True}})
    _, found = check_layers(str(ROOT), str(tmp_path), str(tmp_path / "p"))
    refused = "false; a project cannot switch on what your own configuration switched off"
    assert found == [Problem(project, "compaction.advise", "true", refused, "")]


def test_a_file_where_the_specification_has_it_and_no_hook_reads_it_is_reported(tmp_path):
    (tmp_path / "hooks").mkdir()
    beside = tmp_path / "hooks" / "retention-config.json"
    beside.write_text('{"retention": {"profile": "spec"}}')
    _, problems = check_layers(str(tmp_path), None, None)
    place = str(tmp_path / "power-mode" / "config.json")
    assert Problem(str(beside), "", "", "no file here; it is not read", f'Move its "retention" to {place}.') in problems


def test_a_link_to_nowhere_is_reported(tmp_path):
    (tmp_path / "retention-config.json").symlink_to(tmp_path / "gone")
    _, found = check_layers(str(ROOT), str(tmp_path), None)
    assert [problem.hint for problem in found] == ["There is no such file."]


def test_a_plugin_without_its_shipped_file_is_reported(tmp_path):
    _, found = check_layers(str(tmp_path), None, None)
    assert [problem.hint for problem in found] == ["Install PopKit again."]


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
    found = problems(document)
    assert found
    assert "hunter22" not in repr(found)


def test_who_puts_a_password_into_an_address_is_told_where_it_goes():
    (found,) = problems({"context": {"database": "postgresql://me:hunter22@db/popkit"}})
    assert found == (
        "context.database",
        '"postgresql:…"',
        'postgresql://host[:port]/name or "", without user and password: these come from PGUSER and PGPASSWORD in the environment',
        "",
    )
