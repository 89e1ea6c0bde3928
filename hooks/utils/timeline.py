"""Check the specification's eight-step timeline, step by step."""

from __future__ import annotations

import sys

from .hosts.tools import tools_of
from .hosts.transcripts import outcomes
from .policy import engine, events
from .policy.context import ContextState
from .policy.ruleset import Ruleset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .policy.lifecycle import Decision

# (tool, its input, whether it fails, what it returns)
_STEPS = (
    ("Read", {"file_path": "src/auth.ts"}, False, "1\texport const login = 1"),
    ("Grep", {"pattern": "login"}, False, "src/auth.ts:1:export const login = 1"),
    ("Read", {"file_path": "src/config.ts"}, False, "1\texport const port = 80"),
    ("Edit", {"file_path": "src/auth.ts", "old_string": "1", "new_string": "2"}, False, "The file src/auth.ts has been updated."),
    ("Bash", {"command": "npm test"}, True, "Exit code 1\n1 failing"),
    ("Grep", {"pattern": "login"}, False, "src/auth.ts:1:export const login = 2"),
    ("Bash", {"command": "npm test"}, False, "1 passing"),
    ("Bash", {"command": "git commit -am fix"}, False, "[main 1a2b3c4] fix\n 1 file changed"),
)
# step -> the results that end when it completes, if git cannot tell what the commit holds
TIMELINE = {1: [], 2: [], 3: [], 4: ["T1"], 5: ["T4"], 6: ["T2"], 7: ["T5"], 8: ["T3"]}
_FOLDER = "/project"


def _walk(committed: list[str] | None = None) -> Iterator[tuple[int, list[Decision], ContextState]]:
    """Yield (step, decisions, state) for each step; `committed` are the files that git names for the commit, None when it cannot."""
    rules = Ruleset.from_config({}, tools_of(""))
    state = ContextState("timeline")
    engine.reindex(state, rules)
    for number, (name, tool_input, fails, text) in enumerate(_STEPS, 1):
        tool = tools_of("").of(name)
        outcome = outcomes.outcome_of_error(text) if fails else outcomes.outcome_of_text(tool, tool_input, text)
        call = events.Call(f"T{number}", tool, tool_input, outcome, 10.0 * number, _FOLDER, "turn", committed)
        yield number, engine.observe(state, call, rules), state


def timeline_report() -> tuple[list[str], bool]:
    """Return (lines of the timeline, step by step; whether each step went as the specification says)."""
    lines, good = [], True
    for committed, expected in ((None, TIMELINE), ([_FOLDER + "/src/auth.ts"], {**TIMELINE, 8: []})):
        lines.append("git cannot tell what the commit holds:" if committed is None else "git says that only src/auth.ts is in the commit:")
        for number, decisions, state in _walk(committed):
            ended = [decision.id for decision in decisions]
            good = good and ended == expected[number]
            mark = "ok  " if ended == expected[number] else "FAIL"
            lines.append(f"  {mark} T{number}: {state.live[f'T{number}'].label}")
            lines.extend(f"         {decision.id} {decision.action}d: {'; '.join(decision.reasons)}" for decision in decisions)
    return lines, good


def print_timeline() -> int:
    """Check the timeline, and print it; the exit code: 0, 1 where a step goes otherwise, 2 for other words than --test."""
    if sys.argv[1:] != ["--test"]:
        print("retention_tracker.py --test   walk through the specification's timeline and check every step")
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    lines, good = timeline_report()
    print("\n".join([*lines, "passed" if good else "FAILED: the engine does not keep the specification's timeline"]))
    return 0 if good else 1
