"""What `popkit restore HANDLE` takes beyond a bare interpreter, with a large archive.

    python benchmarks/restore_latency.py [--records N] [--runs N] [--json] [--check]

Whole processes, from the shell that starts bin/popkit to its end, in turn with `python3 -S -E -c pass` of the same real
interpreter; the figure is the median of the differences pair by pair. Records are asked for by handle, as placeholders name them, each
another one; and by a name that nothing goes by, which asks every index there is. `--check` exits 1 when a bound is missed.
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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from popkit_retention.core import archive  # noqa: E402  the benchmark runs from anywhere
from popkit_retention.core.policy.context import ContextState  # noqa: E402
from popkit_retention.core.state import store  # noqa: E402

POPKIT = str(ROOT / "bin/popkit")
BOUND_MS = 50
UNKNOWN = "src/nowhere.py"
UNKNOWN_BOUND_MS = 200  # it brings the command line's help and search with it
CHAIN = 1_000  # records of a session
LINE = "    return compute(value, index)\\n"  # as JSON writes it


def fill(home: Path, count: int) -> list:
    """Makes an archive of so many records, and the states of the sessions that they are of; returns their handles."""
    pick = random.Random(7)
    handles: list = []
    db = archive.open_archive(str(home / "archive.sqlite"))
    db.execute("PRAGMA synchronous = OFF")  # it is thrown away
    while len(handles) < count:
        session = f"session-{len(handles) // CHAIN}"
        paths = store.ContextFiles(str(home), session)
        with paths.locked():
            store.save(paths, store.StoredState(ContextState(session)))
        records = [
            archive.NewRecord(
                f"toolu_{n:024}", "read", f"Read src/module_{n}.ts", f'"{n} {LINE * pick.randrange(5, 60)}"', subjects=[f"/shop/{n}"]
            )
            for n in range(len(handles), min(count, len(handles) + CHAIN))
        ]
        handles += archive.add_records(db, archive.Chain(session, session), records, now=1_790_000_000.0 + len(handles))
    db.close()
    return handles


def spawn(command: list, env: dict, out: int, code: int = 0) -> float:
    """Seconds of a process."""
    begin = time.perf_counter()
    pid = os.posix_spawn(command[0], command, env, file_actions=[(os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, out, 2)])
    _, status, _ = os.wait4(pid, 0)
    seconds = time.perf_counter() - begin
    if os.waitstatus_to_exitcode(status) != code:
        raise SystemExit(f"{command} ended with {status}")
    return seconds


def measure(count: int, runs: int) -> dict:
    pick = random.Random(8)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "popkit"
        home.mkdir()
        # The real interpreter, and where the hooks leave its name.
        asked = subprocess.run(
            ["python3", "-S", "-E", "-c", "import sys; print(sys.executable)"], capture_output=True, text=True, check=True
        )
        python = asked.stdout.strip()
        (home / "interpreter").write_text(python + "\n")
        handles = fill(home, count)
        env = {"PATH": os.environ["PATH"], "HOME": folder, "POPKIT_HOME": str(home)}
        printed = Path(folder) / "printed"
        out = os.open(printed, os.O_RDWR | os.O_CREAT)
        pairs = []
        for run in range(runs + 1):
            os.ftruncate(out, 0)
            restored = spawn([POPKIT, "restore", pick.choice(handles)], env, out)
            if "return compute" not in printed.read_text():
                raise SystemExit("nothing was printed")
            bare = spawn([python, "-S", "-E", "-c", "pass"], env, out)
            unknown = spawn([POPKIT, "restore", UNKNOWN], env, out, code=1)
            if run:  # the first is the warm-up
                pairs.append((restored, bare, unknown))
        os.close(out)
    return {
        "records": count,
        "runs": runs,
        "restore_ms": statistics.median(a for a, _, _ in pairs) * 1000,
        "bare_ms": statistics.median(b for _, b, _ in pairs) * 1000,
        "beyond_ms": statistics.median(a - b for a, b, _ in pairs) * 1000,
        "bound_ms": BOUND_MS,
        "unknown_beyond_ms": statistics.median(c - b for _, b, c in pairs) * 1000,
        "unknown_bound_ms": UNKNOWN_BOUND_MS,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000, help="records in the archive")
    parser.add_argument("--runs", type=int, default=40, help="counted pairs")
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--check", action="store_true", help="exit 1 when the bound is missed")
    options = parser.parse_args()
    figures = measure(options.records, options.runs)
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        print(
            f"{figures['records']:,} records, median of {figures['runs']} pairs: {figures['beyond_ms']:.1f} ms beyond a bare interpreter "
            f"({figures['restore_ms']:.1f} - {figures['bare_ms']:.1f}; bound {BOUND_MS})"
        )
        print(f"an unknown name: {figures['unknown_beyond_ms']:.1f} ms beyond a bare interpreter (bound {UNKNOWN_BOUND_MS})")
    missed = figures["beyond_ms"] > BOUND_MS or figures["unknown_beyond_ms"] > UNKNOWN_BOUND_MS
    if missed:
        print("missed", file=sys.stderr)
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
