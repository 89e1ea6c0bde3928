"""Placeholders are found in the transcripts of the host and in those that the archive names, where they are the content of a result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection

import pytest

from popkit_retention.core import archive
from popkit_retention.core.policy.placeholder import placeholder
from popkit_retention.core.state import placements
from tests.hosts.lines import Lines


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    with closing(archive.open_archive(str(tmp_path / "archive.sqlite"))) as db:
        yield db


def archived(db: Connection, transcript: str, *contents: str) -> list[str]:
    new = [archive.NewRecord(f"{transcript}-{number}", "read", "Read a.py", text) for number, text in enumerate(contents)]
    return archive.add_records(db, archive.Chain(transcript, transcript, transcript=transcript), new, now=1.0)


def session(path: Path, *handles: str) -> str:
    """A transcript with these placeholders, and text that only looks like some."""
    lines = Lines()
    lines.prompt(placeholder("Read a.py", "old", "zzzz2345"))
    for number, handle in enumerate(handles):
        lines.bash(f"t{number}", "cat a.py")
        lines.entries[-1]["message"]["content"][0]["content"] = placeholder("Read a.py", "old", handle)
    lines.bash("other", "cat b.py", "said: " + placeholder("Read a.py", "old", "yyyy2345"))
    path.parent.mkdir(parents=True, exist_ok=True)
    return lines.write(path)


def test_transcripts_are_listed_with_the_handles_of_their_placeholders(db: Connection, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    elsewhere, projects = tmp_path / "elsewhere", tmp_path / "claude" / "projects" / "-shop"
    one, two = archived(db, str(elsewhere / "b.jsonl"), '"one"', '"two"')
    archived(db, str(elsewhere / "gone.jsonl"), '"three"')
    named = session(elsewhere / "b.jsonl", two, one, "cccc2345", two)
    own = session(projects / "s.jsonl", one)
    session(projects / "none.jsonl")
    (projects / "broken.jsonl").write_bytes(b"\xff[PopKit\n{")
    (projects / "folder.jsonl").mkdir()
    archived(db, "odd", '"four"')
    db.execute("UPDATE chains SET transcript = x'00' WHERE session_id = 'odd'")
    assert list(placements.placed_handles(db, environ)) == sorted([(named, sorted([one, two, "cccc2345"])), (own, [one])])
    placed = placements.placed_records(db, environ)
    assert placements.handles_by_transcript(placed) == {own: [one], named: sorted([one, two])}
    assert placements.handles_by_transcript(placements.placed_records(db, environ, {two, "cccc2345"})) == {named: [two]}
    assert placements.placed_records(db, environ, set()) == {}
    assert list(placements.placed_handles(db, {})) == [(named, sorted([one, two, "cccc2345"]))], "without a home the archive alone tells"
