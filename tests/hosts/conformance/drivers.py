"""The scene in each real host, played to its end."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from tests.client.append_only import threads
from tests.client.client import ClientHome
from tests.client.installs import Installed
from tests.client.scripted_api import ScriptedApi
from tests.opencode.client import ROOT, Project, Server
from tests.opencode.conversations import big_file, bodies
from tests.opencode.scripted_api import BothApis
from tests.pi.client import Machine
from tests.pi.client import Project as PiProject
from tests.pi.installs import Program

from .laws import Played
from .scene import FILE, PROMPTS, scripts

CONFIGURATION = '{"retention": {"say_once": "any", "shape": "safe", "compact": "off"}}'


class ClaudeCodeWords:
    """Claude Code's tools."""

    def read(self, path: str) -> tuple[str, dict[str, Any]]:
        return "Read", {"file_path": path}

    def shell(self, command: str) -> tuple[str, dict[str, Any]]:
        return "Bash", {"command": command}

    def edit(self, path: str, old: str, new: str) -> tuple[str, dict[str, Any]]:
        return "Edit", {"file_path": path, "old_string": old, "new_string": new}


class OpenCodeWords:
    """OpenCode's tools."""

    def read(self, path: str) -> tuple[str, dict[str, Any]]:
        return "read", {"filePath": path}

    def shell(self, command: str) -> tuple[str, dict[str, Any]]:
        return "bash", {"command": command, "description": "run it"}

    def edit(self, path: str, old: str, new: str) -> tuple[str, dict[str, Any]]:
        return "edit", {"filePath": path, "oldString": old, "newString": new}


class PiWords:
    """pi's tools."""

    def read(self, path: str) -> tuple[str, dict[str, Any]]:
        return "read", {"path": path}

    def shell(self, command: str) -> tuple[str, dict[str, Any]]:
        return "bash", {"command": command}

    def edit(self, path: str, old: str, new: str) -> tuple[str, dict[str, Any]]:
        return "edit", {"path": path, "edits": [{"oldText": old, "newText": new}]}


def in_claude_code(folder: Path, installed: Installed, api: ScriptedApi) -> Played:
    """The scene in Claude Code."""
    home = ClientHome(folder, installed, api.url, {"POPKIT_DOOR_MS": "60000"})
    api.places["work"] = str(home.work)
    api.scripts.update(scripts(ClaudeCodeWords()))
    (home.work / FILE).write_text(big_file())
    (home.config / "popkit").mkdir(parents=True, exist_ok=True)
    (home.config / "popkit" / "retention-config.json").write_text(CONFIGURATION)
    first, later, last = PROMPTS
    ran = home.run_headless([first, later, "/compact", last], plugin_dir=ROOT)
    assert ran.returncode == 0, ran.stderr

    def restore(handle: str) -> str:
        command = [ROOT / "bin" / "popkit", "restore", handle]
        return subprocess.run(command, cwd=home.work, env=home.env(), capture_output=True, text=True, check=True).stdout

    return Played(threads(api.requests, ()), restore)


def in_pi(folder: Path, program: Program, provider: str, api: BothApis) -> Played:
    """The scene in pi, which compacts with a summary of its own: nothing in the scene is dead for long enough."""
    settings = {"compaction": {"keepRecentTokens": 400}}
    project = PiProject(Machine(folder, program), "scene", api.url, provider, settings=settings)
    api.places["work"] = str(project.work)
    api.scripts.update(scripts(PiWords()))
    (project.work / FILE).write_text(big_file())
    first, later, last = PROMPTS
    begun = len(bodies(api, project))
    project.say(first)
    project.leave()  # what is resumed knows what it has shown
    project.say(later)
    before = len(bodies(api, project))
    project.compact()
    project.say(last)
    project.leave()
    sent = bodies(api, project)
    return Played([sent[begun:before], sent[before:]], lambda handle: project.popkit_says("restore", handle).stdout)


def in_opencode(server: Server, name: str, provider: str, api: BothApis) -> Played:
    """The scene in OpenCode."""
    project = Project(server, name, api.url, provider)
    api.places["work"] = str(project.work)
    api.scripts.update(scripts(OpenCodeWords()))
    (project.work / FILE).write_text(big_file())
    first, later, last = PROMPTS
    project.say(first)
    project.leave()  # what is resumed knows what it has shown
    project.say(later)
    before = len(bodies(api, project))
    project.compact()
    project.say(last)
    project.leave()
    sent = bodies(api, project)
    return Played([sent[:before], sent[before:]], lambda handle: project.popkit_says("restore", handle).stdout)
