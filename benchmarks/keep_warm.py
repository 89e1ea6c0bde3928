"""What keeping the prompt cache warm brings, each session judged by the breaks of those before it.

    python benchmarks/keep_warm.py --transcripts FOLDER [--in-session] [--door]

A user's sessions are those of a repository (a file's name up to "__", or up to the first "-"), in order of time; in place of breaks that
are not known yet stand those of the other repositories. Cost is relative to doing nothing, the mean over repositories of the ratios of
sums; what is sent after a session's last request is counted. `fixed`: the number after each request that would have been best for all,
known afterwards. With --in-session it is done as a session does it: never while a tool runs, and at most as often in a row as the
configuration allows. With --door results also enter as `say_once: any` and `shape: safe` let them.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "power-mode"))

from held_out import LEAST_REQUESTS, all_prices, repository_of

from hooks.utils.policy import door
from hooks.utils.policy.economics import Prices
from hooks.utils.policy.ruleset import KEEP_WARM_REQUESTS
from hooks.utils.policy.warming import MOST, Breaks
from popkit_retention.lab import measure, sessions
from popkit_retention.lab.door_policy import Door
from popkit_retention.lab.tiers import shipped_rules
from popkit_retention.lab.warm_policy import KeepWarm, breaks_of

FIXED = (1, 2, 3, 4, 6, 8, 12, 16, 24)


class Fixed(KeepWarm):
    """Sends so many after each request, whatever is known."""

    number = 0

    def warm(self, request: sessions.Request, prompt: int) -> int:
        return self.number


def learnt(read: list, ttl_s: int) -> dict:
    """id of a Session -> (breaks of the user, of tools) that are known when it begins."""
    known = {}
    for held in {repository for repository, _ in read}:
        others = [breaks_of([session for repository, session in read if repository != held], ttl_s, calls) for calls in (False, True)]
        own = sorted((session for repository, session in read if repository == held), key=lambda session: session.requests[0].sent_at)
        for number, session in enumerate(own):
            known[id(session)] = [Breaks(breaks_of(own[:number], ttl_s, calls), others[calls]) for calls in (False, True)]
    return known


def cost_of(read: list, prices: Prices, policy: Callable[[sessions.Session], measure.Policy]) -> tuple:
    """(cost, requests sent to keep warm per 100 requests, share of sessions that became dearer)."""
    sums: dict = defaultdict(lambda: [0.0, 0.0])
    sent = requests = dearer = 0
    for repository, session in read:
        without = measure.score(session, measure.Policy(), prices)
        scored = measure.score(session, policy(session), prices)
        sums[repository][0] += scored.cost
        sums[repository][1] += without.cost
        sent += scored.warmed
        requests += scored.requests
        dearer += scored.cost > 1.0001 * without.cost
    return sum(cost / without for cost, without in sums.values()) / len(sums), 100 * sent / requests, dearer / len(read)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl of several repositories")
    parser.add_argument("--in-session", action="store_true", help="as a session does it")
    parser.add_argument("--door", action="store_true", help="with results that enter shorter")
    options = parser.parse_args()
    found = [(repository_of(path), sessions.read(str(path), False)) for path in sorted(options.transcripts.glob("*.jsonl"))]
    read = [(repository, session) for repository, session in found if len(session.requests) >= LEAST_REQUESTS]
    rules = shipped_rules()

    limit = KEEP_WARM_REQUESTS if options.in_session else MOST

    def kept(prices: Prices, breaks: list[Breaks]) -> KeepWarm:
        return KeepWarm(prices, breaks[0], Breaks() if options.in_session else breaks[1], then(), limit)

    def then() -> measure.Policy:
        return Door(rules, None, door.ANY, door.SAFE) if options.door else measure.Policy()

    print("read   lifetime    cost    sent/100  dearer   fixed, known afterwards")
    for prices in all_prices():
        known = learnt(read, prices.ttl_s)
        cost, sent, dearer = cost_of(read, prices, lambda session: kept(prices, known[id(session)]))  # noqa: B023
        best = ""
        if not (options.door or options.in_session):
            tried = []
            for number in FIXED:
                Fixed.number = number
                tried.append((cost_of(read, prices, lambda session: Fixed(prices, Breaks(), Breaks()))[0], number))  # noqa: B023
            best = "{:.3f} with {}".format(*min(tried))
        name = "5 minutes" if prices.ttl_s == 300 else "1 hour"
        print(f"{prices.read:<6g} {name:<10} {cost:.3f}    {sent:>6.2f}   {dearer:>6.1%}   {best}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
