"""Coins of which a test knows how they fall, and trials whose sessions have run."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

from hooks.utils.state import trials
from hooks.utils.state.trials import Row, Run, Trials


def secret_for(name: str, treated: Sequence[bool]) -> str:
    """A secret by which the first sessions of a trial have, or do without, what is tried."""
    return next(
        secret
        for secret in map(str, itertools.count())
        if [Trials(secret, []).is_treated(Run(name, 1, 0.0), place) for place in range(len(treated))] == list(treated)
    )


def fix(popkit_home: Path, name: str, treated: Sequence[bool]) -> None:
    """Let the coin of a home fall so for the first sessions of a trial."""
    popkit_home.mkdir(parents=True, exist_ok=True)
    (popkit_home / trials.NAME).write_text(json.dumps({"secret": secret_for(name, treated), "runs": []}))


def configure(popkit_home: Path, **settings: object) -> None:
    """Write the user's configuration."""
    popkit_home.mkdir(parents=True, exist_ok=True)
    (popkit_home / "retention-config.json").write_text(json.dumps({"retention": settings}))


def run_of(sessions: int, name: str = "hints", began: float = 1_000.0) -> Run:
    """A trial of which so many sessions have ended, with and without by turns, called s0, s1 and so on."""
    run = Run(name, 1, began)
    run.rows = [Row(f"s{place}", place % 2 == 0, began, began + 1, True) for place in range(sessions)]
    return run
