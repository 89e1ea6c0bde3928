"""What keeping a prompt cache of five minutes warm brings.

    python benchmarks/keep_warm.py --transcripts FOLDER [--door]

Cost is relative to doing nothing: the mean over repositories of the ratios of sums (a file's name up to "__", or up to the first "-", is
its repository), and the ratio of the sums of all. What is sent after a session's last request is counted; while a tool runs nothing is
sent. `a fifth` is what a session does: a row ends once it has cost a fifth of the prompt. The others send so many after each answer and
then stop. `held out`: of all shares from a tenth to four tenths, each repository is judged by the one that is best for the others. With
--door results also enter as `say_once: any` and `shape: safe` let them.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "power-mode"))

from held_out import LEAST_REQUESTS, all_prices, repository_of

from hooks.utils.policy.economics import Prices
from hooks.utils.state import shipped
from popkit_retention.lab import measure, sent_requests
from popkit_retention.lab.engine_policies import Door
from popkit_retention.lab.outcomes import KeepWarm

COUNTS = (1, 2, 3, 4, 6, 8, 12)
SHARES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)


class Behind(KeepWarm, Door):
    """Keeps the cache warm where results enter shorter."""

    def __init__(self, prices: Prices, number: int) -> None:
        KeepWarm.__init__(self, prices, number)
        Door.__init__(self, shipped.rules())


class Played:
    """Every session under every number of requests in a row, each once."""

    def __init__(self, read: list, prices: Prices, with_door: bool) -> None:
        self.read, self.prices = read, prices
        self.policy = Behind if with_door else KeepWarm
        self.scores: dict = {}
        self.without = [measure.score(session, measure.Policy(), prices).cost for _, session in read]

    def under(self, number: int) -> list:
        """A Score for each session."""
        if number not in self.scores:
            self.scores[number] = [measure.score(session, self.policy(self.prices, number), self.prices) for _, session in self.read]
        return self.scores[number]

    def of_repositories(self, number: int) -> dict:
        """repository -> cost against doing nothing."""
        sums: dict = defaultdict(lambda: [0.0, 0.0])
        for (repository, _), scored, without in zip(self.read, self.under(number), self.without):
            sums[repository][0] += scored.cost
            sums[repository][1] += without
        return {repository: cost / without for repository, (cost, without) in sums.items()}

    def in_words(self, number: int) -> str:
        scores = self.under(number)
        of_all = sum(scored.cost for scored in scores) / sum(self.without)
        dearer = sum(scored.cost > measure.DEARER * without for scored, without in zip(scores, self.without)) / len(scores)
        sent = 100 * sum(scored.warmed for scored in scores) / sum(scored.requests for scored in scores)
        return f"{mean(self.of_repositories(number).values()):.3f}  {of_all:.3f}  {sent:>6.2f}    {dearer:>6.1%}"


def mean(values: object) -> float:
    found = list(values)  # type: ignore[call-overload]
    return sum(found) / len(found)


def held_out(played: list) -> list:
    """For each price the cost where the share of the others' choosing decides, the mean over repositories."""
    repositories = sorted({repository for repository, _ in played[0].read})
    costs: list = [[] for _ in played]
    for held in repositories:
        others = [name for name in repositories if name != held]
        best = min(SHARES, key=lambda share: sum(one.of_repositories(in_a_row(one, share))[name] for one in played for name in others))
        for at, one in enumerate(played):
            costs[at].append(one.of_repositories(in_a_row(one, best))[held])
    return [mean(found) for found in costs]


def in_a_row(played: Played, share: float) -> int:
    return min(12, int(share / played.prices.read + 1e-9))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl of several repositories")
    parser.add_argument("--door", action="store_true", help="with results that enter shorter")
    options = parser.parse_args()
    found = [(repository_of(path), sent_requests.read(str(path), False)) for path in sorted(options.transcripts.glob("*.jsonl"))]
    read = [(repository, session) for repository, session in found if len(session.requests) >= LEAST_REQUESTS]
    played = [Played(read, prices, options.door) for prices in all_prices() if prices.ttl_s == 300]

    print("read   in a row      cost   of all  sent/100  dearer")
    for one in played:
        number = KeepWarm(one.prices).number
        print(f"{one.prices.read:<6g} a fifth: {number:<3}  {one.in_words(number)}")
        for count in COUNTS:
            print(f"{one.prices.read:<6g} {count:<12}  {one.in_words(count)}", flush=True)
    for one, cost in zip(played, held_out(played)):
        print(f"{one.prices.read:<6g} held out      {cost:.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
