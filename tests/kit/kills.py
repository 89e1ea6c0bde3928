"""Work that is killed at every call by which it asks the system to change something, and at random moments.

    def test_a_configure_that_is_killed_…(forks, tmp_path):
        def world() -> dict[str, str]:          # lays everything down as it was before, and gives the environment
            lay_down(tmp_path / "template", tmp_path / "home")
            return {"POPKIT_HOME": str(tmp_path / "home")}

        def check(done: Done) -> None:          # looks at what is left
            assert …

        kills = kill_at_each_call(forks, Command(["retention", "set", "rag.limit=7"]), world, check)
        assert kills > 40, "there were moments to be killed at"

The calls are the system's own, counted and met by strace, those of SQLite too. Where a machine does not let strace trace, they are those
that our Python makes.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.kit.forks import Done, Forks, Work
from tests.paths import PYTHONPATH, ROOT
from tests.patience import Moments

# More than any of them asks of the system.
MOST_CALLS = 20_000

World = Callable[[], dict[str, str]]
Check = Callable[[Done], object]


def lay_down(template: Path, folder: Path) -> None:
    """Put a copy of a template in place of a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder, symlinks=True)


def kill_at_each_call(forks: Forks, work: Work, world: World, check: Check, step: int = 1, **how) -> int:
    """Kill the work right before its first call that changes something, then before its second in a new world, and so on; in the end let it
    be. `check` looks after each. How many kills. `step` 2 tries every second call."""
    kills = 0
    for moment in _moments(forks, work, world, how)[::step]:
        done = forks.run(work, world(), **moment, **how)
        if done.killed:
            kills += 1
            check(done)
        elif "moment" in moment:
            break  # it came to its end
    done = forks.run(work, world(), **how)
    assert done.code == 0, done
    check(done)
    return kills


def _moments(forks: Forks, work: Work, world: World, how: dict) -> list[dict]:
    """How work is killed at each of its calls: at a system call, or where that is not allowed before a call that Python makes."""
    if _strace_can_kill():
        return [{"call": call} for call in forks.calls_of(work, world(), **how)]
    return [{"moment": number} for number in range(1, MOST_CALLS)]


def kill_at_random_moments(forks: Forks, work: Work, world: World, check: Check, kills: int, seed: int = 20_261_123, **how) -> int:
    """Kill the work so many times, at moments that are spread over its life; `check` looks after each, and after those that came too late.
    How many kills."""
    environ, began = world(), time.perf_counter()
    done = forks.run(work, environ, **how)
    assert done.code == 0, done
    moments, hits = Moments(seed, time.perf_counter() - began), 0
    while hits < kills:
        done = forks.run(work, world(), kill_after_s=moments.draw(), **how)
        assert done.killed or done.code == 0, done
        moments.tell(not done.killed)
        hits += done.killed
        check(done)
    return hits


@functools.cache
def _strace_can_kill() -> bool:
    argv = ["strace", "-qq", "-o", os.devnull, "-e", "inject=write:signal=SIGKILL:when=1", sys.executable, "-c", "print(1)"]
    return bool(shutil.which("strace")) and subprocess.run(argv, capture_output=True, check=False).returncode == -9


def calls_of(script: str, words: Sequence[str], calls: str, environ: dict[str, str], into: Path) -> list[str]:
    """The lines of strace about these system calls of a script; skips where strace cannot trace."""
    argv = ["strace", "-qq", "-y", "-o", str(into), "-e", "trace=" + calls, sys.executable, "-c", script, *words]
    env = {**os.environ, **environ, "PYTHONPATH": PYTHONPATH}
    if not shutil.which("strace"):
        pytest.skip("there is no strace")
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, check=False)
    if done.returncode or not into.read_text():
        pytest.skip("strace cannot trace here")
    return into.read_text().splitlines()
