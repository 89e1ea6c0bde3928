"""What each part of `auto` brings: the whole, and the whole with one part taken away.

    python benchmarks/ablation.py --transcripts FOLDER

Measured as by held_out.py, on repositories that the model has not seen. Cost / carried / misses per 100 requests / dearer, for a prompt
cache of five minutes and of an hour.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import held_out

from hooks.utils.lab import measure, sessions
from hooks.utils.lab.auto_policy import AutoPolicy
from hooks.utils.lab.tiers import shipped_rules
from hooks.utils.policy import auto


class NoOutlines(AutoPolicy):
    def _outline(self, block: sessions.Block) -> str:
        return ""


class AlwaysCold(AutoPolicy):
    """Decides as if nothing behind a result had to be written again."""

    def decide(self, view: measure.View) -> list:
        compacted, view.compacted = view.compacted, True
        try:
            return super().decide(view)
        finally:
            view.compacted = compacted


def _everything(feature: str) -> bool:
    return True


def _kind_alone(feature: str) -> bool:
    return feature == "bias" or feature.startswith("kind ")


# What is taken away -> (the policy, the features that its model knows, constants of policy/auto.py).
PARTS: dict[str, tuple[type, Callable[[str], bool], dict]] = {
    "nothing": (AutoPolicy, _everything, {}),
    "outlines": (NoOutlines, _everything, {}),
    "need by anything but kind": (AutoPolicy, _kind_alone, {}),
    "the cache": (AlwaysCold, _everything, {}),
    "caution before a rewrite": (AutoPolicy, _everything, {"REWRITE_CAUTION": {300: 1.0, 3_600: 1.0}}),
    "rest for what is in use": (AutoPolicy, _everything, {"LEAST_QUIET": 0}),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl of several repositories")
    options = parser.parse_args()
    read, rules = held_out.read_sessions(options.transcripts), shipped_rules()
    models = {knows: held_out.models(read, rules, knows) for knows in {knows for _, knows, _ in PARTS.values()}}
    for without, (policy, knows, constants) in PARTS.items():
        before = {name: getattr(auto, name) for name in constants}
        for name, value in constants.items():
            setattr(auto, name, value)
        cells = []
        for ttl_s in (300, 3_600):
            cost, carried, misses, dearer = held_out.figures(read, models[knows], ttl_s, rules, policy=policy)
            cells.append(f"{cost:.3f} / {carried:.3f} / {misses:.2f} / {100 * dearer:.1f}")
        for name, value in before.items():
            setattr(auto, name, value)
        print(f"| {without:<32} | {cells[0]:<28} | {cells[1]:<28} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
