"""What `popkit doctor` says of retention: whether policies can be read and the log is as it was written, what is unfinished, who collects,
what is due. Changes nothing."""

from __future__ import annotations

import os
from contextlib import closing

from hooks.utils.edges import failures
from hooks.utils.state.collecting import HOOK
from hooks.utils.text import clean, counted, listed

from .check import OK, PROBLEM, WARNING, Check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..governance.folder import Folder

NAME = "retention"
_VERIFY = "popkit retention verify"


def governance(popkit_home: str, environ: Mapping[str, str], now: float) -> Check:
    """`now`: seconds."""
    from ..governance import configuring
    from ..governance.errors import GovernanceError
    from ..governance.folder import Folder
    from ..governance.log import Log

    folder = Folder(popkit_home)
    failed = failures.count(popkit_home, (HOOK,))
    facts: dict[str, Any] = {"revision": 0, "auto_gc": [], "marked": 0, "due": 0, "holds": 0, "failures": failed}
    try:
        with closing(Log(folder.log_path)) as log:
            state = configuring.current(log, folder.policies)
            wrong, unfinished = log.verify(), len(log.unfinished())
    except GovernanceError as error:
        return Check(NAME, PROBLEM, clean(str(error)), _VERIFY, **facts)
    facts.update(revision=state.revision, unfinished=unfinished, broken=wrong)
    facts["auto_gc"] = [domain for domain in ("memory", "rag") if state.collects(domain)]
    if wrong:
        return Check(NAME, PROBLEM, f"its log is not as it was written: {clean(wrong[0])}", _VERIFY, **facts)
    if unfinished and not _is_locked(folder):
        said = f"{counted(unfinished, 'change')} begun by a process that was killed, not finished yet"
        return Check(NAME, WARNING, said, "popkit retention show finishes what was begun.", **facts)
    if not os.path.isdir(folder.state):  # nobody has set, marked or held anything
        return Check(NAME, OK, _said(facts), **facts)
    return _domains(environ, now, facts)


def _domains(environ: Mapping[str, str], now: float, facts: dict[str, Any]) -> Check:
    """Marks and holds of both domains."""
    from ..governance.controller import Controller
    from ..governance.errors import GovernanceError

    with Controller(environ, now=lambda: now) as controller:
        for name in ("memory", "rag"):
            try:
                domain = controller.domain(name)
                marks = domain.marked().values()
                facts["holds"] += sum(hold.in_force(now) for hold in domain.holds())
            except GovernanceError as error:
                return Check(
                    NAME, WARNING, f"{name} cannot be used: {clean(str(error))}", "Nothing of it is collected until then.", **facts
                )
            facts["marked"] += len(marks)
            facts["due"] += sum(mark.due_at <= now for mark in marks)
    return Check(NAME, OK, _said(facts), **facts)


def _said(facts: Mapping[str, Any]) -> str:
    said = [f"policies of revision {facts['revision']}" if facts["revision"] else "the default policies"]
    said += [f"hooks collect {listed(facts['auto_gc'])}" if facts["auto_gc"] else "hooks collect nothing (auto_gc is false)"]
    said += [f"{counted(facts['marked'], 'thing')} marked, {facts['due']:,} of them due"] if facts["marked"] else []
    said += [f"{counted(facts['holds'], 'hold')} in force"] if facts["holds"] else []
    said += [f"{counted(facts['failures'], 'failure')} of it in the log"] if facts["failures"] else []
    return "; ".join(said)


def _is_locked(folder: Folder) -> bool:
    """Whether a process is at work: what it has begun it will finish."""
    from ..governance.errors import Busy

    try:
        with folder.lock(0.0):
            pass
    except Busy:
        return True
    return False
