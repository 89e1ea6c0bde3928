"""Chooses the constants of `auto` (policy/worth.py, TUNED) for a price of a cache read and a lifetime of the cache.

    python benchmarks/tuning.py --transcripts FOLDER [--read N …] [--ahead N …] [--caution N …] [--rewrite N|cold …]

Prints what every combination costs, carries, misses and makes dearer, measured as by held_out.py: on repositories that the model of need
has not seen. `--rewrite cold` clears nothing while the cache is warm.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import held_out

from hooks.utils.lab.tiers import shipped_rules
from hooks.utils.policy import worth

COLD = "cold"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl of several repositories")
    parser.add_argument("--read", type=float, nargs="*", default=[0.1, 0.05, 0.025])
    parser.add_argument("--ttl", type=int, nargs="*", default=[300, 3_600])
    parser.add_argument("--ahead", type=int, nargs="*", default=[45, 74])
    parser.add_argument("--caution", type=float, nargs="*", default=[1.0])
    parser.add_argument("--rewrite", nargs="*", default=["2", "4", COLD])
    options = parser.parse_args()
    read, rules = held_out.read_sessions(options.transcripts), shipped_rules()
    by_repository = held_out.models(read, rules)
    print("read   lifetime   ahead  caution  rewrite   cost   carried  misses/100  dearer")
    for prices in held_out.all_prices():
        if prices.read not in options.read or prices.ttl_s not in options.ttl:
            continue
        for ahead, caution, rewrite in itertools.product(options.ahead, options.caution, options.rewrite):
            worth.TUNED[prices.read, prices.ttl_s] = worth.Tuned(ahead, caution, None if rewrite == COLD else float(rewrite))
            cost, carried, misses, dearer = held_out.figures(read, by_repository, prices, rules)
            print(
                f"{prices.read:<6g} {prices.ttl_s:<9} {ahead:>5} {caution:>8g} {rewrite:>8}   {cost:.3f}   {carried:.3f}   {misses:>6.2f}"
                f"      {dearer:.1%}", flush=True,
            )  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
