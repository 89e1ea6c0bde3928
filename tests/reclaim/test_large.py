"""A transcript of more than a gigabyte: memory follows its longest line, not the file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helper.asking import SESSION, Transcript
from tests.hooks.processes import ROOT
from tests.patience import HANG_S

MOST_MB = 100
_MEASURES = (
    "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], capture_output=True);"
    " print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)"
)


@pytest.mark.parametrize("megabytes", [150, pytest.param(1_100, marks=pytest.mark.slow)])
@pytest.mark.skipif(sys.platform == "darwin", reason="ru_maxrss is in bytes there")
def test_memory_has_a_bound(tmp_path: Path, megabytes: int):
    folder, project = tmp_path / "claude" / "projects" / "-shop", tmp_path / "shop"
    folder.mkdir(parents=True)
    project.mkdir()
    path = folder / f"{SESSION}.jsonl"
    transcript = Transcript(path, project)
    blob = json.dumps({"type": "api-request-blob", "body": "x" * 2_000_000}, separators=(",", ":")) + "\n"
    for number in range(5):
        transcript.called(f"toolu_{number}", "Read", {"file_path": f"/shop/{number}.py"}, "a line of code\n" * 20_000, 1_000 + number)
        with path.open("a") as file:
            file.writelines([blob] * (megabytes // 10))
    env = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
        "POPKIT_HOME": str(tmp_path / "p"),
    }
    for words in (["retention"], ["timeline"], ["clear", "--dry-run"]):
        command = [sys.executable, "-S", "-E", str(ROOT / "hooks" / "popkit.py"), "context", *words, "--transcript", str(path)]
        done = subprocess.run(
            [sys.executable, "-c", _MEASURES, *command], env=env, cwd=project, capture_output=True, text=True, timeout=HANG_S, check=True
        )
        code, used = map(int, done.stdout.split())
        assert code == 0
        assert used < MOST_MB, words
