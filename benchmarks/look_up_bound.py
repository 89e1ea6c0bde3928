"""What a bound on look-ups costs: the bill of `default+auto` under several bounds, and how many sessions keep them.

    python benchmarks/look_up_bound.py --transcripts FOLDER [--bound MISSES,TIMES …]
    python benchmarks/look_up_bound.py --transcripts FOLDER --after

MISSES: at most so many look-ups in 100 requests (`auto_misses`); TIMES: so many times what is expected has to fit into the bound
(`policy/bound.py`, CAUTION). At the prices of the models that answered, a cache of five minutes. Printed: the bill beside that with Claude
Code's own compactions, a mean over repositories of the ratios of sums; look-ups because of PopKit in 100 requests; of the sessions of 100
requests or more, those that keep the bound; and those of all that became dearer by more than 2 %.

`--after`: what the look-ups of what a compaction by itself took out go with where there is no bound: their correlation with the share of
the conversation that left, and with that times what was likely to be needed of the whole; how many came for one that was expected so; and
how many at least in one of ten times, where one or more was expected.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "power-mode"))

from held_out import read_sessions
from long_conversations import CLEARLY_DEARER

from popkit_retention.core.policy import bound
from popkit_retention.core.policy.economics import Prices
from popkit_retention.core.policy.least_needed import LONG
from popkit_retention.core.policy.ruleset import AUTO_MISSES
from popkit_retention.core.state import shipped
from popkit_retention.lab import measure, replay_policies
from popkit_retention.lab.compacting import Compactor
from popkit_retention.lab.door_policy import Door, door_settings_of
from popkit_retention.lab.policy import Choice, Policy, View
from popkit_retention.lab.recorded import Block, Session
from popkit_retention.lab.survey import BOUND_REQUESTS

TTL_S = 300
NO_BOUND = "none"
BOUNDS = (
    (2.0, 3.0),
    (5.0, 3.0),
    (6.0, 3.0),
    (7.0, 3.0),
    (7.0, 2.5),
    (8.0, 2.5),
    (AUTO_MISSES, bound.CAUTION),
    (8.0, 4.0),
    (10.0, 3.0),
    None,
)


def bound_of(word: str) -> tuple[float, float] | None:
    """`misses,times`, or "none"."""
    if word == NO_BOUND:
        return None
    try:
        misses, times = word.split(",")
        return float(misses), float(times)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word}: say MISSES,TIMES or {NO_BOUND}") from None


def row_of(read: list, own: list, chosen: tuple[float, float] | None) -> str:
    """A line of the table. `own`: the score of each session with Claude Code's own compactions."""
    most, bound.CAUTION = chosen or (math.inf, bound.CAUTION)
    sums: dict = defaultdict(lambda: [0.0, 0.0])
    looked_up = within = long = dearer = 0
    for (repository, session), without in zip(read, own):
        prices = replay_policies.prices_for(session, TTL_S)
        ours = measure.score(session, replay_policies.installed(prices, auto=True, most=most), prices)
        sums[repository][0] += ours.cost
        sums[repository][1] += without.cost
        looked_up += ours.look_ups
        dearer += ours.cost > CLEARLY_DEARER * without.cost
        if ours.requests >= BOUND_REQUESTS and chosen:
            long += 1
            within += ours.look_ups <= chosen[0] * ours.requests / 100
    bill = sum(ours / without for ours, without in sums.values()) / len(sums)
    requests = sum(len(session.requests) for _, session in read)
    name = f"{chosen[0]:g}, {chosen[1]:g}" if chosen else NO_BOUND
    kept = f"{within / long:.0%}" if long else ""
    return f"| {name} | {bill:.3f} | {100 * looked_up / requests:.1f} | {kept} | {dearer / len(read):.1%} |"


class Watched(Compactor):
    """Notes of each compaction by itself whether the cache was cold, the share that left, what was likely to be needed again of so much of
    the conversation, and how often something was looked up that it had taken out."""

    def __init__(self, prices: Prices) -> None:
        super().__init__(prices, shipped.need_model(), shipped.rules(), cold=True, long=LONG)
        self.done: list[list] = []
        self.by: dict[str, list] = {}  # id of what left -> the notes of the compaction that took it out last

    def _by_itself(self, view: View) -> list[Choice]:
        conversation, taken = self.at(view.now), self.conversation.look_ups.taken
        there = {result.id: result for result in conversation.results() if not result.cleared}
        likely = [self.model.probability(result, conversation.state, conversation.rules.tools) for result in there.values()]
        choices = super()._by_itself(view)
        if choices:
            share = self.conversation.look_ups.taken - taken
            self.done.append([self.is_cold(view.now), share, share * sum(likely), 0])
            self.by.update((block.id, self.done[-1]) for block, _, _ in choices if block.id in there)
            for block, _, _ in choices:
                self.by.setdefault(block.id or block.asks, self.done[-1])
        return choices

    def _call(self, method: str, *arguments: Any, block: Block | None = None) -> None:
        before = self.look_ups
        super()._call(method, *arguments, block=block)
        ids = [arguments[0]] if method == "needed" else self.conversation.look_ups._last[1]
        notes = next((self.by[id] for id in ids if id in self.by), None)
        if self.look_ups > before and notes is not None:
            notes[-1] += 1


def after_each(session: Session) -> list[list]:
    prices = replay_policies.prices_for(session, TTL_S)
    compact = Watched(prices)
    measure.score(session, Door(shipped.rules(), compact, door_settings_of("any+safe")), prices)
    return compact.done


def print_after(read: list) -> None:
    done = [each for _, session in read for each in after_each(session)]
    heads = ("cache", "compactions", "look-ups", "with the share", "with the needs", "for one expected", "one in ten")
    print(f"| {' | '.join(heads)} |\n|---{'|--:' * (len(heads) - 1)}|")
    for name, kind in (("cold", True), ("warm", False)):
        shares, needs, found = zip(*[each for is_cold, *each in done if is_cold is kind])
        with_share, with_needs = (statistics.correlation(each, found) for each in (shares, needs))
        most = statistics.quantiles([count / need for count, need in zip(found, needs) if need >= 1], n=10)[-1]
        print(
            f"| {name} | {len(found)} | {sum(found)} | {with_share:.2f} | {with_needs:.2f} | {sum(found) / sum(needs):.2f} | {most:.1f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of recorded sessions, in any depth")
    parser.add_argument("--bound", type=bound_of, nargs="+", default=BOUNDS, metavar="MISSES,TIMES", help="several, or none")
    parser.add_argument("--after", action="store_true", help="what the look-ups behind each compaction go with")
    words = parser.parse_args()
    read = [(repository, session) for repository, session in read_sessions(words.transcripts) if replay_policies.has_price(session.model)]
    if words.after:
        print_after(read)
        return
    own = [measure.score(session, Policy(), replay_policies.prices_for(session, TTL_S)) for _, session in read]
    print(f"{len(read)} sessions\n\n| bound, times | bill | look-ups in 100 | within | dearer |\n|---|---|---|---|---|")
    for chosen in words.bound:
        print(row_of(read, own, chosen), flush=True)


if __name__ == "__main__":
    main()
