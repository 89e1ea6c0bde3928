"""Check memory for doctor, which learns from here which files are memory's."""

from __future__ import annotations

from contextlib import closing

from popkit_retention.core.io import hook_log
from popkit_retention.core.io.findings import OK, WARNING, Check
from popkit_retention.core.io.storage import Storage
from popkit_retention.core.state import memory
from popkit_retention.core.text import clean
from popkit_retention.core.units import counted, size, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_CHECK = "memory"  # the name of doctor's check
_OURS = ("memory", "memory-learn")  # in the log of hooks


def check_folder(popkit_home: str, project: str, environ: Mapping[str, str], now: float) -> Check:
    """Return doctor's check of memory: whether it is on for the project, how large it is, when its job ran, what went wrong. Changes
    nothing."""
    failed = hook_log.count_failures(popkit_home, _OURS)
    facts: dict[str, Any] = {"on": False, "failures": failed}
    notes = f"; {counted(failed, 'logged failure')}" if failed else ""
    if not memory.is_used(popkit_home):
        return Check(_CHECK, OK, f"off. To switch it on: popkit memory on{notes}", **facts)
    mine = memory.project_of(popkit_home, project)
    name = clean(mine.repository.name)
    try:
        facts["on"] = mine.is_on()
        document = mine.document()
    except (OSError, ValueError) as error:
        advice = f"Check {mine.folder}. Until then, sessions start without memory."
        return Check(_CHECK, WARNING, f"its files for {name} cannot be used: {clean(_why(error))}{notes}", advice, **facts)
    facts["bytes"] = STORAGE[0].bytes_in(popkit_home)
    facts["waiting"] = len(mine.to_learn())
    if not facts["on"]:
        return Check(_CHECK, OK, f"off for {name}; the memory of all projects takes {size(facts['bytes'])}{notes}", **facts)
    from .memory import Memory
    from .stores.protocol import StoreUnavailable

    try:
        with closing(Memory.of(environ, project)) as opened:
            status: dict[str, Any] = opened.status()
    except StoreUnavailable as error:
        return Check(
            _CHECK, WARNING, f"on for {name}, but its store cannot be used: {clean(error)}{notes}", "popkit memory admin verify", **facts
        )
    ran = status["run"]
    facts.update(items=status["items"], last_run=ran["at"] if ran else None, run_failures=len(ran["failures"]) if ran else 0)
    state = f"on for {name}: {counted(status['items'], 'item')}, {size(facts['bytes'])}; its job "
    state += f"ran {span(max(0.0, now - ran['at']))} ago" if ran else "has not run yet"
    state += "" if document else "; MEMORY.md is empty"
    if facts["run_failures"]:
        return Check(
            _CHECK, WARNING, f"{state}, with {counted(facts['run_failures'], 'failure')}{notes}", "popkit memory admin run --force", **facts
        )
    return Check(_CHECK, OK, state + notes, **facts)


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error)


STORAGE = (
    Storage(
        "memory",
        {
            "": r"memory\.sqlite",
            memory.FOLDER: r"job\.lock|backups/archive-[^/]*"
            r"|.+-[0-9a-f]{12}/(MEMORY\.md|entries\.json|settings\.json|alerts\.json|learning\.lock|ended-)[^/]*",
        },
        check_folder,
        keep=("To keep what sessions taught:", "popkit memory admin export --all FILE"),
    ),
)
