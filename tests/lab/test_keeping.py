"""Requests that only keep the cache warm: what they cost, what they save, and by which breaks they are decided."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.utils.policy import warming
from popkit_retention.lab import measure
from popkit_retention.lab.outcomes import KeepWarm, keeping_warm
from popkit_retention.parallel import Source
from tests.lab.session_builder import SessionBuilder
from tests.lab.test_survey import session
from tests.lab.transcripts import Transcript, filled
from tests.policy.priced import prices

FIVE_MINUTES = prices(300, 0.05)
STEP = warming.interval_s(300)


def away(seconds: float) -> SessionBuilder:
    builder = SessionBuilder()
    builder.read(chars=60_000)
    builder.request()
    builder.prompt()
    builder.request(after=seconds)
    return builder


def costs(builder: SessionBuilder, number: int) -> float:
    return measure.score(builder.session, KeepWarm(FIVE_MINUTES, number=number), FIVE_MINUTES).cost


def test_a_policy_that_sends_none_costs_what_doing_nothing_costs():
    builder = away(900)
    assert costs(builder, 0) == measure.score(builder.session, measure.Policy(), FIVE_MINUTES).cost


def test_after_a_break_that_was_bridged_the_prompt_is_read_and_each_request_in_between_has_its_price():
    builder = away(2.5 * STEP)
    prompts = measure.score(builder.session, measure.Policy(), FIVE_MINUTES).curve
    saved = (FIVE_MINUTES.write - FIVE_MINUTES.read) * prompts[0]
    between = 2 * warming.price(prompts[0], FIVE_MINUTES)
    after_the_last = 2 * warming.price(prompts[1], FIVE_MINUTES)
    assert costs(builder, 2) == pytest.approx(costs(builder, 0) - saved + between + after_the_last)


def test_a_break_that_was_too_long_costs_the_requests_and_saves_nothing():
    builder = away(10 * STEP)
    prompts = measure.score(builder.session, measure.Policy(), FIVE_MINUTES).curve
    assert costs(builder, 2) == pytest.approx(costs(builder, 0) + 2 * sum(warming.price(prompt, FIVE_MINUTES) for prompt in prompts))


def test_while_requests_follow_each_other_none_is_sent_but_after_the_last():
    builder = away(20)
    scored = measure.score(builder.session, KeepWarm(FIVE_MINUTES, number=3), FIVE_MINUTES)
    assert scored.warmed == 3


def test_while_a_tool_runs_none_is_sent():
    builder = away(900)
    builder.session.requests[0].calls = True
    assert measure.score(builder.session, KeepWarm(FIVE_MINUTES, number=2), FIVE_MINUTES).warmed == 2, "after the last request alone"


def test_as_many_are_sent_as_a_session_sends():
    assert KeepWarm(FIVE_MINUTES).number == 4
    assert KeepWarm(prices(300, 0.1)).number == 2
    assert KeepWarm(prices(3_600, 0.05)).number == 0


def test_while_tools_run_nothing_is_sent_and_what_cannot_be_read_is_passed_over(tmp_path: Path):
    path = tmp_path / "one.jsonl"
    session(path, 30, 1)
    report = keeping_warm([Source(str(path), 1), Source(str(tmp_path / "gone.jsonl"), 1)], 300)
    assert (report["sessions"], report["sent"]) == (1, 0)
    assert report["cost"] == report["without"]


def test_breaks_that_are_bridged_make_a_session_cheaper(tmp_path: Path):
    transcript = Transcript()
    transcript.prompt(filled(100))
    for number in range(5):
        transcript.answer(filled(20_000), f"m{number}")
        transcript.wait(900)
        transcript.prompt("go on")
    report = keeping_warm([Source(str(transcript.write(tmp_path / "one.jsonl")), 1)], 300, "claude-opus-5-5")
    assert report["sessions"] == 1
    assert report["sent"] == 5 * 3 + 1 or report["sent"] == 4 * 3 + 4
    assert report["cost"] < report["without"]
