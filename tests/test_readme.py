"""What the README tells people to type exists, and it tells of everything that exists."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from popkit_retention.cli.main import COMMANDS
from tests.cli import inside

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return README.split(f"\n## {title}\n")[1].split("\n## ")[0]


def typed(text: str) -> list[str]:
    """The lines of the shell blocks of a text."""
    return [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]


def test_there_are_exactly_two_set_up_commands_and_two_lines_that_install_the_plugin() -> None:
    lines = typed(section("Set-up"))
    plugin = [line for line in lines if line.startswith("claude plugin ")]
    assert [line for line in lines if line not in plugin] == ["bin/popkit try", "scripts/test"]
    assert plugin == ["claude plugin marketplace add ./popkit", "claude plugin install popkit@popkit"]


@pytest.mark.parametrize("line", [line for line in typed(README) if not line.startswith(("claude ", "popkit "))])
def test_a_command_that_the_readme_gives_can_be_run_from_the_clone(line: str) -> None:
    assert os.access(ROOT / shlex.split(line)[0], os.X_OK)


def test_what_ci_runs_is_the_command_that_the_readme_gives() -> None:
    assert 'exec "$(dirname "$0")/../scripts/test"' in (ROOT / ".ci" / "run").read_text()
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_the_readme_and_has_help(name: str) -> None:
    assert f"| `popkit {name}" in section("What you see")
    shown = inside.run(["help", name], {}, ROOT)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith(("usage: ", "PopKit", "popkit "))


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`popkit ([a-z]+)", README))))
def test_the_readme_names_no_command_that_does_not_exist(name: str) -> None:
    assert name in COMMANDS


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#]+)", README))))
def test_every_link_leads_somewhere(target: str) -> None:
    assert target.startswith("https://") or (ROOT / target).exists()


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(?:python3 )?((?:bin|scripts|benchmarks|tests)/[\w./-]+)", README))))
def test_every_file_that_is_named_exists(path: str) -> None:
    assert (ROOT / path).exists()


def test_no_figure_stands_without_the_command_that_gives_it() -> None:
    assert re.findall(r"\d+ ?(?:ms|times|×)", README) == []
