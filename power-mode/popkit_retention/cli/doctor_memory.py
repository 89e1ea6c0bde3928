"""What `popkit doctor` says of memory: whether it is on for the project, how large it is, when its job ran, what went wrong. Changes
nothing."""

from __future__ import annotations

from contextlib import closing

from hooks.utils.edges import failures
from hooks.utils.state import memory as kept
from hooks.utils.text import clean, counted, span

from ..operations import holdings
from .check import OK, WARNING, Check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAME = "memory"
_OURS = ("memory", "memory-learn")  # in the log of hooks


def memory(popkit_home: str, project: str, environ: Mapping[str, str], now: float) -> Check:
    """`now`: seconds."""
    failed = failures.count(popkit_home, _OURS)
    facts: dict[str, Any] = {"on": False, "failures": failed}
    told = f"; {counted(failed, 'failure')} of it in the log" if failed else ""
    if not kept.is_used(popkit_home):
        return Check(NAME, OK, f"off. /popkit:context memory on says what it would do{told}", **facts)
    mine = kept.project_of(popkit_home, project)
    name = clean(mine.repository.name)
    try:
        facts["on"] = mine.is_on()
        given = mine.document()
    except (OSError, ValueError) as error:
        advice = f"Look into {mine.folder}. Sessions are given nothing until then."
        return Check(NAME, WARNING, f"its files for {name} cannot be used: {clean(_why(error))}{told}", advice, **facts)
    parts = holdings.parts(popkit_home)
    facts["bytes"] = parts[holdings.MEMORY].bytes if holdings.MEMORY in parts else 0
    facts["waiting"] = len(mine.to_learn())
    if not facts["on"]:
        return Check(NAME, OK, f"off for {name}; the memory of all projects takes {holdings.size(facts['bytes'])}{told}", **facts)
    from ..memory.memory import Memory
    from ..memory.stores import StoreUnavailable

    try:
        with closing(Memory.of(environ, project)) as opened:
            found: dict[str, Any] = opened.status()
    except StoreUnavailable as error:
        return Check(NAME, WARNING, f"on for {name}, but its store cannot be used: {clean(error)}{told}", "popkit memory verify", **facts)
    ran = found["run"]
    facts.update(items=found["items"], last_run=ran["at"] if ran else None, run_failures=len(ran["failures"]) if ran else 0)
    said = f"on for {name}: {counted(found['items'], 'item')}, {holdings.size(facts['bytes'])}; its job "
    said += f"ran {span(max(0.0, now - ran['at']))} ago" if ran else "has not run yet"
    said += "" if given else "; MEMORY.md is empty"
    if facts["run_failures"]:
        return Check(NAME, WARNING, f"{said}, with {counted(facts['run_failures'], 'failure')}{told}", "popkit memory run --force", **facts)
    return Check(NAME, OK, said + told, **facts)


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error)
