"""The domain `rag`: what of the archive is a resource, what a person is told of it, and how it comes back."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from popkit_retention.core import archive
from popkit_retention.core.archive.content import to_bytes
from popkit_retention.core.archive.verification import verify
from popkit_retention.core.io import home, repository
from popkit_retention.core.retention_kit.holds import ITEM, PROJECT, SESSION, Hold
from popkit_retention.core.retention_kit.marks import Mark
from popkit_retention.governance import DomainUnavailable
from popkit_retention.governance.domains import Content
from popkit_retention.governance.domains.rag import RagDomain
from popkit_retention.governance.domains.rules import apply_rules
from popkit_retention.governance.policies import DEFAULT_POLICY
from tests.archive.written import new, tamper
from tests.governance.stored import DAY, NOW

KINDS = {
    "read": "context", "search": "context", "run": "action", "ack": "action", "error": "action", "other": "action", "restored": "action",
    "decision": "thought", "tasks": "thought", "thinking": "thought", "note": "thought",
}  # fmt: skip


class Held:
    """An archive in a home of its own, and the domain over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shop, self.other = folder / "shop", folder / "other"
        for project in (self.shop, self.other):
            project.mkdir(parents=True)
        self.environ = {"POPKIT_HOME": str(folder / "popkit"), "CLAUDE_CONFIG_DIR": str(folder / "claude")}
        self.path = home.archive_path(self.environ["POPKIT_HOME"])
        self.domain = RagDomain(self.environ, lambda: NOW)
        self.db: sqlite3.Connection | None = None

    def add(self, *records: archive.NewRecord, session: str = "session-1", folder: Path | None = None, at: float = NOW - DAY) -> list[str]:
        self.db = self.db or archive.open_archive(self.path)
        chain = archive.Chain(session, session.partition("/")[0], project=str(folder or self.shop))
        return archive.add_records(self.db, chain, records, now=at)

    def ids(self, **asked: object) -> list[str]:
        return [resource.id for resource in self.domain.resources(NOW, **asked)]

    def key(self, folder: Path) -> str:
        return repository.of(str(folder)).key


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    opened = Held(tmp_path)
    yield opened
    opened.domain.close()
    if opened.db:
        opened.db.close()


def test_an_archive_that_nobody_has_made_is_empty_and_is_not_made(held: Held) -> None:
    domain = held.domain
    assert held.ids() == domain.matching_ids("abcd") == domain.holds() == domain.mark(["a"], NOW, "user") == domain.delete(["a"], NOW) == []
    assert domain.describe(["a"]) == domain.placeholders(["a"]) == domain.marked() == {}
    assert list(domain.contents(["a"])) == domain.unmark(["a"]) == []
    assert (domain.release_hold("h", NOW), domain.compact(), domain.index()) == (False, True, 0)
    assert not Path(held.path).exists()
    domain.add_hold(Hold("h1", SESSION, "session-1", "user", "audit", NOW))
    assert [hold.target for hold in domain.holds()] == ["session-1"]


def test_every_type_of_record_has_its_source_type(held: Held) -> None:
    ids = held.add(*(new(number, type=kind) for number, kind in enumerate(KINDS)))
    assert {resource.id: resource.source_type for resource in held.domain.resources(NOW)} == dict(zip(ids, KINDS.values()))


def test_a_resource_is_a_content_that_is_held_with_its_session_and_context(held: Held) -> None:
    first = held.add(new(0), new(1), new(2))
    child = held.add(new(3), session="session-1/agent-7", at=NOW - 2 * DAY)
    archive.archive_record(held.db, first[0], hot_max=1, warm_max=1)
    resources = {resource.id: resource for resource in held.domain.resources(NOW)}
    assert set(resources) == {*first[1:], *child}
    assert resources[first[1]] == (first[1], NOW - DAY, "context", ("session-1",), 1, ())
    assert resources[child[0]] == (child[0], NOW - 2 * DAY, "context", ("session-1",), 4, ())
    assert held.ids(ids=[child[0], "unknown", "a\0b\ud800", child[0]]) == child
    tamper(held.db, first[1], "created_at", "soon")
    assert next(held.domain.resources(NOW, ids=first[1:2])).created_at is None


