"""How many of the command lines that were really run the mask changes, and what it takes out of them.

    python benchmarks/masked_commands.py --transcripts FOLDER [--show] [--json]

Every Bash command of every transcript below the folder, each different line once. Which of the changes are wrong only a person can tell:
`--show` prints what is taken out, with a little of what stands before it; the lines may hold secrets, so print them for yourself alone.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from popkit_retention.core.policy.masking import mask

AROUND = 40


def commands(folder: Path) -> set[str]:
    """The command lines of all transcripts below a folder, subagents included."""
    found = set()
    for path in sorted(folder.rglob("*.jsonl")):
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if '"tool_use"' in line:
                    found |= set(_of_line(line))
    return found


def _of_line(line: str) -> Iterator[str]:
    try:
        content = json.loads(line)["message"]["content"]
    except (ValueError, KeyError, TypeError):
        return
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_use" and block.get("name") == "Bash":
            command = (block.get("input") or {}).get("command")
            if isinstance(command, str):
                yield command


def taken_out(command: str, masked: str) -> str:
    """What differs between a line and its masked form, from the first difference to the last, with a little before it."""
    first = next((at for at, (one, other) in enumerate(zip(command, masked)) if one != other), len(masked))
    last = next((at for at, (one, other) in enumerate(zip(command[::-1], masked[::-1])) if one != other), 0)
    return repr(command[max(0, first - AROUND) : max(first, len(command) - last)][: 4 * AROUND])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    lines = commands(args.transcripts)
    changed = {command: masked for command in sorted(lines) if (masked := mask(command)) != command}
    if args.json:
        print(json.dumps({"lines": len(lines), "changed": len(changed)}))
        return 0
    print(f"{len(changed):,} of {len(lines):,} command lines change ({len(changed) / max(1, len(lines)):.2%})")
    for command, masked in changed.items() if args.show else ():
        print(taken_out(command, masked))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
