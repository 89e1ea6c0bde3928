"""What people see, kept as files: `--update-goldens` writes them anew, and the difference is for a person to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reclaim.earlier import answer
from tests.views.written import long_session, spec_session

GOLDENS = Path(__file__).parent / "goldens"

LINES = {
    "retention": "retention",
    "details": "retention --details",
    "timeline": "timeline",
    "timeline-last": "timeline --last 3",
    "why-superseded": "why T5",
    "why-committed": "why T3",
    "why-live-search": "why 14",
    "why-live-run": "why T13",
    "why-decision": "why T9",
    "why-error": "why T12",
    "stats": "stats",
    "stats-details": "stats --details",
    "clear": "clear",
    "clear-tier": "clear --tier session",
    "clear-tier-expired": "clear --tier ephemeral",
    "pin": "pin T10 T3 'src/**/*.ts'",
    "aggressive": "retention --aggressive",
    "conservative": "retention --conservative",
    "default": "retention --profile default",
    "help": "help",
    "help-clear": "help clear",
    "error-word": "retenton",
    "error-flag": "timeline --agressive",
    "error-tier": "clear --tier shot",
    "error-profile": "retention --profile agressive",
    "error-id": "why T99",
    "error-pin": "pin nothing-like-it",
    "error-unpin": "unpin T3",
}


LONG = {
    "long-retention": "retention",
    "long-details": "retention --details",
    "long-timeline": "timeline",
    "long-timeline-all": "timeline --all",
    "long-clear": "clear",
    "long-error-id": "why T3",
    "long-error-part": "why toolu_",
}


@pytest.mark.parametrize("name", [*LINES, *LONG])
def test_the_answers_of_the_specified_session_and_of_a_long_one(name: str, tmp_path: Path, golden) -> None:
    written = (spec_session if name in LINES else long_session)(tmp_path / "projects")
    line = {**LINES, **LONG}[name]
    golden(GOLDENS / f"{name}.txt", answer(line, written.site(tmp_path / "home"), str(written.path), written.now) + "\n")


@pytest.mark.parametrize("name", ["retention", "timeline", "stats", "clear"])
def test_the_answers_before_the_first_call(name: str, tmp_path: Path, golden) -> None:
    written = spec_session(tmp_path / "projects")
    empty = tmp_path / "projects" / "none.jsonl"
    golden(GOLDENS / f"empty-{name}.txt", answer(name, written.site(tmp_path / "home"), str(empty), written.now) + "\n")


def test_unpin_shows_what_is_let_go(tmp_path: Path, golden) -> None:
    written = spec_session(tmp_path / "projects")
    site, dialogue = written.site(tmp_path / "home"), []
    for line in ("pin T10 src/*.ts", "retention --details", "why T10", "why T11", "unpin T11", "unpin T10 src/*.ts", "why T10"):
        dialogue.append(f"> {line}\n" + answer(line, site, str(written.path), written.now) + "\n")
        written.now += 1
    golden(GOLDENS / "unpin.txt", "\n".join(dialogue))
