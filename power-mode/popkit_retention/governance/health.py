"""The check of governance for `popkit doctor`, which learns its files from here."""

from __future__ import annotations

import os
from contextlib import closing

from popkit_retention.core.io import hook_log
from popkit_retention.core.io.findings import OK, PROBLEM, WARNING, Check
from popkit_retention.core.io.storage import Storage
from popkit_retention.core.state.jobs import COLLECTION_HOOK
from popkit_retention.core.text import clean, listed
from popkit_retention.core.units import counted

from . import revisions
from .controller import Controller
from .data_folder import Folder
from .errors import GovernanceBusy, GovernanceError
from .log import Log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

TITLE = "retention policies and their log"
_NAME, _VERIFY = "retention", "popkit retention admin verify"  # of the check


def check(popkit_home: str, project: str, environ: Mapping[str, str], now: float) -> Check:
    """Return doctor's check of retention: whether policies can be read and the log is as it was written, what is unfinished, what hooks
    collect, what is due. Changes nothing."""
    folder = Folder(popkit_home)
    failed = hook_log.count_failures(popkit_home, (COLLECTION_HOOK,))
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
    """Return whether another process holds the lock: it finishes its own operations."""
    try:
        with folder.lock(0.0):
            pass
    except GovernanceBusy:
        return True
    return False


STORAGE = (Storage(TITLE, {"data/state": r"(retention-(policies|hourly)|marked)\.json|retention-log\.sqlite|retention\.lock"}, check),)
