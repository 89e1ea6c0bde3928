"""How many sessions a second the lab replays in one process, in two, and on two workers of a Dask cluster, side by side; and how much
memory the process that sums them up needs for very many.

    python benchmarks/cluster.py --transcripts FOLDER [--few N] [--many N] [--policy NAME …] [--check]

The sessions are the recorded ones under other names, as often as are needed. The workers of the cluster have replayed some sessions before,
as those of a cluster that is there have; processes are started anew, as the command starts them. Wall time says what two of anything are
worth only where nobody else uses the processors, so processor time stands beside it, that of Dask's scheduler included: by how much the
work grows when it is shared. What a cluster takes while it has nothing to do, in as long, is in that too and stands beside it: on a busy
machine, where a run takes long, it is much of it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.parallel.clusters import cluster
from tests.paths import ROOT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from distributed import Client

MASKING = "benchmarks.lab.rivals:Masking"
LEAST_EFFICIENCY, MOST_MB = 0.85, 300
# Dask looks at what a worker does a hundred times a second, unless it is told not to.
UNSAMPLED = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
WARM = 8  # sessions
IDLE_S = 5.0
# The command line, which tells the most memory that its own process had.
DRIVER = """
import re, sys
from popkit_retention.cli.main import main
code = main(sys.argv[1:])
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1], file=sys.stderr)
raise SystemExit(code)
"""


def filled(folder: Path, recorded: list[Path], count: int) -> Path:
    """Fill a folder with so many sessions, each a link to a recorded one."""
    folder.mkdir()
    for number, path in zip(range(count), itertools.cycle(recorded)):
        repository, _, name = path.name.partition("__")
        os.link(path, folder / f"{repository}__{number:06}-{name or 'session.jsonl'}")
    return folder


def run(folder: Path, policies: list[str], *words: str) -> tuple[dict, float, float, float]:
    """Run the lab; return (what it found, seconds, processor seconds of it and its processes, MB at most of its own process)."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "power-mode")]), "POPKIT_HOME": str(folder.parent / "home")}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-c", DRIVER, "lab", str(folder), "--json", "--policy", *policies, *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout), seconds, used, int(done.stderr.split()[-1]) / 1024


def side_by_side(folder: Path, warm: Path, policies: list[str], scratch: Path) -> list[dict]:
    """Return the row of each way to replay the same sessions; those of `warm` are replayed by a cluster before."""
    rows, figures = [], []
    for name, workers, replay in (
        ("one process", 1, lambda: (*run(folder, policies, "--jobs", "1")[:3], 0.0)),
        ("two processes", 2, lambda: (*run(folder, policies, "--jobs", "2")[:3], 0.0)),
        ("two Dask workers", 2, lambda: on_cluster(folder, warm, policies, scratch / "dask")),
        ("the same, unsampled", 2, lambda: on_cluster(folder, warm, policies, scratch / "unsampled", **UNSAMPLED)),
    ):
        found, _, used, idle = replay()
        figures.append({key: value for key, value in found.items() if key != "seconds"})
        rows.append({"name": name, "workers": workers, "per_s": found["sessions"] / found["seconds"], "cpu_s": used, "idle_s": idle})
    for row in rows:
        row["efficiency"] = row["per_s"] / rows[0]["per_s"] / row["workers"]
        row["cpu_efficiency"] = rows[0]["cpu_s"] / row["cpu_s"]
    if any(one != figures[0] for one in figures):
        raise SystemExit("the ways do not find the same figures")
    return rows


def on_cluster(folder: Path, warm: Path, policies: list[str], scratch: Path, **env: str) -> tuple[dict, float, float, float]:
    """Run the lab on a cluster of two workers; return (what it found, seconds, processor seconds, those of its scheduler and workers
    included, and how many of them these take in as long with nothing to do)."""
    from distributed import Client  # noqa: PLC0415  asked for help, it needs nothing

    scratch.mkdir()
    with cluster(scratch, 2, **env) as address, Client(address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        run(warm, policies, "--scheduler", address)
        began = _used(client)
        time.sleep(IDLE_S)
        before = _used(client)
        found, seconds, used, _ = run(folder, policies, "--scheduler", address)
        return found, seconds, used + _used(client) - before, (before - began) / IDLE_S * seconds


def _used(client: Client) -> float:
    return sum(client.run(time.process_time).values()) + client.run_on_scheduler(time.process_time)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl")
    parser.add_argument("--few", type=int, default=200, help="sessions to compare the ways by (default: 200)")
    parser.add_argument("--many", type=int, default=10_000, help="sessions of the long run, 0 for none (default: 10,000)")
    parser.add_argument("--most-kb", type=int, default=1_000_000, help="only recorded sessions of at most so many kB")
    parser.add_argument("--policy", nargs="+", default=["auto", MASKING], help="policies to replay under (default: two)")
    parser.add_argument("--check", action="store_true", help="exit 1 if a bound is missed")
    options = parser.parse_args()
    recorded = sorted(path.resolve() for path in options.transcripts.rglob("*.jsonl") if path.stat().st_size <= 1000 * options.most_kb)
    # Beside the transcripts, since links do not reach another file system.
    scratch = Path(tempfile.mkdtemp(prefix="popkit-", dir=options.transcripts.resolve().parent))
    try:
        few, warm = (filled(scratch / name, recorded, count) for name, count in (("few", options.few), ("warm", WARM)))
        rows = side_by_side(few, warm, options.policy, scratch)
        print(f"{options.few:,} sessions from {len(recorded)} recorded ones, under nothing and {', '.join(options.policy)}")
        print(f"{'':<20}{'sessions/s':>12}{'efficiency':>12}{'CPU s':>9}{'CPU of one':>12}{'idle s':>9}")
        for row in rows:
            print(
                f"{row['name']:<20}{row['per_s']:>12.2f}{row['efficiency']:>12.2f}{row['cpu_s']:>9.1f}{row['cpu_efficiency']:>12.2f}{row['idle_s']:>9.1f}"
            )
        memory = 0.0
        if options.many:
            found, seconds, used, memory = run(filled(scratch / "many", recorded, options.many), options.policy, "--jobs", "2")
            counts = f"{found['sessions']:,} sessions replayed, {sum(found['skipped'].values()):,} left out, {found['bytes'] / 1e9:.1f} GB"
            print(f"{counts}: {seconds:,.0f} s, {used:,.0f} CPU s, at most {memory:.0f} MB in the process that sums up")
        missed = min(row["efficiency"] for row in rows) < LEAST_EFFICIENCY or memory > MOST_MB
        return int(options.check and missed)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    raise SystemExit(main())
