"""PopKit as an arm of code-compression-bench: what it tells the bench's runner, and a solve as that runner documents it, with the real
Agent SDK and client. Grading and the bench's model need Docker and a paid account, and are left out."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.patience import HANG_S

from . import installs, sdks
from .client import ClientHome
from .reclaimed import LIST, result
from .scripted_api import Recorded, ScriptedApi, call, say
from .test_mod import referred, sent
from .test_plugin import ROOT

ARM = ROOT / "benchmarks" / "arms" / "popkit.py"
STAND_IN = Path(__file__).parent / "bench_stand_in"
ROWS = 'for n in $(seq 400); do echo "row $n: copied to place_of_row_$n"; done'
SOLVE = [
    call(("Read", {"file_path": LIST})),
    call(("Read", {"file_path": LIST, "offset": 100})),
    call(("Bash", {"command": ROWS})),
    call(("Edit", {"file_path": LIST, "old_string": "item0001 ", "new_string": "item1 "})),
    say("solved"),
]


@pytest.fixture
def arm(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The arm as the bench loads it."""
    monkeypatch.syspath_prepend(STAND_IN)
    for name in ("bench", "bench.arm"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setenv("POPKIT_PLUGIN_DIR", str(ROOT))
    spec = importlib.util.spec_from_file_location("arm_of_popkit", ARM)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def program(folder: Path, name: str, says: str) -> None:
    """Put a program into a folder that prints a line."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\necho '{says}'\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("python", "client", "reason"),
    [
        ("Python 3.11.7", "2.1.331 (Claude Code)", "ok"),
        ("Python 3.8.2", "2.1.331 (Claude Code)", "PopKit's hooks need python3 on PATH, version 3.9 or later"),
        ("Python 3.9.0", "2.1.286 (Claude Code)", "Claude Code 2.1.286 is too old: "),
        ("Python 3.9.0", "", "Claude Code is not there: "),
    ],
)
def test_it_is_ready_where_the_plugin_would_do_its_work(arm, monkeypatch, tmp_path, python, client, reason):
    program(tmp_path, "python3", python)
    if client:
        program(tmp_path, "claude", client)
    monkeypatch.setenv("PATH", str(tmp_path))
    ready, why = arm.PopKitArm().ready()
    assert ready is (reason == "ok")
    assert why.startswith(reason)


def test_a_folder_that_is_not_the_plugins_is_named(arm, monkeypatch, tmp_path):
    monkeypatch.setenv("POPKIT_PLUGIN_DIR", str(tmp_path))
    assert arm.PopKitArm().ready() == (
        False,
        f"{tmp_path}/.claude-plugin/plugin.json does not exist: POPKIT_PLUGIN_DIR must be PopKit's own folder",
    )
    monkeypatch.delenv("POPKIT_PLUGIN_DIR")
    assert arm.PopKitArm().ready()[1].startswith("POPKIT_PLUGIN_DIR is not set: ")


def test_each_solve_has_a_folder_of_its_own_with_the_settings_of_its_arm(arm, monkeypatch):
    monkeypatch.setenv("POPKIT_HOME", "/of/the/users")
    strong = arm.StrongArm()
    strong.setup()
    home = Path(os.environ["POPKIT_HOME"])
    assert json.loads((home / "retention-config.json").read_text()) == {"retention": {"shape": "strong"}}
    strong.teardown()
    assert not home.exists()
    assert os.environ["POPKIT_HOME"] == "/of/the/users"


def test_the_plugin_is_attached_and_no_tool_is_taken_away(arm):
    attached = arm.PopKitArm().attach()
    assert (attached.plugin_dir, attached.replace_tools, attached.plugin_tool_globs) == (str(ROOT), False, [])


# --- with the real SDK ------------------------------------------------------------------------------------------------------------


@dataclass
class Solved:
    """What a solve told the runner, and its requests."""

    outcome: dict[str, Any]
    requests: list[Recorded]


@pytest.fixture(scope="module")
def solved(clients: dict[str, installs.Installed], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Solved]:
    if sdks.why_not_python():
        pytest.skip(sdks.why_not_python())
    arms = ("baseline", "popkit", "popkit_strong")
    with ScriptedApi({"solve": SOLVE}) as api:
        home = ClientHome(tmp_path_factory.mktemp("solved"), clients["newest"], api.url)
        api.places["work"] = str(home.work)
        lines = "".join(f"exports.item{n:04d} = 'what is sold as number {n}';\n" for n in range(1, 401))
        (home.work / "src" / "list.js").write_text(lines)
        subprocess.run(["git", "add", "-A"], cwd=home.work, check=True, timeout=HANG_S)
        home.extra_env |= {
            "PATH": f"{home.installed.executable.parent}:{home.env()['PATH']}", "POPKIT_PLUGIN_DIR": str(ROOT),
            "POPKIT_DOOR_MS": "60000", "PYTHONPATH": f"{STAND_IN}:{ARM.parent}",
        }  # fmt: skip
        command = [sdks.python(), STAND_IN / "solve.py", "Resolve the issue [[SCRIPT:solve]]", *arms]
        done = subprocess.run(command, cwd=home.work, env=home.env(), capture_output=True, text=True, timeout=HANG_S, check=False)
        assert done.returncode == 0, done.stderr
        begins = [number for number, request in enumerate(api.turns()) if not request.tool_results()]
        requests = [api.turns()[begin:end] for begin, end in zip(begins, [*begins[1:], None])]
        assert len(requests) == len(arms)
        return {name: Solved(json.loads(outcome), its) for name, outcome, its in zip(arms, done.stdout.splitlines(), requests)}


def test_a_solve_ends_as_without_it_and_costs_less(solved):
    for one in solved.values():
        assert (one.outcome["turns"], one.outcome["error"], len(one.requests)) == (5, False, 5)
    usd = {name: one.outcome["usd"] for name, one in solved.items()}
    print("\nscripted solve, USD as the SDK reports it:", usd)
    assert usd["popkit_strong"] < usd["popkit"] < usd["baseline"]


def test_the_agent_has_the_same_tools_and_instructions(solved):
    def has(one: Solved) -> object:
        body = one.requests[0].body
        return [tool["name"] for tool in body["tools"]], len(body["system"])

    assert has(solved["popkit"]) == has(solved["baseline"])


def test_what_was_read_enters_once_and_nothing_that_was_sent_changes(solved):
    last = {name: one.requests[-1] for name, one in solved.items()}
    assert not referred(result(last["baseline"], "toolu_solve_1_0"))
    assert referred(result(last["popkit"], "toolu_solve_1_0"))
    assert len(result(last["popkit_strong"], "toolu_solve_2_0")) < len(result(last["baseline"], "toolu_solve_2_0")) / 3
    for one in solved.values():
        for before, after in zip(one.requests, one.requests[1:]):
            assert sent(after)[: len(sent(before))] == sent(before)
