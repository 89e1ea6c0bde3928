"""The bounds that the benchmarks print hold on this machine; opt-in, since a busy machine says nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.bench
def test_a_tool_call_costs_no_more_than_its_bound():
    done = subprocess.run([sys.executable, "benchmarks/hook_latency.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stderr


def test_the_replay_benchmark_runs():
    done = subprocess.run(
        [sys.executable, "benchmarks/replay_speed.py", "--calls", "500"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("500 calls, best of 3: ")
