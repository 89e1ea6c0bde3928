"""Words and settings that PopKit had: each answers with what stands in its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.cli import main
from popkit_retention.cli.commands import tables
from popkit_retention.cli.config_problems import check_file
from popkit_retention.core import flag_parser
from popkit_retention.core.config import GONE, gone, layers
from popkit_retention.core.handlers import session_events

TABLES = tables()
TABLES = tables()
COMMANDS = [word for word in gone.WORDS if " " not in word]


@pytest.mark.parametrize("word", COMMANDS)
@pytest.mark.parametrize("words", [[], ["show"], ["--json"]])
def test_a_command_that_is_gone_says_what_stands_in_its_place(word: str, words: list[str], capsys: pytest.CaptureFixture) -> None:
    assert main.main([word, *words], {}) == 1
    said = capsys.readouterr()
    assert gone.WORDS[word].split()[:4] == " ".join((said.out + said.err).replace('{\n  "error": "', "popkit: ").split()).split()[1:5]


@pytest.mark.parametrize("word", gone.WORDS)
def test_what_is_gone_is_not_there(word: str) -> None:
    command, *words = word.split() if " " in word else ["context", word]
    table, words = (TABLES["bill"], [command, *words]) if command[0] == "-" else (TABLES[command], words)
    with pytest.raises(flag_parser.UsageError) as error:
        flag_parser.parse(words, table)
    assert str(error.value) == gone.WORDS[word]
    assert word not in TABLES


# --- settings --------------------------------------------------------------------------------------------------------------------------


OLD = [
    ({"hints": "try", "shape": "try"}, ["hints=try", "shape=try"]),
    ({"retention": {"memory": {"try": True}, "say_once": "try"}}, ["memory.try", "say_once=try"]),
]


@pytest.mark.parametrize(("document", "names"), OLD)
def test_a_setting_that_is_gone_is_ignored_and_explained(tmp_path: Path, document: dict, names: list[str]) -> None:
    path = tmp_path / "retention-config.json"
    path.write_text(json.dumps(document))
    loaded = layers.load(None, str(tmp_path), None)
    assert loaded.pop(GONE) == names
    assert loaded in ({}, {"memory": {}})
    assert [problem.hint for problem in check_file(str(path))] == [gone.SETTINGS[name] for name in names]


@pytest.mark.parametrize("document", [{"hints": "on"}, {"hints": "tri"}, {"try": True}, {"memory": {"store": ""}}])
def test_of_other_settings_and_mistakes_nothing_is_said(tmp_path: Path, document: dict) -> None:
    (tmp_path / "retention-config.json").write_text(json.dumps(document))
    assert GONE not in layers.load(None, str(tmp_path), None)


def test_a_person_hears_of_each_once_in_all_sessions(tmp_path: Path) -> None:
    def starts(session: str) -> str:
        payload = {"hook_event_name": "SessionStart", "session_id": session, "cwd": str(tmp_path), "source": "startup"}
        unseen = {"CLAUDE_CODE_SESSION_ATTENDED": "0"}
        return (session_events.start(payload, {"POPKIT_HOME": str(tmp_path), **unseen}) or {}).get("systemMessage", "")

    own = tmp_path / "retention-config.json"
    own.write_text('{"hints": "try"}')
    assert starts("5e551") == "PopKit: " + gone.SETTINGS["hints=try"]
    assert starts("5e552") == ""
    own.write_text('{"hints": "try", "shape": "try"}')
    assert starts("5e553") == "PopKit: " + gone.SETTINGS["shape=try"]
