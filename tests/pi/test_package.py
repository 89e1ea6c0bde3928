"""The npm package of the extension: what it holds, that it is typed as pi declares, and that `popkit setup pi` has pi load it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from tests.client.scripted_api import call, say
from tests.opencode.conversations import big_file
from tests.opencode.scripted_api import BothApis
from tests.patience import HANG_S

from . import installs
from .client import HELPER, PLUGIN, Machine, Project, Terminal
from .installs import Program


def test_it_has_the_types_that_pi_declares(pi_program: Program, tmp_path: Path) -> None:
    package = tmp_path / "pi"
    package.mkdir()
    shutil.copy(HELPER, tmp_path)
    for path in [*PLUGIN.glob("*.ts"), Path(__file__).with_name("tsconfig.json")]:
        shutil.copy(path, package)
    (tmp_path / "node_modules").symlink_to(installs.folder() / "node_modules")
    command = [str(pi_program.node), "node_modules/typescript/bin/tsc", "-p", "pi"]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert checked.stdout == ""


def test_in_a_terminal_the_status_line_and_the_command_tell_of_the_session(machine: Machine, api: BothApis) -> None:
    project = Project(machine, "shop", api.url, "anthropic")
    (project.work / "src" / "big.js").write_text(big_file())
    api.scripts["twice"] = [
        call(("read", {"path": "src/big.js"})),
        call(("bash", {"command": "cat src/big.js"})),
        say("Both are the same."),
    ]
    with Terminal(project) as terminal:
        terminal.wait("claude-opus-4-8")
        terminal.say("[[SCRIPT:twice]] go", "Both are the same.")
        terminal.wait(re.compile(r"PopKit: context <?\d+% · nothing reclaimable"))
        count = len(api.requests)
        terminal.say("/popkit why T1", "expired at T2")
        assert len(api.requests) == count
    machine.until_helpers_have_ended()


def test_once_it_is_set_up_pi_loads_it(machine: Machine, api: BothApis) -> None:
    project = Project(machine, "shop", api.url, "anthropic", extensions=[])
    api.scripts["hello"] = [say("Hello.")]
    assert project.popkit_says("setup", "pi", "--yes").returncode == 0
    project.say("[[SCRIPT:hello]] go")
    assert "Retention status" in project.command("/popkit")
    project.leave()
    assert project.popkit_says("setup", "pi", "--undo", "--yes").returncode == 0
    project.say("[[SCRIPT:hello]] go")
    assert "popkit" not in [command["name"] for command in project.ask("get_commands")["commands"]]
    project.leave()
