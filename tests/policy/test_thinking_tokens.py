"""How many tokens of thinking a block stands for."""

from __future__ import annotations

from popkit_retention.core.policy.messages import thinking_tokens
from tests.reclaim.shops import thought


def test_a_signature_tells_how_much_was_thought_whatever_text_is_shown():
    signature = "x" * (235 + 3_600)
    assert thinking_tokens({"type": "thinking", "thinking": "", "signature": signature}) == 1_000
    assert thinking_tokens({"type": "thinking", "thinking": "A summary.", "signature": signature}) == 1_000
    assert thinking_tokens({"type": "redacted_thinking", "data": signature}) == 1_000


def test_where_the_signature_implies_less_than_the_text_the_text_counts():
    assert thinking_tokens(thought("so much " * 500)) > 1_000
    assert thinking_tokens({"type": "thinking", "thinking": "so " * 100, "signature": None}) > 50
    assert thinking_tokens({"type": "redacted_thinking"}) == 0
