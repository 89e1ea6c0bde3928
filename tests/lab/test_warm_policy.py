"""Requests that only keep the cache warm: what they cost, what they save, and by which breaks they are decided."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.utils.policy import warming
from hooks.utils.policy.warming import Breaks
from popkit_retention.lab import measure
from popkit_retention.lab.keeping import keeping
from popkit_retention.lab.sessions import Request
from popkit_retention.lab.warm_policy import KeepWarm, breaks_of
from tests.lab.made import Made
from tests.lab.test_survey import session
from tests.lab.told import Told, filled
from tests.policy.priced import prices

FIVE_MINUTES = prices(300, 0.05)
STEP = warming.interval_s(300)


class Times(KeepWarm):
    """So many after each answer."""

    def __init__(self, number: int) -> None:
        super().__init__(FIVE_MINUTES, Breaks(), Breaks())
        self.number = number

    def warm(self, request: Request, prompt: int) -> int:
        return self.number


def away(seconds: float) -> Made:
    made = Made()
    made.read(chars=60_000)
    made.request()
    made.prompt()
    made.request(after=seconds)
    return made


def costs(made: Made, number: int) -> float:
    return measure.score(made.session, Times(number), FIVE_MINUTES).cost


def test_a_policy_that_sends_none_costs_what_doing_nothing_costs():
    made = away(900)
    assert costs(made, 0) == measure.score(made.session, measure.Policy(), FIVE_MINUTES).cost


def test_after_a_break_that_was_bridged_the_prompt_is_read_and_each_request_in_between_has_its_price():
    made = away(2.5 * STEP)
    prompts = measure.score(made.session, measure.Policy(), FIVE_MINUTES).curve
    saved = (FIVE_MINUTES.write - FIVE_MINUTES.read) * prompts[0]
    between = 2 * warming.price(prompts[0], FIVE_MINUTES)
    after_the_last = 2 * warming.price(prompts[1], FIVE_MINUTES)
    assert costs(made, 2) == pytest.approx(costs(made, 0) - saved + between + after_the_last)


def test_a_break_that_was_too_long_costs_the_requests_and_saves_nothing():
    made = away(10 * STEP)
    prompts = measure.score(made.session, measure.Policy(), FIVE_MINUTES).curve
    assert costs(made, 2) == pytest.approx(costs(made, 0) + 2 * sum(warming.price(prompt, FIVE_MINUTES) for prompt in prompts))


def test_while_requests_follow_each_other_none_is_sent_but_after_the_last():
    made = away(20)
    scored = measure.score(made.session, Times(3), FIVE_MINUTES)
    assert scored.warmed == 3


def test_breaks_are_those_after_which_the_cache_is_cold_and_the_end_is_one_without_an_end():
    made = away(900)
    assert breaks_of([made.session], 300, calls=False) == [pytest.approx(900), float("inf")]
    assert breaks_of([made.session], 300, calls=True) == []
    assert breaks_of([made.session], 3_600, calls=False) == [float("inf")]


def test_breaks_while_a_tool_runs_are_counted_apart():
    made = away(900)
    made.session.requests[0].calls = True
    assert breaks_of([made.session], 300, calls=True) == [pytest.approx(900)]
    assert breaks_of([made.session], 300, calls=False) == [float("inf")]


def test_while_tools_run_nothing_is_sent_and_what_cannot_be_read_is_passed_over(tmp_path: Path):
    path = tmp_path / "one.jsonl"
    session(path, 30, 1)
    found = keeping([str(path), str(tmp_path / "gone.jsonl")], 300)
    assert (found["sessions"], found["sent"]) == (1, 0)
    assert found["cost"] == found["without"]


def test_in_a_first_session_others_stand_in_for_the_user(tmp_path: Path):
    told = Told()
    told.prompt(filled(100))
    for number in range(5):
        told.answer(filled(20_000), f"m{number}")
        told.wait(900)
        told.prompt("go on")
    found = keeping([str(told.write(tmp_path / "one.jsonl"))], 300, "claude-opus-5-5")
    assert (found["sessions"], found["breaks"]) == (1, 5)
    assert found["sent"] > 0
