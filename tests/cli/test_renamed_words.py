"""The words of the version before: each does what it did, and says its new name once; none is offered any more. And the words of `popkit
context` that are commands of their own."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention.cli.commands import first, names, renamed, tables, words_of_context
from popkit_retention.cli.completion_command import words_after
from popkit_retention.core import archive
from popkit_retention.core.hosts.transcripts.projects import folder_name
from popkit_retention.core.operations.context_words import answer
from popkit_retention.core.policy import placeholder
from popkit_retention.core.policy.kinds import OF_THE_ARCHIVE
from popkit_retention.operations.archive_table import ARCHIVE
from tests.archive.written import new
from tests.cli import inside
from tests.views.written import spec_session

# Every word of the version before, by its command.
BEFORE = {
    "context": "retention timeline why pin unpin stats clear undo restore cold",
    "archive": "stats list search show verify prune",
    "memory": "status list search show why add accept pin unpin promote demote restore forget undo learn run file loss export import"
    " verify on off join",
    "retention": "show set accept decline unset history rollback explain apply gc undo archive archives restore remove verify log",
    "bill": "hide defer show draft-skill",
    "budget": "set",
    "config": "check show path schema",
    "lab": "--decisions",
    "statusline": "install uninstall",
}
ALONE = "restore try lab bill misses limits replay budget doctor dashboard setup statusline mcp serve completion uninstall".split()
LINES = [f"{command} {word}" for command, words in BEFORE.items() for word in words.split()]
TABLES = tables()
RENAMED = {
    **{old: new for old, (new, _) in renamed().items()},
    **{f"{name} {old}": f"{name} {new}" for name, table in TABLES.items() for old, new in table.renamed.items()},
    **{f"archive {word.name}": f"restore {word.name}" for word in ARCHIVE},
}


def run(line: str, home: Path, **environ: str):
    return inside.run(line.split(), {"POPKIT_HOME": str(home / "popkit"), "HOME": str(home), **environ}, home)


def one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("line", [*LINES, *ALONE])
def test_a_word_of_the_version_before_means_what_it_meant_and_says_its_new_name(line: str, tmp_path: Path) -> None:
    old = run(f"{line} --help", tmp_path)
    current = RENAMED.get(line, line)
    assert old.returncode == 0, old.stderr
    assert old.stdout == run(f"{current} --help", tmp_path).stdout
    assert old.stdout.startswith(f"popkit {current}")
    former, now = ("archive", "restore") if line.startswith("archive ") else (line, current)
    sentence = f"popkit: `popkit {former}` is now `popkit {now}`. The old name works until the next version."
    assert one_line(old.stderr) == (sentence if former != now else "")


def test_the_words_of_the_version_before_that_were_renamed_are_those() -> None:
    assert set(RENAMED) - {"archive"} == {line for line in (*LINES, *ALONE) if RENAMED.get(line, line) != line}


@pytest.mark.parametrize("line", RENAMED)
def test_a_shell_offers_the_new_name_and_not_the_old(line: str) -> None:
    *before, old = line.split()
    *path, new_word = RENAMED[line].split()
    assert new_word in words_after(path)
    assert old not in words_after(before) or line.startswith("archive ")


@pytest.mark.parametrize(
    "old", ["archive list", "archive stats", "archive verify", "misses", "limits", "memory verify", "retention history"]
)
def test_a_renamed_word_answers_the_same_with_its_sentence_apart(old: str, tmp_path: Path) -> None:
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    new_line = RENAMED[old]
    before, after = run(f"{old} --json", tmp_path), run(f"{new_line} --json", tmp_path)
    assert (before.returncode, json.loads(before.stdout)) == (after.returncode, json.loads(after.stdout))
    assert (after.stderr, "is now" in before.stderr) == ("", True)


def test_where_a_word_is_missing_the_message_has_the_new_name(tmp_path: Path) -> None:
    assert "admin search needs WORDS, for example: admin search" in one_line(run("memory search", tmp_path).stderr)
    assert 'unknown word "sreach" (did you mean admin search?)' in one_line(run("memory sreach", tmp_path).stderr)
    assert 'unknown word "admin lern" (did you mean learn?). Known after admin: search, show,' in one_line(
        run("memory admin lern", tmp_path).stderr
    )


@pytest.mark.parametrize("words", ["memory add search", "memory add cold", "retention explain log", "context why -- cold"])
def test_an_argument_is_not_read_as_a_renamed_word(words: str, tmp_path: Path) -> None:
    assert "is now" not in run(words, tmp_path).stderr


def test_the_old_word_works_in_claude_code_and_names_the_new_one_as_typed_there(tmp_path: Path) -> None:
    written = spec_session(tmp_path / "projects" / folder_name("/home/dev/shop"), session="one")
    site = written.site(tmp_path / "popkit")
    old, new_answer = (answer(f"{word} show", site, str(written.path), written.now) for word in ("cold", "auto"))
    assert old.startswith(new_answer)
    assert (
        one_line(old[len(new_answer) :])
        == "`/popkit:context cold` is now `/popkit:context auto`. The old name works until the next version."
    )
    assert json.loads(answer("cold show --json", site, str(written.path), written.now)) == json.loads(
        answer("auto show --json", site, str(written.path), written.now)
    )


# --- below admin -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["memory", "retention"])
def test_admin_alone_lists_what_is_below_it(name: str, tmp_path: Path) -> None:
    below = [operation for operation in TABLES[name].operations if operation.admin]
    shown = run(f"{name} admin", tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert re.findall(r"^  ([a-z]\S*)", shown.stdout, re.MULTILINE) == [operation.name for operation in below]
    for same in (f"{name} admin --help", f"{name} help admin", f"help {name} admin"):
        assert run(same, tmp_path).stdout == shown.stdout
    first = run(f"{name} help", tmp_path).stdout
    assert "admin WORD" in first
    assert not [operation.name for operation in below if f"\n  {operation.usage()}" in first]


# --- restore and the archive -------------------------------------------------------------------------------------------------------------


def test_the_words_of_restore_that_are_about_the_archive_are_told_apart_everywhere() -> None:
    assert {operation.name for operation in ARCHIVE} == OF_THE_ARCHIVE
    assert not any(map(placeholder.is_handle, OF_THE_ARCHIVE)), "Claude may restore a handle without asking, and nothing else"


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A home in whose archive is a file that is called `list`."""
    path = tmp_path / "popkit"
    path.mkdir()
    record = new(0, label="Read list", content=json.dumps("what stands in it"), subjects=[str(tmp_path / "list")])
    with closing(archive.open_archive(str(path / "archive.sqlite"))) as db:
        archive.add_records(db, archive.Chain("one", "one", project=str(tmp_path)), [record], now=1.0)
    return tmp_path


