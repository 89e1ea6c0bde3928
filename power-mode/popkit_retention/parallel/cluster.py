"""The workers of a Dask cluster that work on sessions.

The cluster exists already: nothing of it is started, changed or stopped. A task costs scheduler, worker and client some milliseconds each,
whatever it does, so small sessions share one. Another worker does the tasks of a lost one. A task that keeps ending its workers is given up
by the scheduler (distributed.scheduler.allowed-failures); its sessions are then tried one by one, and the one that does so is named.
Anybody who can reach the scheduler of a cluster can run anything on it: we send the name of our function and the places of the sessions.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

from popkit_retention import core
from popkit_retention.core.io import home

from .attempts import attempt
from .sources import SourceUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .sources import Source


_CONNECT_S = 15
_WORKERS_S = 60
_AHEAD = 32  # sessions for each thread of a worker
_LEAST_AHEAD = 64
_TOGETHER = 8  # sessions in a task, so that each thread has some tasks ahead
_TOGETHER_BYTES = 8 << 20
_TASKS = 16  # at least for each thread, so that all end at about the same time
_COUNTED_S = 10.0  # how long a count of the workers is valid: they come and go
_TELL = (".py", ".json")  # files that figures depend on
_NAMED = 3  # workers, in a message
_HOW = "pip install of this package with its extra `cluster`, then dask worker ADDRESS --nthreads 1"


class Cluster:
    """A client of the cluster; SourceUnavailable where it cannot be reached, or where its workers have other code."""

    def __init__(self, scheduler: str, count: int, size: int) -> None:
        """`count`: how many sessions will be submitted, of `size` bytes in all."""
        self.scheduler = scheduler
        self.count = count
        self.size = size
        self.filling = _Batch(self)
        self.client = self._connected()
        self.counted_at = 0.0
        self.threads = 0

    def __enter__(self) -> Cluster:
        try:
            self._check()
        except BaseException:
            self.client.close()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        self.client.close()

    def _connected(self) -> Any:
        try:
            from distributed import Client
        except ImportError:
            raise SourceUnavailable("a cluster needs dask.distributed. Install it with: popkit setup cluster") from None
        try:
            return Client(self.scheduler, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            why = str(error).partition("\n")[0][:200]
            raise SourceUnavailable(f"no Dask scheduler answers at {self.scheduler}: {why}. Start one with: dask scheduler") from None

    def _check(self) -> None:
        """Check that the workers have our code, because other code gives other figures."""
        try:
            self.client.wait_for_workers(1, timeout=_WORKERS_S)
        except OSError:
            raise SourceUnavailable(f"the scheduler at {self.scheduler} has no workers. Start some with: {_HOW}") from None
        ours = fingerprint()
        others = [
            name for name, worker_fingerprint in self.client.run(fingerprint, on_error="return").items() if worker_fingerprint != ours
        ]
        if others:
            named = ", ".join(sorted(others)[:_NAMED]) + (" …" if len(others) > _NAMED else "")
            raise SourceUnavailable(
                f"{len(others)} workers of {self.scheduler} have no PopKit, another version of it, or another time zone than"
                f" {time.tzname[0]} (TZ sets it): {named}. On each: {_HOW}"
            )

    def ahead(self) -> int:
        """Return how many sessions may be queued."""
        if time.monotonic() - self.counted_at > _COUNTED_S:
            self.threads = sum(self.client.nthreads().values())
            self.counted_at = time.monotonic()
        return max(_LEAST_AHEAD, self.threads * _AHEAD)

    def submit(self, task: Callable[[str], Any], source: Source) -> Any:
        """Queue a session; a small one shares a task with those that come after it."""
        self.count -= 1
        filling, pending = self.filling, _BatchResult(self.filling, len(self.filling.work))
        filling.work.append((task, source))
        filling.size += source.size
        most = min(_TOGETHER_BYTES, self.size // (_TASKS * max(1, self.threads)))
        if not self.count or len(filling.work) >= _TOGETHER or filling.size >= most:
            filling.begin()
        return pending


class _Batch:
    """Sessions that share a task."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.work: list[tuple[Callable[[str], Any], Source]] = []
        self.size = 0
        self.future: Any = None
        self.done: list[tuple] = []

    def begin(self) -> None:
        """Send the task; later sessions go into another task."""
        self.future = self.cluster.client.submit(on_worker, self.work, pure=False)
        if self.cluster.filling is self:
            self.cluster.filling = _Batch(self.cluster)

    def results(self) -> list[tuple]:
        """Wait for the results of all of them."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        if not self.done:
            if self.future is None:
                self.begin()
            try:
                self.done = self.future.result()
            except KilledWorker:
                self.done = self._one_by_one()
            except (CancelledError, OSError) as error:
                raise SourceUnavailable(f"the scheduler at {self.cluster.scheduler} was lost in the run: {type(error).__name__}") from None
            self.future = None
        return self.done

    def _one_by_one(self) -> list[tuple]:
        if len(self.work) == 1:
            return [(None, "the workers that read it were ended")]
        alone = [_Batch(self.cluster) for _ in self.work]
        for machine, work in zip(alone, self.work):
            machine.work.append(work)
            machine.begin()
        return [result for machine in alone for result in machine.results()]


class _BatchResult:
    def __init__(self, together: _Batch, at: int) -> None:
        self.together = together
        self.at = at

    def result(self) -> tuple:
        return self.together.results()[self.at]


def on_worker(work: list[tuple[Callable[[str], Any], Source]]) -> list[tuple]:
    """Return the result for each session, or None and the reason. Copies lie in the worker's own folder, which Dask clears after it."""
    from distributed import get_worker

    return [attempt(task, source, get_worker().local_directory) for task, source in work]


def fingerprint() -> str:
    """Return a fingerprint of everything that two machines must share for equal figures: our code and data, and the time zone, by which
    days begin."""
    services, engine = Path(__file__).resolve().parents[1], Path(core.__path__[0]).resolve()
    hash = hashlib.sha256(repr(time.tzname).encode())
    for root in (services, engine):
        # A wheel has the engine below the services, a checkout beside them.
        for path in sorted(path for path in root.rglob("*") if path.suffix in _TELL and path.relative_to(root).parts[0] != "core"):
            hash.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    hash.update(Path(home.plugin_root(), "retention-config.json").read_bytes())
    return hash.hexdigest()
