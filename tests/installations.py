"""Installations of the plugin that lack the folder of a feature."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from popkit_retention import features
from tests.client.plugin_copy import copied
from tests.hooks import processes
from tests.patience import HANG_S

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
PAGE = """
import json, os, sys
sys.path[:0] = sys.argv[1:3]
from popkit_retention.dashboard.routes import routers
from popkit_retention.dashboard.app_state import AppState
from popkit_retention.dashboard.security import Access
state = AppState(os.environ)
found = [route for router in routers(state, Access(1), "1") for route in router.routes]
me = next(route.endpoint() for route in found if route.path == "/api/me")
print(json.dumps([me.views, [route.endpoint.__module__.split(".")[1] for route in found]]))
"""


def whole(folder: Path) -> Path:
    """Make an installation with the features that come with the package alone, too."""
    made = copied(folder)
    services = Path(features.__file__).parent
    for feature in features.every():
        there = made / "power-mode" / services.name / feature.name
        if not there.exists():
            shutil.copytree(services / feature.name, there, ignore=shutil.ignore_patterns("__pycache__"))
    return made


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

    def page(self) -> tuple[set[str], set[str]]:
        """The views of the page's server, and the folders whose modules answer it."""
        driver = [sys.executable, "-c", PAGE, *map(str, (self.root, self.root / "power-mode"))]
        done = subprocess.run(driver, env=self.env, cwd=self.project, capture_output=True, text=True, timeout=HANG_S, check=True)
        views, folders = map(set, json.loads(done.stdout))
        return views, folders

    def hook(self, payload: dict) -> str:
        """What the registered hook of an event says; it must not fail."""
        done = processes.run_registered(payload, self.env, root=self.root)
        assert (done.code, done.stderr) == (0, b"")
        return done.stdout.decode()