def test_worktrees_and_folders_of_one_project_are_one(held: Held) -> None:
    ids = held.add(new(0)) + held.add(new(1), session="session-2", folder=held.shop / ".claude" / "worktrees" / "try")
    theirs = held.add(new(2), session="session-3", folder=held.other)
    (held.shop / ".git").mkdir()
    assert held.ids(project=held.key(held.shop)) == ids
    assert held.ids(project=held.key(held.other)) == theirs
    assert held.domain.matching_ids(ids[0][:4], held.key(held.shop)) == ids[:1]
    assert held.domain.matching_ids(ids[0], held.key(held.other)) == []


@pytest.mark.parametrize("scope", [ITEM, SESSION, PROJECT])
def test_what_is_held_has_a_veto_and_is_neither_marked_nor_deleted(held: Held, scope: str) -> None:
    ids, others = held.add(new(0)), held.add(new(1), session="session-2", folder=held.other)
    held.domain.mark([*ids, *others], NOW, "user")
    target = {ITEM: ids[0], SESSION: "session-1", PROJECT: held.key(held.shop)}[scope]
    held.domain.add_hold(Hold("h1", scope, target, "user", "audit", NOW, NOW + 5))
    assert {resource.id: resource.vetoes for resource in held.domain.resources(NOW)} == {ids[0]: ("on_hold",), others[0]: ()}
    later = held.add(new(2), session="session-1")
    assert held.domain.mark(later, NOW, "user") == ([] if scope != ITEM else later)
    assert held.domain.delete([*ids, *others], NOW) == others
    assert held.domain.delete(ids, NOW + 5) == ids, "the hold is over"


