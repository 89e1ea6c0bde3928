"""Work that is killed at every call by which it asks the system to change something, and at random moments.

    def test_a_configure_that_is_killed_…(errands, tmp_path):
        def world() -> dict[str, str]:          # lays everything down as it was before, and gives the environment
            shutil.rmtree(tmp_path / "home", ignore_errors=True)
            shutil.copytree(tmp_path / "template", tmp_path / "home")
            return {"POPKIT_HOME": str(tmp_path / "home")}

        def check(done: Done) -> None:          # looks at what is left; done.code is 0, or -9 where it was killed
            assert …

        kills = kill_at_each_call(errands, ["retention", "set", "rag", "limit=7"], world, check)
        assert kills > 40, "there were moments to be killed at"

Work is the words of a `popkit` command, or `Function("module:name", [what it is given])`, in a fork of a process that has loaded the
services (tests/reclaim/errands.py; the fixture `errands` is in conftest.py). The calls are the system's own, counted and met by strace,
those of SQLite too. Where a machine does not let strace trace, they are those that our Python makes.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple, Union

import pytest

from tests.patience import Moments
from tests.reclaim.errands import SYSTEM_CALLS, Done, Errands

# More than any of them asks of the system.
MOST_CALLS = 20_000


class Function(NamedTuple):
    """A function, "module:name", and its arguments (JSON)."""

    name: str
    given: list


Work = Union[list[str], Function]
World = Callable[[], dict[str, str]]
Check = Callable[[Done], object]


def kill_at_each_call(errands: Errands, work: Work, world: World, check: Check, step: int = 1, first: int = 1) -> int:
    """Kills the work right before its first call that changes something, then before its second in a new world, and so on until it comes to
    its end; `check` looks after each, at the end that it came to as well. How many kills. `step` 2 tries every second call."""
    for at in range(first, MOST_CALLS, step):
        done = run(errands, work, world(), **{_way(): at})
        check(done)
        if done.code == 0:
            return (at - first) // step
        assert done.code == -9, done
    pytest.fail("it never came to its end")


def kill_at_random_moments(errands: Errands, work: Work, world: World, check: Check, kills: int, seed: int = 20_261_123) -> int:
    """Kills the work so many times, at moments that are spread over its life; `check` looks after each, and after those that came too late.
    How many kills."""
    environ, began = world(), time.perf_counter()
    done = run(errands, work, environ)
    assert done.code == 0, done
    moments, hits = Moments(seed, time.perf_counter() - began), 0
    while hits < kills:
        done = run(errands, work, world(), kill_after_s=moments.draw())
        assert done.code in (0, -9), done
        moments.tell(done.code == 0)
        hits += done.code == -9
        check(done)
    return hits


def run(errands: Errands, work: Work, environ: dict[str, str], **how: float) -> Done:
    """Does the work once; `how` it is killed, as for `Errands.run`."""
    if isinstance(work, Function):
        return errands.call(work.name, work.given, environ, **how)
    return errands.run(work, environ, **how)


@functools.cache
def _way() -> str:
    inject = ["-e", f"inject={SYSTEM_CALLS}:signal=SIGKILL:when=1"]
    argv = ["strace", "-qq", "-o", os.devnull, "-e", "trace=" + SYSTEM_CALLS, *inject, sys.executable, "-c", "print(1)"]
    can = shutil.which("strace") and subprocess.run(argv, capture_output=True, check=False).returncode == -9
    return "call" if can else "moment"
