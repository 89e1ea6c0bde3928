"""The memory that Claude Code keeps itself: read where it lies, and never written."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.utils.hosts.claude_code import projects
from hooks.utils.hosts.claude_code.projects import OwnMemory

ROOT = "/home/dev/my.shop"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "projects" / "-home-dev-my-shop" / "memory"
    made.mkdir(parents=True)
    return made


def read(tmp_path: Path) -> OwnMemory:
    return projects.own_memory({"CLAUDE_CONFIG_DIR": str(tmp_path)}, ROOT)


def test_its_document_and_topics_are_read(folder: Path, tmp_path: Path):
    (folder / "MEMORY.md").write_text("line\n" * 300)
    (folder / "testing.md").write_text("Run pnpm test.")
    (folder / "notes.txt").write_text("no topic")
    found = read(tmp_path)
    assert found.document.count("\n") < 200  # what a session is given of it
    assert found.topics == {"testing.md": "Run pnpm test."}
    assert found.folder == str(folder)


def test_where_there_is_none_it_is_empty(tmp_path: Path):
    assert (read(tmp_path).document, read(tmp_path).topics) == ("", {})


@pytest.mark.parametrize(
    ("text", "says"),
    [("pnpm test", True), ("always use PNPM test", True), ("src/cart.ts", True), ("npm test", False), ("cart.t", False), ("", False)],
)
def test_it_says_a_text_as_whole_words_however_it_is_wrapped(text: str, says: bool):
    assert OwnMemory("", "Always use\n  pnpm   test.", {"files.md": "`src/cart.ts` holds the cart"}).says(text) is says


def test_a_file_that_cannot_be_read_says_nothing(folder: Path, tmp_path: Path):
    (folder / "MEMORY.md").mkdir()
    (folder / "loop.md").symlink_to("loop.md")
    assert read(tmp_path).document == ""
