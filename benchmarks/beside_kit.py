"""PopKit's compaction without a model beside the reference compactors of compaction-conformance-kit, on the kit's own sessions.

    KIT/bin/python benchmarks/beside_kit.py [--budgets 0.1,0.2,0.3] [--seeds N] [--rounds N]

It runs in an environment that has the kit (`pip install compaction-conformance-kit==0.8.0`), asks no model, and prints the kit's own table.
"""

from __future__ import annotations

import argparse
import sys


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", default="0.1,0.2,0.3", help="shares of the transcript's characters")
    parser.add_argument("--seeds", type=int, default=4, help="sessions of each kind (default: 4)")
    parser.add_argument("--rounds", type=int, default=5, help="compactions in a row (default: 5)")
    options = parser.parse_args()
    try:
        from compaction_kit.benchmark import budget_benchmark_to_markdown, run_budget_benchmark  # noqa: PLC0415
        from compaction_kit.cli import COMPACTORS  # noqa: PLC0415
    except ImportError:
        print("compaction-conformance-kit is not in this environment: pip install compaction-conformance-kit==0.8.0", file=sys.stderr)
        return 1
    from arms.compaction_kit_arm import PopKitCompactor  # noqa: PLC0415

    budgets = [float(budget) for budget in options.budgets.split(",")]
    seeds = range(1, options.seeds + 1)
    print(budget_benchmark_to_markdown(run_budget_benchmark({**COMPACTORS, "popkit": PopKitCompactor}, budgets, seeds, options.rounds)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
