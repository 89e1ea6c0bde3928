"""What compactions by themselves bring, between two turns, with a warm cache too: by how long the conversation has to be, how much of it
may stay, and how much it has to have grown since the one before.

    python benchmarks/long_conversations.py --transcripts FOLDER --long none 100000,.2,60000 150000,.2,80000

Behind a door (`any+safe`), with the model of need that ships. Cost is relative to what Claude Code does by itself, a mean over repositories
of the ratios of sums, for each price of a cache read and both lifetimes; *looked up*: results that a later answer needs and that had left,
in 100 requests; *dearer*: the share of sessions that became dearer by more than 2 %, at a read of .05 and an hour.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "power-mode"))

from held_out import read_sessions

from popkit_retention.core.policy.economics import THINKING_AGAIN, Prices
from popkit_retention.core.policy.least_needed import COLD_TARGET, LONG, LengthRule
from popkit_retention.core.policy.ruleset import AUTO_MISSES, COMPACT_TARGET
from popkit_retention.core.state import shipped
from popkit_retention.lab import measure
from popkit_retention.lab.compacting import Compactor
from popkit_retention.lab.door_policy import Door, door_settings_of
from popkit_retention.lab.policy import Policy

READS = (0.1, 0.05, 0.025)
LIFETIMES = {300: 1.25, 3_600: 2.0}
WORDS = {"none": None, "shipped": LONG}
CLEARLY_DEARER = 1.02


def long_of(word: str) -> LengthRule | None:
    """`tokens,target,growth`, "none" or "shipped"."""
    if word in WORDS:
        return WORDS[word]
    try:
        tokens, target, growth = word.split(",")
        return LengthRule(int(tokens), float(target), int(growth))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word}: say TOKENS,SHARE,GROWTH, none or shipped") from None


def scored(read: list, prices: Prices, long: LengthRule | None, words: argparse.Namespace) -> tuple[float, float, float]:
    """(cost beside Claude Code's own way, looked up in 100 requests, share of sessions that became dearer)."""
    rules, need = shipped.rules(), shipped.need_model()
    sums: dict = defaultdict(lambda: [0.0, 0.0])
    fetched = requests = dearer = 0
    for repository, session in read:
        compact = Compactor(prices, need, rules, words.target, True, words.caution, words.cold_target, long=long, most=words.misses)
        ours = measure.score(session, Door(rules, compact, door_settings_of("any+safe")), prices)
        own = measure.score(session, Policy(), prices)
        sums[repository][0] += ours.cost
        sums[repository][1] += own.cost
        fetched, requests = fetched + ours.fetched, requests + ours.requests
        dearer += ours.cost > CLEARLY_DEARER * own.cost
    return sum(ours / own for ours, own in sums.values()) / len(sums), 100 * fetched / requests, dearer / len(read)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of recorded sessions, in any depth")
    parser.add_argument(
        "--long", type=long_of, nargs="+", default=[None, LONG], metavar="TOKENS,SHARE,GROWTH", help="none, shipped, or numbers"
    )
    parser.add_argument("--caution", type=float, default=THINKING_AGAIN, help="this share of lost thinking is thought again")
    parser.add_argument("--cold-target", type=float, default=COLD_TARGET, help="with a cold cache, so much of the conversation may stay")
    parser.add_argument("--target", type=float, default=COMPACT_TARGET, help="at the threshold, so much of the conversation may stay")
    parser.add_argument("--misses", type=float, default=AUTO_MISSES, help="the bound on look-ups in 100 requests (auto_misses)")
    words = parser.parse_args()
    read = read_sessions(words.transcripts)
    print(
        f"{len(read)} sessions\n\n| long | 5 minutes, {' / '.join(map(str, READS))} | 1 hour | looked up | dearer |\n|---|---|---|--:|--:|"
    )
    for long in words.long:
        rows = {
            (read_price, ttl_s): scored(read, Prices(read_price, write, 5.0, ttl_s, True), long, words)
            for ttl_s, write in LIFETIMES.items()
            for read_price in READS
        }
        costs = [" / ".join(f"{rows[read_price, ttl_s][0]:.3f}" for read_price in READS) for ttl_s in LIFETIMES]
        name = f"{long.tokens:,}, {long.share:g}, {long.growth:,}" if long else "none"
        looked_up, dearer = max(row[1] for row in rows.values()), rows[0.05, 3_600][2]
        print(f"| {name} | {costs[0]} | {costs[1]} | {looked_up:.1f} | {dearer:.0%} |", flush=True)


if __name__ == "__main__":
    main()
