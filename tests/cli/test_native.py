"""`popkit native`: the provider's own clearing, in a project's local settings."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.cli import claude_settings, main
from popkit_retention.lab import outcomes
from popkit_retention.lab.outcomes import NativeFit, NativeSettings

SETTINGS = NativeSettings(100_000, 15, 20_000)
EDIT = claude_settings.edit_of(SETTINGS)
words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8)
others = st.dictionaries(words.filter(lambda name: name != claude_settings.ENV), st.one_of(words, st.integers(), st.booleans()), max_size=3)
variables = st.dictionaries(words.filter(lambda name: name != claude_settings.VARIABLE), words, max_size=3)


def body_of(text: str) -> dict:
    return json.loads(json.loads(text)["env"]["CLAUDE_CODE_EXTRA_BODY"])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def native_of(project: Path, *words: str) -> int:
    environ = {"HOME": str(project.parent), "CLAUDE_PROJECT_DIR": str(project), "PATH": "/usr/bin:/bin"}
    return main.main(["native", *words], environ)


def settings_of(project: Path) -> Path:
    return project / ".claude" / "settings.local.json"


def test_it_asks_for_the_clients_own_edit_of_thinking_first_which_the_body_would_replace():
    edits = body_of(claude_settings.switched_on("{}\n", EDIT))["context_management"]["edits"]
    assert [edit["type"] for edit in edits] == ["clear_thinking_20251015", "clear_tool_uses_20250919"]
    assert edits[0]["keep"] == "all"


@given(others, variables)
def test_off_gives_back_what_was_there_before(other: dict, environment: dict):
    before = json.dumps({**other, **({"env": environment} if environment else {})}, indent=2)
    after = claude_settings.switched_on(before, EDIT)
    assert claude_settings.edit_in(after) == EDIT
    assert json.loads(claude_settings.switched_off(after)) == json.loads(before)


@given(others, variables)
def test_everything_else_in_the_settings_stays(other: dict, environment: dict):
    body = {"metadata": 1, "context_management": {"edits": [{"type": "another"}]}}
    before = json.dumps({**other, "env": {**environment, "CLAUDE_CODE_EXTRA_BODY": json.dumps(body)}})
    after = claude_settings.switched_on(before, EDIT)
    assert body_of(after) == {"metadata": 1, "context_management": {"edits": [{"type": "another"}, EDIT]}}
    assert {**json.loads(after), "env": 0} == {**json.loads(before), "env": 0}
    assert json.loads(claude_settings.switched_off(after)) == json.loads(before)


def test_other_values_take_the_place_of_the_ones_before():
    first = claude_settings.switched_on("{}", EDIT)
    second = claude_settings.switched_on(first, claude_settings.edit_of(NativeSettings(60_000, 5, 0), ["Skill"]))
    held = claude_settings.edit_in(second)
    assert held is not None
    assert held["trigger"]["value"] == 60_000
    assert held["exclude_tools"] == ["Skill"]
    assert "clear_at_least" not in held
    assert len(body_of(second)["context_management"]["edits"]) == 2


@pytest.mark.parametrize("body", ["no json", "[]", '{"context_management": 1}', '{"context_management": {"edits": {}}}'])
def test_a_body_that_is_not_understood_is_left_alone(project: Path, body: str, capsys: pytest.CaptureFixture):
    settings_of(project).parent.mkdir()
    settings_of(project).write_text(json.dumps({"env": {"CLAUDE_CODE_EXTRA_BODY": body}}))
    before = settings_of(project).read_bytes()
    assert native_of(project, "on", "--trigger", "100000", "--yes") == 1
    assert "is left alone" in capsys.readouterr().err
    assert settings_of(project).read_bytes() == before


def test_on_shows_the_change_and_makes_it_and_off_takes_it_out(project: Path, capsys: pytest.CaptureFixture):
    assert native_of(project, "on", "--trigger", "100000", "--except", "Skill", "--yes") == 0
    assert "+" in capsys.readouterr().out
    assert native_of(project, "show") == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "from a prompt of 100,000 tokens on, all results but the newest 15 are cleared" in output
    assert "never those of Skill" in output
    assert native_of(project, "off", "--yes") == 0
    assert json.loads(settings_of(project).read_text()) == {}
    assert native_of(project, "off", "--yes") == 0


def test_without_a_yes_nothing_is_written(project: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert native_of(project, "on", "--trigger", "100000") == 1
    assert not settings_of(project).exists()
    assert "--yes" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [["--keep", "3"], ["--trigger", "10"], ["--trigger", "100000", "--keep", "-1"], ["--at-least", "x"]])
def test_values_that_make_no_sense_are_refused(project: Path, wrong: list[str], capsys: pytest.CaptureFixture):
    assert native_of(project, "on", *wrong, "--yes") == 1
    assert ("--trigger" if len(wrong) == 2 and wrong[1] != "x" else wrong[-2]) in capsys.readouterr().err
    assert not settings_of(project).exists()


def test_without_sessions_the_user_names_the_values(project: Path, capsys: pytest.CaptureFixture):
    assert native_of(project, "on", "--yes") == 1
    assert "Give the settings yourself" in " ".join(capsys.readouterr().err.split())


def test_the_cheapest_is_advised_of_those_that_pay_without_many_misses():
    cheap = NativeFit(NativeSettings(60_000, 5, 20_000), 0.90, 4.9, 0.3)
    good = NativeFit(NativeSettings(100_000, 5, 20_000), 0.95, 2.9, 0.1)
    assert outcomes.best_of([cheap, good]) == good
    assert outcomes.best_of([cheap, NativeFit(SETTINGS, 1.01, 0.5, 0.2)]) is None
