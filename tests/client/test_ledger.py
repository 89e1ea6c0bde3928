"""The ledger beside what a session costs with PopKit and without it: an afternoon of 80 calls in a small window, in the newest client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli import inside

from . import installs, long_day
from .client import ClientHome
from .prompt_cache import CachingApi
from .scripted_api import Step, position, say
from .test_plugin import ROOT

MODEL = "claude-opus-4-8"  # a read costs a tenth
USD_IN, USD_OUT, READ, WRITE = 5 / 1e6, 25 / 1e6, 0.1, 1.25
# As long as summaries are in recorded sessions.
SUMMARY = " ".join(f"Part {number} of the work so far went well, and this is what is known of it." for number in range(190))
WITHIN = 0.2
TURNS = 10
CALLS = 80


class Counting(CachingApi):
    """Says what all requests cost; a summary goes on with the script that plays."""

    def answer(self, body: dict[str, Any], kind: str) -> dict[str, Any]:
        if kind == "summary":
            self.summary = f"{SUMMARY} [[SCRIPT:{position(body['messages'][:-1])[0]}]]"
        return super().answer(body, kind)

    def usd(self, read: float = READ) -> float:
        """What all requests cost."""
        return sum(
            (used["input_tokens"] + used["cache_read_input_tokens"] * read + used["cache_creation_input_tokens"] * WRITE) * USD_IN
            + used["output_tokens"] * USD_OUT
            for _, used in self.used
        )

    def count(self, kind: str) -> int:
        return sum(each == kind for each, _ in self.used)


def afternoon() -> dict[str, list[Step]]:
    """80 calls in ten turns: files read, searched and edited, tests run."""
    day = long_day.Script(long_day.project())
    parts = [*long_day.morning(day)[:-1], *long_day.afternoon(day)[:-1]]
    steps = [step for step in parts if all(tool != "Agent" for tool, _ in step.calls)]
    day.read("lexer")
    day.sh("python3 run_tests.py")
    steps += day.played("")[:-1]
    share = -(-len(steps) // TURNS)
    return {f"turn{number}": [*steps[number * share : (number + 1) * share], say(f"turn {number} is done")] for number in range(TURNS)}


def play(client: installs.Installed, folder: Path, api: Counting, plugin: Path | None) -> tuple[ClientHome, str]:
    home = ClientHome(folder, client, api.url, {"POPKIT_DOOR_MS": "60000", "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"})
    long_day.lay_out(home)
    api.places["work"] = str(home.work)
    prompts = [f"go on with part {number} [[SCRIPT:{name}]]" for number, name in enumerate(api.scripts)]
    run = home.run_headless(prompts, plugin_dir=plugin, extra=["--model", MODEL], timeout=900)
    assert run.returncode == 0, run.stderr
    assert run.results[-1]["result"] == f"turn {TURNS - 1} is done"
    return home, run.session_id


def figures(home: ClientHome, session_id: str) -> dict[str, Any]:
    done = inside.run(["context", "stats", "--session", session_id, "--json"], home.env(), home.work)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_net_of_an_afternoon_is_what_it_costs_less_than_without_us(clients: dict[str, installs.Installed], tmp_path: Path):
    scripts = afternoon()
    assert sum(len(long_day.calls_of(steps)) for steps in scripts.values()) == CALLS
    with Counting(scripts) as bare:
        play(clients["newest"], tmp_path / "without", bare, None)
    with Counting(scripts) as ours:
        home, session_id = play(clients["newest"], tmp_path / "with", ours, ROOT)
        told = figures(home, session_id)
    told, saved = told["session"]["figures"], bare.usd() - ours.usd()
    print(f"without ${bare.usd():.3f}, with ${ours.usd():.3f}: ${saved:.3f} less; the ledger's net ${told['net_usd']:.3f}")
    print(json.dumps({name: told[name] for name in ("saved_by_usd", "cost_by_usd", "compactions_usd", "spared_compactions")}, indent=1))
    assert (bare.count("summary"), ours.count("summary")) == (told["spared_compactions"], 0)
    assert told["net_usd"] == pytest.approx(saved, rel=WITHIN)
