"""Processes of this machine that work on sessions.

When one is ended from outside, only its own session is affected, which is tried once more in a new process.
"""

from __future__ import annotations

import signal
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context

from .attempts import attempt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from .sources import Source


ENDED = "the process that read it was ended, twice"
_TRIES = 2
_PER_PROCESS = 16  # sessions for each process, so that it can go on while an older session takes longer


class Pool:
    """`jobs` threads, each with a process of its own that works on one session at a time."""

    def __init__(self, jobs: int, scratch: str) -> None:
        self.jobs = jobs
        self.scratch = scratch
        self.threads = ThreadPoolExecutor(jobs)
        self.ending = False
        self.own = threading.local()
        self.processes: list[ProcessPoolExecutor] = []

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: object, *_exc: object) -> None:
        if kind:
            self.ending = True
            for child in active_children():
                child.terminate()
        self.threads.shutdown(wait=True, cancel_futures=True)
        for process in self.processes:
            process.shutdown(wait=True, cancel_futures=True)

    def ahead(self) -> int:
        """Return how many sessions may be queued."""
        return self.jobs * _PER_PROCESS

    def submit(self, task: Callable, source: Source) -> Future:
        """Queue a session."""
        return self.threads.submit(self._run, task, source)

    def _run(self, task: Callable, source: Source) -> tuple:
        for _ in range(_TRIES):
            process = getattr(self.own, "process", None) or self._start()
            try:
                return process.submit(attempt, task, source, self.scratch).result()
            except BrokenProcessPool:
                self.own.process = None
                if self.ending:
                    break
        return None, ENDED

    def _start(self) -> ProcessPoolExecutor:
        # Forking is not safe everywhere.
        self.own.process = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        self.processes.append(self.own.process)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited when it starts
        return self.own.process
