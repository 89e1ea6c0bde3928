"""What of a memory a prompt is about."""

from __future__ import annotations

from popkit_retention.memory.prompting import similarities

from .remembering import Remembering, lesson, wrote

TEXTS = {"a": "src/cart/totals.ts", "b": "src/login/token.ts", "c": "src/cart/coupon.ts", "d": "README.md"}


def test_the_episode_that_spoke_of_the_same_comes_first():
    found = similarities("fix the rounding of cart totals", {"s1": ["a", "c"], "s2": ["b", "d"]}, TEXTS)
    assert found == {"a": 1.0, "c": 1.0}


def test_an_item_is_as_similar_as_the_best_of_its_episodes():
    found = similarities("cart totals", {"s1": ["a", "d"], "s2": ["c", "d"]}, TEXTS)
    assert found["d"] == found["a"] == 1.0 > found["c"] > 0


def test_nothing_is_similar_to_nothing():
    assert similarities("", {"s1": ["a"]}, TEXTS) == {}
    assert similarities("cart", {}, TEXTS) == {}
    assert similarities("penguins", {"s1": ["a"]}, TEXTS) == {}


def test_a_prompt_brings_what_its_sessions_wrote_into_the_document(remembering: Remembering):
    for number in range(12):
        remembering.memory.learn(lesson(f"s{number}", *(wrote(f"src/part_{number:02}/file_{file}.ts", 3) for file in range(4))))
    assert "part_03" not in remembering.memory.document(100).text
    assert "part_03" in remembering.memory.document(100, "Change file 2 of part_03, please").text


def test_two_machines_that_learn_the_same_at_once_lose_nothing(remembering: Remembering):
    write, first = remembering.store.write, [lesson("s2", wrote("src/cart.ts", 2))]

    def raced(batch):
        if first:
            remembering.store.write = write
            other = Remembering(remembering.store)
            other.memory.learn(first.pop())
        write(batch)

    remembering.store.write = raced
    remembering.memory.learn(lesson("s1", wrote("src/cart.ts", 3)))
    (item,) = remembering.memory.list()
    assert (item.writes, item.sessions) == (5, 2)
