"""What the lifetime of the prompt cache brings, beside requests of one's own that keep a cache of five minutes warm.

    python benchmarks/cache_lifetime.py --transcripts FOLDER

All costs are shares of the bill with a cache of five minutes, output included: the mean over repositories of the ratios of sums (a file's
name up to "__", or up to the first "-", is its repository), and the ratio of the sums of all.

`lifetime`: each repository has the better of five minutes and an hour. `warm`: five minutes, and while it is the user's turn a request over
the cached prompt shortly before each time that it would expire, in a row until they have cost a fifth of the prompt as plain input; those
after a session's last request are counted. `both`: the better of `warm` and an hour. The better one is chosen on the repository's
other sessions (for each session anew; five minutes where there are no others) or on its own. `of warm`: what the lifetime saves, as a share
of what `warm` saves.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "power-mode"))

import own_sessions
from held_out import LEAST_REQUESTS

from popkit_retention.core.policy.economics import Prices
from popkit_retention.core.policy.models import HOUR_S
from popkit_retention.lab import measure, sent_requests
from popkit_retention.lab.recorded import Request, Session

FIVE_S = 300
READS = (0.1, 0.05, 0.025)
WRITES = {FIVE_S: 1.25, HOUR_S: 2.0}
OUTPUT = 5.0
# Of `warm`: seconds between requests, how many in a row at most, the share of the prompt that a row may cost, and what a request adds to
# the prompt and to the answer.
STEP_S, MOST, ROW_SHARE, WORDS_TOKENS, ANSWER_TOKENS = 280, 12, 0.2, 40, 8


class Sent(NamedTuple):
    """A request: its `prompt`, of which a cache that never expires has `kept` · seconds since the answer before · tokens of its own answer
    and whether that calls tools."""

    prompt: int
    kept: int
    idle_s: float
    output: int = 0
    calls: bool = False


class Gathering(measure.Policy):
    """Clears nothing, and writes down what each request sends."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []

    def decide(self, view: measure.View) -> list:
        ends = [end for end in view.ends if end <= view.sent]
        kept = 0 if not view.last_at else view.base + (sum(view.sizes[: ends[-1]]) if ends else 0)
        idle_s = view.now - view.last_at if view.last_at else 0.0
        self.sent.append(Sent(view.base + sum(view.sizes), kept, idle_s))
        return []

    def answered(self, request: Request) -> None:
        self.sent[-1] = self.sent[-1]._replace(output=request.output, calls=request.calls)


def sent_in(session: Session) -> list[Sent]:
    """The requests of a session."""
    gathering, prices = Gathering(), Prices(0.1, 1.25, OUTPUT, FIVE_S, False)
    prices.ttl_s = sys.maxsize  # whether a cache has expired is decided for each lifetime
    measure.score(session, gathering, prices)
    return gathering.sent


def cost(sent: list[Sent], read: float, ttl_s: int, in_a_row: int = 0) -> float:
    """What a session costs with a cache of this lifetime, kept warm by so many requests in a row."""
    total = 0.0
    for before, one in zip([None, *sent], sent):
        warmed = _warmed(before, one.idle_s, in_a_row)
        kept = one.kept if one.idle_s <= ttl_s + STEP_S * warmed else 0
        total += read * kept + WRITES[ttl_s] * (one.prompt - kept) + OUTPUT * one.output
        total += warmed * warmth(before.prompt, read, ttl_s) if before else 0.0
    last = sent[-1]
    return total + _warmed(last, float("inf"), in_a_row) * warmth(last.prompt, read, ttl_s)


def _warmed(before: Sent | None, idle_s: float, in_a_row: int) -> int:
    """How many requests keep the cache warm after one, for so long."""
    if before is None or before.calls:
        return 0
    return in_a_row if idle_s > in_a_row * STEP_S else int(idle_s // STEP_S)


def warmth(prompt: int, read: float, ttl_s: int) -> float:
    """What one request costs that keeps a prompt's cache warm."""
    return read * prompt + WRITES[ttl_s] * WORDS_TOKENS + OUTPUT * ANSWER_TOKENS


class Priced(NamedTuple):
    """What a session costs: with five minutes, with an hour, and with five minutes kept warm."""

    five: float
    hour: float
    warm: float


def priced(sent: list[Sent], read: float) -> Priced:
    in_a_row = min(MOST, int(ROW_SHARE / read + 1e-9))
    return Priced(cost(sent, read, FIVE_S), cost(sent, read, HOUR_S), cost(sent, read, FIVE_S, in_a_row))


def chosen_on_own(sessions: list[Priced], usual: str) -> float:
    """The cost of a repository with the better of `usual` and an hour."""
    return min(sum(getattr(one, usual) for one in sessions), sum(one.hour for one in sessions))


def chosen_on_others(sessions: list[Priced], usual: str) -> float:
    """The same, where for each session the others choose."""
    five, hour = sum(getattr(one, usual) for one in sessions), sum(one.hour for one in sessions)
    return sum(one.hour if hour - one.hour < five - getattr(one, usual) else getattr(one, usual) for one in sessions)


ARMS: dict[str, Callable[[list[Priced]], float]] = {
    "an hour everywhere": lambda sessions: sum(one.hour for one in sessions),
    "lifetime, by others": lambda sessions: chosen_on_others(sessions, "five"),
    "lifetime, by own": lambda sessions: chosen_on_own(sessions, "five"),
    "warm": lambda sessions: sum(one.warm for one in sessions),
    "both, by others": lambda sessions: chosen_on_others(sessions, "warm"),
    "both, by own": lambda sessions: chosen_on_own(sessions, "warm"),
}


def shares(by_repository: dict[str, list[Priced]], arm: Callable[[list[Priced]], float]) -> tuple[float, float]:
    """The mean of the repositories' ratios, and the ratio of all."""
    costs = {repository: arm(sessions) for repository, sessions in by_repository.items()}
    without = {repository: sum(one.five for one in sessions) for repository, sessions in by_repository.items()}
    return sum(costs[one] / without[one] for one in costs) / len(costs), sum(costs.values()) / sum(without.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl of several repositories")
    options = parser.parse_args()
    sessions: dict[str, list[list[Sent]]] = defaultdict(list)
    for path in own_sessions.below(options.transcripts):
        session = sent_requests.read(str(path), with_needs=False)
        if len(session.requests) >= LEAST_REQUESTS:
            sessions[own_sessions.repository_of(path)].append(sent_in(session))
    print(f"{sum(map(len, sessions.values()))} sessions of {len(sessions)} repositories")
    print("read   arm                   cost   of all   of warm  of all")
    for read in READS:
        by_repository = {repository: [priced(one, read) for one in some] for repository, some in sessions.items()}
        warm = shares(by_repository, ARMS["warm"])
        for name, arm in ARMS.items():
            found = shares(by_repository, arm)
            of_warm = [f"{(1 - mine) / (1 - ours):>7.2f}" for mine, ours in zip(found, warm)]
            print(f"{read:<6g} {name:<20}  {found[0]:.3f}  {found[1]:.3f}  {'  '.join(of_warm)}")
    for read in READS:
        print(f"read {read:g}, an hour against five minutes:")
        for repository, some in sorted(sessions.items()):
            five, hour, warm = (sum(costs) for costs in zip(*[priced(one, read) for one in some]))
            print(f"  {repository:<32} {len(some):>3} sessions  {hour / five:.3f}  warm {warm / five:.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
