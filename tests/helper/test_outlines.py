"""What outlines are made of is found before it is asked for, and is what would have been found then."""

from __future__ import annotations

import threading
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.helper import compactions
from hooks.utils.helper.compactions import Outlines
from hooks.utils.hosts.claude_code.tools import TOOLS
from hooks.utils.policy import masking, outline
from hooks.utils.policy.messages import Use
from tests.patience import HANG_S

RUN = "\n".join(
    [*(f"tests/cart/test_total_{number}.py::test_sum PASSED" for number in range(40)), "FAILED tests/cart/test_price.py - expected 7"]
)
FILE = "\n".join(f"    total_of_order_{number} = price_of_order_{number} * count" for number in range(60))


def failing(error: Exception) -> None:
    raise error


def same(one: outline.Findings, other: outline.Findings) -> bool:
    return (list(one.names), list(one.telling)) == (list(other.names), list(other.telling))


def waited_for(made: Outlines, many: int) -> int:
    until = time.monotonic() + HANG_S
    while len(made.known) < many and time.monotonic() < until:
        time.sleep(0.01)
    return len(made.known)


@given(st.sampled_from([RUN, FILE, "short", ""]) | st.text(min_size=900, max_size=1_200), st.booleans())
def test_the_first_and_every_later_answer_is_what_is_in_the_text(text: str, is_run: bool):
    made = Outlines(failing)
    for _ in range(2):
        assert same(made.findings(text, is_run), outline.findings(text, is_run))


def test_what_is_prepared_is_known_before_it_is_asked_for():
    made = Outlines(failing)
    made.prepare(FILE, "read")
    made.prepare(RUN, "run:test")
    assert waited_for(made, 2) == 2
    before = dict(made.known)
    assert same(made.findings(FILE, False), outline.findings(FILE, False))
    assert same(made.findings(RUN, True), outline.findings(RUN, True))
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
    assert made.chars == sum(compactions._ENTRY_CHARS + len(packed) for packed in made.known.values()) <= 1_000
    last = compactions._unpacked(made.known[next(reversed(made.known))])
    assert same(last, outline.findings(texts[-1], False))


def test_what_is_known_takes_at_most_twice_the_memory_that_it_is_counted_with():
    made = Outlines(failing)
    texts = [FILE.replace("total", f"sum_{number}") for number in range(200)]
    made.findings(FILE, True)  # loads what it needs
    tracemalloc.start()
    try:
        for text in texts:
            made.findings(text, False)
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert taken <= 2 * made.chars


def test_it_goes_on_after_a_text_at_which_it_fails(monkeypatch: pytest.MonkeyPatch):
    told = threading.Event()
    whole = outline.findings

    def spoilt(text: str, is_run: bool) -> outline.Findings:
        if text == RUN:
            raise ValueError("spoilt")
        return whole(text, is_run)

    monkeypatch.setattr(outline, "findings", spoilt)
    made = Outlines(lambda error: told.set())
    made.prepare(RUN, "run:test")
    made.prepare(FILE, "read")
    assert waited_for(made, 1) == 1
    assert told.wait(HANG_S)
