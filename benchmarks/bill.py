"""What the bill of recorded sessions was made of, how long it takes, and whether its dollars are those that Claude Code noted.

    python benchmarks/bill.py --transcripts FOLDER [--many N] [--check]

One session is the largest recorded one, `popkit bill FILE` as a user runs it. Many are the recorded ones under other names, in a folder of
Claude Code's: the first time every transcript is read, the second time none, then only those that have grown. Newer versions of Claude
Code note in a transcript what the session has cost; of such transcripts the dollars are compared.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import own_sessions

from tests.paths import ROOT

MOST_ONE_S, MOST_MANY_S, MOST_OFF = 0.2, 10.0, 0.02
_NOTED = b'{"type":"cost-state"'
_GROWN = 5  # transcripts that grow before the third time


def run(folder: Path, *words: str) -> tuple[dict[str, Any], float, float]:
    """Run `popkit bill`; return (what it found, seconds, processor seconds of it and its processes)."""
    env = {**os.environ, "CLAUDE_CONFIG_DIR": str(folder / "claude"), "POPKIT_HOME": str(folder / "home")}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, str(ROOT / "hooks" / "popkit.py"), "bill", *words, "--json"]
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, check=True)
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(done.stdout), seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def filled(folder: Path, recorded: list[Path], count: int) -> list[Path]:
    """Fill a folder of Claude Code's with so many sessions, each a recorded one; the first few are copies, which can grow."""
    project = folder / "claude" / "projects" / "-shop"
    project.mkdir(parents=True)
    paths = []
    for number, path in zip(range(count), itertools.cycle(recorded)):
        paths.append(project / f"{number:08}-0000-4000-8000-000000000000.jsonl")
        if number < _GROWN:
            paths[-1].write_bytes(path.read_bytes())
        else:
            os.link(path, paths[-1])
    return paths


def of_kinds(recorded: list[Path], folder: Path) -> None:
    """Print what the whole was made of."""
    whole = run(folder, *map(str, recorded))[0]["whole"]
    print(f"{whole['sessions']} sessions, {whole['requests']:,} requests, ${whole['usd']:,.2f} of those whose price is known. Shares:")
    for name, usd in whole["parts"].items():
        print(f"  {usd / whole['usd']:6.1%}  {name}")
    for row in whole["kinds"][:12]:
        print(f"    {row['usd'] / whole['usd']:6.1%}  {row['kind']} {row['name']}")


def of_time(recorded: list[Path], folder: Path, many: int) -> list[tuple[str, float, float]]:
    """Print how long it takes; return [(what, seconds, bound)]."""
    largest = max(recorded, key=lambda path: path.stat().st_size)
    one, used = map(min, zip(*(run(folder, str(largest))[1:] for _ in range(9))))
    print(f"one session of {largest.stat().st_size / 1e6:.1f} MB, the best of nine: {one:.2f} s, processor {used:.2f} s")
    paths = filled(folder, recorded, many)
    print(f"{many:,} sessions, {sum(path.stat().st_size for path in paths) / 1e9:.2f} GB, on {os.cpu_count()} processors:")
    rows = [("one session", one, MOST_ONE_S)]
    for name, bound in (("the first time", MOST_MANY_S), ("the second", MOST_MANY_S), (f"{_GROWN} have grown", MOST_MANY_S)):
        if "grown" in name:
            for path in paths[:_GROWN]:
                with path.open("ab") as file:
                    file.write(b'{"type":"summary"}\n')
        _, seconds, used = run(folder)
        print(f"  {name}: {seconds:.2f} s, processor {used:.2f} s")
        rows.append((name, seconds, bound))
    return rows


def of_dollars(recorded: list[Path], folder: Path) -> list[float]:
    """Print how far the dollars are from those that were noted; return the ratios."""
    ratios = []
    for path in recorded:
        noted = [line for line in path.read_bytes().splitlines() if line.startswith(_NOTED)]
        usd = json.loads(noted[-1]).get("totalCostUSD") if noted else None
        whole = run(folder, str(path))[0]["whole"] if usd else {}
        if usd and not whole["unpriced"]:
            ratios.append(whole["usd"] / usd)
    if not ratios:
        print("no transcript here notes what its session cost: `pytest tests/client/test_bill.py` compares in the real client")
    else:
        print(f"{len(ratios)} transcripts note what they cost: ours is {min(ratios):.3f} to {max(ratios):.3f} of it")
    return ratios


def main() -> int:
    """Run all three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True)
    parser.add_argument("--many", type=int, default=1_000)
    parser.add_argument("--check", action="store_true", help="fail where a bound is missed")
    args = parser.parse_args()
    recorded = own_sessions.below(args.transcripts)
    with tempfile.TemporaryDirectory(dir=args.transcripts.parent) as scratch:
        of_kinds(recorded, Path(scratch))
        rows = of_time(recorded, Path(scratch), args.many)
        ratios = of_dollars(recorded, Path(scratch))
    missed = [f"{name}: {seconds:.2f} s of {bound}" for name, seconds, bound in rows if seconds > bound]
    missed += [f"dollars: {ratio:.3f}" for ratio in ratios if abs(ratio - 1) > MOST_OFF]
    print("bounds missed: " + "; ".join(missed) if missed else "all bounds are kept")
    return bool(args.check and missed)


if __name__ == "__main__":
    sys.exit(main())
