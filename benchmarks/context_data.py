"""What the store of usage and snapshots costs: the page's questions to a PostgreSQL with 100,000 snapshots while 8 writers go on, and what
a snapshot adds to a build.

    python benchmarks/context_data.py [--snapshots N] [--writers N] [--runs N] [--sqlite] [--json] [--check]

The server is Debian's, started for this and ended with it (apt-get install postgresql); --sqlite takes a file instead. Builds with and
without a snapshot take turns, and the figure is the median of their differences. `--check` exits 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "power-mode")]

from popkit_retention.context import ContextBuildOptions, build_context  # noqa: E402
from popkit_retention.context.provider_forms import Provider  # noqa: E402
from popkit_retention.context.requests import Caller, Request  # noqa: E402
from popkit_retention.context.usage_log import DatabaseLog  # noqa: E402
from popkit_retention.core.io.system import day_of  # noqa: E402  the benchmark runs from anywhere
from popkit_retention.usage import budgets  # noqa: E402
from popkit_retention.usage.configured_database import open_store  # noqa: E402
from popkit_retention.usage.records import CLIENT, RequestUsage, Snapshot, Tokens, month_of  # noqa: E402
from tests import debian  # noqa: E402
from tests.context import postgresql  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from popkit_retention.usage.usage_store import UsageStore

BOUND_MS = 50.0
BOUND_ADDED_MS = 1.0  # of a median build of some milliseconds: what two runs of the same differ by
NOW = time.time()
DAY_S = 86_400.0
OF_A_SESSION = 100
USERS = [f"user{n}" for n in range(8)]
BREAKDOWN = {**{f"tier{n}": {"tokens": 10_000, "items": 5} for n in range(1, 5)}, "total": 40_000}
STRATEGY = {"budgetRange": "60-80%", "tier1Messages": 1, "tier2Items": "all", "tier3Mode": "full", "tier4Messages": 5}


def main() -> int:
    """Measures and prints; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--snapshots", type=int, default=100_000, metavar="N")
    parser.add_argument("--writers", type=int, default=8, metavar="N")
    parser.add_argument("--runs", type=int, default=40, metavar="N")
    parser.add_argument("--sqlite", action="store_true", help="a file instead of a server")
    parser.add_argument("--write", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.write:
        return _write_on()
    with tempfile.TemporaryDirectory() as home, _environment(home, args.sqlite) as (environ, version):
        rows = _measure(args, environ)
    if args.json:
        print(json.dumps({"database": version, "rows": rows}))
    else:
        print(f"{version}, {args.snapshots:,} snapshots and as many requests, {args.writers} writers")
        for row in rows:
            print(f"  {row['what']:<46} median {row['median_ms']:7.2f} ms   p95 {row['p95_ms']:7.2f} ms   bound {row['bound_ms']:g} ms")
    return int(args.check and any(row["median_ms"] > row["bound_ms"] for row in rows))


@contextmanager
def _environment(home: str, sqlite: bool) -> Iterator[tuple[dict[str, str], str]]:
    environ = {"POPKIT_HOME": home, "LOGNAME": "user0"}
    if sqlite:
        yield environ, "SQLite"
        return
    if debian.postgresql() is None:
        sys.exit("no PostgreSQL here: apt-get install postgresql, or --sqlite")
    with postgresql.running() as server:
        yield {**environ, **server.environ(server.new_database())}, f"PostgreSQL {server.version}"


def _measure(args: argparse.Namespace, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    with open_store(environ) as store:
        _fill(store, args.snapshots)
        command = [sys.executable, __file__, "--write"]
        writers = [subprocess.Popen(command, env={**os.environ, **environ}, stdout=subprocess.PIPE) for _ in range(args.writers)]
        try:
            for writer in writers:
                assert writer.stdout is not None
                writer.stdout.readline()  # it has written
            rows = [_row(what, [_timed(store, ask) for _ in range(args.runs)], BOUND_MS) for what, ask in _questions(args.snapshots)]
        finally:
            for writer in writers:
                writer.terminate()
                writer.communicate()
    return [*rows, _row("what a snapshot adds to a build", _added(environ, args.runs), BOUND_ADDED_MS)]


def _row(what: str, times_ms: list[float], bound_ms: float) -> dict[str, Any]:
    ordered = sorted(times_ms)
    p95 = ordered[min(len(ordered) - 1, round(len(ordered) * 0.95))]
    return {"what": what, "median_ms": round(statistics.median(ordered), 3), "p95_ms": round(p95, 3), "bound_ms": bound_ms}


def _fill(store: UsageStore, count: int) -> None:
    """Snapshots and requests of the last 30 days, as many of a session as are usual."""
    chance = random.Random(1)
    for start in range(0, count, 1_000):
        snapshots = [_snapshot(n, NOW - chance.random() * 30 * DAY_S) for n in range(start, min(count, start + 1_000))]
        store.write([_used(snapshot) for snapshot in snapshots], snapshots)
    with store.writing() as db:
        db.change("ANALYZE")


def _snapshot(number: int, at: float) -> Snapshot:
    session = number // OF_A_SESSION
    user = USERS[session % len(USERS)]
    return Snapshot(
        str(uuid.uuid4()), f"session-{session}", user, BREAKDOWN, 40_000, 30.0, STRATEGY, at, 70.0, 90_000, "claude-opus-5", "/home/me/shop"
    )


def _used(of: Snapshot) -> RequestUsage:
    tokens = Tokens(500, 38_000, 1_000, 500, 700)
    return RequestUsage(CLIENT, of.id, of.session_id, of.user_id, of.model, of.created_at, tokens, 0.05, of.project)


def _questions(count: int) -> list[tuple[str, Callable[[UsageStore], object]]]:
    """What the page asks."""
    chance = random.Random(2)
    sessions = max(1, count // OF_A_SESSION)
    month, since = month_of(NOW), day_of(NOW - 30 * DAY_S)
    limits = budgets.Limits(10**9, 10**9, 100.0, 1_000.0)

    def some() -> str:
        return f"session-{chance.randrange(sessions)}"

    return [
        ("the newest snapshot of a session", lambda store: store.snapshots(some(), 1)),
        ("a session's course, 300 snapshots", lambda store: store.snapshots(some(), 300)),
        ("the newest 100 sessions with what they used", lambda store: store.by_session(day_of(NOW - DAY_S))),
        ("what a user used by day, 30 days", lambda store: store.by_day(since, USERS[0])),
        ("who has used anything this month", lambda store: store.users(month)),
        ("how four limits stand", lambda store: budgets.standings(store, limits, some(), USERS[0], NOW)),
    ]


def _timed(store: UsageStore, ask: Callable[[UsageStore], object]) -> float:
    began = time.perf_counter()
    ask(store)
    return (time.perf_counter() - began) * 1000


def _write_on() -> int:
    """One writer: snapshots and usage as a busy client leaves them, until it is told to end."""
    chance = random.Random(os.getpid())
    with open_store(os.environ) as store:
        while True:
            snapshots = [_snapshot(chance.randrange(100_000), time.time()) for _ in range(5)]
            store.write([_used(snapshot) for snapshot in snapshots], snapshots)
            print("written", flush=True)
            time.sleep(0.25)


def _added(environ: Mapping[str, str], runs: int) -> list[float]:
    """Differences of builds with a snapshot and without, pair by pair (ms)."""
    text = "What was said here is about as long as a paragraph of an answer. " * 8
    messages = [{"role": ("user", "assistant")[n % 2], "content": f"{n} {text}"} for n in range(201)]
    request, caller = Request(Provider.ANTHROPIC, "claude-opus-5", messages), Caller("user0", "session-0")
    log = DatabaseLog(environ)

    def build(keeps: bool) -> float:
        began = time.perf_counter()
        result = build_context(ContextBuildOptions(messages=messages, model=request.model))
        if keeps:
            log.built(caller, request, result)
        return (time.perf_counter() - began) * 1000

    for keeps in (True, False):
        build(keeps)
    differences = []
    for number in range(runs):
        first = number % 2 == 0
        times = {keeps: build(keeps) for keeps in (first, not first)}
        differences.append(times[True] - times[False])
    log.close()
    return differences


if __name__ == "__main__":
    sys.exit(main())
