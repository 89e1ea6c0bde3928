"""The benchmark that prints the table of `popkit lab` with the rules of other tools and the oracles."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.lab.research import ORACLES, POLICIES
from tests.lab.test_survey import session
from tests.paths import ROOT

HOSTILE = "<script>alert(1)</script>"


def tables(*words: object) -> str:
    command = [sys.executable, str(ROOT / "benchmarks" / "lab" / "tables.py"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    session(tmp_path / "-shop" / "one.jsonl", 30, 1)
    session(tmp_path / f"-forum{HOSTILE.replace('/', '')}" / "two.jsonl", 16, 3)
    return tmp_path


def test_policies_score_the_same_in_other_processes_and_the_oracle_is_cheapest(folder: Path) -> None:
    found = json.loads(tables("--transcripts", folder, "--json", "--ttl", "5m", "--jobs", 2))
    scores = found["ttls"]["300"]
    assert list(scores) == list(POLICIES)
    assert min(scores, key=lambda name: scores[name]["cost"]) in ORACLES
    assert scores["oracle"]["cost"] < 0.9
    assert scores["masking-10"]["cleared"] > 0


def test_a_page_names_each_policy_and_runs_nothing_that_a_session_says(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    page = tmp_path / "page.html"
    shown = tables("--transcripts", folder, "--policy", "auto", "wet", "oracle", "--html", page)
    assert "oracle" in shown
    text = page.read_text()
    assert all(f">{name}<" in text for name in ("auto", "wet", "oracle", "nothing"))
    assert "<script>alert" not in text
