"""A request shows what it lacked by how far its prompt has fallen."""

from __future__ import annotations

import pytest

from popkit_retention.core.policy import events
from popkit_retention.core.policy.estimate import CHARS_PER_TOKEN
from popkit_retention.core.policy.lacking import Editing, has_begun_clearing, lacking_steps
from popkit_retention.core.policy.usage import Usage
from tests.policy.conversing import Conversing


@pytest.mark.parametrize(
    ("fallen", "tokens", "trigger", "at_least", "lacks"),
    [
        (499, 900, 1, 0, []),
        (500, 900, 1, 0, ["T1"]),
        (999, 2_000, 1, 0, []),
        (1_000, 2_000, 1, 0, ["T1"]),
        (500, 900, 20_000, 0, ["T1"]),
        (500, 900, 20_010, 0, []),
        (500, 900, 1, 1_000, ["T1"]),
        (500, 900, 1, 1_010, []),
    ],
)
def test_it_falls_by_500_tokens_and_by_half_of_what_it_lacks(
    fallen: int, tokens: int, trigger: int, at_least: int, lacks: list[str]
) -> None:
    """And nine tenths of the limits are near enough."""
    session = Conversing()
    session.silent = True
    for number in (1, 2):
        session.call("mcp__a__b", {"of": number}, str(number).ljust(round(tokens / 2 * CHARS_PER_TOKEN["markup"]), "x"))
    session.conversation.sent(Usage(18_000, 5.0))
    session.conversation.sent(Usage(18_000 - fallen, 9.0))
    session.state.calibration = 2.0
    steps = lacking_steps(session.conversation, Editing(trigger, 1, at_least, ()))
    assert [(step.ids, step.tokens) for step in steps] == ([(lacks, tokens)] if lacks else [])


def test_what_an_answer_reports_goes_the_oldest_first_but_for_what_is_spared() -> None:
    session = Conversing()
    for tool in ("mcp__a__b", "mcp__c__d", "mcp__a__b"):
        session.call(tool, {})
    usage = Usage(30_000, 50.0)
    usage.left_out = (2, 700)
    session.conversation.sent(usage)
    session.request()
    spares = Editing(1, 0, 0, ("mcp__a__b",))
    found = [(step.ids, step.tokens, step.at) for step in lacking_steps(session.conversation, None)]
    assert found == [(["T1", "T2"], 700, pytest.approx(49.999))]
    assert [step.ids for step in lacking_steps(session.conversation, spares)] == [["T2"]]


def test_results_are_being_left_out_where_one_was_or_a_request_was_so_large() -> None:
    session = Conversing()
    session.call("mcp__a__b", {})
    session.conversation.sent(Usage(90_000, 50.0))
    assert not has_begun_clearing(session.conversation, None)
    assert has_begun_clearing(session.conversation, Editing(100_000, 0, 0, ()))
    assert not has_begun_clearing(session.conversation, Editing(100_010, 0, 0, ()))
    session.compact("T1")
    session.conversation.compact(60.0)
    assert not has_begun_clearing(session.conversation, Editing(100_000, 0, 0, ()))
    session.observe(events.ClearedOutside(["T1"], 70.0, "left out"))
    assert has_begun_clearing(session.conversation, None)