def test_a_context_whose_folder_nobody_knows_is_of_no_project(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    (known,) = held.add(new(1))
    (unknown,) = held.add(new(2), session="session-2")
    held.db.execute("UPDATE chains SET project = '' WHERE task_id = 'session-2'")
    monkeypatch.chdir(held.shop)
    assert held.ids(project=held.key(held.shop)) == [known]
    assert set(held.ids()) == {known, unknown}
    assert held.domain.matching_ids(unknown, held.key(held.shop)) == []


def test_only_what_is_marked_is_deleted(held: Held) -> None:
    ids = held.add(new(0), new(1))
    assert held.domain.mark(ids[:1], NOW, "tool") == ids[:1]
    assert held.domain.marked() == {ids[0]: Mark(ids[0], NOW, "tool")}
    assert held.domain.delete(ids, NOW) == ids[:1]
    assert held.ids() == ids[1:]
    assert held.domain.delete(ids, NOW) == []


def test_a_person_is_told_what_it_is_without_secrets(held: Held) -> None:
    (id,) = held.add(new(0, label="Bash curl -H 'Authorization: Bearer abcdefghij1234567890'"))
    description = held.domain.describe([id, "unknown"])[id]
    assert "abcdefghij1234567890" not in description.label
    assert (description.project, description.session, description.bytes) == (held.key(held.shop), "session-1", len(new(0).content))
    assert description.stage == "Archived on 2026-11-21, kept unchanged"


@pytest.mark.parametrize(("chars", "is_found"), [(3, False), (4, True), (8, True)])
def test_a_handle_is_meant_by_four_letters_of_it(held: Held, chars: int, is_found: bool) -> None:
    (id,) = held.add(new(0))
    assert held.domain.matching_ids(id[:chars]) == ([id] if is_found else [])
    assert held.domain.matching_ids("") == held.domain.matching_ids("%" * 8) == held.domain.matching_ids("a\0\ud800") == []


def test_placeholders_are_found_in_every_transcript(held: Held) -> None:
    ids = held.add(new(0), new(1))
    folder = held.folder / "claude" / "projects" / "-shop"
    folder.mkdir(parents=True)
    for name in ("one", "two"):
        block = {"type": "tool_result", "tool_use_id": "t", "content": f"[PopKit cleared x (y). To see it: popkit restore {ids[0]}]"}
        (folder / f"{name}.jsonl").write_text(json.dumps({"type": "user", "message": {"role": "user", "content": [block]}}) + "\n")
    assert held.domain.placeholders(ids) == {ids[0]: [str(folder / "one.jsonl"), str(folder / "two.jsonl")]}


CONTENTS = [
    '"text"',
    json.dumps("größe 数 🙂", ensure_ascii=False),
    '"lone \ud800 one"',
    "no JSON at all \x00\x01",
    "",
    '"' + "x" * 200_000 + '"',
]


def test_an_archived_content_comes_back_byte_for_byte_from_its_json(held: Held) -> None:
    ids = held.add(*(new(number, content=text, subjects=["/a b", "c\ud800"], type="run") for number, text in enumerate(CONTENTS)))
    before = [archive.record(held.db, id).to_json() for id in ids]
    kept = [
        Content(content.id, content.data, json.loads(json.dumps(content.about)))
        for content in held.domain.contents([*ids, "unknown", "\ud800"])
    ]
    assert [content.data for content in kept] == list(map(to_bytes, CONTENTS))
    held.domain.mark(ids, NOW, "user")
    assert held.domain.delete(ids, NOW) == ids
    assert held.domain.put_back(kept, NOW + 1) == ids
    assert held.domain.put_back(kept, NOW + 2) == []
    assert [content.data for content in held.domain.contents(ids)] == list(map(to_bytes, CONTENTS))
    same = [name for name in before[0] if name not in ("created_at", "place", "zone")]
    after = [archive.record(held.db, id).to_json() for id in ids]
    assert [{name: each[name] for name in same} for each in after] == [{name: each[name] for name in same} for each in before]
    assert {resource.created_at for resource in held.domain.resources(NOW)} == {NOW + 1}, "its age counts from its return"
    assert verify(held.db).broken == []


@pytest.mark.parametrize(
    "about", [{}, {"task_id": 7}, {"label": None}, {"subjects": None}, {"subjects": [7]}, {"tokens": "many"}, {"timestamp": []}]
)
def test_what_does_not_tell_where_it_belongs_is_refused(held: Held, about: dict) -> None:
    (id,) = held.add(new(0))
    (content,) = held.domain.contents([id])
    held.domain.mark([id], NOW, "user")
    held.domain.delete([id], NOW)
    corrupt = replace(content, about={**content.about, **about} if about else {})
    with pytest.raises(DomainUnavailable, match="cannot be restored"):
        held.domain.put_back([corrupt], NOW)
    with pytest.raises(DomainUnavailable, match=r"is not the handle|not text"):
        held.domain.put_back([replace(content, data=b"\xff")], NOW)
    assert held.ids() == []


def test_a_damaged_content_stops_no_other(held: Held) -> None:
    ids = held.add(new(0), new(1))
    tamper(held.db, ids[0], "content", '"other"')
    assert [content.id for content in held.domain.contents(ids)] == ids[1:]
    assert held.ids() == ids


@pytest.mark.parametrize("kind", ["damaged", "folder", "newer"])
def test_an_archive_that_cannot_be_used_is_an_error_that_names_it(held: Held, kind: str) -> None:
    path = Path(held.path)
    path.parent.mkdir()
    if kind == "damaged":
        path.write_bytes(b"no database " * 500)
    elif kind == "folder":
        path.mkdir()
    else:
        held.add(new(0))
        held.db.execute("PRAGMA user_version = 99")
    for asked in (held.ids, lambda: held.domain.delete(["a"], NOW), lambda: held.domain.put_back([], NOW)):
        with pytest.raises(DomainUnavailable, match=r"the archive cannot be used: /.*archive\.sqlite"):
            asked()


@pytest.mark.bench
def test_100_000_resources_take_well_under_a_second_of_the_processor(held: Held) -> None:
    for number in range(100):
        held.add(*(new(each, content=json.dumps("x" * 1_000)) for each in range(1_000)), session=f"s{number}", at=NOW - 90 * DAY)
    taken = []
    for project in (None, held.key(held.shop)):
        began = time.process_time()
        assert apply_rules(DEFAULT_POLICY, held.domain.resources(NOW, project), NOW).left_out == 95_000
        taken.append(time.process_time() - began)
    print(f"{taken[0]:.2f} s, of one project {taken[1]:.2f} s")
    assert min(taken) < 1.0
