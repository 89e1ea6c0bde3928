"""Processes that do something at once, and a process that holds what others want."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.kit.forks import Done, Forks, Work
from tests.paths import PYTHONPATH, ROOT

_HOLDS = """
import sqlite3, sys
from popkit_retention.core.io import files
holds = []
for path in sys.argv[1:]:
    if path.endswith(".sqlite"):
        holds.append(sqlite3.connect(path, isolation_level=None))
        holds[-1].execute("BEGIN EXCLUSIVE")
    else:
        holds.append(files.Lock(path).__enter__())
print(flush=True)
sys.stdin.read()
"""


def all_do(forks: Forks, works: Sequence[Work], environ: dict[str, str], **how) -> list[Done]:
    """What each printed; an AssertionError where one of them fails or complains."""
    ended = forks.run_together(works, environ, **how)
    assert [each for each in ended if each.code or each.stderr] == []
    return ended


@contextmanager
def held(*paths: str | Path) -> Iterator[subprocess.Popen]:
    """Another process holds locks and databases (*.sqlite), until the end of the block or until it is killed."""
    argv = [sys.executable, "-c", _HOLDS, *map(str, paths)]
    with subprocess.Popen(
        argv, cwd=ROOT, env={**os.environ, "PYTHONPATH": PYTHONPATH}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"\n"
        try:
            yield holder
        finally:
            holder.kill()
