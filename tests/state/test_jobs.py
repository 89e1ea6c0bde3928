"""At a session's end the collection of retention policies is started, where one wants it, and nobody waits for it."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention.core.io.home import GOVERNANCE
from popkit_retention.core.state import collection, marked
from popkit_retention.governance.controller import Controller
from popkit_retention.memory.items import Item
from popkit_retention.memory.stores.sqlite import SqliteStore
from tests.hooks import payloads
from tests.hooks.processes import run_event
from tests.hooks.remembering import Blocking, Remembering
from tests.patience import until

NOW = 1_800_000_000.0
COLLECTS = ["retention", "gc", "--auto", "--quiet"]


@pytest.fixture
def ending(tmp_path: Path, blocking_hooks: Path) -> Blocking:
    """Hooks of a session that was tracked, in a project without memory."""
    shop = Remembering(tmp_path)
    shop.begin()
    blocking = Blocking(shop, tmp_path, blocking_hooks)
    blocking.env["POPKIT_CLOCK"] = str(NOW)
    return blocking


def policies(ending: Blocking, content: str | None = None, **auto_gc: bool) -> Path:
    folder = Path(ending.shop.home.path) / GOVERNANCE
    folder.mkdir(parents=True, exist_ok=True)
    each = {name: {"older_than_days": 30, "auto_gc": auto_gc.get(name, False)} for name in ("memory", "rag")}
    text = json.dumps({"version": 2, "revision": 1, "updated_at": "", **each}, indent=2)
    (folder / collection.POLICIES).write_text(text if content is None else content)
    return folder


def ends(ending: Blocking) -> None:
    assert ending.run("session-end", payloads.session_end()).silent


def starts_nothing(ending: Blocking) -> None:
    """A session's end starts no child: one that a later end starts has told of itself, and none before."""
    earlier = ending.report.with_name("earlier")
    ending.env["REPORT"] = str(earlier)
    ends(ending)
    ending.env["REPORT"] = str(ending.report)
    (Path(ending.shop.home.path) / GOVERNANCE / collection.NOTE).unlink(missing_ok=True)
    policies(ending, rag=True)
    ends(ending)
    assert ending.child()[3:] == COLLECTS
    ending.let_go()
    assert not earlier.exists()


@pytest.mark.parametrize("domain", ["memory", "rag"])
def test_a_sessions_end_starts_it_where_a_policy_wants_it(ending: Blocking, domain: str):
    policies(ending, **{domain: True})
    ends(ending)
    pid, group, session, *words = ending.child()
    assert group == session == pid
    assert words == COLLECTS
    ending.let_go()


def test_nobody_starts_it_where_no_policy_wants_it(ending: Blocking):
    policies(ending)
    starts_nothing(ending)


def test_nobody_starts_it_where_there_are_no_policies(ending: Blocking):
    starts_nothing(ending)
    assert ending.shop.home.failures() == []


def test_nobody_starts_it_twice_an_hour(ending: Blocking):
    (policies(ending, rag=True) / collection.NOTE).write_text(collection.collection_note(NOW - 3599))
    starts_nothing(ending)


@pytest.mark.parametrize(
    "note", [collection.collection_note(NOW - 3600), collection.collection_note(NOW + 9), "", "{", "[]", '{"at": "now"}']
)
def test_it_starts_when_an_hour_has_passed_and_when_nobody_knows(ending: Blocking, note: str):
    (policies(ending, rag=True) / collection.NOTE).write_text(note)
    ends(ending)
    assert ending.child()[3:] == COLLECTS
    ending.let_go()


def test_where_a_child_learns_it_collects_too(ending: Blocking):
    (Path(ending.shop.home.path) / GOVERNANCE / collection.POLICIES).mkdir(parents=True)
    ending.shop.remember()
    ends(ending)
    assert ending.shop.home.failures() == [], "no other child is thought of, for which the policies would be read"
    assert ending.child()[3:] == ["memory", "admin", "learn", str(ending.shop.transcript), "--if-on", "--quiet"]
    ending.let_go()
    assert not ending.report.with_name("report.tmp").exists()


def test_where_nothing_is_learnt_it_is_started_by_itself(ending: Blocking):
    policies(ending, memory=True)
    ending.shop.remember()
    ending.shop.transcript.unlink()
    ends(ending)
    assert ending.child()[3:] == COLLECTS
    ending.let_go()


@pytest.mark.parametrize("content", ["{", "[]", "null", '{"rag": 5}', '{"rag": {"auto_gc": "true"}}', "\xff" * 99, "[" * 99_999, ""])
def test_policies_that_cannot_be_read_start_nothing_and_fail_no_hook(ending: Blocking, content: str):
    policies(ending, content)
    starts_nothing(ending)


def test_a_folder_in_the_place_of_the_policies_is_logged(ending: Blocking):
    (Path(ending.shop.home.path) / GOVERNANCE / collection.POLICIES).mkdir(parents=True)
    ends(ending)
    assert [line.split()[1] for line in ending.shop.home.failures()] == ["retention"]


@pytest.mark.parametrize("remembers", [False, True])
def test_from_a_sessions_end_to_the_mark(tmp_path: Path, remembers: bool):
    """With the real command, started by itself or as the child that learns."""
    shop = Remembering(tmp_path)
    shop.begin()
    if remembers:
        shop.remember()
    old = dict.fromkeys(("created_at", "last_accessed", "tier_since"), NOW - 60 * 86_400)
    with closing(SqliteStore(str(shop.home.path / "memory.sqlite"))) as store:
        store.add([Item("m1", "the port is 8080", shop.project.repository.key, **old)])
        with Controller({"POPKIT_HOME": str(shop.home.path)}, now=lambda: NOW) as controller:
            controller.configure("memory", {"auto_gc": True})
        payload = payloads.session_end(cwd=str(shop.work), transcript_path=str(shop.transcript))
        assert run_event(payload, {**shop.env(), "POPKIT_CLOCK": str(NOW)}).in_words
        until(lambda: marked.marked_of(str(shop.home.path), shop.project.repository.key), "the user is told of a mark")
        ((part, row),) = marked.marked_of(str(shop.home.path), shop.project.repository.key)
        assert (part, row["by"], row["ids"], row["first"]) == ("memory", "job", ["m1"], NOW + 86_400)
        assert [item.marked_by for item in store.scan()] == ["policy"]
    assert shop.home.failures() == []
