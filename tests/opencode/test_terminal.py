"""PopKit in OpenCode's terminal, set up as a user does: the line in the sidebar, the pane, and the command with words."""

from __future__ import annotations

from pathlib import Path

from .client import Project, Server
from .conversations import big_file, bodies, broken, twice
from .scripted_api import BothApis
from .terminal import ENTER, ESCAPE, Terminal


def test_the_sidebar_the_pane_and_the_command_tell_of_the_session(server: Server, api: BothApis, tmp_path: Path) -> None:
    project = Project(server, tmp_path.name, api.url, "anthropic", plugin=[])
    (project.work / "src" / "big.js").write_text(big_file())
    api.places["work"] = str(project.work)
    api.scripts["twice"] = twice()
    assert project.popkit_says("setup", "opencode", "--scope", "project", "--yes").returncode == 0
    with Terminal(project) as terminal:
        terminal.wait("Ask anything")
        terminal.type("[[SCRIPT:twice]] go")
        terminal.press(ENTER, "Both are the same")
        terminal.wait(r"PopKit\s*\n.*1 live, 1 expired")
        count = len(api.requests)
        terminal.type("/popkit-pane")
        terminal.wait("PopKit: the pane, live")
        terminal.press(ENTER, "1 Now  2 Results  3 Saved  4 Settings  5 Bill")
        terminal.wait("OpenCode keeps this session itself, so nothing leaves it but by /compact")
        terminal.press("2", r"T1\s+read src/big\.js .* read again at T2")
        terminal.press("4", "Refused .*lets no plugin send a request over the cached prompt")
        terminal.press(ESCAPE, r"(?s)\A((?!1 Now  2 Results).)*\Z")
        terminal.type("/popkit why T1")
        terminal.press(ENTER, r"State\s+expired at T2")
        assert len(api.requests) == count, "none of it asks the model"
    server.until_helpers_have_ended()
    assert broken(bodies(api, project)) == []
