"""A simulated session with mixed tool calls, as in the specification: `python tests/hooks/retention_integration.py`.

Every call goes through `process_retention`, on files in a temporary home. Prints the specification's visual model, drawn from what
happened; exits 1 when that is not what the specification says.
"""

from __future__ import annotations

if __name__ == "__main__" and not __package__:
    import os
    import sys
    from pathlib import Path

    os.chdir(Path(__file__).resolve().parents[2])
    os.execv(sys.executable, [sys.executable, "-m", "tests.hooks.retention_integration", *sys.argv[1:]])

import tempfile

from popkit_retention.core.retention_tracker import HookContext, RetentionTracker, process_retention
from popkit_retention.core.state import store
from popkit_retention.core.state.site import Site

# (label, tool, input, whether it fails, what it returns)
STEPS = (
    ("Read src/auth.ts", "Read", {"file_path": "src/auth.ts"}, False, "1\texport const login = (user) => check(user)\n" * 40),
    ('Grep "login"', "Grep", {"pattern": "login"}, False, "src/auth.ts:1:export const login = (user) => check(user)"),
    ("Read src/config.ts", "Read", {"file_path": "src/config.ts"}, False, "1\texport const port = 80\n" * 30),
    ("Edit src/auth.ts", "Edit", {"file_path": "src/auth.ts"}, False, "The file src/auth.ts has been updated."),
    (
        "npm test (fail)",
        "Bash",
        {"command": "npm test"},
        True,
        "Exit code 1\n" + "  ● login › refuses\n" * 20 + "Tests: 1 failed, 12 passed",
    ),
    ('Grep "login"', "Grep", {"pattern": "login"}, False, "src/auth.ts:1:export const login = (user) => verify(user)"),
    ("npm test (pass)", "Bash", {"command": "npm test"}, False, "Tests: 13 passed"),
    ("git commit", "Bash", {"command": "git commit -am 'fix login'"}, False, "[main 1a2b3c4] fix login"),
)
# What ends at each step. T1 ends at its edit; the drawing's T8 would end it too, were it still alive.
EXPECTED = ([], [], [], ["T1"], ["T4"], ["T2"], ["T5"], ["T3"])
COLUMNS = 2  # of a bar, per call


def simulate(environ: dict) -> tuple[list, list]:
    """(metadata, ids that expired) of each step."""
    metas, ended = [], []
    for number, (_, tool, tool_input, fails, text) in enumerate(STEPS, 1):
        context = HookContext(
            "simulated", tool, tool_input, f"T{number}", "/project", prompt_id="turn", error=fails, timestamp=1_700_000_000.0 + 10 * number
        )  # fmt: skip
        result = process_retention(context, text, environ)
        metas.append(result["meta"])
        ended.append(result["expired_ids"])
    return metas, ended


def drawing(metas: list, ended: list, environ: dict) -> list[str]:
    """The lines of the visual model: a bar from each call to its end, full while live, shaded when expired."""
    died_at = {id: step for step, ids in enumerate(ended, 1) for id in ids}
    tracker = RetentionTracker.load("simulated", environ=environ)
    expired = store.read_expired(Site(environ, "simulated").paths(), tracker.state)
    lines = ["Tool Call Timeline:", "─" * 75 + "►", ""]
    for number, ((label, *_), meta) in enumerate(zip(STEPS, metas), 1):
        end = died_at.get(f"T{number}", len(STEPS) + 1)
        bar = " " * (COLUMNS * (number - 1)) + "█" * (COLUMNS * (end - number)) + "░" * (COLUMNS * (len(STEPS) + 1 - end))
        note = f"expired at T{end}" if end <= len(STEPS) else f"live: {meta.expiry_trigger or 'until cleared'}"
        ends = f"  ← {', '.join(ended[number - 1])} expired" if ended[number - 1] else ""
        lines.append(f"T{number}: {label:<20} {meta.retention_tier:<10} [{bar}] {note}{ends}")
    lines.append("")
    lines += [f"{id} expired: {'; '.join(result.ended[4])}" for id, result in expired.items()]
    lines += ["", f"Reclaimable: ~{tracker.get_reclaimable_tokens():,} tokens from {len(expired)} expired items"]
    return lines


def main() -> int:
    with tempfile.TemporaryDirectory() as home:
        environ = {"POPKIT_HOME": home, "CLAUDE_PROJECT_DIR": home + "/project"}
        metas, ended = simulate(environ)
        print("\n".join(drawing(metas, ended, environ)))
    good = tuple(ended) == EXPECTED
    print("as the specification says" if good else f"FAILED: expected {EXPECTED}")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
