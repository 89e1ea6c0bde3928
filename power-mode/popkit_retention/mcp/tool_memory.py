"""Run the tools on long-term memory, of the project alone."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hooks.utils.archive.content import stamp

from .rpc import shown
from .tool_call import ToolCall, ToolError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hooks.utils.state.memory import Project

    from ..memory.items import Item
    from ..memory.memory import Memory

_FOUND = 10


def memory_search(call: ToolCall) -> dict[str, Any]:
    """Search memory; while it is off, too: what is there can be asked for."""
    with _memory(call) as memory:
        matches = memory.search(call["query"], call.whole("most", _FOUND), call.wide)
        items = [{**_item(item), **({"project": item.project} if call.wide else {}), "relevance": round(rank, 3)} for item, rank in matches]
    return {"items": items, "memory_is_on": _project(call).is_on()}


def memory_add(call: ToolCall) -> dict[str, Any]:
    """Add an item, only where the user has switched memory on: nothing shall be kept that nobody asked for. No session is given it before
    the user has accepted it."""
    from shlex import quote

    from ..memory.items import AGENT

    if not _project(call).is_on():
        raise ToolError("memory is off for this project, so nothing is kept. The user can switch it on: /popkit:context memory on")
    with _memory(call, create=True) as memory:
        item = memory.add(call["text"], source=AGENT, key=bool(call.get("key")))
        _refresh(call, memory)
        yes = f"/popkit:context memory accept {quote(item.id)}"
        return {**_item(item), "note": f"No session is told of this before the user accepts it. Tell the user: {yes}"}


def memory_forget(call: ToolCall) -> dict[str, Any]:
    """Mark items; the job deletes them when the grace is over."""
    from shlex import join

    from ..memory.items import BY_TOOL

    with _memory(call) as memory:
        # Whole ids are found in all projects.
        foreign = [id for id in call["ids"] if memory.find(id).project != memory.project]
        if foreign:
            raise ToolError(f"there is no memory {shown(foreign[0])} of this project, so nothing is marked. memory_search finds ids")
        marked = [item.id for item in memory.forget(call["ids"], BY_TOOL)]
        _refresh(call, memory)
    result: dict[str, Any] = {"marked": marked, "undo": "/popkit:context memory undo " + join(marked)}
    if not _project(call).is_on():
        result["note"] = "Memory is off for this project: what is marked is deleted when the user runs `popkit memory run` after 24 hours."
    return result


def memory_status(call: ToolCall) -> dict[str, Any]:
    """Return the state of memory; `alerts`: what is worth something and will be deleted within days."""
    with _memory(call) as memory:
        status: dict[str, Any] = memory.status()
    kept = {key: status[key] for key in ("items", "tokens", "tiers", "marked", "waiting", "sessions")}
    alerts = [{"id": alert["id"], "text": alert["text"], "deleted_at": stamp(alert["at"])} for alert in status["alerts"]]
    kept["tiers"] = {tier: sums for tier, sums in kept["tiers"].items() if sums["items"]}
    return {"project": call.repository.name, "memory_is_on": _project(call).is_on(), **kept, "alerts": alerts}


def _item(item: Item) -> dict[str, Any]:
    result = {"id": item.id, "text": item.text, "kind": item.kind, "tier": item.tier, "created_at": stamp(item.created_at)}
    return {**result, **({"waits": True} if item.waits else {})}


@contextmanager
def _memory(call: ToolCall, create: bool = False) -> Iterator[Memory]:
    from ..memory.memory import Memory

    memory = Memory.of(call.environ, call.folder, create)
    try:
        yield memory
    finally:
        memory.close()


def _project(call: ToolCall) -> Project:
    from hooks.utils.io import home
    from hooks.utils.state import memory as kept

    return kept.project_of(home.popkit_home(call.environ), call.folder)


def _refresh(call: ToolCall, memory: Memory) -> None:
    """Write MEMORY.md again, where sessions are given it."""
    from hooks.utils.state import live
    from hooks.utils.state import memory as kept

    project = _project(call)
    if project.is_on():
        made = memory.told(kept.tokens_of(live.Site(call.environ, "", call.folder).config))
        project.write_document(made.text, made.entries)
