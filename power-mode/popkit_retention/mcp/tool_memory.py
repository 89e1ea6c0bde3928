"""The tools on long-term memory, of the project alone."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hooks.utils.archive.content import stamp

from .asking import Asked, Mistake
from .rpc import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hooks.utils.state.memory import Project

    from ..memory.items import Item
    from ..memory.memory import Memory

_FOUND = 10


def memory_search(asked: Asked) -> dict[str, Any]:
    """Works while memory is off too: what is there can be asked for."""
    with _memory(asked) as memory:
        found = memory.search(asked["query"], asked.whole("most", _FOUND), asked.wide)
        items = [{**_told(item), **({"project": item.project} if asked.wide else {}), "relevance": round(rank, 3)} for item, rank in found]
    return {"items": items, "memory_is_on": _project(asked).is_on()}


def memory_add(asked: Asked) -> dict[str, Any]:
    """Only where the user has switched memory on: nothing shall be kept that nobody asked for. No session is told of it before the user has
    said yes to it."""
    from shlex import quote

    from ..memory.items import AGENT

    if not _project(asked).is_on():
        raise Mistake("memory is off for this project, so nothing is kept. The user can switch it on: /popkit:context memory on")
    with _memory(asked, create=True) as memory:
        item = memory.add(asked["text"], source=AGENT, key=bool(asked.get("key")))
        _refresh(asked, memory)
        yes = f"/popkit:context memory accept {quote(item.id)}"
        return {**_told(item), "note": f"No session is told of this before the user accepts it. Tell the user: {yes}"}


def memory_forget(asked: Asked) -> dict[str, Any]:
    """Marks; the job deletes when the grace is over."""
    from shlex import join

    from ..memory.items import BY_TOOL

    with _memory(asked) as memory:
        # Whole ids are found in all projects.
        foreign = [id for id in asked["ids"] if memory.find(id).project != memory.project]
        if foreign:
            raise Mistake(f"there is no memory {shown(foreign[0])} of this project, so nothing is marked. memory_search finds ids")
        marked = [item.id for item in memory.forget(asked["ids"], BY_TOOL)]
        _refresh(asked, memory)
    found: dict[str, Any] = {"marked": marked, "undo": "/popkit:context memory undo " + join(marked)}
    if not _project(asked).is_on():
        found["note"] = "Memory is off for this project: what is marked is deleted when the user runs `popkit memory run` after 24 hours."
    return found


def memory_status(asked: Asked) -> dict[str, Any]:
    """`alerts`: what is worth something and will be deleted within days."""
    with _memory(asked) as memory:
        found: dict[str, Any] = memory.status()
    kept = {key: found[key] for key in ("items", "tokens", "tiers", "marked", "waiting", "sessions")}
    alerts = [{"id": alert["id"], "text": alert["text"], "deleted_at": stamp(alert["at"])} for alert in found["alerts"]]
    kept["tiers"] = {tier: sums for tier, sums in kept["tiers"].items() if sums["items"]}
    return {"project": asked.repository.name, "memory_is_on": _project(asked).is_on(), **kept, "alerts": alerts}


def _told(item: Item) -> dict[str, Any]:
    told = {"id": item.id, "text": item.text, "kind": item.kind, "tier": item.tier, "created_at": stamp(item.created_at)}
    return {**told, **({"waits": True} if item.waits else {})}


@contextmanager
def _memory(asked: Asked, create: bool = False) -> Iterator[Memory]:
    from ..memory.memory import Memory

    memory = Memory.of(asked.environ, asked.folder, create)
    try:
        yield memory
    finally:
        memory.close()


def _project(asked: Asked) -> Project:
    from hooks.utils.io import home
    from hooks.utils.state import memory as kept

    return kept.project_of(home.popkit_home(asked.environ), asked.folder)


def _refresh(asked: Asked, memory: Memory) -> None:
    """Writes MEMORY.md anew, where sessions are given it."""
    from hooks.utils.state import live
    from hooks.utils.state import memory as kept

    project = _project(asked)
    if project.is_on():
        made = memory.told(kept.tokens_of(live.Site(asked.environ, "", asked.folder).config))
        project.write_document(made.text, made.entries)
