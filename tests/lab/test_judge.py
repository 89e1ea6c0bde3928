"""The lab's bill of recorded sessions is what a second reckoning comes to that shares no code with it (judge.py)."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from popkit_retention.lab import measure, replay_policies, sent_requests
from popkit_retention.lab.policy import STANDS, Policy
from popkit_retention.lab.recorded import Session
from tests.lab.judge import Told, bill
from tests.lab.test_online import long_tale

# How far two reckonings may be apart, of the bill with nothing done: their rules of what is needed differ.
NEAR = 0.005
POLICIES = ("nothing", *replay_policies.INSTALLED)
SMALL, LARGE = 1_000_000, 5_000_000  # bytes of a session


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
    """The lab's bill under a policy, its misses, and what the policy did: {id of a message, "" for the end: Told}."""
    prices = replay_policies.prices_for(session, 300)
    far = replay_policies.installed(prices, auto=True, most=100)  # from the bound: it compacts as often as it pays
    policy, told = Telling(far if name == replay_policies.DEFAULT_AUTO else replay_policies.policy_of(name, session, prices)), {}

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
    told[""] = Told(stands=policy.stood)
    return scored.cost, scored.missed, told


def shares(path: Path) -> list[tuple[float, float]]:
    """(the lab's, the judge's) bill under each policy, as a share of the lab's with nothing done."""
    session = sent_requests.read(str(path))
    found = []
    for name in POLICIES:
        cost, _, told = told_by(session, name)
        found.append((cost, bill(path, told).cost))
    return [(cost / found[0][0], judged / found[0][0]) for cost, judged in found]


def recorded(folder: Path, largest: int) -> list[Path]:
    """The sessions of the client's own that the table of models has prices for."""
    some = [path for path in sorted(folder.rglob("*.jsonl")) if path.stat().st_size < largest and b'"parentUuid"' in path.read_bytes()]
    read = [(path, sent_requests.read(str(path), with_needs=False)) for path in some]
    return [path for path, session in read if len(session.requests) >= 5 and replay_policies.has_price(session.model)]


@pytest.mark.parametrize("seed", range(4, 7))
def test_it_is_what_the_judge_says_of_made_up_sessions(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in long_tale(seed, 100, prompts=0.3).entries))
    found = shares(path)
    assert found[2][0] < found[1][0] < 0.9
    assert all(ours == pytest.approx(judged, abs=NEAR) for ours, judged in found)


@pytest.mark.parametrize("year", ["transcripts", "transcripts_of_2026"])
def test_it_is_what_the_judge_says_of_recorded_sessions(year: str, request: pytest.FixtureRequest, count) -> None:
    paths = recorded(request.getfixturevalue(year), count(SMALL, LARGE))
    paths = paths if len(paths) < (many := count(6, 200)) else random.Random(2).sample(paths, many)
    found = [shares(path) for path in paths]
    assert found
    for policy in range(len(POLICIES)):
        ours, judged = (sum(each[policy][at] for each in found) / len(found) for at in (0, 1))
        assert ours == pytest.approx(judged, abs=NEAR)
