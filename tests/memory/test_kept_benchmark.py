"""The benchmark of what is kept under a budget, on a conversation made for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT

pytestmark = pytest.mark.bench


def data_file(path: Path) -> Path:
    """Ten times the same conversation: small talk, and one turn that answers the only question."""
    small_talk = ["Hey Tom! How are you?", "Hey Ann! Good to hear from you, how are you doing?", "That sounds great, you are awesome!"]
    turns = [{"speaker": "AnnTom"[at % 2 * 3 :][:3], "dia_id": f"D1:{at}", "text": small_talk[at % 3]} for at in range(60)]
    turns[31]["text"] = "Oh wow! I sold the old boat to Alice in Hamburg last Friday. How cool is that?"
    asked = [
        {"question": "To whom was the boat sold?", "answer": "Alice", "category": 4, "evidence": ["D1:31; D9:9"]},
        {"question": "Who is never told of?", "category": 5, "adversarial_answer": "Bob", "evidence": ["D1:1"]},
    ]
    one = {"qa": asked, "conversation": {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}}
    path.write_text(json.dumps([one] * 10))
    return path


def run(*arguments: str) -> str:
    command = [sys.executable, "benchmarks/memory.py", "kept", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_the_sentence_that_answers_is_kept_and_random_ones_seldom_are(tmp_path: Path):
    rows = {row["way"]: row for row in json.loads(run("--json", "--data", str(data_file(tmp_path / "made.json"))))}
    assert rows["what ships"]["kept at 10%"] == rows["what ships"]["one at 10%"] == 1.0
    assert 0 < rows["random sentences"]["kept at 10%"] < 0.4
    assert rows["whole turns by mean idf"]["kept at 20%"] == 1.0


def test_it_prints_a_table(tmp_path: Path):
    head, *rows = run("--tuning", "--data", str(data_file(tmp_path / "made.json"))).splitlines()
    assert head.split("  ")[0] == "way"
    assert len(rows) == 6
    assert rows[-1].split()[:3] == ["what", "ships", "1.000"]


def test_without_the_data_it_says_so(tmp_path: Path):
    assert run("--data", str(tmp_path / "no.json")) == f"kept: left out. LoCoMo is not at {tmp_path / 'no.json'}\n"
