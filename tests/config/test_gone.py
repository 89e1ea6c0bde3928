"""Words and settings that PopKit had: each answers with what stands in its place."""

from __future__ import annotations

import pytest

from hooks.utils import flag_parser
from hooks.utils.config import gone
from popkit_retention.cli import main
from popkit_retention.operations.tables import TABLES

COMMANDS = [word for word in gone.WORDS if " " not in word]


@pytest.mark.parametrize("word", COMMANDS)
@pytest.mark.parametrize("words", [[], ["show"], ["--json"]])
def test_a_command_that_is_gone_says_what_stands_in_its_place(word: str, words: list[str], capsys: pytest.CaptureFixture) -> None:
    assert main.main([word, *words], {}) == 1
    said = capsys.readouterr()
    assert gone.WORDS[word].split()[:4] == " ".join((said.out + said.err).replace('{\n  "error": "', "popkit: ").split()).split()[1:5]


@pytest.mark.parametrize("word", gone.WORDS)
def test_what_is_gone_is_not_there(word: str) -> None:
    command, _, rest = word.rpartition(" ")
    table = TABLES[command or "context"]
    with pytest.raises(flag_parser.UsageError) as error:
        flag_parser.parse([rest], table)
    assert str(error.value) == gone.WORDS[word]
    assert word not in TABLES
