"""Every benchmark starts, and tells a bound that is missed; test_benchmarks.py runs them, with --bench."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import context_clients, mcp_server, own_sessions
from tests.paths import ROOT
from tests.views.written import spec_session

# Each as a program that is asked for its help, all in one process: what they import takes longest.
STARTS = """
import contextlib, io, pathlib, runpy, sys
for path in map(pathlib.Path, sys.argv[1:]):
    sys.argv, sys.path[0] = [path.name, "--help"], str(path.parent)
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(SystemExit):
        runpy.run_path(str(path), run_name="__main__")
    if "usage: " not in printed.getvalue():
        print(path.name)
"""


def is_program(text: str) -> bool:
    return '__name__ == "__main__"' in text and "argparse.ArgumentParser(" in text


def test_every_benchmark_starts():
    programs = [path for path in ROOT.glob("benchmarks/**/*.py") if is_program(path.read_text())]
    assert len(programs) > 20
    done = subprocess.run([sys.executable, "-c", STARTS, *programs], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_bound_that_is_missed_is_told():
    found = {"popkit": {"ready_s": 0.0, "memory_mb": 1e9}, "working_mb": 0.0, "apply_ms": 0.0, "growth_mb": 0.0}
    assert [line.partition(":")[0] for line in mcp_server.missed(found)] == ["memory when ready, MB"]
    row = {"client": "anthropic", "tokens": 1_000, "user": True, "added_cpu_ms": 1e9}
    assert context_clients.missed([row, {**row, "added_cpu_ms": 0.0}]) == ["anthropic, 1,000 tokens: 1000000000.0 ms added"]


def held_out(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "benchmarks/held_out.py", "--transcripts", str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("projects", [("-home-dev-shop", "-home-dev-blog"), ("-home-dev-shop",)], ids=["two", "one"])
def test_a_reader_can_run_the_proof_on_the_clients_folder_of_projects(tmp_path: Path, projects: tuple[str, ...]):
    for name in projects:
        path = spec_session(tmp_path / "projects" / name).path
        folder = str(tmp_path / name)
        entries = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps({**entry, "cwd": folder}) + "\n" for entry in entries))
    done = held_out(tmp_path / "projects")
    assert done.returncode == 0, done.stderr
    assert len([line for line in done.stdout.splitlines() if line.endswith("%")]) == 3 * 6
    assert [line for line in done.stdout.splitlines() if line in ("default", "default+auto", "auto")] == ["default", "default+auto", "auto"]
    assert ("the model that ships is used" in done.stderr) == (len(projects) == 1)


def test_where_there_are_no_sessions_it_says_so(tmp_path: Path):
    done = held_out(tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{tmp_path}: there is no session (*.jsonl) in it or below it\n"


@pytest.mark.parametrize(
    ("path", "repository"),
    [
        ("corpus/shop__one-2.jsonl", "shop"),
        ("corpus/shop-one.jsonl", "shop"),
        ("projects/-home-dev-shop/5e551017-0000.jsonl", "-home-dev-shop"),
        ("projects/-home-dev-shop/5e551017-0000/subagents/agent-a1.jsonl", "-home-dev-shop"),
    ],
)
def test_a_session_belongs_to_the_repository_that_its_place_names(path: str, repository: str):
    assert own_sessions.repository_of(Path(path)) == repository
