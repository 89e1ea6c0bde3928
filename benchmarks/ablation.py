"""What each part of `auto` brings: the whole, and the whole with one part taken away.

    python benchmarks/ablation.py --transcripts FOLDER

Measured as by held_out.py, on repositories that the model has not seen. Cost / carried / misses per 100 requests / dearer, for a prompt
cache of five minutes and of an hour at a read of 0.1, and for five minutes at 0.025 where thinking is bound.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import held_out  # which puts the folders of the plugin there

from popkit_retention.core.policy import worth
from popkit_retention.core.policy.economics import Prices
from popkit_retention.core.policy.plans import Decision
from popkit_retention.core.state import shipped
from popkit_retention.lab.engine_policies import AutoPolicy


class NoOutlines(AutoPolicy):
    def _cleared(self, decision: Decision) -> tuple:
        block, text, reasons = super()._cleared(decision)
        return block, text.partition("\n")[0], reasons


class AlwaysCold(AutoPolicy):
    """Decides as if nothing behind a result had to be written again."""

    def is_cold(self, now: float) -> bool:
        return True


def _everything(feature: str) -> bool:
    return True


def _kind_alone(feature: str) -> bool:
    return feature == "bias" or feature.startswith("kind ")


_INCAUTIOUS = partial(AutoPolicy, tuned=worth.Tuning(worth.TUNED.ahead, 0.0))

# What is taken away -> (the policy, the features that its model knows, constants of policy/worth.py).
PARTS: dict[str, tuple[Callable, Callable[[str], bool], dict]] = {
    "nothing": (AutoPolicy, _everything, {}),
    "outlines": (NoOutlines, _everything, {}),
    "need by anything but kind": (AutoPolicy, _kind_alone, {}),
    "the cost of a miss": (_INCAUTIOUS, _everything, {}),
    "what is likelier needed than not": (AutoPolicy, _everything, {"MOST_NEED": 1.0}),
    "the cache": (AlwaysCold, _everything, {}),
    "rest for what is in use": (AutoPolicy, _everything, {"LEAST_QUIET": 0}),
}
PRICES = [Prices(0.1, 1.25, 5.0, 300, False), Prices(0.1, 2.0, 5.0, 3_600, False), Prices(0.025, 1.25, 5.0, 300, True)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl of several repositories")
    options = parser.parse_args()
    read, rules = held_out.read_sessions(options.transcripts), shipped.rules()
    models = {knows: held_out.models(read, rules, knows) for knows in {knows for _, knows, _ in PARTS.values()}}
    for without, (policy, knows, constants) in PARTS.items():
        before = {name: getattr(worth, name) for name in constants}
        for name, value in constants.items():
            setattr(worth, name, value)
        cells = []
        for prices in PRICES:
            cost, carried, misses, dearer = held_out.figures(read, models[knows], prices, rules, policy=policy)
            cells.append(f"{cost:.3f} / {carried:.3f} / {misses:.2f} / {100 * dearer:.1f}")
        for name, value in before.items():
            setattr(worth, name, value)
        print(f"| {without:<32} | {' | '.join(f'{cell:<28}' for cell in cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
