"""What stands for exchanges that have left: all of them, as far as there is room, and through what happens later."""

from __future__ import annotations

import pytest

from popkit_retention.context import apply_pruning, get_pruning_strategy
from tests.client.provider import faults
from tests.context.talking import UNBOUND, Talk, reading


def _with_requests(many: int, length: int = 60) -> Talk:
    """A conversation of words, of which only whole exchanges can leave."""
    talk = Talk(model=UNBOUND)
    for n in range(many):
        talk.ask(f"Do part {n}, please. " + f"As in section_{n}_of_the_plan. " * length)
        talk.build()
        talk.answer(f"I have changed handler_{n}_of_the_shop. " * length)
    return talk


def _requests_in(messages: list, many: int) -> list[int]:
    """Of which requests what is sent has a word."""
    text = str(messages)
    return [n for n in range(many) if f"Do part {n}, please." in text]


def test_what_leaves_within_a_turn_is_mentioned_with_the_next_request():
    talk = _with_requests(3)
    talk.ask("Do part 3, please.")
    most = talk.build().total_tokens * 3 // 4
    left = [len(talk.messages) - len(talk.build(max_tokens=most).messages)]
    for n in range(2):  # a turn goes on, and other exchanges leave in it
        talk.answer("", [reading(f"/p/new{n}.py", 20, 7)])
        left.append(len(talk.messages) - len(talk.build(max_tokens=most).messages))
    assert left == sorted(left)
    assert 0 < left[0] < left[-1], left
    talk.answer("I have done it.")
    talk.ask("And now?")
    last = talk.build(max_tokens=most)
    assert _requests_in(last.messages, 4) == [0, 1, 2, 3]
    assert faults(last.messages) == []


@pytest.mark.parametrize("share", [0.2, 0.4, 0.6, 0.8])
def test_a_limit_leaves_room_for_a_word_of_what_it_lets_go(share):
    talk = _with_requests(6, 600)
    talk.ask("And now?")
    talk.state = None
    most = int(talk.results[-1].full_tokens * share)
    result = talk.build(max_tokens=most)
    assert result.total_tokens <= most
    assert _requests_in(result.messages, 6) == list(range(6))


def test_of_what_does_not_fit_the_names_go_first_then_the_oldest_requests():
    talk = _with_requests(6)
    talk.ask("And now?")
    named = []
    for most in (3_000, 320, 200, 120, 60):
        talk.state = None
        result = talk.build(100.0, max_tokens=most)
        assert result.total_tokens <= most
        named.append((_requests_in(result.messages, 6), "handler_0" in str(result.messages)))
    whole, *fewer = named
    assert whole == (list(range(6)), True)
    for requests, names in fewer:
        assert requests == list(range(6))[6 - len(requests) :], "the newest stay"
        assert not names
    assert [len(requests) for requests, _ in named] == sorted([len(requests) for requests, _ in named], reverse=True)


def test_pruning_keeps_what_replaces_exchanges_that_had_left_before():
    talk = _with_requests(5)
    talk.ask("And now?")
    talk.state = None
    built = talk.build(max_tokens=talk.results[-1].full_tokens // 2)
    assert len(built.messages) < len(talk.messages)
    pruned = apply_pruning(built, get_pruning_strategy(10))
    assert _requests_in(pruned.messages, 5) == list(range(5))
    assert faults(pruned.messages) == []
