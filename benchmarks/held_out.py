"""What `auto` brings on repositories that its model of need has not seen.

    python benchmarks/held_out.py --transcripts FOLDER

For each repository the model is fitted on the sessions of all others (a file's repository is its name up to "__", or up to the first
"-"). Cost and carried tokens are relative to clearing nothing, means over repositories of the ratios of sums; misses per 100 requests and
the share of sessions that became dearer are pooled. For every price of a cache read and both lifetimes, with the look-back.
Sessions of fewer than 5 requests are left out.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hooks.utils.lab import fitting, measure, sessions
from hooks.utils.lab.auto_policy import AutoPolicy
from hooks.utils.lab.tiers import shipped_rules
from hooks.utils.policy.economics import Prices
from hooks.utils.policy.need import NeedModel
from hooks.utils.policy.ruleset import Ruleset

LEAST_REQUESTS = 5


def repository_of(path: Path) -> str:
    """The repository that a session's file name tells."""
    return path.name.partition("__")[0] if "__" in path.name else path.name.partition("-")[0]


def models(read: list, rules: Ruleset, knows: Callable[[str], bool] = lambda feature: True) -> dict:
    """repository -> the model fitted on all others, with the features that it `knows`."""
    rng = random.Random(1)
    rows = [
        (repository, [([pair for pair in found if knows(pair[0])], *rest) for found, *rest in fitting.rows_of(session, rules, rng)])
        for repository, session in read
    ]
    return {
        held: NeedModel(fitting.fit([row for repository, some in rows if repository != held for row in some]))
        for held in sorted({repository for repository, _ in read})
    }


def read_sessions(folder: Path) -> list:
    """[(repository, Session)] of those that are long enough."""
    read = [(repository_of(path), sessions.read(str(path))) for path in sorted(folder.glob("*.jsonl"))]
    return [(repository, session) for repository, session in read if len(session.requests) >= LEAST_REQUESTS]


def figures(read: list, by_repository: dict, prices: Prices, rules: Ruleset, policy: Callable = AutoPolicy) -> tuple:
    """(cost, carried, misses per 100 requests, share that became dearer) of all sessions at some Prices."""
    sums: dict = defaultdict(lambda: [0.0, 0.0, 0, 0])
    missed = requests = dearer = 0
    for repository, session in read:
        without = measure.score(session, measure.Policy(), prices)
        scored = measure.score(session, policy(prices, by_repository[repository], rules), prices)
        for place, amount in enumerate((scored.cost, without.cost, scored.carried, without.carried)):
            sums[repository][place] += amount
        missed += scored.missed
        requests += scored.requests
        dearer += scored.cost > 1.0001 * without.cost
    cost = sum(with_it / without for with_it, without, _, _ in sums.values()) / len(sums)
    carried = sum(with_it / without for _, _, with_it, without in sums.values()) / len(sums)
    return cost, carried, 100 * missed / requests, dearer / len(read)


def all_prices(bound: bool = False) -> list:
    """[Prices] of every price of a cache read that models have, and both lifetimes; `bound`: where thinking is bound to the past."""
    return [Prices(read, write, 5.0, ttl_s, bound) for read in (0.1, 0.05, 0.025) for ttl_s, write in ((300, 1.25), (3_600, 2.0))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl of several repositories")
    parser.add_argument("--bound", action="store_true", help="as if the models bound their thinking")
    options = parser.parse_args()
    read = read_sessions(options.transcripts)
    rules = shipped_rules()
    by_repository = models(read, rules)
    print("read   lifetime    cost   carried  misses/100  dearer")
    for prices in all_prices(options.bound):
        cost, carried, misses, dearer = figures(read, by_repository, prices, rules)
        name = "5 minutes" if prices.ttl_s == 300 else "1 hour"
        print(f"{prices.read:<6g} {name:<10} {cost:.3f}   {carried:.3f}   {misses:>6.2f}      {dearer:.1%}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
