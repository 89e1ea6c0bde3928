"""How many results of recorded sessions a newer call has ended, by kind, and their tokens.

    python benchmarks/supersessions.py --transcripts FOLDER

Each session is replayed through the engine under the shipped configuration. *superseded*: a newer call shows the same thing ·
*same content*: it returned the same text.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import own_sessions

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.transcripts import transcript
from popkit_retention.core.policy import engine, kinds
from popkit_retention.core.policy.context import ContextState
from popkit_retention.core.policy.ruleset import Ruleset

CONFIG = Path(__file__).resolve().parent.parent / "retention-config.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", required=True, type=Path, help="a folder of *.jsonl")
    folder = parser.parse_args().transcripts
    rules = Ruleset.from_config(json.loads(CONFIG.read_text("utf-8"))["retention"], TOOLS)
    calls = 0
    ended: Counter[tuple[str, str]] = Counter()
    tokens: Counter[tuple[str, str]] = Counter()
    for path in own_sessions.below(folder):
        state = ContextState(path.stem)
        engine.reindex(state, rules)
        for event in transcript.events_of(str(path)):
            calls += event.name == "call"
            for decision in engine.observe(state, event, rules):
                if decision.action == "supersede":
                    row = kinds.name_of(state.expired[decision.id].kind), decision.trigger.replace("_", " ")
                    ended[row] += 1
                    tokens[row] += decision.tokens
    print(f"{calls:,} calls, {sum(ended.values()):,} results ended by a newer call, {sum(tokens.values()):,} tokens\n")
    for row, count in ended.most_common():
        print(f"{row[0]:10} {row[1]:14} {count:7,} {tokens[row]:11,}")


if __name__ == "__main__":
    main()
