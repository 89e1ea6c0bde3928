"""What sessions taught, merged."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from popkit_retention.memory.items import CODE, COMMAND, HOT, NOTE, PROSE, SESSION, USER, WARM, id_of
from popkit_retention.memory.stores import Change
from popkit_retention.memory.stores.reference import InMemoryStore

from .remembering import DAY, HOUR, NOW, PROJECT, Remembering, lesson, wrote

CART = id_of(PROJECT, "path", "src/cart.ts")
BUILD = id_of(PROJECT, COMMAND, "npm run build")


def test_what_a_session_wrote_becomes_items(remembering: Remembering):
    learnt = remembering.memory.learn(
        lesson("s1", wrote("src/cart.ts", 3), wrote("npm run build", kind=COMMAND), wrote("Use tabs.", kind=NOTE))
    )
    assert (learnt.added, learnt.strengthened, learnt.used, learnt.number) == (3, 0, 0, 1)
    cart = remembering.item(CART)
    assert (cart.text, cart.profile, cart.source, cart.writes, cart.sessions, cart.session) == ("src/cart.ts", CODE, SESSION, 3, 1, 1)
    assert (cart.created_at, cart.last_accessed, cart.access_count, cart.reinforcements) == (NOW, NOW, 0, 0)
    note = remembering.item(id_of(PROJECT, NOTE, "Use tabs."))
    assert (note.profile, note.source, note.confidence) == (PROSE, USER, 1.0)


def test_the_newest_of_a_session_begin_hot_and_the_rest_warm(remembering: Remembering):
    many = [wrote(f"src/file_{number:02}.ts", at=NOW - number * 60) for number in range(14)]
    remembering.memory.learn(lesson("s1", *many))
    assert [item.text for item in remembering.memory.list(tiers=[WARM], most=None)] == [
        f"src/file_{number}.ts" for number in (10, 11, 12, 13)
    ]
    assert len(remembering.memory.list(tiers=[HOT])) == 10


def test_a_later_session_that_writes_it_again_strengthens_it(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote("src/cart.ts", 2)))
    learnt = remembering.after(DAY).learn(lesson("s2", wrote("src/cart.ts", 5), at=NOW + DAY))
    assert (learnt.added, learnt.strengthened, learnt.used, learnt.number) == (0, 1, 0, 2)
    cart = remembering.item(CART)
    assert (cart.writes, cart.sessions, cart.reinforcements, cart.access_count, cart.session) == (7, 2, 1, 1, 2)
    assert cart.last_accessed == NOW + DAY


def test_what_could_only_be_known_from_memory_is_counted_as_used(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote("npm run build", kind=COMMAND)))
    learnt = remembering.memory.learn(
        lesson("s2", wrote("npm run build", kind=COMMAND), wrote("src/new.ts"), unaided=("npm run build", "src/new.ts"))
    )
    assert learnt.used == 1
    assert remembering.memory.status()["used"] == 1


def test_a_session_taught_twice_counts_once(remembering: Remembering):
    first = lesson("s1", wrote("src/cart.ts", 2), wrote("npm run build", kind=COMMAND))
    remembering.memory.learn(first)
    before = [remembering.item(id) for id in (CART, BUILD)]
    assert remembering.memory.learn(first).added == 0
    assert [remembering.item(id) for id in (CART, BUILD)] == before
    remembering.memory.learn(lesson("s1", wrote("src/cart.ts", 5)))
    cart, build = (remembering.item(id) for id in (CART, BUILD))
    assert (cart.writes, cart.sessions, cart.reinforcements) == (5, 1, 0)
    assert (build.writes, build.sessions) == (0, 0)


def test_what_the_user_has_forgotten_is_not_learnt_again(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote("src/cart.ts")))
    remembering.memory.forget([CART])
    remembering.after(25 * HOUR).run()
    assert remembering.store.get([CART]) == []
    assert remembering.memory.learn(lesson("s2", wrote("src/cart.ts"))).added == 0
    assert remembering.store.get([CART]) == []


def test_what_the_user_has_taken_back_is_learnt_on(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote("src/cart.ts")))
    remembering.memory.forget([CART])
    remembering.memory.undo()
    remembering.memory.learn(lesson("s2", wrote("src/cart.ts")))
    assert remembering.item(CART).sessions == 2


def test_what_the_job_has_marked_stays_when_it_is_of_use_again(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote("src/cart.ts")))
    remembering.store.change([Change(CART, {"marked_at": NOW, "marked_by": "job"})])
    remembering.memory.learn(lesson("s2", wrote("src/cart.ts")))
    assert remembering.item(CART).marked_at is None


def test_projects_are_kept_apart(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote("src/cart.ts")))
    other = Remembering(remembering.store, "other-project")
    other.memory.learn(lesson("s9", wrote("src/cart.ts"), project="other-project"))
    assert [item.sessions for item in (*remembering.memory.list(), *other.memory.list())] == [1, 1]
    assert other.memory.learn(lesson("s10", wrote("a.ts"), project="other-project")).number == 2


texts = st.sampled_from(["src/a.ts", "src/b.ts", "src/c.ts", "src/d.ts"])
sessions = st.lists(st.dictionaries(texts, st.integers(1, 9), max_size=4), min_size=1, max_size=5)


@given(sessions, st.randoms(use_true_random=False))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_counts_are_the_same_in_whatever_order_and_however_often_sessions_are_taught(taught: list[dict[str, int]], random):
    lessons = [lesson(f"s{number}", *(wrote(text, writes) for text, writes in each.items())) for number, each in enumerate(taught)]
    shuffled = [*lessons, *lessons[:2]]
    random.shuffle(shuffled)
    counts = []
    for order in (lessons, shuffled):
        kept = Remembering(InMemoryStore())
        for each in order:
            kept.memory.learn(each)
        counts.append({item.text: (item.writes, item.sessions) for item in kept.memory.list(most=None)})
    assert counts[0] == counts[1]


def test_what_was_merely_written_is_an_access_of_what_is_known_and_nothing_new(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote("countTheCoins", kind="name")))
    again = replace(lesson("s2", at=NOW + DAY), written=(("name", "countTheCoins"), ("name", "somethingElse")), unaided=("countTheCoins",))
    remembering.after(DAY)
    for _ in range(2):
        assert remembering.memory.learn(again).used == 1
    (item,) = remembering.memory.list()
    assert (item.sessions, item.writes, item.access_count) == (1, 1, 1)


def test_what_a_session_found_to_be_gone_is_told_no_more_until_a_session_shows_it_again(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote("src/cart.ts", opened=True)))
    remembering.memory.learn(replace(lesson("s2"), gone=(("path", "src/cart.ts"), ("path", "src/never.ts"))))
    assert remembering.memory.document(500).text == ""
    remembering.memory.learn(lesson("s3", wrote("src/cart.ts", opened=True)))
    assert "cart.ts" in remembering.memory.document(500).text
