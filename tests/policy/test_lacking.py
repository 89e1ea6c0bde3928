"""A request shows what it lacked by how far its prompt has fallen."""

from __future__ import annotations

import pytest

from popkit_retention.core.policy.estimate import CHARS_PER_TOKEN
from popkit_retention.core.policy.lacking import Editing, lacking_steps
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
