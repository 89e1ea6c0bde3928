"""What `popkit mcp` costs: it starts with every session of whoever has it.

    python benchmarks/mcp_server.py [--runs N] [--calls N] [--json] [--check]

In turn, as whole processes: a bare interpreter (`python3 -S -E -c pass`), `popkit mcp` from the shell that starts it to its answer to
`initialize`, and, where the official SDK is installed, a server of that with one tool. Printed are medians, the mean of processor time, the
ratio to the bare interpreter pair by pair, and the most memory that a process had until then. Then one server answers `retention_apply`
over 1,000 resources (`--calls` times), and what memory grew meanwhile is told. `--check` exits 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
POPKIT = [str(ROOT / "bin" / "popkit"), "mcp"]
SDK = """
from mcp.server import MCPServer
server = MCPServer("sdk")
@server.tool()
def echo(text: str) -> str:
    return text
server.run("stdio")
"""
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}
READY_S, MEMORY_MB, APPLY_MS, GROWTH_MB = 0.15, 25.0, 20.0, 1.0
WARM_UP = 100  # calls after which growth counts
RESOURCES = [
    {"id": f"resource-{n}", "created_at": f"2026-{n % 12 + 1:02}-11T10:00:00Z", "source_type": ("context", "action", "thought")[n % 3]}
    for n in range(1_000)
]


class Served:
    """A server that has shaken hands; `ready_s` after it was started."""

    def __init__(self, command: list[str], environ: dict[str, str], folder: str) -> None:
        began = time.perf_counter()
        self.process = subprocess.Popen(
            command, env=environ, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.ask("initialize", HELLO)
        self.ready_s = time.perf_counter() - began

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["result"]

    def memory_mb(self, field: str = "VmHWM") -> float:
        """What the system says of its memory: VmHWM, the most that it ever had; VmRSS, what it has."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
        raise SystemExit(f"the system says nothing of {field}")

    def cpu_s(self) -> float:
        """Seconds of processor time that it has used, in steps of 10 ms."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def bare_s(python: str, environ: dict[str, str]) -> float:
    """Seconds of a bare interpreter."""
    began = time.perf_counter()
    subprocess.run([python, "-S", "-E", "-c", "pass"], env=environ, check=True)
    return time.perf_counter() - began


def starts(command: list[str], environ: dict[str, str], folder: str, runs: int, python: str) -> dict[str, float]:
    ready, ratios, cpu, memory = [], [], [], 0.0
    for _ in range(runs):
        bare = bare_s(python, environ)
        served = Served(command, environ, folder)
        ready.append(served.ready_s)
        ratios.append(served.ready_s / bare)
        cpu.append(served.cpu_s())
        memory = max(memory, served.memory_mb())
        served.end()
    return {
        "ready_s": statistics.median(ready), "cpu_s": statistics.mean(cpu), "ratio": statistics.median(ratios), "memory_mb": memory,
    }  # fmt: skip


def work(environ: dict[str, str], folder: str, calls: int) -> dict[str, float]:
    """`retention_apply` again and again: the median of a round trip, the memory that it added after a warm-up."""
    served = Served(POPKIT, environ, folder)
    took, before, cpu = [], 0.0, 0.0
    for number in range(calls):
        if number == min(WARM_UP, calls // 2):
            before, cpu = served.memory_mb("VmRSS"), served.cpu_s()
        began = time.perf_counter()
        answer = served.ask("tools/call", {"name": "retention_apply", "arguments": {"domain": "rag", "resources": RESOURCES}})
        took.append(time.perf_counter() - began)
        if answer["structuredContent"]["counts"]["total"] != len(RESOURCES):
            raise SystemExit(f"not all resources were sorted: {answer}")
    cpu_ms = (served.cpu_s() - cpu) / (calls - min(WARM_UP, calls // 2)) * 1_000
    growth, most = served.memory_mb("VmRSS") - before, served.memory_mb()
    listed = served.ask("tools/list", {})["tools"]
    read = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in listed]
    served.end()
    characters = len(json.dumps(read, separators=(",", ":")))
    return {
        "apply_ms": statistics.median(took) * 1_000, "apply_cpu_ms": cpu_ms, "growth_mb": growth, "working_mb": most,
        "listed_characters": characters,
    }  # fmt: skip


def measure(runs: int, calls: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        environ = {"PATH": os.environ["PATH"], "HOME": folder, "POPKIT_HOME": folder + "/popkit"}
        real = subprocess.run(
            ["python3", "-S", "-E", "-c", "import sys; print(sys.executable)"],
            env=environ, capture_output=True, text=True, check=True,
        )  # fmt: skip
        python = real.stdout.strip()
        has_sdk = subprocess.run([sys.executable, "-c", "import mcp"], capture_output=True, check=False).returncode == 0
        Served(POPKIT, environ, folder).end()  # the byte cache, and which interpreter it is
        figures: dict[str, Any] = {"bare_s": statistics.median(bare_s(python, environ) for _ in range(runs))}
        figures["popkit"] = starts(POPKIT, environ, folder, runs, python)
        if has_sdk:
            figures["sdk"] = starts([sys.executable, "-c", SDK], environ, folder, runs, python)
        return {**figures, **work(environ, folder, calls)}


def lines_of(figures: dict[str, Any]) -> list[str]:
    lines = [f"bare interpreter            {figures['bare_s'] * 1_000:6.1f} ms"]
    for name, key in (("popkit mcp, ready", "popkit"), ("official SDK, ready", "sdk")):
        if key in figures:
            each = figures[key]
            ms, cpu_ms = each["ready_s"] * 1_000, each["cpu_s"] * 1_000
            lines.append(f"{name:<27} {ms:6.1f} ms  cpu {cpu_ms:6.1f} ms  {each['ratio']:5.2f} x bare  {each['memory_mb']:5.1f} MB")
    apply = f"retention_apply over 1,000  {figures['apply_ms']:6.1f} ms  cpu {figures['apply_cpu_ms']:6.1f} ms"
    lines.append(f"{apply}  growth {figures['growth_mb']:+.2f} MB to {figures['working_mb']:.1f} MB")
    return [*lines, f"tools/list, read by a model {figures['listed_characters']:6,} characters"]


def missed(figures: dict[str, Any]) -> list[str]:
    bounds = {
        "ready, s": (figures["popkit"]["ready_s"], READY_S), "memory when ready, MB": (figures["popkit"]["memory_mb"], MEMORY_MB),
        "memory at work, MB": (figures["working_mb"], MEMORY_MB), "retention_apply, ms": (figures["apply_ms"], APPLY_MS),
        "growth, MB": (figures["growth_mb"], GROWTH_MB),
    }  # fmt: skip
    return [f"{name}: {value:.3g}, bound {bound:g}" for name, (value, bound) in bounds.items() if value > bound]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--calls", type=int, default=1_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    figures = measure(args.runs, args.calls)
    print(json.dumps(figures, indent=2) if args.json else "\n".join(lines_of(figures)))
    too_much = missed(figures) if args.check else []
    for line in too_much:
        print("missed:", line, file=sys.stderr)
    return int(bool(too_much))


if __name__ == "__main__":
    sys.exit(main())
