"""The tools of agents on long-term memory. A function loads what it needs when it is called."""

from __future__ import annotations

from typing import Any

from ..mcp.call import ToolCall, ToolError
from ..mcp.json_rpc import shown
from ..mcp.schema_words import NOTHING, flag, number, obj, open_obj, several, takes, text, whole
from ..mcp.tool import Tool
from .operations import MEMORY_ADD, MEMORY_FORGET, MEMORY_SEARCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .items import Item
    from .place import Place

_MOST_MEMORIES = 10  # unless the caller asks for another number
RECALL = takes(MEMORY_SEARCH)
_WAITS = flag("an agent said it, the user has not accepted it")
_ITEM = {"id": text(), "text": text(), "kind": text(), "tier": text(), "created_at": text(), "waits": _WAITS}
RECALLED = obj(
    {"items": several(obj({**_ITEM, "project": text(), "relevance": number()}, ("id", "text", "kind"))), "memory_is_on": flag()},
    ("items",),
)
NOTE = takes(MEMORY_ADD)
NOTED = obj({**_ITEM, "note": text()}, ("id", "text", "kind"))
FORGET = takes(MEMORY_FORGET)
FORGOTTEN = obj({"marked": several(text()), "undo": text("what the user types to undo it"), "note": text()}, ("marked", "undo"))
MEMORY = obj(
    {
        "project": text(), "memory_is_on": flag(), "items": whole(), "tokens": whole(), "tiers": open_obj(), "marked": whole(),
        "waiting": whole(about="added by agents, not accepted yet"), "sessions": whole(),
        "alerts": several(obj({"id": text(), "text": text(), "deleted_at": text()})),
    },
    ("project", "memory_is_on", "items"),
)  # fmt: skip


def memory_search(call: ToolCall) -> dict[str, object]:
    """Search memory, even while it is off: stored items can still be retrieved."""
    with _place(call) as place:
        matches = place.memory.search(call["query"], call.whole("most", _MOST_MEMORIES), call.wide)
        is_on = place.project.is_on()
    items = [{**_item(item), **({"project": item.project} if call.wide else {}), "relevance": round(rank, 3)} for item, rank in matches]
    return {"items": items, "memory_is_on": is_on}


def memory_add(call: ToolCall) -> dict[str, object]:
    """Add an item, only where the user has switched memory on. Sessions get it only once the user has accepted it."""
    from shlex import quote

    from .items import AGENT

    with _place(call, makes=True) as place:
        if not place.project.is_on():
            raise ToolError("memory is off for this project, so nothing is kept. The user can switch it on: /popkit:context memory on")
        item = place.memory.add(call["text"], source=AGENT, key=bool(call.get("key")))
        place.refresh()
    yes = f"/popkit:context memory admin accept {quote(item.id)}"
    return {**_item(item), "note": f"No session gets this until the user accepts it. Tell the user: {yes}"}


def memory_forget(call: ToolCall) -> dict[str, object]:
    """Mark items; the job deletes them after the grace period."""
    from shlex import join

    from .items import BY_TOOL

    with _place(call) as place:
        memory = place.memory
        # A whole id matches in all projects.
        foreign = [id for id in call["ids"] if memory.find(id).project != memory.project]
        if foreign:
            raise ToolError(f"there is no memory {shown(foreign[0])} of this project, so nothing is marked. memory_search finds ids")
        marked = [item.id for item in memory.forget(call["ids"], BY_TOOL)]
        place.refresh()
        is_on = place.project.is_on()
    result: dict[str, object] = {"marked": marked, "undo": "/popkit:context memory undo " + join(marked)}
    if not is_on:
        result["note"] = (
            "Memory is off for this project: what is marked is deleted when the user runs `popkit memory admin run` after 24 hours."
        )
    return result


def memory_status(call: ToolCall) -> dict[str, object]:
    """Return the state of memory; `alerts`: items of value that will be deleted within days."""
    from popkit_retention.core.archive.content import stamp

    with _place(call) as place:
        status: dict[str, Any] = place.memory.status()
        here = {"project": place.name, "memory_is_on": place.project.is_on()}
    shown = {key: status[key] for key in ("items", "tokens", "tiers", "marked", "waiting", "sessions")}
    alerts = [{"id": alert["id"], "text": alert["text"], "deleted_at": stamp(alert["at"])} for alert in status["alerts"]]
    shown["tiers"] = {tier: sums for tier, sums in shown["tiers"].items() if sums["items"]}
    return {**here, **shown, "alerts": alerts}


def _item(item: Item) -> dict[str, object]:
    from popkit_retention.core.archive.content import stamp

    result = {"id": item.id, "text": item.text, "kind": item.kind, "tier": item.tier, "created_at": stamp(item.created_at)}
    return {**result, **({"waits": True} if item.waits else {})}


def _place(call: ToolCall, makes: bool = False) -> Place:
    from .place import Place

    return Place(call.environ, call.folder, makes)


def advice(error: Exception) -> str:
    """Return the message for an error of memory that the caller or the user can fix; "" for any other."""
    from .holds import ItemOnHold
    from .items import BadItem
    from .memory import ItemNotFound, JobRunning
    from .stores.protocol import DuplicateId, StoreUnavailable

    if isinstance(error, DuplicateId):
        return f"{error}: nothing was added"
    if isinstance(error, ItemOnHold):
        return f"{error.what}. Nothing was changed. Only the user decides whether to release it: tell them, and leave it alone"
    return str(error) if isinstance(error, (BadItem, ItemNotFound, JobRunning, StoreUnavailable)) else ""


TOOLS = (
    Tool(
        "memory_search", memory_search, "Search memory",
        "Finds what past sessions of the project have taught: files, commands, errors with fixes, notes.",
        RECALL, RECALLED, wide=True,
    ),
    Tool(
        "memory_add", memory_add, "Add to memory",
        "Keeps a note for future sessions of the project, once the user accepts it. Secrets are masked. Memory must be on.",
        NOTE, NOTED, MEMORY_ADD.effect, again=False,
    ),
    Tool(
        "memory_forget", memory_forget, "Forget",
        "Marks memories of the project for deletion after 24 hours; the user can undo it until then.",
        FORGET, FORGOTTEN, MEMORY_FORGET.effect,
    ),
    Tool(
        "memory_status", memory_status, "Memory status",
        "Shows what is remembered, and whether memory is on.",
        NOTHING, MEMORY,
    ),
)  # fmt: skip
