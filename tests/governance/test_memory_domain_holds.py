"""Holds on memories."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.governance.domains import Content
from popkit_retention.governance.domains.rules import apply_rules
from popkit_retention.governance.policies import DEFAULT_POLICY
from popkit_retention.memory import holds
from popkit_retention.memory.holds import ItemOnHold
from popkit_retention.memory.items import COLD
from popkit_retention.memory.stores.in_memory import InMemoryStore
from popkit_retention.memory.stores.protocol import Batch, Store
from popkit_retention.memory.stores.sqlite import SqliteStore
from tests.examples import examples
from tests.governance.governed_memory import Governed, hold
from tests.memory.remembering import DAY, HOUR, NOW, PROJECT, lesson, wrote
from tests.memory.test_job import LONG


def test_holds_come_back_as_they_were_made_and_end_once(governed: Governed) -> None:
    added = [hold("item", "m1"), hold("session", "s1", "h2", NOW + DAY), hold("project", PROJECT, "h3")]
    for added_hold in [*added, hold("item", "another", "h1")]:
        governed.domain.add_hold(added_hold)
    assert governed.domain.holds() == added
    assert [governed.domain.release_hold(id, NOW + 5) for id in ("h1", "h1", "none")] == [True, False, False]
    assert governed.domain.release_hold("h2", NOW + 2 * DAY) is False
    assert governed.domain.holds() == [added[0].released(NOW + 5), *added[1:]]


@pytest.mark.parametrize(("scope", "target"), [("item", "m1"), ("session", "s1"), ("project", PROJECT)])
def test_nothing_marks_or_deletes_what_is_on_hold(governed: Governed, scope: str, target: str) -> None:
    governed.old("m1", episode="s1")
    governed.old("m2", episode="s1")
    governed.domain.mark(["m2"], NOW, "user")
    governed.domain.add_hold(hold(scope, target))
    governed.domain.add_hold(hold("item", "m2", "h2"))
    assert governed.domain.mark(["m1"], NOW, "user") == []
    assert governed.domain.delete(["m2"], NOW + 2 * DAY) == []
    with pytest.raises(ItemOnHold):
        governed.memory.forget(["m1"])
    for id in ("h1", "h2"):
        governed.domain.release_hold(id, NOW)
    assert governed.domain.mark(["m1"], NOW, "user") == ["m1"]
    assert governed.domain.delete(["m1", "m2"], NOW + DAY) == ["m1", "m2"]


def test_a_hold_keeps_what_comes_to_its_session_or_project_later(governed: Governed) -> None:
    governed.domain.add_hold(hold("session", "s1"))
    governed.domain.add_hold(hold("project", "other", "h2"))
    governed.memory.learn(lesson("s1", wrote("src/cart.py")))
    governed.old("m1", project="other")
    assert [resource.vetoes for resource in governed.domain.resources(NOW)] == [("on_hold",)] * 2


@pytest.mark.parametrize("word", ["undo", "pin"])
def test_what_is_brought_back_while_a_collection_is_at_work_stays(governed: Governed, word: str) -> None:
    for id in ("m1", "m2"):
        governed.old(id)
    governed.domain.mark(["m1", "m2"], NOW, "user")
    write = governed.store.write

    def write_late(batch: Batch) -> None:
        governed.store.write = write  # type: ignore[method-assign]
        getattr(governed.memory, word)(["m1"])
        write(batch)

    governed.store.write = write_late  # type: ignore[method-assign]
    assert governed.domain.delete(["m1", "m2"], NOW + DAY) == ["m2"]
    assert governed.item("m1").marked_at is None


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("job"), st.sampled_from([0.0, HOUR, DAY, 40 * DAY])),
        st.tuples(
            st.sampled_from(["collect", "forget", "forget by a tool", "undo", "pin", "hold", "release", "learn", "put back"]),
            st.integers(0, 5),
        ),
    ),
    max_size=25,
)


@pytest.mark.parametrize("kind", ["in memory", "sqlite"])
@settings(max_examples=examples(25, 1_000), deadline=None)
@given(steps=STEPS)
def test_nothing_that_is_on_hold_ever_goes(tmp_path_factory: pytest.TempPathFactory, kind: str, steps: list) -> None:
    """Whatever the job, the user, tools and collections do, in whatever order."""
    home = tmp_path_factory.mktemp("law")
    store: Store = InMemoryStore() if kind == "in memory" else SqliteStore(str(home / "memory.sqlite"))
    governed = Governed(store).of(home)
    for number in range(6):
        governed.old(f"m{number}", tier=COLD, profile="code", episode=f"s{number % 3}", text=LONG)
    archived = list(governed.domain.contents([f"m{number}" for number in range(6)]))
    for number, (step, which) in enumerate(steps):
        before = {item.id: item for item in store.scan()}
        on = holds.read(store, governed.now)
        held = {id for id, item in before.items() if on.on(item)}
        _take(governed, step, which, number, archived)
        if step in ("job", "hold", "release"):  # time has passed, or another hold holds
            on = holds.read(store, governed.now)
            held &= {id for id, item in before.items() if on.on(item)}
        after = {item.id: item for item in store.scan()}
        assert held <= set(after)
        assert all(after[id].marked_at in (before[id].marked_at, None) and after[id].text == before[id].text for id in held)
    assert store.verify() == []
    store.close()


def _take(governed: Governed, step: str, which: int, number: int, archived: list[Content]) -> None:
    domain, id = governed.domain, f"m{which}"
    if step == "job":
        governed.after(which).run(force=True)
    elif step == "collect":
        _collect(governed)
    elif step == "hold":
        scope, target = (("item", id), ("session", f"s{which % 3}"), ("project", PROJECT))[number % 3]
        domain.add_hold(hold(scope, target, f"h{which}", governed.now + DAY if which % 2 else None))
    elif step == "release":
        domain.release_hold(f"h{which}", governed.now)
    elif step == "learn":
        governed.memory.learn(lesson(f"s{which % 3}", wrote("src/cart.py"), at=governed.now))
    elif step == "put back":
        domain.put_back([archived[which]], governed.now)
    else:
        try:
            if step == "forget by a tool":
                governed.memory.forget([id], "tool")
            else:
                getattr(governed.memory, step)([id])
        except (ItemOnHold, LookupError):
            pass


def _collect(governed: Governed) -> None:
    """As bluntly as a collection could be: what is eligible or marked is marked and deleted at once."""
    due = apply_rules(replace(DEFAULT_POLICY, older_than_days=1), governed.domain.resources(governed.now), governed.now)
    everything = [verdict.id for verdict in (*due.eligible, *due.protected)]
    governed.domain.mark(everything, governed.now, "job")
    governed.domain.delete(everything, governed.now)
