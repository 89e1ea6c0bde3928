"""What to do now, from the plan for now and the plan for a cold cache."""

from __future__ import annotations

import pytest

from popkit_retention.core.policy.plans import Selection
from popkit_retention.core.policy.verdict import KINDS, LONGEST_WAIT_S, is_worth_a_word, takes, verdict

CRITICAL = 0.9


class Planned:
    """What a verdict reads of a Plan."""

    def __init__(self, leaves: int, pays: bool = True, warm: bool = True, pays_after: int | None = 0, thinking: int = 0) -> None:
        self.going = ["T1"] if leaves else []
        self.pays = pays
        self.selection = Selection()
        self.is_empty, self.further, self.usd = not leaves, 0, None if warm else 0.12
        self.sum = self
        self.leaves, self.warm, self.pays_after, self.thinking = leaves, warm, pays_after, thinking


def context(ratio: float = 0.4, left_s: int = 270, window: int = 200_000) -> dict:
    return {"tokens": round(ratio * window), "window": window, "ratio": ratio, "cache_seconds_left": left_s}


NOTHING, WAITS = Planned(0, pays=False), Planned(9_000, pays=False)
COLD = Planned(15_000, warm=False)
CASES = {
    "with a cold cache it leaves at no cost": (COLD, COLD, context(left_s=0), "clear", None),
    "a warm cache in which it pays is no hindrance": (Planned(15_000, pays_after=2), COLD, context(), "clear", None),
    "while it does not pay, it waits for the cold": (WAITS, COLD, context(), "wait", 270),
    "what leaves nothing is nothing to do": (NOTHING, NOTHING, context(), "nothing", None),
    "less than a hundredth of the context is nothing to do": (Planned(700, warm=False),) * 2 + (context(left_s=0), "nothing", None),
    "full, with much to clear, it clears": (COLD, COLD, context(0.95, 0), "clear", None),
    "full, with much to clear soon, it waits": (WAITS, COLD, context(0.95), "wait", 270),
    "full, and ten minutes are no long wait": (WAITS, COLD, context(0.95, LONGEST_WAIT_S), "wait", LONGEST_WAIT_S),
    "full, and nobody waits an hour": (WAITS, COLD, context(0.95, LONGEST_WAIT_S + 1), "full", LONGEST_WAIT_S + 1),
    "full, and little to clear": (Planned(4_000, warm=False),) * 2 + (context(0.92, 0), "full", None),
    "full, and no more to clear later": (Planned(4_000, warm=False),) * 2 + (context(0.92), "full", None),
    "full, and nothing to clear": (NOTHING, NOTHING, context(0.92), "full", None),
    "without a transcript there is nothing to say": (None, None, None, "nothing", None),
}


@pytest.mark.parametrize("case", CASES)
def test_it_says_what_to_do_now(case: str) -> None:
    now, cold, known, kind, wait_s = CASES[case]
    found = verdict(now, cold, known, CRITICAL)
    assert (found["kind"], found["wait_s"]) == (kind, wait_s)
    assert found["kind"] in KINDS


def test_its_tokens_are_what_the_clear_that_it_speaks_of_takes() -> None:
    assert verdict(COLD, COLD, context(left_s=0), CRITICAL)["tokens"] == takes(COLD)["tokens"] == 15_000
    assert verdict(WAITS, COLD, context(), CRITICAL)["tokens"] == 15_000
    assert takes(WAITS) == {"items": 0, "tokens": 0, "further": 0}, "what does not pay is not taken"


def test_what_it_saves_is_what_the_plan_saves_that_it_speaks_of() -> None:
    assert verdict(COLD, COLD, context(left_s=0), CRITICAL)["usd"] == verdict(WAITS, COLD, context(), CRITICAL)["usd"] == 0.12
    assert verdict(Planned(15_000, pays_after=2), COLD, context(), CRITICAL)["usd"] is None


def test_the_reasoning_that_leaves_with_it_is_named() -> None:
    found = verdict(Planned(15_000, pays_after=3, thinking=800), COLD, context(), CRITICAL)
    assert (found["thinking"], found["pays_after"]) == (800, 3)


@pytest.mark.parametrize(
    ("kind", "tokens", "window", "ratio", "worth"),
    [
        ("clear", 19_999, 1_000_000, 0.5, False),
        ("clear", 20_000, 1_000_000, 0.5, True),
        ("clear", 3_999, 40_000, 0.5, False),
        ("clear", 4_000, 40_000, 0.5, True),
        ("clear", 2_000, 1_000_000, 0.95, True),  # nearly full
        ("wait", 500_000, 1_000_000, 0.6, False),  # nobody is asked to wait
        ("wait", 100_000, 1_000_000, 0.95, True),
        ("full", 0, 200_000, 0.95, True),
        ("clear", 900, 1_000_000, 0.1, False),
        ("nothing", 50_000, 200_000, 0.95, False),
        ("noted", 50_000, 200_000, 0.95, False),  # it is done already
        ("returning", 50_000, 200_000, 0.95, False),
    ],
)
def test_unasked_a_person_is_told_of_much_or_of_a_context_that_is_nearly_full(
    kind: str, tokens: int, window: int, ratio: float, worth: bool
) -> None:
    context = {"tokens": round(window * ratio), "window": window, "ratio": ratio, "cache_seconds_left": 0}
    assert is_worth_a_word({"kind": kind, "tokens": tokens}, context, 0.9) is worth


def test_a_clear_that_is_noted_is_the_answer_until_the_session_is_resumed() -> None:
    found = verdict(COLD, COLD, context(left_s=0), CRITICAL, noted={"items": 3, "tokens": 9_000})
    assert (found["kind"], found["items"], found["tokens"]) == ("noted", 3, 9_000)
    assert not is_worth_a_word(found, context(left_s=0), CRITICAL)
    assert verdict(COLD, COLD, context(left_s=0), CRITICAL, noted={"items": 0, "tokens": 0})["kind"] == "clear"
    found = verdict(COLD, COLD, context(left_s=0), CRITICAL, returning=2)
    assert (found["kind"], found["items"], found["tokens"]) == ("returning", 2, 0)
    assert not is_worth_a_word(found, context(left_s=0), CRITICAL)


def test_where_no_request_is_known_only_much_is_worth_a_word() -> None:
    assert is_worth_a_word({"kind": "clear", "tokens": 20_000}, None, 0.9)
    assert not is_worth_a_word({"kind": "clear", "tokens": 2_000}, None, 0.9)
