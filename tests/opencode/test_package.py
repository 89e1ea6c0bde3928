"""The npm package of the plugin: what it holds, and that it is typed as OpenCode declares; and the plugin in OpenCode's terminal, set up as
a user does."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.client.installs import npm
from tests.opencode import installs
from tests.opencode.client import ENTER, ESCAPE, HELPER, PLUGIN, Project, Server, Terminal
from tests.opencode.conversations import big_file, bodies, broken, twice
from tests.opencode.scripted_api import BothApis
from tests.patience import HANG_S


def test_it_has_the_types_that_opencode_declares(tmp_path: Path) -> None:
    if npm() is None:
        pytest.skip("npm is not on PATH")
    package = tmp_path / "opencode"
    package.mkdir()
    shutil.copy(HELPER, tmp_path)
    for path in [*PLUGIN.glob("*.ts*"), Path(__file__).with_name("tsconfig.json")]:
        shutil.copy(path, package)
    (tmp_path / "node_modules").symlink_to(installs.types() / "node_modules")
    command = ["node", "node_modules/typescript/bin/tsc", "-p", "opencode"]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert checked.stdout == ""


# --- the terminal ------------------------------------------------------------------------------------------------------------------------


def test_the_sidebar_the_pane_and_the_command_tell_of_the_session(server: Server, api: BothApis, tmp_path: Path) -> None:
    project = Project(server, tmp_path.name, api.url, "anthropic", plugin=[])
    (project.work / "src" / "big.js").write_text(big_file())
    api.places["work"] = str(project.work)
    api.scripts["twice"] = twice()
    assert project.popkit_says("setup", "opencode", "--scope", "project", "--yes").returncode == 0
    with Terminal(project) as terminal:
        terminal.wait("Ask anything")
        terminal.type("[[SCRIPT:twice]] go")
        terminal.press_until(ENTER, "Both are the same")
        terminal.wait(re.compile(r"PopKit\s*\n.*context \d+%"))
        count = len(api.requests)
        terminal.type("/popkit-pane")
        terminal.wait("PopKit: the pane, live")
        terminal.press_until(ENTER, "1 Now  2 Results  3 Saved  4 Settings  5 Bill")
        terminal.wait("OpenCode keeps this session itself, so only /compact removes anything")
        terminal.press_until("2", re.compile(r"T1\s+read src/big\.js .* read again at T2"))
        terminal.press_until("4", lambda shown: "OpenCode keeps this session itself" in shown and "read again at T2" not in shown)
        terminal.press_until(ESCAPE, lambda shown: "1 Now  2 Results" not in shown)
        terminal.type("/popkit why T1")
        terminal.press_until(ENTER, re.compile(r"State\s+expired at T2"))
        assert len(api.requests) == count, "none of it asks the model"
    server.until_helpers_have_ended()
    assert broken(bodies(api, project)) == []
