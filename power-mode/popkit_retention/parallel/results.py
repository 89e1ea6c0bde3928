"""The results of a function over sessions, in the order of the sessions, wherever they are worked out.

A session that cannot be read, or that the function fails on, has a reason in place of a result, and does not end the others. The function
has to be pure, and importable by name with its arguments (`functools.partial`): other processes and other machines run it.
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from .sources import at_hand, unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .sources import Source

T = TypeVar("T")
_MESSAGE = 60  # characters of an error


class Skipped(Exception):
    """A session is left out; the message is the reason."""


class Where(NamedTuple):
    """Where sessions are worked on: on the Dask cluster of a `scheduler` (its address), else in so many processes (`jobs`, one for each
    processor where none are given)."""

    jobs: int | None = None
    scheduler: str = ""

    def worth(self, sources: Sequence[Source], alone_bytes: int) -> Where:
        """Return the same, but a single process where nothing was asked for and the work is done before others would have started."""
        few = self == ANYWHERE and sum(source.size for source in sources) < alone_bytes
        return Where(1) if few else self


ANYWHERE = Where()


class Pending(Protocol):
    """What will become of a session."""

    def result(self) -> tuple:
        """Wait for it; return (result or None, reason)."""


class Backend(Protocol):
    """Works on sessions, at most so many ahead of the one that is waited for."""

    def ahead(self) -> int: ...

    def submit(self, task: Callable, source: Source) -> Pending: ...


def results(task: Callable[[str], T], sources: Sequence[Source], where: Where = ANYWHERE) -> Iterator[tuple[Source, T | None, str]]:
    """Yield (source, result or None, reason) of each session, in their order. `task` is given the path of a transcript; it raises Skipped
    where there is nothing to give. Unavailable where the cluster cannot be used, or is lost."""
    return results_of([(task, source) for source in sources], where)


def results_of(work: Sequence[tuple[Callable[[str], T], Source]], where: Where = ANYWHERE) -> Iterator[tuple[Source, T | None, str]]:
    """Yield the same, where each session has a task of its own."""
    with ExitStack() as opened:
        backend = _backend([source for _, source in work], where, opened)
        waiting: deque[tuple[Source, Pending]] = deque()
        for task, source in work:
            while len(waiting) >= backend.ahead():
                yield _next(waiting)
            waiting.append((source, backend.submit(task, source)))
        while waiting:
            yield _next(waiting)


def _next(waiting: deque[tuple[Source, Pending]]) -> tuple:
    source, pending = waiting.popleft()
    return (source, *pending.result())


def _backend(sources: Sequence[Source], where: Where, opened: ExitStack) -> Backend:
    if where.scheduler:
        from .workers import Cluster

        return opened.enter_context(Cluster(where.scheduler, len(sources), sum(source.size for source in sources)))
    # One folder for all copies, so that nothing is left by a process that is ended.
    scratch = opened.enter_context(tempfile.TemporaryDirectory(prefix="popkit-"))
    jobs = min(where.jobs or os.cpu_count() or 1, len(sources))
    if jobs < 2:
        return _Alone(scratch)
    from .workers import Pool

    return opened.enter_context(Pool(jobs, scratch))


def attempt(task: Callable[[str], T], source: Source, scratch: str | None = None) -> tuple[T | None, str]:
    """Return the result for a session, or None and the reason."""
    try:
        with at_hand(source, scratch) as path:
            return task(path), ""
    except Skipped as skipped:
        return None, str(skipped)
    except OSError as error:
        return None, unreadable(error)
    except Exception as error:  # noqa: BLE001  one session that nobody foresaw must not end the run over all the others
        return None, f"could not be read: {type(error).__name__} {str(error)[:_MESSAGE]}".rstrip()


class _Alone:
    """Works on one session after the other, in this process."""

    def __init__(self, scratch: str) -> None:
        self.scratch = scratch

    def ahead(self) -> int:
        return 1

    def submit(self, task: Callable, source: Source) -> Pending:
        return _Later(partial(attempt, task, source, self.scratch))


class _Later:
    def __init__(self, result: Callable[[], tuple]) -> None:
        self.result = result
