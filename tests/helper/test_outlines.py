"""What outlines are made of is found before it is asked for, and is what would have been found then."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.helper import compactions
from hooks.utils.helper.compactions import Outlines
from hooks.utils.hosts.claude_code import TOOLS
from hooks.utils.policy import masking
from hooks.utils.policy.messages import Use
from hooks.utils.policy.placeholder import Findings, findings
from tests.patience import HANG_S

RUN = "\n".join(
    [*(f"tests/cart/test_total_{number}.py::test_sum PASSED" for number in range(40)), "FAILED tests/cart/test_price.py - expected 7"]
)
FILE = "\n".join(f"    total_of_order_{number} = price_of_order_{number} * count" for number in range(60))


def failing(error: Exception) -> None:
    raise error


def same(one: Findings, other: Findings) -> bool:
    return (list(one.names), list(one.failures)) == (list(other.names), list(other.failures))


def waited_for(made: Outlines, many: int) -> int:
    until = time.monotonic() + HANG_S
    while len(made.known) < many and time.monotonic() < until:
        time.sleep(0.01)
    return len(made.known)


@given(st.sampled_from([RUN, FILE, "short", ""]) | st.text(min_size=900, max_size=1_200), st.booleans())
def test_the_first_and_every_later_answer_is_what_is_in_the_text(text: str, is_run: bool):
    made = Outlines(failing)
    for _ in range(2):
        assert same(made.findings(text, is_run), findings(text, is_run))


def test_what_is_prepared_is_known_before_it_is_asked_for():
    made = Outlines(failing)
    made.prepare(FILE, "read")
    made.prepare(RUN, "run:test")
    assert waited_for(made, 2) == 2
    before = dict(made.known)
    assert same(made.findings(FILE, False), findings(FILE, False))
    assert same(made.findings(RUN, True), findings(RUN, True))
    assert made.known == before


def test_a_text_that_is_too_short_for_an_outline_is_not_prepared():
    made = Outlines(failing)
    made.prepare("short", "read")
    made.prepare(FILE, "read")
    assert waited_for(made, 1) == 1


def test_what_a_list_says_of_a_call_is_masked_before_it_is_asked_for():
    made = Outlines(failing)
    command = f"curl -H 'Authorization: Bearer {'k3y' * 9}' https://shop/{time.monotonic_ns()}"
    made.prepare("short", "run:other", Use("toolu_1", TOOLS.of("Bash"), {"command": command}))
    made.prepare(FILE, "read")
    assert waited_for(made, 1) == 1
    assert masking._known[command, False] == masking.mask(command) != command


def test_what_was_found_first_goes_where_there_is_no_room(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compactions, "MOST_CHARS", 1_000)
    made = Outlines(failing)
    texts = [FILE.replace("total", f"sum_{number}") for number in range(5)]
    for text in texts:
        made.findings(text, False)
    assert 1 <= len(made.known) < 5
    assert made.chars == sum(compactions._chars(found) for found in made.known.values()) <= 1_000
    last = made.known[next(reversed(made.known))]
    assert same(last, findings(texts[-1], False))


def test_it_goes_on_after_a_text_at_which_it_fails(monkeypatch: pytest.MonkeyPatch):
    told = threading.Event()
    whole = findings

    def spoilt(text: str, is_run: bool) -> Findings:
        if text == RUN:
            raise ValueError("spoilt")
        return whole(text, is_run)

    monkeypatch.setattr("hooks.utils.helper.compactions.findings", spoilt)
    made = Outlines(lambda error: told.set())
    made.prepare(RUN, "run:test")
    made.prepare(FILE, "read")
    assert waited_for(made, 1) == 1
    assert told.wait(HANG_S)
