"""What governing costs: how long it takes to judge resources, to change a policy, to add to the log, to find in it and to verify it.

    python benchmarks/governance.py [--resources N] [--entries N] [--runs N] [--json] [--check]

Resources are given as callers describe them, once all of them as they should be and once half of them hostile; the time is the processor's
in `apply_rules` over `resource_of`. Policies and log stand in a folder on disk, because changing them waits for it: there
it is the clock's. It is the best of the runs, of entries that are added the median. `--check` exits 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "power-mode")]

from popkit_retention.governance.controller import Controller  # noqa: E402  the benchmark runs from anywhere
from popkit_retention.governance.domains.rules import DAY_S, apply_rules, resource_of  # noqa: E402
from popkit_retention.governance.log import Log  # noqa: E402
from popkit_retention.governance.policies import SOURCE_TYPES, RetentionPolicy  # noqa: E402

NOW = 1_790_000_000.0
BOUND_S, OF = 0.5, 100_000
POLICY = RetentionPolicy(keep_session_ids=tuple(f"s{n}" for n in range(0, 1_000, 10)), keep_context_ids=tuple(range(1, 10)), limit=20_000)
ODD: tuple[object, ...] = (None, True, "", "x" * 10_000, -1, float("nan"), float("inf"), 1e308, 10**400, [], {}, "\x1b[31m", "9999-99-99")


def described(count: int, hostile: bool) -> list[object]:
    """So many resources, of which every second is odd in one of its keys where they are to be hostile."""
    found: list[object] = []
    for number in range(count):
        one: dict[str, object] = {
            "id": f"r{number}",
            "created_at": NOW - number % 90 * DAY_S if number % 3 else f"2026-0{number % 8 + 1}-1{number % 9}T00:00:00.000Z",
            "source_type": SOURCE_TYPES[number % 3],
            "session_id": f"s{number % 1_000}",
            "context_id": number % 100 + 1,
        }
        if hostile and number % 2:
            one[list(one)[number // 2 % len(one)]] = ODD[number // 2 % len(ODD)]
        found.append(one)
    return found


def times_s(runs: int, work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> list[float]:
    taken = []
    for _ in range(runs):
        began = clock()
        work()
        taken.append(clock() - began)
    return taken


def judged(count: int, runs: int, hostile: bool) -> dict:
    values = described(count, hostile)
    applied = apply_rules(POLICY, map(resource_of, values), NOW)
    return {
        "what": f"judge {count:,} resources" + (", half of them hostile" if hostile else ""),
        "ms": min(times_s(runs, lambda: apply_rules(POLICY, map(resource_of, values), NOW), time.process_time)) * 1e3,
        "bound_ms": BOUND_S * 1e3 * count / OF,
        "found": len(applied.eligible) + applied.left_out,
    }


def kept(count: int, runs: int) -> list[dict]:
    """Policies and a log of so many entries, each about ten ids."""
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:  # where there is a disk
        limits = iter(range(1, 10_000))
        with Controller({"POPKIT_HOME": folder}) as controller:
            configured = min(times_s(runs, lambda: controller.configure("rag", {"limit": next(limits)})))
        log = Log(folder + "/data/state/retention-log.sqlite")
        numbers = iter(range(10**9))

        def append() -> None:
            number = next(numbers)
            log.append("marked", "rag", [f"id-{number}-{n}" for n in range(10)], {"reason": "older"}, "job", NOW + number)

        appended = statistics.median(times_s(count, append))
        rows = [
            ("change a policy", configured),
            ("add an entry to the log", appended),
            (f"find an id in a log of {log.count():,}", min(times_s(runs, lambda: log.entries(id="id-7-7")))),
            (f"verify a log of {log.count():,}", min(times_s(runs, log.verify))),
        ]
        log.close()
    return [{"what": what, "ms": taken * 1e3, "bound_ms": None, "found": None} for what, taken in rows]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--resources", type=int, default=OF)
    parser.add_argument("--entries", type=int, default=2_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    rows = [judged(given.resources, given.runs, hostile) for hostile in (False, True)] + kept(given.entries, given.runs)
    if given.json:
        print(json.dumps(rows))
    else:
        for row in rows:
            bound = f"   bound {row['bound_ms']:,.0f}" if row["bound_ms"] else ""
            print(f"{row['what']:<55}{row['ms']:>9,.1f} ms{bound}")
    missed = [row["what"] for row in rows if row["bound_ms"] and row["ms"] > row["bound_ms"]]
    if given.check and missed:
        print(f"over the bound: {', '.join(missed)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
