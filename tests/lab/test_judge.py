"""The lab's bill of recorded sessions is what a second reckoning comes to that shares no code with it (judge.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from popkit_retention.lab import measure, replay_policies, sent_requests
from popkit_retention.lab.policy import STANDS, Policy, Session
from tests.lab.judge import Told, bill

RECORDED = Path("/tmp/tr")


class Telling(Policy):
    """Another policy, whose effects at recorded compactions are kept."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.rebuilds = policy.rebuilds
        self.stood = False
        for name in ("begin", "add", "enter", "event", "compact", "cut", "missed", "answered", "decide"):
            setattr(self, name, getattr(policy, name))

    def at_compaction(self, event, view) -> str:
        effect = self.policy.at_compaction(event, view)
        self.stood = effect == STANDS
        return effect


def told_by(session: Session, name: str) -> tuple[float, int, dict]:
    """The lab's bill under a policy, its misses, and what the policy did: {id of a message: Told}."""
    prices = replay_policies.prices_for(session, 300)
    policy, told = Telling(replay_policies.policy_of(name, session, prices)), {}

    def note(request, choices: list, entered: list) -> None:
        this = told[request.message_id] = Told(once={block.id: text for block, text in entered}, stands=policy.stood)
        for block, text, _ in choices:
            if not block.id:
                this.inputs[block.asks] = text
            elif text == block.text:
                this.whole.append(block.id)
            else:
                this.clear[block.id] = text

    scored = measure.score(session, policy, prices, note)
    return scored.cost, scored.missed, told
