"""The sampler's command: `python -m tests.mutants --package policy --count 100 --seed 1`."""

from __future__ import annotations

import argparse
import difflib
import json
import signal
import sys
import time
from pathlib import Path

from tests.mutants.sampler import ARGUED, SURVIVED, Tried, changed_lines, modules, population, sample, tests_of, tried

ROOT = Path(__file__).resolve().parents[2]
# What decides, and what keeps the results that left a context: here a mutant that survives is to be killed, or argued in arguments/.
HELD, AT_MOST = ("policy", "state", "reclaim", "archive"), 8.0


def parser() -> argparse.ArgumentParser:
    said = argparse.ArgumentParser(
        prog="python -m tests.mutants", description="Break the code in small ways, and see which no test notices."
    )
    said.add_argument(
        "--package", action="append", default=[], metavar="PATH", help="a package, or the end of its path; several may be given"
    )
    said.add_argument("--changed", metavar="REV", help="only lines that are not as they were at this revision")
    said.add_argument("--count", type=int, default=100, help="how many mutants of each package (of all, with --changed) are tried; 100")
    said.add_argument("--seed", type=int, default=0, help="another sample; 0")
    said.add_argument("--seconds", type=float, default=float("inf"), help="begin no mutant after so many")
    said.add_argument("--json", action="store_true", help="print a line of JSON for each mutant in place of text")
    said.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    return said


def main(words: list[str] | None = None) -> int:
    asked = parser().parse_args(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the copy of the tree goes
    if asked.changed is not None:
        lines = changed_lines(asked.root, asked.changed)
        files = [file for file in lines if (asked.root / file).exists()]
        packages = [sample(population(asked.root, files, lines), asked.count, asked.seed)]
    else:
        packages = [
            sample(population(asked.root, modules(asked.root, package)), asked.count, asked.seed) for package in asked.package or HELD
        ]
    began, found = time.monotonic(), []
    for one in tried(asked.root, [mutation for package in packages for mutation in package], seconds=asked.seconds):
        found.append(one)
        show(asked.root, one, asked.json)
    return summed(asked.root, found, time.monotonic() - began, sys.stderr if asked.json else sys.stdout)


def show(root: Path, one: Tried, as_json: bool) -> None:
    mutation = one.mutation
    if as_json:
        print(
            json.dumps(
                {
                    "file": mutation.file,
                    "line": mutation.line,
                    "change": mutation.change,
                    "ended": one.ended,
                    "tests": one.tests,
                    "seconds": round(one.seconds, 1),
                }
            ),
            flush=True,
        )
    elif one.survives:
        source = (root / mutation.file).read_bytes()
        before, after = source.decode().splitlines(), mutation.applied(source).decode().splitlines()
        diff = difflib.unified_diff(before, after, mutation.file, f"{one.tests} tests pass", lineterm="", n=1)
        print("\n".join(diff), end="\n\n", flush=True)


def summed(root: Path, found: list[Tried], seconds: float, out) -> int:
    """Print a line for each folder of tests; 1 if more survive than may."""
    failed = 0
    for tests in sorted({tests_of(root, one.mutation.file) for one in found}):
        of_these = [one for one in found if tests_of(root, one.mutation.file) == tests]
        survive, argued = ([one for one in of_these if one.ended == how] for how in (SURVIVED, ARGUED))
        share = 100 * len(survive) / len(of_these)
        failed |= tests.rpartition("/")[2] in HELD and share > AT_MOST
        print(f"{tests}: {len(survive)} of {len(of_these)} mutants survive ({share:.0f} %), {len(argued)} are argued", file=out)
    print(f"{len(found)} mutants in {seconds:.0f} s", file=out)
    return failed


if __name__ == "__main__":
    sys.exit(main())
