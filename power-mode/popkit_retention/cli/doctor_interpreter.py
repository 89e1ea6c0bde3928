"""The check of `popkit doctor` on the Python that starts hooks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

from popkit_retention.core.io import files, foreign
from popkit_retention.core.io.findings import OK, PROBLEM, WARNING, Check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


OLDEST_PYTHON = (3, 9)
_NAMES = ("python3", *(f"python3.{minor}" for minor in range(14, 8, -1)), "python")
# An interpreter takes about 10 ms to start, a shim in front of it 100.
SLOW_START_MS = 50
STARTS = 5
PATIENCE_S = 20


def interpreter(popkit_home: str, environ: Mapping[str, str]) -> Check:
    """Check which Python the launcher starts hooks with, and how long its bare start takes."""
    remembered = remembered_interpreter(popkit_home)
    on_path = next(filter(None, (foreign.program(name, environ) for name in _NAMES)), None)
    # Where no interpreter is remembered, `popkit doctor` was started as the launcher will start hooks.
    python = remembered or (on_path and sys.executable)
    if not python:
        return Check("interpreter", PROBLEM, "there is no python3 on PATH, so hooks do nothing", "Install Python 3.9 or later.")
    printed = output_of([python, "-S", "-E", "-c", "import sys; print(sys.executable); print(sys.version.split()[0])"])
    real, version = [*printed.splitlines(), "", ""][:2]
    if not real or numbers_of(version) < OLDEST_PYTHON:
        summary = f"{python}, which hooks were started with, is {'Python ' + version if version else 'not a working Python'}"
        file = os.path.join(popkit_home, "interpreter")
        return Check("interpreter", WARNING, summary, f"Delete {file}: the next hook finds another one and remembers it.")
    start_ms = start_time_ms(real)
    facts: dict[str, Any] = {"interpreter": real, "version": version, "start_ms": round(start_ms, 1), "remembered": bool(remembered)}
    state = f"hooks run with {real} ({version}): {start_ms:.0f} ms a start"
    if not remembered:
        state += "; the first hook will remember it"
    if on_path and is_script(on_path):
        facts["path_python"], facts["path_start_ms"] = on_path, round(start_time_ms(on_path), 1)
        state += f". python3 on PATH is a shim, {facts['path_start_ms']:.0f} ms a start ({on_path}); the launcher bypasses it"
    if start_ms > SLOW_START_MS:
        return Check(
            "interpreter", WARNING, state, "Each tool call waits for one such start. Is the machine busy, or the disk slow?", **facts
        )
    return Check("interpreter", OK, state, **facts)


def remembered_interpreter(popkit_home: str) -> str:
    """Return the interpreter that the launcher remembers; "" where it will search again, as it does for that of a virtual environment."""
    try:
        path = (files.read_text(os.path.join(popkit_home, "interpreter")) or "").split("\n")[0]
    except OSError:
        return ""
    in_venv = os.path.exists(os.path.join(os.path.dirname(path), os.pardir, "pyvenv.cfg"))
    return path if os.path.isfile(path) and os.access(path, os.X_OK) and not in_venv else ""


def is_script(path: str) -> bool:
    """Return whether a program is a script: a Python that is a script is a shim."""
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def start_time_ms(python: str) -> float:
    """Return the time of the fastest of several bare starts (milliseconds): slower ones measure how busy the machine is."""
    seconds = []
    for _ in range(STARTS):
        begun = time.perf_counter()
        output_of([python, "-S", "-E", "-c", "pass"])
        seconds.append(time.perf_counter() - begun)
    return min(seconds) * 1000


def output_of(command: list) -> str:
    """Return the output of a program; "" when it cannot be run or fails."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=False)  # noqa: S603
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def numbers_of(version: str) -> tuple:
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", version)
    return tuple(int(number) for number in match.groups() if number) if match else ()
