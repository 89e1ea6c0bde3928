"""The bounds that the benchmarks print hold on this machine; opt-in, since a busy machine says nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hooks.utils.policy.masking import mask
from tests.hooks.test_secrets import HOSTILE

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


@pytest.mark.bench
@pytest.mark.parametrize("name", ["clear_speed.py", "restore_latency.py"])
def test_reclaiming_costs_no_more_than_its_bounds(name):
    done = subprocess.run([sys.executable, "benchmarks/" + name, "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stderr


def test_the_benchmark_of_clearing_runs_and_its_undo_puts_everything_back():
    command = [sys.executable, "benchmarks/clear_speed.py", "--mb", "0.3", "--runs", "1", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)
    assert [row["what"].partition(",")[0] for row in rows] == ["clear --dry-run", "clear", "undo"]
    assert all(row["results"] > 0 for row in rows)


def test_the_benchmark_of_restoring_runs():
    command = [sys.executable, "benchmarks/restore_latency.py", "--records", "50", "--runs", "1", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["records"] == 50


def test_the_benchmark_of_thinking_finds_what_a_signature_holds(tmp_path: Path):
    lines = []
    for number in range(60):
        text, said = "t" * (300 + 37 * (number % 11)), "s" * (50 + 23 * (number % 7))
        blocks = [{"type": "thinking", "thinking": text, "signature": "x" * (235 + len(text) * 4 // 3)}, {"type": "text", "text": said}]
        usage = {"output_tokens": len(text) // 3 + len(said) // 2}
        message = {"id": f"m{number}", "model": "thinker", "content": blocks, "usage": usage}
        lines.append(json.dumps({"type": "assistant", "uuid": f"u{number}", "message": message}) + "\n")
    (tmp_path / "session.jsonl").write_text("".join(lines))
    command = [sys.executable, "benchmarks/thinking_tokens.py", "--transcripts", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("thinker: 60 messages. Signature: 3.0 characters a token, r2 1.000. Text: 3.0")
    assert "a signature is 235 characters and 1.33 for each byte of its text" in done.stdout


@pytest.mark.bench
@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_holds_a_hook_for_long(piece: str):
    text = (piece * (20_000 // len(piece) + 1))[:20_000]
    began = time.process_time()
    mask(text)
    assert time.process_time() - began < 1.5
