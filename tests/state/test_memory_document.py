"""The MEMORY.md of a project: what a session gets of it, and where it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from popkit_retention.core.state import memory
from popkit_retention.core.state.memory_records import PATH, Entry, Fact

TEXT = "# Memory\n\n- src/: app.py"


@pytest.fixture
def project(tmp_path: Path) -> memory.Project:
    """A project whose memory is on, with no document."""
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    project = memory.project_of(str(tmp_path / "popkit"), str(tmp_path / "shop"))
    project.turn_on(1.0)
    return project


def test_the_entries_of_a_document_come_back_with_it_alone(project: memory.Project) -> None:
    entries = [Entry(PATH, "app.py", "src", [Fact("src/app.py", "", "", "")])]
    project.write_document(TEXT, entries)
    assert project.document() == TEXT
    assert project.entries_of(TEXT)[0]
    assert not project.entries_of(TEXT + " and more")[0]


def test_entries_that_are_larger_than_any_of_ours_are_not_read(project: memory.Project) -> None:
    project.write_document(TEXT)
    path = Path(project.folder) / memory.ENTRIES
    written = path.read_text()
    path.write_text(written.rjust(1 << 20))
    assert project.entries_of(TEXT)[0] is not None
    path.write_text(written.rjust((1 << 20) + 1))
    assert project.entries_of(TEXT) == (None, None)


def test_a_document_of_one_byte_too_many_is_given_to_nobody(project: memory.Project) -> None:
    Path(project.document_path).write_text("x".ljust(memory.MOST_BYTES))
    assert project.document() == "x"
    Path(project.document_path).write_text("x".ljust(memory.MOST_BYTES + 1))
    with pytest.raises(memory.MemoryTooLarge):
        project.document()


def test_nothing_is_written_through_a_link_in_the_place_of_the_folder(project: memory.Project, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    Path(project.folder).rename(elsewhere)
    Path(project.folder).symlink_to(elsewhere)
    before = sorted(path.name for path in elsewhere.iterdir())
    with pytest.raises(OSError, match="link"):
        project.write_document(TEXT)
    assert sorted(path.name for path in elsewhere.iterdir()) == before
