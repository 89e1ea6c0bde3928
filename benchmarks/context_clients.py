"""What a wrapped client adds to a call: the same calls with and without it, in pairs, against an API on loopback that answers at once.

    python benchmarks/context_clients.py [--pairs N] [--json] [--check]

A conversation grows by an exchange from call to call, as an agent's does; before the first pair it has as many tokens as the row says.
Wrapped without a user nothing is built; with one all is as in use: limits are asked for, the context is built, its snapshot is kept.
`added` is the median of the differences pair by pair, by the clock and in processor time (of the API and of what is written behind calls
too), `ratio` the median of the quotients by the clock: an API that thinks makes it smaller. `--check` exits 1 when a bound is missed, in
processor time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "power-mode")]

from popkit_retention.clients import with_context  # noqa: E402  found through the path above
from popkit_retention.context.configured_service import configured_service  # noqa: E402
from popkit_retention.context.service import ContextService  # noqa: E402
from tests.context.clients.callers import KINDS, Kind, id_of  # noqa: E402
from tests.context.clients.providers import Providers  # noqa: E402

MODEL = "claude-opus-4-5"
LIMITS = {"retention": {"context": {"session_tokens": 10**9}}}
CHARS_PER_TOKEN = 2.9
EXCHANGE_TOKENS = 1_000
WARM_UP = 3
# What a wrapped client may add: without a user, and with one in a conversation of 200,000 tokens (milliseconds).
UNTOUCHED_MS, BUILT_MS = 1.0, 100.0
ROWS = [(KINDS[0], 200_000), *((kind, 20_000) for kind in KINDS), (KINDS[0], 200)]


def exchange(number: int, tokens: int = EXCHANGE_TOKENS) -> list[dict[str, Any]]:
    """A request and its answer, like no other."""
    line = f"line {number} of what somebody has said and asked about part {number * 7 % 1000} of it\n"
    half = line * max(1, int(tokens * CHARS_PER_TOKEN / 2 / len(line)))
    return [{"role": "user", "content": f"{number} {half}"}, {"role": "assistant", "content": half}]


def conversation(tokens: int, longer_by: int) -> list[dict[str, Any]]:
    """What a call sends that comes so many exchanges later."""
    whole = max(1, tokens // EXCHANGE_TOKENS)
    messages = [message for number in range(whole + longer_by) for message in exchange(number, min(tokens, EXCHANGE_TOKENS))]
    return [*messages, {"role": "user", "content": f"And now, after {longer_by}?"}]


class Took(NamedTuple):
    """Seconds, by the clock and of the processor."""

    wall: float
    cpu: float


def timed(kind: Kind, client: Any, messages: list[dict[str, Any]]) -> Callable[[], Any]:
    """One call, measured; a coroutine where the client is asynchronous."""

    def since(wall: float, cpu: float) -> Took:
        return Took(time.perf_counter() - wall, time.process_time() - cpu)

    def call() -> Took:
        began = time.perf_counter(), time.process_time()
        kind.create(client, model=MODEL, messages=messages)
        return since(*began)

    async def call_async() -> Took:
        began = time.perf_counter(), time.process_time()
        await kind.create(client, model=MODEL, messages=messages)
        return since(*began)

    return call_async if kind.asynchronous else call


async def pairs(kind: Kind, api: Providers, service: ContextService, user: str, tokens: int, count: int) -> dict[str, Any]:
    """So many pairs, in changing order."""
    plain = kind.make(api)
    wrapped = with_context(kind.make(api), user_id=user, session_id=f"{id_of(kind)} {user} {tokens}", service=service)
    measured: list[tuple[Took, Took]] = []
    for number in range(WARM_UP + count):
        messages = conversation(tokens, number)
        calls = [timed(kind, client, messages) for client in (plain, wrapped)]
        took = {}
        for which in (0, 1) if number % 2 else (1, 0):
            made = calls[which]()
            took[which] = await made if kind.asynchronous else made
        measured.append((took[0], took[1]))
        api.requests.clear()
    for client in (plain, wrapped):
        closed = client.close()
        if kind.asynchronous:
            await closed
    measured = measured[WARM_UP:]
    return {
        "client": id_of(kind),
        "tokens": tokens,
        "user": bool(user),
        "plain_ms": statistics.median(before.wall for before, _ in measured) * 1e3,
        "added_ms": statistics.median(after.wall - before.wall for before, after in measured) * 1e3,
        "added_cpu_ms": statistics.median(after.cpu - before.cpu for before, after in measured) * 1e3,
        "ratio": statistics.median(after.wall / before.wall for before, after in measured),
    }


def run(count: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder, Providers() as api:
        (Path(folder) / "retention-config.json").write_text(json.dumps(LIMITS))
        service = configured_service({"POPKIT_HOME": folder, "LOGNAME": "benchmark"})
        rows = [asyncio.run(pairs(kind, api, service, user, tokens, count)) for kind, tokens in ROWS for user in ("", "dana")]
        service.close()
    return rows


def missed(rows: list[dict[str, Any]]) -> list[str]:
    """The bounds that do not hold."""
    bounds = [(row, BUILT_MS if row["user"] else UNTOUCHED_MS) for row in rows]
    return [
        f"{row['client']}, {row['tokens']:,} tokens: {row['added_cpu_ms']:.1f} ms added"
        for row, most in bounds
        if row["added_cpu_ms"] > most
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    rows = run(options.pairs)
    if options.json:
        print(json.dumps(rows))
    else:
        print(f"{options.pairs} pairs; plain: the call without wrapping")
        for row in rows:
            what = "built" if row["user"] else "untouched"
            print(
                f"{row['client']:16}{row['tokens']:>9,} tokens  {what:10} plain {row['plain_ms']:6.1f} ms   added {row['added_ms']:6.1f} ms"
                f", of the processor {row['added_cpu_ms']:6.1f} ms   ratio {row['ratio']:.2f}"
            )
    problems = missed(rows) if options.check else []
    print(*problems, sep="\n", file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
