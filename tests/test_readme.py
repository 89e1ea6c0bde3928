"""What the README and the guides tell people to type exists, and together they tell of everything that exists."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from popkit_retention.cli.commands import every, names
from tests.cli import inside

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
# What people read; the other documents are for those who change PopKit.
GUIDES = [README, *(ROOT / "docs" / f"{name}.md" for name in ("guide", "commands", "agents", "privacy"))]


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def section(title: str) -> str:
    return read(README).split(f"\n## {title}\n")[1].split("\n## ")[0]


def typed(text: str) -> list[str]:
    """The lines of the shell blocks of a text."""
    return [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]


def found_in_guides(pattern: str) -> list[tuple[Path, str]]:
    return sorted({(path, found) for path in GUIDES for found in re.findall(pattern, read(path))})


def test_the_readme_is_short_enough_to_be_read() -> None:
    assert len(read(README).splitlines()) <= 170


def test_one_command_tries_it_two_lines_install_it_and_one_command_tests_it() -> None:
    assert typed(section("Try it")) == ["bin/popkit try"]
    assert typed(section("Install")) == ["claude plugin marketplace add ./popkit", "claude plugin install popkit@popkit"]
    assert typed(section("Development")) == ["scripts/test"]


def test_the_pictures_come_before_the_words_that_explain_them() -> None:
    first_screen = read(README).split("\n## ")[0]
    assert re.findall(r"!\[[^\]]+\]\(([^)]+)\)", first_screen) == ["docs/band.png"]
    assert re.findall(r"!\[[^\]]+\]\(([^)]+)\)", read(README))[1:] == ["docs/page.png"]


@pytest.mark.parametrize("line", [line for path in GUIDES for line in typed(read(path)) if not line.startswith(("claude ", "popkit "))])
def test_a_command_that_is_given_can_be_run_from_the_clone(line: str) -> None:
    assert os.access(ROOT / shlex.split(line)[0], os.X_OK)


def test_what_ci_runs_is_the_command_that_the_readme_gives() -> None:
    assert 'exec "$(dirname "$0")/../scripts/test"' in read(ROOT / ".ci" / "run")
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


@pytest.mark.parametrize("name", every())
def test_every_command_is_in_the_list_of_commands_and_has_help(name: str) -> None:
    assert f"| `popkit {name}" in read(ROOT / "docs" / "commands.md")
    shown = inside.run(["help", name], {}, ROOT)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith(("usage: ", "PopKit", "popkit "))


@pytest.mark.parametrize("name", sorted({name for _, name in found_in_guides(r"`popkit ([a-z][a-z-]*)")}))
def test_no_guide_names_a_command_that_does_not_exist(name: str) -> None:
    assert name in names()


@pytest.mark.parametrize(("path", "target"), found_in_guides(r"\]\(([^)#]+)"), ids=lambda value: str(getattr(value, "name", value)))
def test_every_link_leads_somewhere(path: Path, target: str) -> None:
    assert target.startswith("https://") or (path.parent / target).exists()


@pytest.mark.parametrize(
    "named", sorted({named for _, named in found_in_guides(r"`(?:python3 )?((?:bin|scripts|benchmarks|tests|docs)/[\w./-]+)")})
)
def test_every_file_that_is_named_exists(named: str) -> None:
    assert (ROOT / named).exists()


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_no_figure_is_given_without_the_command_that_prints_it(path: Path) -> None:
    for paragraph in read(path).split("\n\n"):
        assert not re.search(r"\d+ ?(?:ms|times|×)\b", paragraph) or "benchmarks/" in paragraph or "popkit lab" in paragraph
