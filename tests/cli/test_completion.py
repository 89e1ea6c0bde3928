"""`popkit completion`: a shell completes commands, words, flags and choices as the tables have them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.flag_parser import UsageError, parse
from popkit_retention.cli.integrations import SCRIPTS, words_after
from popkit_retention.cli.main import COMMANDS
from popkit_retention.operations.tables import TABLES
from tests.cli import inside
from tests.patience import HANG_S

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("", {*COMMANDS, "help"}),
        ("memory", {"status", "list", "search", "help", "--project", "--json"}),
        ("memory list", {"--tier", "--kind", "--json"}),
        ("memory list --tier", {"hot", "warm", "cold", "archive"}),
        ("context memory list --tier", {"hot"}),
        ("retention hold", {"add", "list", "release"}),
        ("retention hold add", {"--why", "--until", "--domain"}),
        ("context warm", {"on", "off", "show"}),
        ("lab", {"--decisions", "--keep-warm", "--policy"}),
        ("lab --decisions", {"--out", "--shape"}),
        ("archive", {"stats", "list", "prune"}),
        ("setup", {"dashboard", "neo4j"}),
        ("help", set(COMMANDS)),
        ("help retention", {"show", "gc"}),
    ],
)
def test_what_may_come_next_is_offered(line: str, some: set[str]) -> None:
    assert some <= set(words_after(line.split()))


@pytest.mark.parametrize("line", ["nonsense", "memory nonsense", "context --transcript", "try --json x --json nonsense --", "lab --html"])
def test_where_anything_may_come_the_shell_is_left_to_complete_files(line: str) -> None:
    assert not {"status", "list", "hot"} & set(words_after(line.split()))


def test_what_was_given_is_not_offered_again_unless_it_may_be_repeated() -> None:
    assert "--json" not in words_after(["memory", "list", "--json"])
    assert "list" not in words_after(["memory", "list", "--json"])
    assert "--policy" in words_after(["lab", "--policy", "auto", "--json"])


@given(st.lists(st.sampled_from([*COMMANDS, "list", "hold", "--tier", "--json", "--", "-", "x", ""]), max_size=5))
def test_nothing_that_was_typed_makes_it_fail_and_each_word_is_offered_once(words: list[str]) -> None:
    found = words_after(words)
    assert len(found) == len(set(found))


@pytest.mark.parametrize("name", TABLES)
def test_a_word_that_is_offered_is_known(name: str) -> None:
    groups = {operation.name.split()[0] for operation in TABLES[name].operations if " " in operation.name}
    for word in {*words_after([name])} - groups:
        said = ""
        try:
            parse([word], TABLES[name])
        except UsageError as error:
            said = str(error)
        assert "unknown" not in said


def test_the_script_is_printed_and_a_shell_that_has_none_is_named() -> None:
    for shell, script in SCRIPTS.items():
        assert inside.run(["completion", shell], {}, ROOT).stdout == script + "\n"
    refused = inside.run(["completion", "tcsh"], {}, ROOT)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert 'completion takes bash, zsh or fish, not "tcsh"' in refused.stderr


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        (["popkit", "mem"], ["memory"]),
        (["popkit", "memory", "list", "--t"], ["--tier"]),
        (["popkit", "memory", "list", "--tier", "w"], ["warm"]),
        (["popkit", "retention", "hold", ""], ["add", "list", "release", "--domain", "--all", "--json", "--help"]),
        (["popkit", "try", "README"], []),
    ],
)
def test_a_real_bash_completes(typed: list[str], completed: list[str], tmp_path: Path) -> None:
    words = " ".join(f"'{word}'" for word in typed)
    script = (
        f'eval "$(popkit completion bash)"; COMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}; _popkit; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = bash(script, tmp_path)
    assert done.stdout.split() == completed, done.stderr


def test_where_no_word_fits_a_real_bash_completes_files(tmp_path: Path) -> None:
    done = bash('eval "$(popkit completion bash)"; complete -p popkit', tmp_path)
    assert done.stdout == "complete -o default -F _popkit popkit\n"


def bash(script: str, home: Path) -> subprocess.CompletedProcess:
    env = {"PATH": f"{ROOT / 'bin'}{os.pathsep}{os.environ['PATH']}", "POPKIT_HOME": str(home)}
    return subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, check=False, timeout=HANG_S)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script_of_another_shell_is_one_that_it_can_read(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if not program:
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / "completion"
    path.write_text(SCRIPTS[shell])
    assert subprocess.run([program, "-n", str(path)], check=False, timeout=HANG_S).returncode == 0
