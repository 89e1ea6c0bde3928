"""The data folder of governance, the lock that one governing process at a time holds, and doctor's check."""

from __future__ import annotations

import os
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

from hooks.utils.io import files, storage
from hooks.utils.io.storage import OK, PROBLEM, WARNING, Check, Storage
from hooks.utils.state.jobs import COLLECTION_HOOK
from hooks.utils.text import clean, counted, listed

from . import Busy, GovernanceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

TITLE = "retention policies and their log"
WAIT_S = 30.0
_NAME, _VERIFY = "retention", "popkit retention admin verify"  # of the check
# A process that has just had the lock leaves others time to take it: each tries every 2 ms.
_PAUSE_S = 0.005
# A process that closes such a file gives up its lock, though it has it open a second time: so the thread that holds one does not open it
# again.
_threads = threading.RLock()
_held: set[str] = set()
_left_at: dict[str, float] = {}


class Folder:
    """`$POPKIT_HOME/data`: `state` and `archives` are folders, `policies` and `log_path` files. Any of them may be missing."""

    def __init__(self, popkit_home: str) -> None:
        data = os.path.join(os.path.abspath(popkit_home), "data")
        self.state = os.path.join(data, "state")
        self.archives = os.path.join(data, "archive")
        self.policies = os.path.join(self.state, "retention-policies.json")
        self.log_path = os.path.join(self.state, "retention-log.sqlite")
        self._lock_path = os.path.join(self.state, "retention.lock")

    @contextmanager
    def lock(self, wait_s: float = WAIT_S) -> Iterator[None]:
        """Take the lock, again where this thread holds it already. Create the folder of the state. Busy where others hold it for `wait_s`
        seconds, a GovernanceError where it cannot be taken."""
        if not _threads.acquire(timeout=wait_s):
            raise Busy(_busy(wait_s))
        try:
            if self._lock_path in _held:
                yield
            else:
                with self._between_processes(wait_s):
                    yield
        finally:
            _threads.release()

    @contextmanager
    def _between_processes(self, wait_s: float) -> Iterator[None]:
        path = self._lock_path
        time.sleep(max(0.0, min(_PAUSE_S, _left_at.get(path, 0.0) + _PAUSE_S - time.monotonic())))
        with ExitStack() as lock:
            try:
                storage.make_durable_folder(self.state)
                lock.enter_context(files.Lock(path, wait_s))
            except files.LockTimeout:
                raise Busy(_busy(wait_s)) from None
            except OSError as error:
                reason = error.strerror or error
                raise GovernanceError(f"{path} cannot be used ({reason}). Nothing was changed; try again when that is fixed") from None
            _held.add(path)
            try:
                yield
            finally:
                _held.discard(path)
                _left_at[path] = time.monotonic()


def _busy(wait_s: float) -> str:
    return f"another PopKit process has been changing retention for more than {wait_s:g} s. Try again when it is done; nothing was changed"


# --- doctor ------------------------------------------------------------------------------------------------------------------------------


def check(popkit_home: str, project: str, environ: Mapping[str, str], now: float) -> Check:
    """Return doctor's check of retention: whether policies can be read and the log is as it was written, what is unfinished, what hooks
    collect, what is due. Changes nothing."""
    from . import GovernanceError, revisions
    from .log import Log

    folder = Folder(popkit_home)
    failed = storage.count_failures(popkit_home, (COLLECTION_HOOK,))
    facts: dict[str, Any] = {"revision": 0, "auto_gc": [], "marked": 0, "due": 0, "holds": 0, "failures": failed}
    try:
        with closing(Log(folder.log_path)) as log:
            state = revisions.current(log, folder.policies)
            wrong, unfinished = log.verify(), len(log.unfinished())
    except GovernanceError as error:
        return Check(_NAME, PROBLEM, clean(str(error)), _VERIFY, **facts)
    facts.update(revision=state.revision, unfinished=unfinished, broken=wrong)
    facts["auto_gc"] = [domain for domain in ("memory", "rag") if state.collects(domain)]
    if wrong:
        return Check(_NAME, PROBLEM, f"its log is not as it was written: {clean(wrong[0])}", _VERIFY, **facts)
    if unfinished and not _is_locked(folder):
        message = f"{counted(unfinished, 'change')} begun by a process that was killed, not finished yet"
        return Check(_NAME, WARNING, message, "popkit retention show finishes them.", **facts)
    if not os.path.isdir(folder.state):  # nobody has set, marked or held anything
        return Check(_NAME, OK, _summary(facts), **facts)
    return _domains(environ, now, facts)


def _domains(environ: Mapping[str, str], now: float, facts: dict[str, Any]) -> Check:
    """Return the check, with the marks and holds of both domains."""
    from . import GovernanceError
    from .controller import Controller

    with Controller(environ, now=lambda: now) as controller:
        for name in ("memory", "rag"):
            try:
                domain = controller.domain(name)
                marks = domain.marked().values()
                facts["holds"] += sum(hold.in_force(now) for hold in domain.holds())
            except GovernanceError as error:
                return Check(
                    _NAME, WARNING, f"{name} cannot be used: {clean(str(error))}", "Until then, nothing in it is collected.", **facts
                )
            facts["marked"] += len(marks)
            facts["due"] += sum(mark.due_at <= now for mark in marks)
    return Check(_NAME, OK, _summary(facts), **facts)


def _summary(facts: Mapping[str, Any]) -> str:
    parts = [f"policies of revision {facts['revision']}" if facts["revision"] else "the default policies"]
    parts += [f"hooks collect {listed(facts['auto_gc'])}" if facts["auto_gc"] else "hooks collect nothing (auto_gc is false)"]
    parts += [f"{counted(facts['marked'], 'thing')} marked, {facts['due']:,} of them due"] if facts["marked"] else []
    parts += [f"{counted(facts['holds'], 'hold')} in force"] if facts["holds"] else []
    parts += [f"{counted(facts['failures'], 'logged failure')}"] if facts["failures"] else []
    return "; ".join(parts)


def _is_locked(folder: Folder) -> bool:
    """Return whether another process is at work: it will finish what it has begun."""
    try:
        with folder.lock(0.0):
            pass
    except Busy:
        return True
    return False


STORAGE = (Storage(TITLE, {"data/state": r"(retention-(policies|hourly)|marked)\.json|retention-log\.sqlite|retention\.lock"}, check),)
