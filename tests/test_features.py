"""A feature is a folder: without it, everything else works, and what needs it says so."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from popkit_retention import features
from popkit_retention.cli import commands
from popkit_retention.cli.main import LACKING
from popkit_retention.dashboard.routes import OWN_VIEWS
from tests.client.plugin_copy import copied
from tests.hooks import payloads, processes
from tests.patience import HANG_S

FEATURES = {feature.name: feature for feature in features.every()}
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
MESSAGES = "".join(
    json.dumps({"jsonrpc": "2.0", **message}) + "\n"
    for message in (
        {"id": 1, "method": "initialize", "params": INITIALIZE},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    )
)
# What each command does in a home where nothing has happened yet; for the others, their help has to do.
WORK = {
    "memory": ("memory", "--json"),
    "retention": ("retention", "--json"),
    "budget": ("budget", "--json"),
    "bill": ("bill", "--json"),
    "setup": ("setup", "--json"),
    "uninstall": ("uninstall", "--dry-run", "--json"),
    "completion": ("completion", "--words", "help"),
}
HELP = ("help", "--json")
TOOLS = {
    tool.name: (feature.name, *feature.needs)
    for feature in FEATURES.values()
    if feature.tools
    for tool in features.found(f"{feature.tools}:TOOLS")
}
INSIDE = Path(__file__).parent / "cli" / "inside.py"
DRIVER = """
import importlib.util, json, os, pathlib, sys
sys.path[:0], inside = sys.argv[1:3], sys.argv[3]
spec = importlib.util.spec_from_file_location("inside", inside)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
done = [module.run(words, dict(os.environ), pathlib.Path.cwd()) for words in json.load(sys.stdin)]
print(json.dumps([[each.returncode, each.stdout, each.stderr] for each in done]))
"""
# What the page's server is asked for of each tile.
PAGES = {"memory": "memory", "governance": "retention", "usage": "budgets", "bill": "bill", "context": "context"}
PAGE = """
import json, os, sys
sys.path[:0] = sys.argv[1:3]
from popkit_retention.dashboard.routes import routers
from popkit_retention.dashboard.app_state import AppState
from popkit_retention.dashboard.security import Access
state = AppState(os.environ)
found = [route for router in routers(state, Access(1), "1") for route in router.routes]
me = next(route.endpoint() for route in found if route.path == "/api/me")
print(json.dumps([me.views, [route.path for route in found]]))
"""


class Without:
    """The plugin as it is installed, without the folder of one feature, and a home of its own."""

    def __init__(self, whole: Path, folder: Path, feature: str) -> None:
        self.gone = feature
        self.root = Path(shutil.copytree(whole, folder / "plugin", copy_function=os.link))
        shutil.rmtree(self.root / "power-mode" / "popkit_retention" / feature)
        self.home, self.project = folder / "user" / ".claude" / "popkit", folder / "shop"
        self.project.mkdir()
        binaries = folder / "bin"
        binaries.mkdir()
        (binaries / "python3").symlink_to(os.path.realpath(sys.executable))
        self.env = {"HOME": str(folder / "user"), "PATH": f"{binaries}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "POPKIT_HOME": str(self.home)}
        Path(self.env["HOME"]).mkdir()

    def popkit(self, *lines: Sequence[str]) -> dict[str, list[Any]]:
        """Command -> [its exit code, what it prints, what it says of a mistake]. One process runs all lines, as its start takes longest."""
        driver = [sys.executable, "-S", "-E", "-c", DRIVER, *map(str, (self.root, self.root / "power-mode", INSIDE))]
        done = subprocess.run(
            driver, env=self.env, cwd=self.project, input=json.dumps(lines), capture_output=True, text=True, timeout=HANG_S, check=True
        )
        return {words[0]: result for words, result in zip(lines, json.loads(done.stdout))}

    def alone(self, *words: str, stdin: str = "") -> str:
        """What a command prints in a process of its own."""
        command = [self.root / "bin" / "popkit", *words]
        done = subprocess.run(
            command, env=self.env, cwd=self.project, input=stdin, capture_output=True, text=True, timeout=HANG_S, check=True
        )
        return done.stdout

    def page(self) -> tuple[list[str], list[str]]:
        """The views and the addresses of the page's server."""
        driver = [sys.executable, "-c", PAGE, *map(str, (self.root, self.root / "power-mode"))]
        done = subprocess.run(driver, env=self.env, cwd=self.project, capture_output=True, text=True, timeout=HANG_S, check=True)
        views, paths = json.loads(done.stdout)
        return views, paths

    def hook(self, payload: dict) -> str:
        """What the registered hook of an event says; it must not fail."""
        done = processes.run_registered(payload, self.env, root=self.root)
        assert (done.code, done.stderr) == (0, b"")
        return done.stdout.decode()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation, with the features that come with the package alone."""
    folder = copied(tmp_path_factory.mktemp("features") / "whole")
    services = Path(features.__file__).parent
    for name in FEATURES:
        there = folder / "power-mode" / services.name / name
        if not there.exists():
            shutil.copytree(services / name, there, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="module", params=FEATURES)
def left(request: pytest.FixtureRequest, whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Without:
    return Without(whole, tmp_path_factory.mktemp(request.param), request.param)


def test_without_the_folder_of_a_feature_all_else_works(left: Without) -> None:
    gone = left.gone
    lost = {command.name for command in FEATURES[gone].commands}
    lacking = {name for name, command in commands.every().items() if gone in command.needs} - lost
    working = set(commands.every()) - lost - lacking
    assert "PopKit" in left.alone("help")
    did = left.popkit(*[WORK.get(name, (name, "--help")) for name in sorted(working)], *[(name,) for name in sorted(lacking | lost)], HELP)
    assert {name: did[name] for name in working if did[name][0] or did[name][2]} == {}
    assert set(json.loads(did["help"][1])) == set(commands.names()) - lost
    for name in lacking:
        code, printed, said = did[name]
        assert (code, printed) == (LACKING, "")
        assert f"it needs {gone}, which this installation lacks" in " ".join(said.split())
    for name in lost:
        code, printed, said = did[name]
        assert (code, printed) == (1, "")
        assert f'unknown command "{name}"' in " ".join(said.split())
    if "mcp" in working:
        (listed,) = [line for line in map(json.loads, left.alone("mcp", stdin=MESSAGES).splitlines()) if line["id"] == 2]
        assert {tool["name"] for tool in listed["result"]["tools"]} == {name for name, needs in TOOLS.items() if gone not in needs}


def test_without_the_folder_of_a_feature_hooks_and_doctor_work(left: Without) -> None:
    left.hook(payloads.read("/home/dev/shop/a.py", "x = 1\n"))
    assert list(left.home.rglob("*.state.json")), "a call is observed"
    answer = json.loads(left.hook(payloads.prompt("/popkit:context retention")))
    assert "1 tool call in 1 turn" in answer["reason"]
    code, printed, said = left.popkit(("doctor", "--json"))["doctor"]
    assert (code, said) == (0, "")
    assert [check["text"] for check in json.loads(printed)["checks"] if check["check"] == "hook errors"] == ["none in the log"]


def test_without_the_folder_of_a_feature_the_page_has_the_rest(left: Without) -> None:
    if left.gone in ("dashboard", *FEATURES["dashboard"].needs):
        return  # there is no page
    tiled = [name for name, feature in FEATURES.items() if feature.tile and left.gone not in (name, *feature.needs)]
    views, paths = left.page()
    assert set(views) == {*OWN_VIEWS, *(features.found(FEATURES[name].tile).view for name in tiled)} - {""}
    assert all(any(path.startswith(f"/api/{PAGES[name]}") for path in paths) == (name in tiled) for name in PAGES)


def test_what_a_feature_names_is_there() -> None:
    for feature in FEATURES.values():
        assert set(feature.offers) <= set(features.OFFERS)
        places = [*feature.offers.values(), *(place for each in feature.setups for place in (each.does, each.is_there))]
        places += [command.run for command in feature.commands if command.run]
        assert all(callable(features.found(place)) for place in places)
        assert {*feature.needs, *(need for command in feature.commands for need in command.needs)} <= set(FEATURES) - {feature.name}


def test_each_folder_with_rows_is_a_feature_and_named_for_itself() -> None:
    folder = Path(features.__file__).parent
    assert {path.parent.name for path in folder.glob("*/feature.py")} == set(FEATURES)
    assert len({feature.rank for feature in FEATURES.values()}) == len(FEATURES)
    ranks = [command.rank for command in commands.every().values()]
    assert ranks == sorted(set(ranks))
