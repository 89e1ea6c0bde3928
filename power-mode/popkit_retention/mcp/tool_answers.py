"""The tools, one function each: for the context (its state, searching and restoring what left it), for the project's long-term memory, and
for retention policies, through the controller that the command line uses. A function loads what it needs when it is called."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import Any

from hooks.utils.archive.content import stamp

from .call import ToolCall, ToolError
from .json_rpc import shown
from .schemas import PAGE_CHARS, SHOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection

    from hooks.utils.archive.records import Record

    from ..governance.controller import Controller
    from ..memory.items import Item
    from ..memory.place import Place

_INDEXING_S = 5.0  # records that are not indexed by then wait for the next search
_MOST_MEMORIES = 10  # unless the caller asks for another number


# --- context ---


def context_status(call: ToolCall) -> dict[str, Any]:
    """Return the state of the session that runs the server, else of the newest one of the project."""
    from hooks.utils.io.system import now
    from hooks.utils.reclaim import outlook
    from hooks.utils.state.site import Site
    from hooks.utils.views import report

    from ..operations import session_lookup

    try:
        path = session_lookup.current(call.environ, call.folder)
    except session_lookup.NoSession:
        raise ToolError("no session of this project has written a transcript yet. Ask again after the next answer") from None
    site = Site(call.environ, session_lookup.session_id_of(path), session_lookup.check(path))
    current = report.build(outlook.look(site, path, now(call.environ)))
    of_tiers = {tier: (("live", each["live"]), ("expired", each["expired"])) for tier, each in current["tiers"].items()}
    tiers = {tier: sums for tier, each in of_tiers.items() if (sums := {name: have for name, have in each if have["items"]})}
    return {
        "session": current["session"], "calls": current["calls"], "expired": current["expired"], "cleared": current["cleared"],
        "reclaimable": current["reclaimable"], "context": current["context"] or {}, "tiers": tiers, "verdict": current["verdict"],
        "agents": len(current["agents"]), "clear_with": "/popkit:context clear",
    }  # fmt: skip


def context_search(call: ToolCall) -> dict[str, Any]:
    """Search the cleared results of the project's sessions; secrets in the lines are masked."""
    from hooks.utils.archive import index, searching
    from hooks.utils.io import home
    from hooks.utils.policy.masking import mask
    from hooks.utils.state import archived

    most = call.whole("most", searching.MOST)
    if not os.path.lexists(home.archive_path(call.session_home)):
        return {"results": [], "more": False}
    with _archive(call) as db:
        unindexed = index.index_queued(db, call.progress, _INDEXING_S)
        folders = None if call.wide else archived.folders_of(db, call.project or "")
        matches = searching.search(db, call["query"], mask, folders, most=most + 1)
    results = [
        {"handle": each.record.id, "label": each.record.label, "archived_at": each.record.created_at, "lines": each.lines}
        for each in matches[:most]
    ]
    return {"results": results, "more": len(matches) > most, **({"not_searched": unindexed} if unindexed else {})}


def context_restore(call: ToolCall) -> dict[str, Any]:
    """Return a page of what was archived under a handle. The first page counts as a restore, as with `popkit restore`."""
    from hooks.utils.io.system import now
    from hooks.utils.reclaim import restoring
    from hooks.utils.state.site import Site

    offset, limit = call.whole("offset", 0), call.whole("limit", PAGE_CHARS)
    with _archive(call) as db:
        record = _record(db, call)
        ((_, content),) = restoring.printed(db, [record], call.session_home)
        if content is None:
            raise ToolError(f"the content of {record.id} is gone: the file that it is made from has changed. Run the tool call again")
        if not offset:
            site = Site(call.environ, call.environ.get("CLAUDE_CODE_SESSION_ID") or "", call.folder)
            restoring.book_printed(site, db, [record], now(call.environ))
    end = offset + limit
    return {
        "handle": record.id, "label": record.label, "content": content[offset:end], "offset": offset, "total_chars": len(content),
        "next_offset": end if end < len(content) else None,
    }  # fmt: skip


def _record(db: Connection, call: ToolCall) -> Record:
    """Return the record of a handle, if it belongs to a project that the tool may read."""
    from hooks.utils import archive

    word = call["handle"]
    records = [record for handle in archive.handles_of(db, word) if (record := archive.record(db, handle)) and _is_ours(db, record, call)]
    if len(records) > 1:
        raise ToolError(f"the handle could be {', '.join(record.id for record in records)}. Give the whole one")
    if not records:
        raise ToolError("nothing that left a context of this project has that handle. context_search finds handles")
    return records[0]


def _is_ours(db: Connection, record: Record, call: ToolCall) -> bool:
    from hooks.utils import archive
    from hooks.utils.io import repository

    if call.wide:
        return True
    chain = archive.chain(db, record.task_id)
    return chain is not None and bool(chain.project) and repository.of(chain.project).key == call.project


@contextmanager
def _archive(call: ToolCall) -> Iterator[Connection]:
    from hooks.utils.reclaim import access

    with access.Opened(call.session_home) as db:
        yield db


# --- memory ---


def memory_search(call: ToolCall) -> dict[str, Any]:
    """Search memory, even while it is off: stored items can still be retrieved."""
    with _place(call) as place:
        matches = place.memory.search(call["query"], call.whole("most", _MOST_MEMORIES), call.wide)
        is_on = place.project.is_on()
    items = [{**_item(item), **({"project": item.project} if call.wide else {}), "relevance": round(rank, 3)} for item, rank in matches]
    return {"items": items, "memory_is_on": is_on}


