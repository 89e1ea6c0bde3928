"""What compactions without a model cost beside the host's own, on repositories that the model of need has not seen.

Printed by `python benchmarks/held_out.py --transcripts FOLDER --compact [TARGET …]`. The measure of what is 1 is the recorded session with
its own compactions: the summariser reads the whole prompt, from the cache where that is warm, and writes the recorded summary; the host
puts files back beside it, by what the usage of the next request tells; then the session goes on with these. With ours it goes on with what
stands, which is written again behind system and tools. Whatever the recorded session fetched again behind its summary is fetched here
too; *spared* counts it as not fetched where nine tenths of its lines stand in one result that was left whole.

*again*: what was thought before a compaction is gone behind the host's and behind ours, and is thought again so many times over, in both.
*sessions with compactions*: all that recorded ones have, as the ratio of sums, and the share of them that became dearer. *all sessions*:
the mean over repositories of the ratios of sums, and the share of all that became dearer by more than a ten-thousandth.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from popkit_retention.core.policy.economics import THINKING_AGAIN, Prices
from popkit_retention.lab import measure
from popkit_retention.lab.compacting import Compactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.ruleset import Ruleset
    from popkit_retention.lab.recorded import Block

# A result of so many characters or more, of which so many lines stand in one that an earlier compaction left whole, was not needed again.
LEAST_CHARS, SAME_LINES = 200, 0.9
AGAIN = (0.0, 0.5, 1.5)
# Of three models that bind their thinking, for a cache of five minutes and of an hour.
READS, LIFETIMES = (0.1, 0.05, 0.025), ((300, 1.25), (3_600, 2.0))
HEAD = (
    "                          compacted sessions        all sessions          thinking lost        compactions\n"
    "read   lifetime   again   cost  dearer  spared   cost  dearer  carried  misses/100   host's     ours  host's  ours"
)


class Spared(Compactor):
    """What the recorded session fetched again behind its summary, though it stands here, does not enter. Whether it would have been fetched
    nobody knows."""

    def enter(self, block: Block) -> str | None:
        return "" if self.passed and self._is_there_already(block) else None

    def _is_there_already(self, block: Block) -> bool:
        if len(block.text) < LEAST_CHARS:
            return False
        lines = block.text.split("\n")
        for other in self.view.context:
            if other.id and other.place <= self.passed and other not in self.view.cleared:
                held = set(other.text.split("\n"))
                if sum(line in held for line in lines) >= SAME_LINES * len(lines):
                    return True
        return False


class Row(NamedTuple):
    """One session: what it came to with the host's compactions, with ours, and with ours where what stands is not fetched again."""

    repository: str
    has_compaction: bool
    own: measure.Score
    ours: measure.Score
    spared: measure.Score


class Cold(NamedTuple):
    """What a compaction by itself goes by, when the cache is cold: how often thinking again counts, and how much may stand."""

    caution: float
    target: float


def rows(
    read: list, by_repository: dict, soon: dict, rules: Ruleset, prices: Prices, target: float, cold: Cold | None
) -> list[Row]:  # fmt: skip
    """Every session, scored; `by_repository`, `soon`: the models of need ever again and soon that have not seen it."""
    by_cold = (True, cold.caution, cold.target) if cold else (False, 0.0, 1.0)
    made = []
    for repository, session in read:
        has = any(step[0] == "compact" for step in session.steps)
        model = by_repository[repository]
        own = measure.score(session, measure.Policy(), prices)
        if not (has or cold):
            made.append(Row(repository, has, own, own, own))
            continue
        ours, spared = (
            measure.score(session, policy(prices, model, rules, target, *by_cold, soon[repository]), prices)
            for policy in (Compactor, Spared if has else Compactor)
        )
        made.append(Row(repository, has, own, ours, spared))
    return made


def cost(score: measure.Score, prices: Prices, again: float) -> float:
    """What a session cost with thinking again reckoned as this share of what was lost."""
    return score.cost + (again - THINKING_AGAIN) * prices.output * (score.rethought + score.forgotten)


def line(made: list[Row], prices: Prices, again: float) -> str:
    def pair(row: Row) -> tuple[float, float]:
        return cost(row.ours, prices, again), cost(row.own, prices, again)

    folded = [row for row in made if row.has_compaction]
    among = sum(pair(row)[0] for row in folded) / sum(pair(row)[1] for row in folded)
    spared = sum(cost(row.spared, prices, again) for row in folded) / sum(pair(row)[1] for row in folded)
    sums: dict = defaultdict(lambda: [0.0, 0.0, 0, 0])
    for row in made:
        for at, amount in enumerate((*pair(row), row.ours.carried, row.own.carried)):
            sums[row.repository][at] += amount
    whole, carried = (sum(each[at] / each[at + 1] for each in sums.values()) / len(sums) for at in (0, 2))
    dearer = [[ours > measure.DEARER * own for ours, own in map(pair, some)] for some in (folded, made)]
    shares = [sum(each) / len(each) for each in dearer]
    missed = 100 * sum(row.ours.missed for row in made) / sum(row.ours.requests for row in made)
    thought = sum(row.own.forgotten for row in made), sum(row.ours.rethought for row in made)
    counts = sum(row.own.compactions for row in made), sum(row.ours.compactions for row in made)
    lifetime = "5 minutes" if prices.ttl_s == 300 else "1 hour"
    return (
        f"{prices.read:<6g} {lifetime:<10} {again:<6g} {among:>5.3f} {shares[0]:>7.1%} {spared:>7.3f}  {whole:>5.3f} {shares[1]:>7.1%} "
        f"{carried:>8.3f} {missed:>11.2f} {thought[0]:>8,} {thought[1]:>8,} {counts[0]:>7} {counts[1]:>5}"
    )


def report(read: list, by_repository: dict, soon: dict, rules: Ruleset, targets: list[float], by_itself: Cold) -> None:
    """Prints both policies at each target, for every price."""
    for cold in (None, by_itself):
        for target in targets:
            print(f"{'and when cold' if cold else 'at the threshold only'}, down to {target:.0%}\n{HEAD}")
            for each in READS:
                for ttl_s, write in LIFETIMES:
                    prices = Prices(each, write, 5.0, ttl_s, True)
                    made = rows(read, by_repository, soon, rules, prices, target, cold)
                    for again in AGAIN:
                        print(line(made, prices, again), flush=True)
            print()
