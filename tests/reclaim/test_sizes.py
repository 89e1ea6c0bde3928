"""How large a context is before and after a change: by what was measured, as far as that tells."""

from __future__ import annotations

import pytest

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.transcripts import outcomes
from popkit_retention.core.policy import events
from popkit_retention.core.policy.context import ContextState
from popkit_retention.core.policy.conversation import Conversation
from popkit_retention.core.policy.messages import USER, Message, ShownResult, result_tokens, thinking_tokens
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.policy.usage import Usage
from popkit_retention.core.reclaim.sizes import sizes_of
from tests.policy.scenario import SHIPPED

TOOL = TOOLS.of("mcp__a__b")


def conversation(said: int = 6_000) -> Conversation:
    """System and tools have 4,000 tokens, by the one request."""
    conversation = Conversation(ContextState("s"), lambda profile: Ruleset.from_config(SHIPPED, TOOLS, profile or "spec"))
    conversation.add_text(said)
    conversation.sent(Usage(4_000 + said, 1_000.0, "m"))
    return conversation


def sizes(conversation: Conversation, before: int, after: int, current: list[Message] | None = None, sent: object = None) -> tuple:
    found = sizes_of(conversation, current or [], sent, before, after)
    return found.before, found.after, found.left, found.measured


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (6_000, 3_000, (10_000, 7_000, 3_000)),
        (4_000, 2_000, (10_000, 7_000, 3_000)),
        (3_000, 1_000, (10_000, 6_000, 4_000)),
        (2_500, 1_000, (10_000, 6_000, 3_000)),  # no estimate is taken to be less than half of what there is,
        (12_000, 2_000, (10_000, 5_000, 5_000)),
        (20_000, 1_000, (14_000, 4_500, 9_500)),  # or more than twice that
        (2_000, 0, (10_000, 4_000, 4_000)),
        (1_999, 0, (10_000, 4_000, 1_999)),
        (3_000, 4_000, (10_000, 12_000, -2_000)),
    ],
)
def test_what_was_measured_says_by_how_much_an_estimate_is_wrong(before: int, after: int, expected: tuple) -> None:
    assert sizes(conversation(), before, after) == (*expected, True)


def test_too_little_that_was_measured_says_nothing_about_an_estimate() -> None:
    assert sizes(conversation(said=2_000), 4_000, 1_000) == (6_000, 4_500, 1_500, True)
    assert sizes(conversation(said=1_999), 4_000, 1_000) == (8_000, 5_000, 3_000, True)


def test_thinking_that_is_sent_leaves_with_any_change() -> None:
    block = {"type": "thinking", "thinking": "why it fails " * 400}
    thought = thinking_tokens(block)
    assert 1_000 < thought < 3_000
    sent = [{"content": [block, {"type": "text", "text": "so"}, "odd"]}, {"content": "words"}, None]
    before = 6_000 - thought
    assert sizes(conversation(), before, 1_000, sent=sent) == (10_000, 5_000, before - 1_000, True)
    for none in (None, {}, [], "x", [None], [{}]):
        assert sizes(conversation(), 6_000, 1_000, sent=none) == (10_000, 5_000, 5_000, True)


def test_results_that_no_request_has_had_are_beside_what_was_measured() -> None:
    text = "a line of words\n" * 200
    told = conversation()
    outcome = outcomes.outcome_of_text(TOOL, {}, text)
    told.observe(events.Call("new", TOOL, {}, outcome, 1_001.0, "/p", "turn 1"))
    waiting = result_tokens(text)
    current = [Message(USER, "", (), [ShownResult("old", text), ShownResult("new", text)])]
    assert sizes(told, 6_000 + waiting, 1_000, current) == (10_000 + waiting, 5_000, 5_000 + waiting, True)
    assert sizes(told, 3_000 + waiting, 1_000, current) == (10_000 + 2 * waiting, 6_000, 4_000 + 2 * waiting, True)


def test_before_a_request_has_shown_a_compaction_what_was_noted_of_it_stands() -> None:
    noted, short = conversation(), conversation()
    for each, carried in ((noted, 5_000), (short, 1_999)):
        each.observe(events.Compacted(1_001.0, ()))
        each.carry(carried)
    assert sizes(noted, 2_500, 1_000) == (9_000, 6_000, 3_000, False)
    assert sizes(short, 3_000, 1_000) == (7_000, 5_000, 2_000, False)


def test_before_any_request_what_stands_is_estimated() -> None:
    new = Conversation(ContextState("s"), lambda profile: Ruleset.from_config(SHIPPED, TOOLS, profile or "spec"))
    new.add_text(7_000)
    assert sizes(new, 3_000, 1_000) == (7_000, 5_000, 2_000, False)
    assert sizes(new, 9_000, 1_000) == (9_000, 1_000, 8_000, False)
