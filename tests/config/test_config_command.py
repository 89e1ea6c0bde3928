"""`popkit config` on real files: what it shows, and `config check`, which names every problem with file, key, value and what is allowed."""

from __future__ import annotations

import json
import pathlib

import pytest

from popkit_retention.cli import answering
from popkit_retention.cli.main import main
from popkit_retention.cli.tables import CONFIG
from popkit_retention.core.flag_parser import parse

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
        code = answering.show(CONFIG.function(parsed.operation)(parsed, environ, **more), "json" in parsed.flags, environ)
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
        "      auto_misses, compact_target, say_once, shape, hints, keep_days,\n"
        "      memory, mcp, context, data_rules, models, $schema, $comment\n"
        '    There is no such key. Did you mean "profile"?\n'
        "2 problems. Where a value cannot be used, that of the layer below\n"
        "applies.\n"
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
    shown = rows(text)
    assert shown["profile"] == ['"aggressive"', "user"]
    assert shown["window_tokens"] == ["500000", "user"]
    assert shown["tiers.short.ttl_tools"] == ["7", "project"]
    assert shown["tiers.short.ttl_seconds"] == ["300", "built-in"]
    assert shown["tiers.medium.ttl_tools"] == ["null", "built-in"]
    assert shown['tool_overrides.Read.patterns["*.py"]'] == ['"session"', "project"]
    assert shown['tool_overrides.Read.patterns["*.md"]'] == ['"short"', "shipped"]


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
