"""How long memory takes over many items: `python3 benchmarks/memory.py speed [--items N]`.

Each part is a process of its own, so that its peak of memory is its own. The items are made up: paths and notes of 20 projects, up to 90
days old, some of them asked for.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "power-mode")]

from popkit_retention.memory.items import COLD, HOT, WARM, Item  # noqa: E402
from popkit_retention.memory.memory import Memory  # noqa: E402
from popkit_retention.memory.search import search as find  # noqa: E402
from popkit_retention.memory.stores.protocol import Change  # noqa: E402
from popkit_retention.memory.stores.sqlite import SqliteStore  # noqa: E402

ITEMS = 100_000
SEARCHES = 200
NOW = 1_800_000_000.0
DAY_S = 86_400.0
_SYLLABLES = "ka to mi ra sen lu for bi da nel po ti vas gre on".split()
# Made-up words, as often as words are: the n-th with 1/n (Zipf).
_WORDS = ["".join(syllables) for syllables in itertools.product(_SYLLABLES, repeat=3)]
_OFTEN = list(itertools.accumulate(1 / rank for rank in range(1, len(_WORDS) + 1)))


def made_up_item(number: int, chance: random.Random) -> Item:
    """An item: three of four are paths or names, the others notes."""
    words = chance.choices(_WORDS, cum_weights=_OFTEN, k=12)
    note = number % 4 == 0
    text = " ".join(words) + f" number {number}." if note else f"src/{words[0]}/{words[1]}_{words[2]}_{number}.ts"
    at = NOW - chance.random() * 90 * DAY_S
    accesses = sorted(chance.uniform(at, NOW) for _ in range(chance.choice((0, 0, 0, 1, 4))))
    return Item(
        f"m{number:07}", text, f"project-{number % 20}", "note" if note else "path", "prose" if note else "code", "session", 0.8,
        created_at=at, last_accessed=accesses[-1] if accesses else at, accesses=accesses, access_count=len(accesses), tier_since=at,
        writes=chance.randint(1, 30), sessions=chance.randint(1, 6), tier=chance.choice((HOT, WARM, COLD)), uniqueness=chance.random(),
    )  # fmt: skip


def fill(path: str, items: int) -> float:
    """Seconds that it took to keep so many items."""
    chance = random.Random(7)
    store = SqliteStore(path)
    began = time.perf_counter()
    for first in range(0, items, 5_000):
        store.add([made_up_item(number, chance) for number in range(first, min(items, first + 5_000))])
    store.close()
    return time.perf_counter() - began


def search(path: str) -> dict[str, float]:
    """Milliseconds of a search of three words in one project of 20, and over the whole store in all of them."""
    chance = random.Random(8)
    store = SqliteStore(path)
    found = {}
    for name, projects in (("search in one project", [f"project-{number}" for number in range(20)]), ("search over all", [None])):
        times = []
        for _ in range(SEARCHES):
            asked = " ".join(chance.choices(_WORDS, cum_weights=_OFTEN, k=3))
            began = time.perf_counter()
            find(store, asked, chance.choice(projects))
            times.append((time.perf_counter() - began) * 1000)
        found[name] = statistics.median(times)
    return found


def documents(path: str) -> dict[str, float]:
    """Milliseconds of processor for MEMORY.md of all items, which are one project's, and of one user's out of 1,000."""
    store = SqliteStore(path)
    store.change(
        Change(item.id, {"project": "shop", "user_id": f"user {number % 1_000}"}) for number, item in enumerate(list(store.scan()))
    )
    whole = Memory(store, "shop", lambda: NOW)
    found = {}
    for name, memory in (("document of one project", whole), ("document of one user", whole.scoped(user_id="user 7"))):
        times = []
        for _ in range(11):
            began = time.process_time()
            memory.document()
            times.append((time.process_time() - began) * 1000)
        found[name] = statistics.median(times)
    return found


def job(path: str) -> dict[str, float]:
    """Seconds of the job's first run, which moves most of the items, and of one an hour later."""
    memory = Memory(SqliteStore(path), "", lambda: NOW)
    times = []
    for _ in range(2):
        began = time.perf_counter()
        memory.run(force=True)
        times.append(time.perf_counter() - began)
    return {"first run of the job": times[0], "next run of the job": times[1]}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--items", type=int, default=ITEMS, help=f"how many items are kept (default {ITEMS:,})")


def run(options: argparse.Namespace) -> list[dict[str, object]]:
    """What was timed, the figure, and its unit."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "memory.sqlite")
        rows: list[dict[str, object]] = [row(f"{options.items:,} items kept", fill(path, options.items), "s")]
        for part, unit in (("search", "ms"), ("job", "s"), ("documents", "ms")):
            done = subprocess.run([sys.executable, __file__, part, path], capture_output=True, text=True, check=True)
            found = json.loads(done.stdout)
            rows += [row(name, figure, unit) for name, figure in found.items() if name != "peak"]
            rows.append(row(f"most memory of the {part}", found["peak"], "MB"))
    return rows


def peak() -> float:
    """The most memory of this process, in MB. `ru_maxrss` would begin with that of the process which started it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def row(what: str, figure: float, unit: str) -> dict[str, object]:
    return {"what": what, "figure": round(figure, 1), "unit": unit}


if __name__ == "__main__":
    figures = {"search": search, "job": job, "documents": documents}[sys.argv[1]](sys.argv[2])
    print(json.dumps({**figures, "peak": peak()}))
