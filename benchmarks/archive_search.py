"""What searching the archive costs: milliseconds of a question, and what the index adds to the file.

    python benchmarks/archive_search.py [--records N] [--runs N] [--json] [--check]

The archive is built of results of 4 KB as they leave contexts: pieces of the standard library's source as a Read shows them, finds of a
search in it, and logs. Its records stand in sessions of 1,000 of a few projects, in the zones that they would be in: the newest 100 of a
session as they were, the others compressed. The size is that of the whole file, compacted, with the index and without it. Questions are
words and names out of the text, from the rarest to the most common, over everything, one project, one session. `--check` exits 1 when a
bound is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from popkit_retention.core import archive  # noqa: E402  the benchmark runs from anywhere
from popkit_retention.core.archive import deletion, index, searching  # noqa: E402
from popkit_retention.core.policy.masking import mask  # noqa: E402

BOUND_MS, BOUND_SHARE = 20.0, 0.30
CHAIN, PROJECTS, CHARS = 1_000, 7, 4_000
QUESTIONS = (
    "getLogger", "assertRaises ValueError", "self", "import os", "def __init__ self", "threading lock acquire", "request 4711",
    "timeout connection refused", "http/client.py", "encode utf8 surrogateescape", "nothing like thisword", "the of and in to is",
)  # fmt: skip


class Texts:
    """Results of some 4 KB, no two alike."""

    def __init__(self, seed: int = 7) -> None:
        self.pick = random.Random(seed)
        folder = Path(os.__file__).parent
        self.files = [
            (path, path.read_text("utf-8", "replace")) for path in sorted(folder.rglob("*.py")) if "site-packages" not in path.parts
        ]
        self.files = [(path, text) for path, text in self.files if len(text) > CHARS]
        self.lines = [f"{path}:{number}:{line}" for path, text in self.files for number, line in enumerate(text.splitlines(), 1) if line]

    def one(self) -> tuple[str, str]:
        """(label, text)"""
        kind = self.pick.random()
        if kind < 0.6:
            path, text = self.pick.choice(self.files)
            at = self.pick.randrange(max(1, len(text) - CHARS))
            number = text.count("\n", 0, at) + 1
            shown = text[at : at + CHARS * 9 // 10].split("\n")
            return f"Read {path.name}", "\n".join(f"{n:6}\u2192{line}" for n, line in enumerate(shown, number))
        if kind < 0.8:
            at = self.pick.randrange(len(self.lines) - 60)
            return "Grep", "\n".join(self.lines[at : at + 60])[:CHARS]
        return "Bash", "\n".join(self.log_line() for _ in range(42))

    def log_line(self) -> str:
        pick = self.pick
        what = pick.choice(("connection refused by peer", "timeout after 30 s", "served /api/v2/items", "cache miss for user", "retrying"))
        day, hour, minute, second = (pick.randrange(most) for most in (28, 24, 60, 60))
        stamp = f"2026-02-{day + 1:02}T{hour:02}:{minute:02}:{second:02}.{pick.randrange(999):03}Z"
        level = pick.choice(("INFO", "WARN", "ERROR"))
        return f"{stamp} {level} worker-{pick.randrange(8)} request {pick.randrange(10_000)} {what} {pick.randrange(900)} ms"


def fill(path: Path, count: int) -> None:
    """Makes an archive of so many records whose index is still to be made."""
    texts = Texts()
    db = archive.open_archive(str(path))
    db.execute("PRAGMA synchronous = OFF")  # it is thrown away
    for begin in range(0, count, CHAIN):
        name = f"session-{begin // CHAIN}"
        chain = archive.Chain(name, name, project=f"/home/dev/project-{begin // CHAIN % PROJECTS}")
        records = []
        for number in range(begin, min(count, begin + CHAIN)):
            label, text = texts.one()
            records.append(archive.NewRecord(f"toolu_{number:024}", "read", label, json.dumps(text, ensure_ascii=False)))
        archive.add_records(db, chain, records, now=1_790_000_000.0 + begin, indexer=index.Indexer(db, 0))
        archive.archive_chain(db, name, lambda record: False)
    db.close()


def asked(db: object, runs: int) -> list[dict]:
    """The milliseconds of each question, as a reader waits for them: records and lines."""
    rows = []
    scopes: tuple = (
        ("everything", {}), ("a project", {"projects": {"/home/dev/project-1"}}), ("a session", {"session": "session-1"}),
    )  # fmt: skip
    for question in QUESTIONS:
        for name, where in scopes:
            taken, busy, count = [], [], 0
            for _ in range(runs):
                began, began_busy = time.perf_counter(), time.process_time()
                count = len(searching.search(db, question, mask, **where))  # type: ignore[arg-type]
                taken.append((time.perf_counter() - began) * 1e3)
                busy.append((time.process_time() - began_busy) * 1e3)
            times = {"ms": statistics.median(taken), "processor_ms": statistics.median(busy)}
            rows.append({"question": question, "in": name, **times, "found": count})
    return rows


def measure(path: Path, count: int, runs: int) -> dict:
    fill(path, count)
    db = archive.open_archive(str(path))
    deletion.compact(db)
    without = path.stat().st_size
    began = time.perf_counter()
    index.index_queued(db)
    indexed_s = time.perf_counter() - began
    grown = path.stat().st_size
    rows = asked(db, runs)
    began = time.perf_counter()
    deletion.compact(db)
    compacted_s = time.perf_counter() - began
    original = archive.stats(db)["original_bytes"]
    db.close()
    return {
        "records": count, "original_mb": original / 1e6, "without_mb": without / 1e6, "with_mb": path.stat().st_size / 1e6,
        "share": path.stat().st_size / without - 1, "share_before_compaction": grown / without - 1, "indexed_s": indexed_s,
        "compacted_s": compacted_s, "median_ms": statistics.median(row["ms"] for row in rows), "most_ms": max(row["ms"] for row in rows),
        "processor_ms": statistics.median(row["processor_ms"] for row in rows),
        "questions": rows,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5, help="how often each question is asked")
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--check", action="store_true", help="exit 1 when a bound is missed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder) / "archive.sqlite", options.records, options.runs)
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        for row in figures["questions"]:
            print(f"{row['ms']:7.2f} ms  {row['found']:3} found  {row['question']!r} in {row['in']}")
        print(
            f"{figures['records']:,} records of {figures['original_mb']:.0f} MB: median {figures['median_ms']:.1f} ms, "
            f"most {figures['most_ms']:.1f} ms (bound {BOUND_MS:g} ms); "
            f"of the processor {figures['processor_ms']:.1f} ms\n"
            f"the index adds {figures['share']:.1%} to a file of {figures['without_mb']:.0f} MB (bound {BOUND_SHARE:.0%}; "
            f"{figures['share_before_compaction']:.1%} before it is compacted)\n"
            f"indexed in {figures['indexed_s']:.0f} s, compacted in {figures['compacted_s']:.1f} s"
        )
    missed = figures["median_ms"] > BOUND_MS or figures["share"] > BOUND_SHARE
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
