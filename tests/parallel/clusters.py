"""A real Dask cluster on this machine: a scheduler and workers in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.paths import PYTHONPATH
from tests.patience import HANG_S

PATIENCE_S = 20


@contextmanager
def cluster(folder: Path, workers: int = 2, **env: str) -> Iterator[str]:
    """Give the address of a scheduler that has so many workers of a thread each, which come back when they are killed."""
    address_file = folder / "scheduler.json"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    scheduler = [*dask, "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(address_file)]
    with _running(folder, [scheduler, *([*_worker(folder), "--scheduler-file", str(address_file)] for _ in range(workers))], **env):
        deadline = time.monotonic() + HANG_S
        while not (address_file.exists() and address_file.read_text().endswith("}")):  # the scheduler writes it while we look
            assert time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.05)
        yield json.loads(address_file.read_text())["address"]


@contextmanager
def joined(folder: Path, address: str, name: str, **env: str) -> Iterator[None]:
    """Another worker of a scheduler, in an environment of its own."""
    with _running(folder, [[*_worker(folder), address, "--name", name]], **env):
        yield


def _worker(folder: Path) -> list[str]:
    """Return the command of one, but for its scheduler."""
    return [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-dashboard", "--local-directory", str(folder)]


@contextmanager
def _running(folder: Path, commands: list[list[str]], **env: str) -> Iterator[None]:
    """Processes that end with the `with`, the last one first."""
    given = {**os.environ, "PYTHONPATH": PYTHONPATH, **env}
    started: list[subprocess.Popen] = []
    with (folder / "log").open("wb") as log:
        try:
            started += (
                subprocess.Popen(command, env=given, stdout=log, stderr=log, cwd=folder, start_new_session=True) for command in commands
            )
            yield
        finally:
            for process in reversed(started):
                process.terminate()
            for process in started:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(PATIENCE_S)
                with suppress(ProcessLookupError):  # a worker that was just coming back asks a scheduler that is gone, and never ends
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait(HANG_S)
