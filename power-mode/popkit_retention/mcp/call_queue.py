"""Run tools, one after another, beside the thread that reads: while one runs, pings are answered and cancellations heard."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from .rpc import Id

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = dict[str, Any]


class Cancelled(Exception):
    """The client no longer wants the answer."""


class Call:
    """One call of a tool, waiting or running. `work` makes the answer; `done` is called with it, or with None where there will be none."""

    __slots__ = ("_done", "_work", "cancelled", "id", "is_over")

    def __init__(self, id: Id | None, work: Callable[[Call], Answer], done: Callable[[Answer | None], None]) -> None:
        self.id = id
        self.cancelled = False
        self.is_over = False
        self._work = work
        self._done = done

    def check(self) -> None:
        """End the work here where nobody wants the answer any more."""
        if self.cancelled:
            raise Cancelled

    def run(self) -> None:
        """Do the work, and hand its answer over."""
        answer: Answer | None
        try:
            self.check()
            answer = self._work(self)
        except Cancelled:
            answer = None
        self.is_over = True  # whoever has the answer may use the id again
        self._done(None if self.cancelled else answer)


class Calls:
    """The calls that wait and the one that runs. The thread begins with the first call."""

    def __init__(self) -> None:
        import threading

        self._changed = threading.Condition()
        self._calls: deque[Call] = deque()  # the first one runs
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def add(self, call: Call) -> None:
        with self._changed:
            self._calls.append(call)
            self._changed.notify_all()

    def has(self, id: Id | None) -> bool:
        """Return whether a call of this id waits or runs. 1 and "1" are two ids."""
        with self._changed:
            return any(_same(call.id, id) and not call.is_over for call in self._calls)

    def cancel(self, id: object = None, everything: bool = False) -> None:
        """Cancel the call of this id, or everything: nobody wants its answer any more."""
        with self._changed:
            for call in self._calls:
                if everything or _same(call.id, id):
                    call.cancelled = True

    def wait(self, seconds: float) -> bool:
        """Wait until all are done, at most `seconds`; return whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._calls, seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._calls)
                call = self._calls[0]
            call.run()
            with self._changed:
                self._calls.popleft()
                self._changed.notify_all()


def _same(one: object, other: object) -> bool:
    return isinstance(one, str) == isinstance(other, str) and not isinstance(other, bool) and one == other
