"""Chooses the constants of `auto` (policy/worth.py, TUNED) for a price of a cache read and a lifetime of the cache.

    python benchmarks/tuning.py --transcripts FOLDER [--read N …] [--ahead N …] [--caution N …]

Prints what every combination costs, carries, misses and makes dearer, measured as by held_out.py: on repositories that the model of need
has not seen.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import held_out  # which puts the folders of the plugin there

from popkit_retention.core.policy import worth
from popkit_retention.core.state import shipped
from popkit_retention.lab.engine_policies import AutoPolicy


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl of several repositories")
    parser.add_argument("--read", type=float, nargs="*", default=[0.1, 0.05, 0.025])
    parser.add_argument("--ttl", type=int, nargs="*", default=[300, 3_600])
    parser.add_argument("--bound", action="store_true", help="as if the models bound their thinking")
    parser.add_argument("--ahead", type=int, nargs="*", default=[45, 74])
    parser.add_argument("--caution", type=float, nargs="*", default=[0.7, 1.0, 1.4])
    options = parser.parse_args()
    read, rules = held_out.read_sessions(options.transcripts), shipped.rules()
    by_repository = held_out.models(read, rules)
    print("read   lifetime   ahead  caution   cost   carried  misses/100  dearer")
    for prices in held_out.all_prices(options.bound):
        if prices.read not in options.read or prices.ttl_s not in options.ttl:
            continue
        for ahead, caution in itertools.product(options.ahead, options.caution):
            policy = partial(AutoPolicy, tuned=worth.Tuning(ahead, caution))
            cost, carried, misses, dearer = held_out.figures(read, by_repository, prices, rules, policy)
            print(
                f"{prices.read:<6g} {prices.ttl_s:<9} {ahead:>5} {caution:>8g}   {cost:.3f}   {carried:.3f}   {misses:>6.2f}"
                f"      {dearer:.1%}", flush=True,
            )  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