def memory_add(call: ToolCall) -> dict[str, Any]:
    """Add an item, only where the user has switched memory on. Sessions get it only once the user has accepted it."""
    from shlex import quote

    from ..memory.items import AGENT

    with _place(call, makes=True) as place:
        if not place.project.is_on():
            raise ToolError("memory is off for this project, so nothing is kept. The user can switch it on: /popkit:context memory on")
        item = place.memory.add(call["text"], source=AGENT, key=bool(call.get("key")))
        place.refresh()
    yes = f"/popkit:context memory admin accept {quote(item.id)}"
    return {**_item(item), "note": f"No session gets this until the user accepts it. Tell the user: {yes}"}


def memory_forget(call: ToolCall) -> dict[str, Any]:
    """Mark items; the job deletes them after the grace period."""
    from shlex import join

    from ..memory.items import BY_TOOL

    with _place(call) as place:
        memory = place.memory
        # A whole id matches in all projects.
        foreign = [id for id in call["ids"] if memory.find(id).project != memory.project]
        if foreign:
            raise ToolError(f"there is no memory {shown(foreign[0])} of this project, so nothing is marked. memory_search finds ids")
        marked = [item.id for item in memory.forget(call["ids"], BY_TOOL)]
        place.refresh()
        is_on = place.project.is_on()
    result: dict[str, Any] = {"marked": marked, "undo": "/popkit:context memory undo " + join(marked)}
    if not is_on:
        result["note"] = (
            "Memory is off for this project: what is marked is deleted when the user runs `popkit memory admin run` after 24 hours."
        )
    return result


def memory_status(call: ToolCall) -> dict[str, Any]:
    """Return the state of memory; `alerts`: items of value that will be deleted within days."""
    with _place(call) as place:
        status: dict[str, Any] = place.memory.status()
        here = {"project": place.name, "memory_is_on": place.project.is_on()}
    shown = {key: status[key] for key in ("items", "tokens", "tiers", "marked", "waiting", "sessions")}
    alerts = [{"id": alert["id"], "text": alert["text"], "deleted_at": stamp(alert["at"])} for alert in status["alerts"]]
    shown["tiers"] = {tier: sums for tier, sums in shown["tiers"].items() if sums["items"]}
    return {**here, **shown, "alerts": alerts}


def _item(item: Item) -> dict[str, Any]:
    result = {"id": item.id, "text": item.text, "kind": item.kind, "tier": item.tier, "created_at": stamp(item.created_at)}
    return {**result, **({"waits": True} if item.waits else {})}


def _place(call: ToolCall, makes: bool = False) -> Place:
    from ..memory.place import Place

    return Place(call.environ, call.folder, makes)


# --- retention policies ---


def retention_get(call: ToolCall) -> dict[str, Any]:
    with _controller(call) as controller:
        return controller.get(call["domain"])


def retention_policies(call: ToolCall) -> dict[str, Any]:
    with _controller(call) as controller:
        return {**controller.policies(), "deprecated": "retention_get gives the policy of one domain"}


def retention_configure(call: ToolCall) -> dict[str, Any]:
    """Make a change that only keeps more; any other waits for the user's approval."""
    with _controller(call) as controller:
        result: dict[str, Any] = controller.configure(call["domain"], call["config"])
    if result["success"]:
        return {**result, "status": "applied"}
    accept, decline = (f"popkit retention admin {word} {result['request']}" for word in ("accept", "decline"))
    reason = "Nothing has changed: this would keep less, so it waits for the user's approval, for this project only."
    return {**result, "status": "waiting", "note": f"{reason} Tell the user, who decides: {accept} or {decline}"}


def retention_apply(call: ToolCall) -> dict[str, Any]:
    """Return the verdicts on resources: all of those that the caller gives, else the first of each list of stored ones."""
    domain, resources = call["domain"], call.get("resources")
    most = call.whole("most", SHOWN if resources is None else len(resources))
    with _controller(call) as controller:
        verdict: dict[str, Any] = controller.apply(domain, resources, call.get("options"))
        own = [_shown(controller, domain, each, most, labelled=True) for each in verdict.pop("own", ())]
        return {**_shown(controller, domain, verdict, most, resources is None), **({"own": own} if own else {})}


def _shown(controller: Controller, domain: str, verdict: dict[str, Any], most: int, labelled: bool) -> dict[str, Any]:
    """Return at most `most` of each list, and how many are left out."""
    not_shown = {}
    for name in ("eligible", "protected"):
        listed = verdict[name]
        if len(listed) > most:
            not_shown[name] = len(listed) - most
            verdict[name] = listed = listed[:most]
        if labelled and listed:
            labels = controller.describe(domain, [each["id"] for each in listed])
            verdict[name] = [{**each, **_label(labels.get(each["id"]))} for each in listed]
    return {**verdict, **({"not_shown": not_shown} if not_shown else {})}


def retention_archive(call: ToolCall) -> dict[str, Any]:
    resources = call.get("resources")
    ids = None if resources is None else [_id(each) for each in resources]
    note = call.get("options", {}).get("note", "")
    with _controller(call) as controller:
        return controller.archive(call["domain"], ids, note, lambda what, done, of: call.progress(done, of))


def _controller(call: ToolCall) -> Controller:
    from hooks.utils.io.system import now

    from ..governance.controller import Controller
    from ..governance.domains import TOOL

    return Controller(call.environ, by=TOOL, project=call.project, now=lambda: now(call.environ))


def _label(described: dict[str, Any] | None) -> dict[str, str]:
    return {"label": described["label"]} if described else {}


def _id(resource: object) -> str:
    id = resource.get("id") if isinstance(resource, dict) else resource
    if not isinstance(id, str) or not id:
        raise ToolError("arguments.resources must hold ids, or objects with an id that is a text")
    return id
