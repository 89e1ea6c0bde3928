"""What is on hold stays as it is, whatever the job, forget and the backups want."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.memory import holds
from popkit_retention.memory.exchange import Folder
from popkit_retention.memory.holds import OnHold
from popkit_retention.memory.items import ARCHIVE, COLD, FULL
from popkit_retention.memory.stores import Batch, Change
from popkit_retention.memory.stores.reference import InMemoryStore
from tests.examples import examples

from .remembering import DAY, HOUR, NOW, PROJECT, Remembering, lesson, wrote
from .test_job import LONG, old

SCOPES = {"item": "dead", "session": "s1", "project": PROJECT}


def hold(scope: str = "item", target: str = "", **fields: Any) -> dict[str, object]:
    made = {"id": "h1", "scope": scope, "target": target or SCOPES[scope], "who": "alice", "why": "audit", "created_at": NOW, "until": None}
    return {**made, "released_at": None, **fields}


def worthless(remembering: Remembering, **fields: Any) -> None:
    """An item that the job marks, and a day later deletes."""
    remembering.keep("dead", **{"tier": COLD, "profile": "code", "text": "x" * 60, "episode": "s1", **old(31), **fields})


@pytest.mark.parametrize("scope", SCOPES)
def test_the_job_marks_nothing_that_is_on_hold(remembering: Remembering, scope: str):
    worthless(remembering)
    remembering.store.set_value(holds.KEY, [hold(scope)])
    assert remembering.memory.run().marked == 0
    assert remembering.item("dead").marked_at is None
    remembering.store.set_value(holds.KEY, [hold(scope, released_at=NOW)])
    assert remembering.memory.run(force=True).marked == 1


@pytest.mark.parametrize("scope", SCOPES)
def test_what_was_marked_before_is_deleted_when_the_hold_is_over(remembering: Remembering, scope: str):
    worthless(remembering, marked_at=NOW, marked_by="user")
    remembering.store.set_value(holds.KEY, [hold(scope, until=NOW + 3 * DAY)])
    assert remembering.after(2 * DAY).run().deleted == 0
    assert remembering.item("dead").marked_at == NOW
    assert remembering.after(DAY).run().deleted == 1


def test_what_is_on_hold_moves_but_is_not_compressed(remembering: Remembering):
    for number in range(10):
        remembering.keep(f"n{number}", profile="code", kind="path")
    remembering.keep("long", text=LONG, tier=COLD, uniqueness=0.2, **old(60))
    remembering.keep("other", text=LONG, tier=COLD, uniqueness=0.2, **old(60))
    remembering.keep("warm", text=LONG, uniqueness=0.6, **old(9))
    remembering.store.set_value(holds.KEY, [hold(target="long"), hold(target="warm")])
    remembering.memory.run()
    assert [remembering.item(id).level == FULL for id in ("long", "warm", "other")] == [True, True, False]
    assert remembering.item("warm").tier == COLD


def test_whatever_a_held_session_taught_is_held_whoever_taught_it_first(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote("src/cart.py")))
    remembering.memory.learn(lesson("s2", wrote("src/cart.py"), wrote("src/mail.py")))
    (cart,), (mail,) = ([item.id for item in remembering.store.scan() if item.text == text] for text in ("src/cart.py", "src/mail.py"))
    remembering.store.set_value(holds.KEY, [hold("session", "s2")])
    for id in (cart, mail):
        with pytest.raises(OnHold):
            remembering.memory.forget([id])


def test_forgetting_says_which_hold_stands_in_the_way_and_changes_nothing(remembering: Remembering):
    remembering.keep("m3fa")
    remembering.keep("m4fa")
    remembering.store.set_value(holds.KEY, [hold(target="m3fa", until=1_798_761_600.0 + 365 * DAY)])
    with pytest.raises(OnHold) as refused:
        remembering.memory.forget(["m4fa", "m3fa"])
    said = "m3fa is on hold (alice: audit, until 2028-01-01). Release it first: popkit retention hold release h1"
    assert str(refused.value) == said
    assert [item.marked_at for item in remembering.store.scan()] == [None, None]
    assert remembering.store.values("forgotten:") == {}


def test_a_hold_that_is_made_while_the_job_is_at_work_counts(remembering: Remembering):
    worthless(remembering)
    worthless_too = {"tier": COLD, "profile": "code", "text": "y" * 60, **old(31)}
    remembering.keep("other", **worthless_too)
    _meanwhile(remembering, lambda: remembering.store.set_value(holds.KEY, [hold()]))
    report = remembering.memory.run()
    assert report is not None
    assert report.marked == 1
    assert [remembering.item(id).marked_by for id in ("dead", "other")] == ["", "job"]
    assert [entry["id"] for entry in remembering.store.logged() if entry["action"] == "marked"] == ["other"]


def test_backups_keep_their_copy_of_what_is_on_hold(tmp_path: Path):
    kept = Remembering(InMemoryStore())
    kept.memory.folder = Folder(str(tmp_path))
    for id in ("mine", "other"):
        kept.keep(id, tier=ARCHIVE, key=True)
    kept.memory.run()
    kept.memory.forget(["mine", "other"])
    kept.store.remove(["mine", "other"])
    kept.store.set_value(holds.KEY, [hold(target="mine")])
    kept.after(2 * HOUR).run()
    (path,) = Path(kept.memory.folder.backups).iterdir()
    assert ("mine" in path.read_text(), "other" in path.read_text()) == (True, False)


def test_the_job_leaves_what_a_policy_has_marked_to_governance(remembering: Remembering):
    worthless(remembering, marked_at=NOW - 9 * DAY, marked_by="policy")
    assert remembering.memory.run().deleted == 0
    remembering.memory.undo(["dead"])
    assert remembering.item("dead").marked_by == ""


def test_what_a_policy_has_marked_is_of_use_after_all_when_a_session_writes_it_again(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote("src/cart.py")))
    (item,) = remembering.store.scan()
    for by, kept in (("policy", True), ("job", True), ("tool", False), ("user", False)):
        remembering.store.write(Batch(change=[Change(item.id, {"marked_at": NOW, "marked_by": by})]))
        remembering.memory.learn(lesson("again-" + by, wrote("src/cart.py")))
        assert (remembering.item(item.id).marked_at is None) == kept


def test_a_tool_forgets_in_its_own_name(remembering: Remembering):
    for id in ("mine", "its"):
        remembering.keep(id)
    remembering.memory.forget(["its"], by="tool")
    remembering.after(1).forget(["mine"])
    remembering.after(1).forget(["its"], by="tool")
    assert [remembering.item(id).marked_by for id in ("mine", "its")] == ["user", "tool"]
    assert remembering.store.logged("its", 1)[0]["reasons"] == ["an agent's tool said so"]
    assert [item.id for item in remembering.memory.undo()] == ["mine"]
    assert [item.id for item in remembering.memory.undo(["its"])] == ["its"]
    assert set(remembering.store.value("forgotten:" + PROJECT)) == set()  # type: ignore[call-overload]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("run"), st.sampled_from([0.0, HOUR, DAY, 40 * DAY])),
        st.tuples(st.sampled_from(["forget", "forget by a tool", "undo", "hold", "release"]), st.integers(0, 5)),
    ),
    max_size=25,
)


@given(STEPS)
@settings(max_examples=examples(60, 2_000), deadline=None)
def test_nothing_that_is_on_hold_is_ever_marked_deleted_or_shortened(steps: list):
    kept = Remembering(InMemoryStore())
    for number in range(6):
        kept.keep(f"m{number}", tier=COLD, profile="code", text=LONG, episode=f"s{number % 2}", **old(31))
    held: dict[str, dict] = {}
    for step, which in steps:
        before = {item.id: item for item in kept.store.scan()}
        on = holds.read(kept.store, kept.now)
        if step == "run":
            kept.after(which).run(force=True)
        elif step == "hold":
            scope, target = (("item", f"m{which}"), ("session", f"s{which % 2}"))[which % 3 == 0]
            held[f"h{which}"] = hold(scope, target, id=f"h{which}", until=kept.now + DAY if which % 2 else None)
            kept.store.set_value(holds.KEY, list(held.values()))
        elif step == "release":
            held.pop(f"h{which}", None)
            kept.store.set_value(holds.KEY, list(held.values()))
        else:
            try:
                {"undo": kept.memory.undo}.get(step, kept.memory.forget)([f"m{which}"])
            except (OnHold, LookupError):
                pass
        if step in ("hold", "release"):
            continue
        still = {item.id: item for item in kept.store.scan()}
        on = holds.read(kept.store, kept.now) if step == "run" else on
        for id, item in before.items():
            if on.on(item):
                assert id in still
                assert (still[id].text, still[id].level) == (item.text, item.level)
                assert still[id].marked_at in (item.marked_at, None)


@pytest.mark.parametrize("word", ["undo", "pin"])
def test_what_is_brought_back_while_the_job_is_at_work_stays(remembering: Remembering, word: str):
    for id in ("mine", "other"):
        remembering.keep(id, marked_at=NOW - 2 * DAY, marked_by="user")
    _meanwhile(remembering, lambda: getattr(remembering.memory, word)(["mine"]))
    report = remembering.memory.run()
    assert report is not None
    assert report.deleted == 1
    assert [item.id for item in remembering.store.scan()] == ["mine"]
    assert remembering.item("mine").marked_at is None


def test_what_the_user_forgets_while_the_job_is_at_work_is_forgotten_in_his_name(remembering: Remembering):
    worthless(remembering)
    _meanwhile(remembering, lambda: remembering.memory.forget(["dead"]))
    report = remembering.memory.run()
    assert report is not None
    assert report.marked == 0
    assert remembering.item("dead").marked_by == "user"


def _meanwhile(remembering: Remembering, act: Callable[[], object]) -> None:
    """Something happens just before the next batch is written."""
    write = remembering.store.write

    def write_late(batch: Batch) -> None:
        remembering.store.write = write  # type: ignore[method-assign]
        act()
        write(batch)

    remembering.store.write = write_late  # type: ignore[method-assign]
