"""The tests by which the specification's statements are shown, as docs/design/context.md has them, and what `from popkit_retention.context
import …` gives."""

from __future__ import annotations

import re
from pathlib import Path

from popkit_retention import context

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "design" / "context.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return TEXT.partition(f"\n# {title}\n")[2].partition("\n# ")[0]


def named_in(path: Path) -> list[str]:
    return re.findall(r"^(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)


def test_each_test_that_a_statement_names_exists():
    named = re.findall(r"`(test_\w+)`", section("The specification, statement by statement"))
    assert named
    assert set(named) - {name for path in (ROOT / "tests").rglob("test_*.py") for name in named_in(path)} == set()


def test_each_test_that_a_criterion_names_is_where_it_says():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", section("The specification's success criteria"))
    assert named
    assert [(path, name) for path, name in named if name not in named_in(ROOT / path)] == []


def test_all_success_criteria_of_the_specification_are_shown():
    assert len([line for line in section("The specification's success criteria").splitlines() if line.startswith("| ")]) == 16


def test_the_public_names_are_those_that_are_promised():
    assert [name for name in context.__all__ if getattr(context, name) is None] == []


def test_a_private_name_is_not_an_attribute_of_the_package():
    assert not hasattr(context, "history_of_everything")
