"""A budget that is used up says what has grown and what is largest, not a sum alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.budgets import assert_within


def test_what_is_within_its_budget_is_silent() -> None:
    assert_within(30, {"a": 10, "b": 20}, "nothing")


def test_over_budget_it_says_what_has_grown_since_main_and_what_is_largest(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=dev", "-c", "user.email=dev@example.invalid", *words], cwd=tmp_path, check=True)

    (tmp_path / "large.py").write_text("x" * 2_000)
    (tmp_path / "grown.py").write_text("x" * 10)
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-qm", "start")
    git("switch", "-qc", "mine")
    (tmp_path / "grown.py").write_text("x" * 40)
    git("commit", "-qam", "more")
    (tmp_path / "new.py").write_text("x" * 5)
    sizes = {path.name: path.stat().st_size for path in tmp_path.glob("*.py")}
    with pytest.raises(AssertionError) as said:
        assert_within(2_000, sizes, "dead code", tmp_path)
    assert str(said.value).split("\n") == [
        "2,045 are 45 too many. What may go: dead code.",
        "Grown since main:",
        "        30 grown.py",
        "         5 new.py",
        "Largest:",
        "     2,000 large.py",
        "        40 grown.py",
        "         5 new.py",
    ]
