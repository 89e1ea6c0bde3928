"""What `popkit doctor` looks at on the machine: the interpreter that hooks get, the client, the plugin in its settings. Reads only."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time

from hooks.utils.io import files, home
from hooks.utils.io.storage import OK, PROBLEM, WARNING, Check
from hooks.utils.state import peek
from hooks.utils.text import listed, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

OLDEST_PYTHON = (3, 9)
_NAMES = ("python3", *(f"python3.{minor}" for minor in range(14, 8, -1)), "python")
OLDEST_CLIENT = (2, 1, 100)
PLUGIN = "popkit"
HOW_TO_INSTALL = "claude plugin marketplace add, then claude plugin install popkit@popkit: see README.md"
# An interpreter takes about 10 ms to start, a shim in front of it 100.
SLOW_START_MS = 50
STARTS = 5
PATIENCE_S = 20
RECENT_S = 7 * 24 * 3_600


def interpreter(popkit_home: str, environ: Mapping[str, str]) -> Check:
    """Check which Python the launcher starts hooks with, and how long its bare start takes."""
    remembered = _remembered(popkit_home)
    on_path = next(filter(None, (shutil.which(name, path=environ.get("PATH")) for name in _NAMES)), None)
    # Where nothing is remembered, `popkit doctor` was started as the launcher will start hooks.
    python = remembered or (on_path and sys.executable)
    if not python:
        return Check("interpreter", PROBLEM, "there is no python3 on PATH, so hooks do nothing", "Install Python 3.9 or later.")
    asked = _output([python, "-S", "-E", "-c", "import sys; print(sys.executable); print(sys.version.split()[0])"])
    real, version = [*asked.splitlines(), "", ""][:2]
    if not real or _numbers(version) < OLDEST_PYTHON:
        what = f"{python}, which hooks were started with, is {'Python ' + version if version else 'no Python that starts'}"
        file = os.path.join(popkit_home, "interpreter")
        return Check("interpreter", WARNING, what, f"Delete {file}: the next hook finds another one and remembers it.")
    start_ms = start_time_ms(real)
    facts: dict[str, Any] = {"interpreter": real, "version": version, "start_ms": round(start_ms, 1), "remembered": bool(remembered)}
    state = f"hooks run with {real} ({version}): {start_ms:.0f} ms a start"
    if not remembered:
        state += "; the first hook will remember it"
    if on_path and is_script(on_path):
        facts["path_python"], facts["path_start_ms"] = on_path, round(start_time_ms(on_path), 1)
        state += f". python3 on PATH is a shim, {facts['path_start_ms']:.0f} ms a start ({on_path}); the launcher goes past it"
    if start_ms > SLOW_START_MS:
        return Check(
            "interpreter", WARNING, state, "Each tool call waits for one such start. Is the machine busy, or the disk slow?", **facts
        )
    return Check("interpreter", OK, state, **facts)


def _remembered(popkit_home: str) -> str:
    """Return the interpreter that the launcher has found; "" when it will look again, as for one of a virtual environment."""
    try:
        path = (files.read_text(os.path.join(popkit_home, "interpreter")) or "").split("\n")[0]
    except OSError:
        return ""
    in_venv = os.path.exists(os.path.join(os.path.dirname(path), os.pardir, "pyvenv.cfg"))
    return path if os.path.isfile(path) and os.access(path, os.X_OK) and not in_venv else ""


def is_script(path: str) -> bool:
    """Return whether a program is a script: a Python that is one is a shim."""
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def start_time_ms(python: str) -> float:
    """Return the quickest of some bare starts: a busy moment is no fault of the interpreter."""
    taken = []
    for _ in range(STARTS):
        begun = time.perf_counter()
        _output([python, "-S", "-E", "-c", "pass"])
        taken.append(time.perf_counter() - begun)
    return min(taken) * 1000


def _output(command: list) -> str:
    """Return what a program prints; "" when it cannot be run or fails."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=False)  # noqa: S603
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _numbers(version: str) -> tuple:
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", version)
    return tuple(int(number) for number in match.groups() if number) if match else ()


