"""How long results stay of use is counted from what is needed again."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.lab.survival import survival
from popkit_retention.lab import sessions
from tests.lab.transcripts import Transcript, filled


def test_survival_counts_quiet_spells_and_which_of_them_ended_in_a_need(tmp_path, repo_root) -> None:
    transcript = Transcript()
    transcript.prompt("begin")
    transcript.first("t1", 10)
    transcript.result("t1", filled(100, "src/module_1/handler.ts"))
    for number in range(2, 6):  # requests 2 to 5; the fourth needs the result
        transcript.answer("see src/module_1/handler.ts" if number == 4 else "go on", f"m{number}")
        transcript.prompt("and then")
    # Quiet before requests 2 and 3, needed by the fourth; then quiet for one more, to the end.
    marks = survival(sessions.read(transcript.write(tmp_path / "s.jsonl")))
    assert list(marks.values()) == [[[2, 1], [2, 1], [1, 1], *[[0, 0]] * 6]]
    command = [sys.executable, "benchmarks/lab/survival.py", "--transcripts", tmp_path]
    shown = subprocess.run(command, cwd=repo_root, capture_output=True, text=True, check=True).stdout
    assert "  50.0%  50.0% 100.0%\n" in "".join(line.rstrip() + "\n" for line in shown.splitlines())
