"""Run one function over any number of sessions: in processes of this machine, or on a Dask cluster. One session is one task.

Results come in the order of the sessions, wherever they are computed. A session that cannot be read, or that the function fails on, has a
reason in place of a result, and does not end the others. The function has to be pure, and importable by name with its arguments
(`functools.partial`): other processes and other machines run it.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple, Protocol

from .attempts import attempt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .attempts import T
    from .sources import Source


class Workplace(NamedTuple):
    """The place of work on sessions: the Dask cluster of a `scheduler` (its address), else `jobs` processes (one per processor by
    default)."""

    jobs: int | None = None
    scheduler: str = ""

    def worth(self, sources: Sequence[Source], alone_bytes: int) -> Workplace:
        """Return this place, or a single process if the user chose nothing and the work is done before others would have started."""
        few = self == ALL_CORES and sum(source.size for source in sources) < alone_bytes
        return Workplace(1) if few else self


ALL_CORES = Workplace()


class FutureResult(Protocol):
    """The future result of a session."""

    def result(self) -> tuple:
        """Wait for it; return (result or None, reason)."""


class Backend(Protocol):
    """A way to work on sessions, with a bound on how many are queued."""

    def ahead(self) -> int: ...

    def submit(self, task: Callable, source: Source) -> FutureResult: ...


def results(task: Callable[[str], T], sources: Sequence[Source], where: Workplace = ALL_CORES) -> Iterator[tuple[Source, T | None, str]]:
    """Yield (source, result or None, reason) of each session, in their order. `task` gets the path of a transcript; it raises
    SessionSkipped where there is no result. SourceUnavailable where the cluster cannot be used, or is lost."""
    return results_of([(task, source) for source in sources], where)


def results_of(work: Sequence[tuple[Callable[[str], T], Source]], where: Workplace = ALL_CORES) -> Iterator[tuple[Source, T | None, str]]:
    """Yield what `results` yields, with a task for each session."""
    with ExitStack() as opened:
        backend = _backend([source for _, source in work], where, opened)
        waiting: deque[tuple[Source, FutureResult]] = deque()
        for task, source in work:
            while len(waiting) >= backend.ahead():
                yield _next(waiting)
            waiting.append((source, backend.submit(task, source)))
        while waiting:
            yield _next(waiting)


def _next(waiting: deque[tuple[Source, FutureResult]]) -> tuple:
    source, pending = waiting.popleft()
    return (source, *pending.result())


def _backend(sources: Sequence[Source], where: Workplace, opened: ExitStack) -> Backend:
    if where.scheduler:
        from .cluster import Cluster

        return opened.enter_context(Cluster(where.scheduler, len(sources), sum(source.size for source in sources)))
    import tempfile

    # One folder for all copies, so that a process that is killed leaves nothing behind.
    scratch = opened.enter_context(tempfile.TemporaryDirectory(prefix="popkit-"))
    jobs = min(where.jobs or os.cpu_count() or 1, len(sources))
    if jobs < 2:
        return _SingleProcess(scratch)
    from .workers import Pool

    return opened.enter_context(Pool(jobs, scratch))


class _SingleProcess:
    """A backend that works on one session after another, in this process."""

    def __init__(self, scratch: str) -> None:
        self.scratch = scratch

    def ahead(self) -> int:
        return 1

    def submit(self, task: Callable, source: Source) -> FutureResult:
        return _LaterResult(partial(attempt, task, source, self.scratch))


class _LaterResult:
    def __init__(self, result: Callable[[], tuple]) -> None:
        self.result = result
