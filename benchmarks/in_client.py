"""How much longer a tool call takes in the newest client with PopKit: from the model's call to the request that carries its result.

    python benchmarks/in_client.py [--calls N] [--rounds N] [--json]

The real client runs headless against the tests' scripted API, which notes when it has answered with a call and when the next request has
come. Each call is a Read of a small file that was not read before. Sessions of three kinds take turns, so that a busy machine is equally
busy for all: without PopKit, with its hooks alone (what a client without modules has), and with the code inside the client as well. A
session makes N calls (10), the first of which is left out; each kind has N sessions (5). Printed are medians in ms, their ratio to the one
without PopKit, and the load before and after. It needs npm, and installs the client below .cache where it is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.client import installs
from tests.client.client import ClientHome
from tests.client.scripted_api import ScriptedApi, call, position, say

ROOT = Path(__file__).resolve().parent.parent
PARTS = (".claude-plugin", "bin", "commands", "hooks", "power-mode", "retention-config.json")
KINDS = ("without", "hooks", "mod")
SMALL = "".join(f"setting_{number} = {number * 3}\n" for number in range(12))


class Timed(ScriptedApi):
    """Notes how long each request of a script came after the answer before it; `gaps`: step -> seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.gaps: dict[int, float] = {}
        self._answered = 0.0

    def __enter__(self) -> Timed:
        super().__enter__()
        return self

    def answer(self, body: dict[str, Any], kind: str) -> dict[str, Any]:
        came = time.perf_counter()
        if kind == "turn" and (step := position(body["messages"])[1]):
            self.gaps[step] = came - self._answered
        answer = super().answer(body, kind)
        self._answered = time.perf_counter()
        return answer


def hooks_alone(folder: Path) -> Path:
    """The plugin without its module, as older clients run it."""
    folder.mkdir()
    for name in PARTS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name)
        else:
            shutil.copy(source, folder / name)
    path = folder / "hooks" / "hooks.json"
    declared = json.loads(path.read_text())
    del declared["modules"]
    path.write_text(json.dumps(declared))
    return folder


def gaps(installed: installs.Installed, folder: Path, plugin: Path | None, calls: int) -> list[float]:
    """Seconds of each call of one session but the first."""
    with Timed() as api:
        home = ClientHome(folder, installed, api.url)
        api.places["work"] = str(home.work)
        for number in range(calls):
            (home.work / f"small_{number}.py").write_text(SMALL.replace("setting", f"setting_{number}"))
        api.scripts["quick"] = [*(call(("Read", {"file_path": f"{{work}}/small_{n}.py"})) for n in range(calls)), say("done")]
        run = home.run_headless("go [[SCRIPT:quick]]", plugin_dir=plugin)
        if run.returncode or len(api.gaps) != calls:
            raise SystemExit(f"the client did not play its script: {run.stderr}")
        return [api.gaps[step] for step in range(2, calls + 1)]


def measured(calls: int, rounds: int) -> dict[str, Any]:
    """All rounds; kind -> medians and counts."""
    installed = installs.install(installs.newest_version())
    taken: dict[str, list[float]] = {kind: [] for kind in KINDS}
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plugins = {"without": None, "hooks": hooks_alone(folder / "hooks-alone"), "mod": ROOT}
        for number in range(rounds):
            for turn in range(len(KINDS)):
                kind = KINDS[(number + turn) % len(KINDS)]
                taken[kind] += gaps(installed, folder / f"{kind}-{number}", plugins[kind], calls)
    bare = statistics.median(taken["without"])
    rows = {
        kind: {
            "calls": len(found),
            "median_ms": round(statistics.median(found) * 1000, 1),
            "added_ms": round((statistics.median(found) - bare) * 1000, 1),
            "ratio": round(statistics.median(found) / bare, 2),
        }
        for kind, found in taken.items()
    }
    return {"client": installed.version, "load": [round(before, 1), round(os.getloadavg()[0], 1)], **rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=10, help="calls of a session")
    parser.add_argument("--rounds", type=int, default=5, help="sessions of each kind")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measured(max(2, options.calls), max(1, options.rounds))
    if options.json:
        print(json.dumps(found))
        return
    print(f"Claude Code {found['client']}, load {found['load'][0]} to {found['load'][1]}; a Read of a small file, medians:")
    for kind in KINDS:
        row = found[kind]
        print(f"  {kind:8} {row['median_ms']:7.1f} ms  {row['ratio']:.2f}  +{row['added_ms']:.1f} ms  ({row['calls']} calls)")


if __name__ == "__main__":
    main()
