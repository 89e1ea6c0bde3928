"""PopKit's compaction without a model as a compactor of compaction-conformance-kit (PyPI).

The kit hands over turns of words and asks for a text, which it searches for what it has planted. PopKit takes out calls and results and
leaves words as they are, so that it has nothing to take out of these turns, and no budget to meet: the text is as long as the conversation.

    compaction-kit benchmark --spec benchmarks/arms/compaction_kit_arm.py:PopKitCompactor
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[2] / "power-mode")]

from popkit_retention.core.policy import compacting  # noqa: E402  the kit loads this file from anywhere
from popkit_retention.core.policy.context import ContextState  # noqa: E402
from popkit_retention.core.policy.conversation import Conversation  # noqa: E402
from popkit_retention.core.policy.messages import ASSISTANT, USER, Message, paired  # noqa: E402
from popkit_retention.core.policy.placeholder import NO_HANDLE  # noqa: E402
from popkit_retention.core.policy.ruleset import COMPACT_TARGET  # noqa: E402
from popkit_retention.core.state import shipped  # noqa: E402


class PopKitCompactor:
    """The compaction that PopKit does in place of the host's summary."""

    name = "popkit"

    def compact(self, turns: list[Any], round_num: int = 1, budget_chars: int | None = None) -> Any:
        """Return what stays of the turns. `budget_chars`: what the text should be no longer than, None for PopKit's own target."""
        from compaction_kit.compacted import CompactedContext  # noqa: PLC0415  the kit is not in the environment of the tests

        return CompactedContext(compacted(turns, budget_chars), self.name, round_num)


def compacted(turns: list[Any], budget_chars: int | None) -> str:
    """Return what stays of turns (`role`, `text`) as the kit writes them, each on a line."""
    messages = [Message(ASSISTANT if turn.role == "assistant" else USER, turn.text) for turn in turns]
    whole = sum(len(turn.text) for turn in turns)
    share = COMPACT_TARGET if budget_chars is None or not whole else min(1.0, budget_chars / whole)
    rules = shipped.rules()
    conversation = Conversation(ContextState(), lambda _profile: rules)
    left = compacting.compact(paired(messages), conversation, shipped.need_soon_model(), share, lambda _id, _content: NO_HANDLE)
    return "\n".join(f"[{message.role}] {message.text}" for message in left.messages)