def client(environ: Mapping[str, str]) -> Check:
    """Return the version of the Claude Code on PATH."""
    oldest = ".".join(map(str, OLDEST_CLIENT))
    program = shutil.which("claude", path=environ.get("PATH"))
    if not program:
        return Check("client", WARNING, "there is no claude on PATH, so its version is unknown", f"PopKit needs {oldest} or later.")
    version = _numbers(_output([program, "--version"]))
    if not version:
        return Check("client", WARNING, f"{program} --version does not print a version", f"PopKit needs {oldest} or later.")
    shown = ".".join(map(str, version))
    if version < OLDEST_CLIENT:
        advice = f"PopKit needs {oldest} or later: claude update"
        return Check("client", PROBLEM, f"Claude Code {shown} is too old", advice, version=shown)
    return Check("client", OK, f"Claude Code {shown}", version=shown)


def plugin(popkit_home: str, project: str, environ: Mapping[str, str], enabled: bool, now: float) -> Check:
    """Return whether the hooks are registered and switched on, and when one ran last."""
    try:
        events = list(json.loads(files.read_text(os.path.join(home.plugin_root(), "hooks", "hooks.json")) or "")["hooks"])
    except (OSError, ValueError, KeyError, TypeError):
        return Check("hooks", PROBLEM, f"{home.plugin_root()}/hooks/hooks.json cannot be read", "Install the plugin anew.")
    ran = next((seen.written for seen in peek.contexts(popkit_home)), None)
    last = f"the last one ran {span(now - ran)} ago" if ran else "none has run yet"
    facts: dict[str, Any] = {"events": events, "last_run_s": round(now - ran) if ran else None}
    if environ.get("POPKIT_OFF") or not enabled:
        why = "POPKIT_OFF is set" if environ.get("POPKIT_OFF") else "the configuration says enabled: false"
        return Check("hooks", WARNING, f"switched off: {why}", **facts)
    folder = home.claude_folder(environ)
    settings = [_json(os.path.join(folder, "settings.json"))]
    settings += [_json(os.path.join(project, ".claude", name)) for name in ("settings.json", "settings.local.json")]
    if any(layer.get("disableAllHooks") is True for layer in settings):
        return Check("hooks", PROBLEM, "the settings say disableAllHooks", "Remove it from settings.json.", **facts)
    return _registered(folder, settings, f"{len(events)} events; {last}", ran is not None and now - ran < RECENT_S, facts)


def _registered(folder: str, settings: list, state: str, recent: bool, facts: dict) -> Check:
    """Return the finding for what the settings say of our plugin, under whatever marketplace."""
    switched: dict = {}
    for layer in settings:
        enabled = layer.get("enabledPlugins")
        if isinstance(enabled, dict):
            switched.update({name: on for name, on in enabled.items() if name.partition("@")[0] == PLUGIN})
    known = _json(os.path.join(folder, "plugins", "installed_plugins.json")).get("plugins")
    installed = [name for name in known if name.partition("@")[0] == PLUGIN] if isinstance(known, dict) else []
    active = [name for name in installed if switched.get(name) is True]
    if len(active) > 1:
        return Check("hooks", WARNING, f"registered twice ({listed(active)}); {state}", "Uninstall all but one.", **facts)
    if active:
        return Check("hooks", OK, f"{active[0]} is installed and enabled: {state}", plugin=active[0], **facts)
    if installed:
        advice = f"claude plugin enable {installed[0]}"
        return Check("hooks", PROBLEM, f"{installed[0]} is installed, but not enabled here; {state}", advice, plugin=installed[0], **facts)
    if recent:
        return Check("hooks", OK, f"not installed, but loaded with --plugin-dir: {state}", **facts)
    return Check("hooks", PROBLEM, f"the plugin is not installed; {state}", HOW_TO_INSTALL, **facts)


def _json(path: str) -> dict:
    try:
        value = json.loads(files.read_text(path) or "{}")
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
