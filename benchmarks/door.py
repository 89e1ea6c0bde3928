"""What the door adds to a tool call: the time from asking the resident helper about a result to its answer, and the helper's memory.

    python benchmarks/door.py [--results N] [--transcripts FOLDER] [--say-once off|reads|any] [--json] [--check]

A real `popkit serve` is asked over its socket about N results (2,000), a connection for each, as the client does. The results are files
of this repository, read whole and in part, with now and then a changed line, and outputs of commands; or, with --transcripts, those of
recorded sessions. What the client itself takes to hand a row over is not in it. `flat`: the median of the last quarter against that of
the second one; the first starts cold. --check exits 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "power-mode"))

import own_sessions

from popkit_retention.lab import sent_requests

ROOT = Path(__file__).resolve().parent.parent
SESSION = "00000000-0000-4000-8000-00000000d001"
BOUNDS = {"p50_ms": 5.0, "p99_ms": 20.0, "rss_mb": 60.0, "flat": 1.5}
CHANGED = 0.3  # of the reads show a file that was edited since
WHOLE = 0.5  # of the reads show all of it

Result = tuple[str, dict[str, Any], str]  # tool, input, text


class Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("popkit")
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)


def made_up_results(rng: random.Random) -> Iterator[Result]:
    """Results of a session that works on this repository."""
    files = {path: path.read_text().splitlines() for path in sorted((ROOT / "hooks" / "utils").rglob("*.py"))}
    while True:
        if rng.random() < 0.5:
            yield (
                "Bash",
                {"command": "npm test"},
                "\n".join(f"ok {rng.random():.6f} {number} tests" for number in range(rng.randrange(5, 200))),
            )
            continue
        path = rng.choice(sorted(files))
        lines = files[path]
        if rng.random() < CHANGED and lines:
            lines[rng.randrange(len(lines))] = f"changed = {rng.random()}"
        begin = 0 if rng.random() < WHOLE else rng.randrange(max(1, len(lines)))
        shown = lines[begin : begin + (len(lines) if not begin else 60)]
        yield "Read", {"file_path": str(path)}, "\n".join(f"{number}\t{line}" for number, line in enumerate(shown, begin + 1))


def recorded(folder: Path) -> Iterator[Result]:
    """The results of recorded sessions, one session after another."""
    for path in own_sessions.below(folder):
        for kind, step, *_ in sent_requests.read(str(path), with_needs=False).steps:
            if kind == "add" and step.id:
                yield step.call.tool, step.call.tool_input, step.text


def asked(results: Iterator[Result], say_once: str) -> dict[str, float]:
    """The figures of one helper that is asked about results."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "retention-config.json").write_text(json.dumps({"retention": {"say_once": say_once}}))
        environ = {"PATH": "/usr/bin:/bin", "HOME": folder, "POPKIT_HOME": folder}
        environ.update({name: os.environ[name] for name in ("POPKIT_DOOR_MS",) if name in os.environ})
        command = [sys.executable, "-X", "utf8", "-S", "-E", str(ROOT / "hooks" / "popkit.py"), "serve", "--session", SESSION]
        process = subprocess.Popen([*command, "--cwd", folder], env=environ, stdout=subprocess.PIPE)
        try:
            assert process.stdout
            path = json.loads(process.stdout.readline())["socket"]
            times = [timed(path, number, *result) for number, result in enumerate(results)]
            health = json.loads(post(path, "/health", b"{}"))
        finally:
            process.kill()
            process.wait()
    quarter = max(1, len(times) // 4)
    return {
        "results": len(times),
        "rewritten": health["rewritten"],
        "p50_ms": round(statistics.median(times), 2),
        "p99_ms": round(sorted(times)[int(len(times) * 0.99)], 2),
        "flat": round(statistics.median(times[-quarter:]) / statistics.median(times[quarter : 2 * quarter] or times), 2),
        "rss_mb": health["rss_mb"],
    }


def timed(path: str, number: int, tool: str, tool_input: dict[str, Any], text: str) -> float:
    """Milliseconds until the helper has answered about a result."""
    id = f"toolu_{number}"
    row = {"type": "user", "role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}
    body = json.dumps({"uuid": str(number), "agent_id": "", "message": row, "calls": {id: {"tool": tool, "input": tool_input}}}).encode()
    began = time.perf_counter()
    post(path, "/row", body)
    return 1_000 * (time.perf_counter() - began)


def post(path: str, what: str, body: bytes) -> bytes:
    connection = Connection(path)
    connection.request("POST", what, body)
    answer = connection.getresponse().read()
    connection.close()
    return answer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=int, default=2_000, help="how many (default: 2000)")
    parser.add_argument("--transcripts", type=Path, help="a folder of *.jsonl: their results instead")
    parser.add_argument("--say-once", choices=("off", "reads", "any"), default="any", help="default: any, which looks at most")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="exit 1 when a bound is missed")
    options = parser.parse_args()
    source = recorded(options.transcripts) if options.transcripts else made_up_results(random.Random(1))
    figures = asked(islice(source, options.results), options.say_once)
    missed = [name for name, bound in BOUNDS.items() if figures[name] > bound]
    if options.json:
        print(json.dumps({**figures, "missed": missed}))
    else:
        for name, value in figures.items():
            print(f"{name:<10} {value:>10,}" + (f"   bound {BOUNDS[name]:g}" if name in BOUNDS else ""))
    return int(bool(options.check and missed))


if __name__ == "__main__":
    raise SystemExit(main())