@pytest.mark.parametrize("line", ["restore list", "restore --limit 5 list", "restore list --limit 5"])
def test_restore_list_lists_what_the_archive_holds(line: str, stored: Path) -> None:
    shown = run(line, stored)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "Read list" in shown.stdout
    assert "what stands in it" not in shown.stdout


@pytest.mark.parametrize("line", ["restore ./list", "restore -- list", "restore {}/list", "restore --raw ./list"])
def test_a_path_that_is_called_like_a_word_is_meant_where_it_is_written_as_a_path(line: str, stored: Path) -> None:
    shown = run(line.format(stored), stored)
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "what stands in it\n", "")


# --- words of context that are commands ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line", ["why", "why T5", "timeline --last 3", "stats", "clear --dry-run", "auto show", "pin T3", "undo", "why T99"]
)
@pytest.mark.parametrize("form", ["", "--json"])
def test_a_word_of_context_answers_the_same_as_a_command(line: str, form: str, tmp_path: Path) -> None:
    answers = []
    for number, command in enumerate((line, f"context {line}")):
        home = tmp_path / str(number)
        spec_session(home / ".claude" / "projects" / folder_name("/home/dev/shop"), session="one")
        done = run(f"{command} {form} --session one", home, POPKIT_CLOCK="1790000200")
        answers.append((done.returncode, done.stdout, done.stderr.replace("popkit context:", f"popkit {line.split(maxsplit=1)[0]}:")))
    assert answers[0] == answers[1]


def test_the_words_of_context_that_are_commands_are_those_with_no_other_form() -> None:
    words = {operation.name for operation in TABLES["context"].operations}
    assert set(words_of_context()) == words - {"retention", "restore", "memory", "help"}
    assert set(first()) <= set(names())
