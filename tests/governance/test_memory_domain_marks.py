"""The marks that a policy sets on memories, and the deletions that follow."""

from __future__ import annotations

from pathlib import Path

from popkit_retention.memory import exchange
from popkit_retention.memory.folder import Folder
from popkit_retention.memory.items import ARCHIVE
from tests.governance.governed_memory import OLD, Governed
from tests.memory.remembering import DAY, NOW, lesson, wrote


def test_a_policy_marks_in_its_own_name_and_knows_who_let_it(governed: Governed) -> None:
    for id in ("m1", "m2", "mine"):
        governed.old(id)
    governed.memory.forget(["mine"])
    assert governed.domain.mark(["m1", "mine", "none"], NOW, "job") == ["m1"]
    assert governed.domain.mark(["m2", "m1"], NOW + 5, "user") == ["m2"]
    assert {id: (mark.at, mark.by) for id, mark in governed.domain.marked().items()} == {"m1": (NOW, "job"), "m2": (NOW + 5, "user")}
    assert governed.item("m1").marked_by == "policy"
    assert governed.store.logged("m1", 1)[0]["reasons"] == ["its retention policy releases it"]
    assert governed.memory.search("text of m1") == []


def test_a_mark_is_taken_back_by_governance_and_by_the_user(governed: Governed) -> None:
    for id in ("m1", "m2", "mine"):
        governed.old(id)
    governed.domain.mark(["m1", "m2"], NOW, "job")
    governed.memory.forget(["mine"])
    assert governed.domain.unmark(["m1", "mine", "none"]) == ["m1"]
    governed.memory.undo(["m2"])
    assert governed.domain.marked() == {}
    assert governed.item("mine").marked_by == "user"
    assert governed.domain.unmark(["m1", "m2"]) == []


def test_only_what_a_policy_has_marked_is_deleted_and_only_by_it(governed: Governed) -> None:
    for id in ("m1", "mine", "free"):
        governed.old(id)
    governed.memory.forget(["mine"])
    governed.domain.mark(["m1"], NOW, "user")
    governed.after(2 * DAY).run()
    assert [item.id for item in governed.store.scan(marked=True)] == ["m1"]
    assert governed.domain.delete(["m1", "mine", "free", "none"], governed.now) == ["m1"]
    assert governed.domain.delete(["m1"], governed.now) == []
    assert governed.store.get(["m1"]) == []
    assert governed.store.value("governed") is None


def test_what_a_policy_deleted_leaves_the_backups_and_may_be_learnt_again(governed: Governed) -> None:
    governed.memory.learn(lesson("s1", wrote("src/cart.py", at=OLD), at=OLD))
    (item,) = governed.store.scan()
    folder = Folder(str(governed.home)).backups
    while governed.item(item.id).tier != ARCHIVE:
        governed.memory.promote([item.id])
    path = exchange.back_up(governed.store, folder, NOW)
    assert path is not None
    assert item.id in Path(path).read_text()
    governed.memory.demote([item.id])
    governed.domain.mark([item.id], NOW, "user")
    assert governed.domain.delete([item.id], NOW + DAY) == [item.id]
    assert item.id not in Path(path).read_text()
    governed.memory.learn(lesson("s2", wrote("src/cart.py")))
    assert governed.item(item.id).marked_at is None


def test_originals_go_with_their_items(governed: Governed) -> None:
    governed.old("m1")
    governed.store.keep_original("m1", "whole")
    governed.domain.mark(["m1"], NOW, "user")
    governed.domain.delete(["m1"], NOW + DAY)
    assert governed.store.original("m1") is None
    assert governed.store.verify() == []
