"""The door on recorded sessions, judged by what shares no code with it: a reader of its references, and a list of what failures are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from popkit_retention.lab.engine_policies import DOOR_SWITCHES

ROOT = Path(__file__).resolve().parents[2]
# Each way to refer, and the most of it beside each way to leave out what says little.
REFERRING, SHAPING = DOOR_SWITCHES["say_once"], DOOR_SWITCHES["shape"]
DOORS = [*REFERRING, *(f"{REFERRING[-1]}+{shape}" for shape in SHAPING)]


@pytest.fixture(scope="module")
def folder(transcripts: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some of the recorded sessions; with --slow all of them."""
    made = tmp_path_factory.mktemp("recorded")
    for path in sorted(transcripts.rglob("*.jsonl"))[:: 1 if request.config.getoption("--slow") else 9]:
        (made / "__".join(path.relative_to(transcripts).parts)).symlink_to(path)
    return made


def _run(script: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, f"benchmarks/{script}.py", "--transcripts", str(folder), "--door", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_reference_leads_whoever_sees_the_context_alone_to_its_lines(folder: Path) -> None:
    told = _run("held_out", folder, *DOORS).stdout
    counts = [list(map(int, re.findall(r"\d+", line))) for line in told.splitlines() if " references: " in line]
    assert [(total > 50, *found) for total, *found in counts] == [(True, 0, 0, 0, 0)] * len(DOORS), told


@pytest.mark.parametrize("door", [SHAPING[-1], *(f"{REFERRING[-1]}+{shape}" for shape in SHAPING)])
def test_no_line_that_tells_of_a_failure_is_left_out(folder: Path, door: str) -> None:
    done = _run("hidden_failures", folder, door)
    failing = re.search(r"\((\d+) of them tell of failures\)", done.stdout)
    assert (done.returncode, failing is not None and int(failing[1]) > 5) == (0, True), done.stdout + done.stderr
