"""PopKit as an arm of code-compression-bench (github.com/daseinlabs/code-compression-bench): the plugin as it is shipped.

The bench has headless Claude Code, driven through the Agent SDK, solve tasks of SWE-bench Verified, and compares what they cost with the
prompt cache. Its agent owns the messages, so PopKit comes in as a plugin (a ToolArm with `plugin_dir`, as the bench's own arms woz and
caveman): no tool is added or taken away, and the model is asked without a proxy. Each solve has an empty PopKit folder of its own.

To run it, copy this file into the bench's folder `arms`, add `popkit` to the imports in `arms/__init__.py`, and say where PopKit is:

    POPKIT_PLUGIN_DIR=/path/of/popkit make bench ARM=popkit

ARM=popkit_strong runs it with `shape: strong`. The interface is that of bench/arm.py at 016f7079, arms/README.md at 10afa01b and
bench/cc_runner.py at 146b1bf4.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from bench.arm import ToolArm, ToolAttach, register

FOLDER, HOME = "POPKIT_PLUGIN_DIR", "POPKIT_HOME"
# The oldest Claude Code that runs the plugin's code: before it nothing is kept out and no compaction answered.
OLDEST_CLIENT = (2, 1, 287)
OLDEST_PYTHON = (3, 9)


@register("popkit")
class PopKitArm(ToolArm):
    """The plugin with its defaults."""

    name = "popkit"
    needs = [FOLDER]  # noqa: RUF012  as the bench declares it
    settings: dict[str, Any] = {}  # noqa: RUF012  read only

    def __init__(self) -> None:
        self._before: str | None = None
        self._home = ""

    def ready(self) -> tuple[bool, str]:
        """Return whether the plugin would do its work here, and else why not: an arm that does nothing would measure the baseline."""
        reason = _missing()
        return not reason, reason or "ok"

    def setup(self) -> None:
        """Begin a solve with an empty PopKit folder, which Claude Code and its hooks get from the environment."""
        self._before = os.environ.get(HOME)
        self._home = os.environ[HOME] = tempfile.mkdtemp(prefix="popkit-arm-")
        if self.settings:
            Path(self._home, "retention-config.json").write_text(json.dumps({"retention": self.settings}), encoding="utf-8")

    def teardown(self) -> None:
        """Delete that folder, and give the environment back; a second call does nothing."""
        if not self._home:
            return
        shutil.rmtree(self._home, ignore_errors=True)
        self._home = ""
        if self._before is None:
            os.environ.pop(HOME, None)
        else:
            os.environ[HOME] = self._before

    def attach(self) -> Any:
        """Return the plugin to load. The agent keeps all tools that it has."""
        return ToolAttach(plugin_dir=os.environ[FOLDER])


@register("popkit_strong")
class StrongArm(PopKitArm):
    """The same, and of long outputs only what says something enters."""

    name = "popkit_strong"
    settings = {"shape": "strong"}  # noqa: RUF012  read only


def _missing() -> str:
    """Return what the plugin lacks here, and what to do; "" where it has all."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return f"{FOLDER} is not set: clone PopKit, and name its folder"
    for name in (".claude-plugin/plugin.json", "hooks/hooks.json", "hooks/register.ts"):
        if not Path(folder, name).is_file():
            return f"{Path(folder, name)} does not exist: {FOLDER} must be PopKit's own folder"
    if _version("python3") < OLDEST_PYTHON:
        return "PopKit's hooks need python3 on PATH, version 3.9 or later"
    client = _client()
    found = _version(client) if client else ()
    if found < OLDEST_CLIENT:
        what = f"Claude Code {'.'.join(map(str, found))} is too old" if found else "Claude Code is not there"
        return f"{what}: PopKit keeps results out from 2.1.326 on (pip install --upgrade claude-agent-sdk)"
    return ""


def _client() -> str | None:
    """Return the Claude Code that the Agent SDK starts: its own, else the one on PATH."""
    sdk = importlib.util.find_spec("claude_agent_sdk")
    own = Path(sdk.origin).parent / "_bundled" / "claude" if sdk and sdk.origin else None
    return str(own) if own and own.is_file() else shutil.which("claude")


def _version(program: str) -> tuple[int, ...]:
    """Return the version that a program tells; () for none."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    match = re.search(r"\d+(?:\.\d+)+", done.stdout + done.stderr)
    return tuple(map(int, match[0].split("."))) if match and not done.returncode else ()
