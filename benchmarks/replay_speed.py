"""How many tool calls a second the engine decides in one process.

    python benchmarks/replay_speed.py [--calls N] [--transcripts FOLDER]

The calls are those of recorded sessions where a folder of transcripts is given, else generated in the mix that such sessions have.
Only the engine is timed: classification, supersession, expiry. Reading the transcripts is not.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import own_sessions

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.transcripts import transcript
from popkit_retention.core.policy import engine
from popkit_retention.core.policy.context import ContextState
from popkit_retention.core.policy.events import Call, Outcome
from popkit_retention.core.policy.ruleset import Ruleset

LINES = (
    "git status --short", "npm test", "rg -n 'login' src", "cat src/auth.ts", "cd packages/api && npm run build 2>&1 | tail -20",
    "ls -la src", "pytest tests/unit -q", "git add -A && git commit -m 'fix the login'", "sed -n '10,80p' src/config.ts",
    "git diff HEAD~1 -- src | head -50", "node scripts/report.js --json", "grep -rn 'TODO' src | wc -l", "curl -s localhost:3000/health",
    "npx tsc --noEmit", "mkdir -p build/out",
)  # fmt: skip


def generated(count: int) -> list:
    """Calls in the mix of recorded sessions: 41 % Bash, 18 % Read, 19 % edits, 7 % searches, the rest others."""
    random.seed(7)
    calls = []
    for n in range(count):
        path = f"/home/dev/shop/src/module_{random.randrange(60)}.ts"
        tool, tool_input = random.choices(
            (
                ("Bash", {"command": random.choice(LINES).replace("src", f"src/{random.randrange(30)}")}),
                ("Read", {"file_path": path}),
                ("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}),
                ("Grep", {"pattern": f"name_{random.randrange(40)}"}),
                ("TaskUpdate", {"taskId": str(n)}),
            ),
            (41, 18, 19, 7, 15),
        )[0]
        outcome = Outcome(2_000, 0, f"{n:032x}", interval=[1, 0] if tool == "Read" else None)
        calls.append(Call(f"toolu_{n}", TOOLS.of(tool), tool_input, outcome, 5.0 * n, "/home/dev/shop", f"turn-{n // 12}"))
    return [calls]


def recorded(folder: Path) -> list:
    """The calls of every transcript in a folder, a list a session."""
    return [[event for event in transcript.events_of(str(path)) if event.name == "call"] for path in own_sessions.below(folder)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=40_000, help="generated calls")
    parser.add_argument("--transcripts", type=Path, help="a folder of *.jsonl")
    options = parser.parse_args()
    sessions = recorded(options.transcripts) if options.transcripts else generated(options.calls)
    rules = Ruleset.from_config({}, TOOLS)
    count = sum(map(len, sessions))
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        for calls in sessions:
            state = ContextState()
            engine.reindex(state, rules)
            for call in calls:
                engine.observe(state, call, rules)
        best = min(best, time.process_time() - start)
    print(f"{count} calls, best of 3: {count / best:,.0f} calls per CPU second ({best / count * 1e6:.1f} us a call)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
