"""A session gets the MEMORY.md of its project once for each context, and its user one question about a checkout that claims to be of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.core.hosts.transcripts import projects
from popkit_retention.core.io import hook_log
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.state import delivery, journal, memory, memory_text, store
from popkit_retention.core.state.memory_records import CONTENT, NAME, NOTE, Entry, Fact
from popkit_retention.core.state.site import Site

NOW = 1_800_000_000.0
TEXT = "# Memory of shop\n\n- `npm test` runs everything"


class Desk:
    """Checkouts of one project, and sessions in them."""

    def __init__(self, folder: Path):
        self.folder = folder

    def checkout(self, name: str) -> Path:
        path = self.folder / name
        (path / ".git").mkdir(parents=True)
        (path / ".git" / "config").write_text('[remote "origin"]\n\turl = https://git.example/shop.git\n')
        return path

    def site(self, checkout: Path, session_id: str = "s") -> Site:
        environ = {"POPKIT_HOME": str(self.folder / "popkit"), "CLAUDE_CONFIG_DIR": str(self.folder / "claude"), "HOME": str(self.folder)}
        return Site(environ, session_id, str(checkout))

    def remember(self, checkout: Path) -> memory.Project:
        project = memory.project_of(self.site(checkout).home, str(checkout))
        project.turn_on(NOW)
        Path(project.document_path).write_text(TEXT + "\n")
        return project


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_context_gets_it_once_and_again_when_it_has_been_emptied(desk: Desk) -> None:
    checkout = desk.checkout("a")
    assert delivery.deliver(desk.site(checkout), NOW) == "", "nobody has switched it on"
    desk.remember(checkout)
    assert delivery.deliver(desk.site(checkout), NOW) == TEXT
    assert delivery.deliver(desk.site(checkout), NOW + 1) == ""
    assert delivery.deliver(desk.site(checkout, "other"), NOW + 1) == TEXT
    delivery.note_emptied(desk.site(checkout))
    assert delivery.deliver(desk.site(checkout), NOW + 2) == TEXT
    booked = store.read_lines(desk.site(checkout).paths("").journal)
    assert [entry["at"] for entry in booked] == [NOW, NOW + 2]


def test_a_project_without_a_text_or_with_memory_switched_off_gives_nothing(desk: Desk) -> None:
    checkout = desk.checkout("a")
    project = desk.remember(checkout)
    Path(project.document_path).unlink()
    assert delivery.deliver(desk.site(checkout), NOW) == ""
    Path(project.document_path).write_text(TEXT)
    project.turn_off(NOW + 1)
    assert delivery.deliver(desk.site(checkout), NOW) == ""


def test_a_document_that_is_too_large_is_logged_and_fails_nothing(desk: Desk) -> None:
    checkout = desk.checkout("a")
    project = desk.remember(checkout)
    Path(project.document_path).write_text("x" * (memory.MOST_BYTES + 1))
    assert delivery.deliver(desk.site(checkout), NOW) == ""
    assert [line.split(" ")[1:3] for line in hook_log.logged_failures(desk.site(checkout).home)] == [["memory", "MemoryTooLarge"]]


def test_of_another_checkout_that_claims_to_be_of_it_the_user_is_asked_once(desk: Desk) -> None:
    mine, other = desk.checkout("a"), desk.checkout("b")
    assert delivery.question(desk.site(other)) == ""
    desk.remember(mine)
    asked = delivery.question(desk.site(other))
    assert asked.startswith(f"PopKit: {other} says that it is a checkout of ")
    assert asked.count("/popkit:context memory admin join") == 2
    assert "popkit memory admin" not in asked.replace("/popkit:context memory", "")
    assert delivery.question(desk.site(other)) == delivery.question(desk.site(mine)) == ""
    assert delivery.deliver(desk.site(other), NOW) == ""


def entries_of(project: memory.Project) -> list[Entry]:
    return [
        Entry(NAME, "total", "a.py", [Fact("a.py", "total")]), Entry(NAME, "gone", "a.py", [Fact("a.py", "gone")]),
        Entry(NOTE, "Always run npm test."), Entry(NOTE, "Never push."),
    ]  # fmt: skip


def test_entries_that_no_longer_hold_or_that_the_host_says_itself_are_left_out(desk: Desk) -> None:
    checkout = desk.checkout("a")
    project = desk.remember(checkout)
    (checkout / "a.py").write_text("def total(): pass\n")
    theirs = Path(projects.folder_of(desk.site(checkout).environ), projects.folder_name(str(checkout)), "memory")
    theirs.mkdir(parents=True)
    (theirs / "MEMORY.md").write_text("- Never push.\n")
    entries = entries_of(project)
    project.write_document(memory_text.render(entries), entries)
    given = delivery.deliver(desk.site(checkout), NOW)
    assert given == memory_text.render([entries[0], entries[2]]).strip()
    (entry,) = journal.read(desk.site(checkout).paths())
    assert entry == journal.remembered(given, estimate_tokens(given, CONTENT), NOW)


def test_where_nothing_holds_any_more_nothing_is_given_or_booked(desk: Desk) -> None:
    checkout = desk.checkout("a")
    project = desk.remember(checkout)
    entries = entries_of(project)[:2]
    project.write_document(memory_text.render(entries), entries)
    site = desk.site(checkout)
    assert (delivery.deliver(site, NOW), site.session.memory, journal.read(site.paths())) == ("", None, [])


def test_a_document_whose_entries_cannot_be_read_is_given_as_it_is(desk: Desk) -> None:
    checkout = desk.checkout("a")
    project = desk.remember(checkout)
    entries = entries_of(project)
    text = memory_text.render(entries)
    project.write_document(text, entries)
    path = Path(project.folder) / memory.ENTRIES
    path.write_text(json.dumps({**json.loads(path.read_text()), "entries": [[1, 2]]}))
    assert delivery.deliver(desk.site(checkout), NOW) == text.strip()


def test_a_context_that_was_given_nothing_is_not_noted_as_emptied(desk: Desk) -> None:
    site = desk.site(desk.checkout("a"))
    delivery.note_emptied(site)
    assert not (Path(site.home) / "sessions").exists()
    site.remember(memory=NOW)
    delivery.note_emptied(site)
    assert vars(site.session) == {}


def test_damaged_settings_ask_nobody_and_fail_nothing(desk: Desk) -> None:
    checkout = desk.checkout("a")
    project = desk.remember(checkout)
    (Path(project.folder) / memory.SETTINGS).write_text("[")
    assert (delivery.question(desk.site(checkout)), delivery.deliver(desk.site(checkout), NOW)) == ("", "")
    called: list[memory.Project] = []
    delivery.with_memory(desk.site(checkout), called.append)
    project.turn_on(NOW)
    delivery.with_memory(desk.site(checkout), called.append)
    project.turn_off(NOW)
    delivery.with_memory(desk.site(checkout), called.append)
    assert len(called) == 1
