"""Run the tools on the context: its state, searching what left it, and restoring that."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .tool_call import ToolCall, ToolError
from .tool_schemas import PAGE_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection

    from hooks.utils.archive.records import Record

_INDEXING_S = 5.0  # what is not indexed then is for the next question


def context_status(call: ToolCall) -> dict[str, Any]:
    """Return the state of the session that runs the server, else of the newest one of the project."""
    from hooks.utils.io.system import now
    from hooks.utils.reclaim import outlook
    from hooks.utils.state import live
    from hooks.utils.views import report

    from ..operations import sessions

    path = _transcript(call)
    site = live.Site(call.environ, sessions.session_id_of(path), sessions.check(path))
    current = report.build(outlook.look(site, path, now(call.environ)))
    of_tiers = {tier: (("live", each["live"]), ("expired", each["expired"])) for tier, each in current["tiers"].items()}
    tiers = {tier: sums for tier, each in of_tiers.items() if (sums := {name: have for name, have in each if have["items"]})}
    return {
        "session": current["session"], "calls": current["calls"], "expired": current["expired"], "cleared": current["cleared"],
        "reclaimable": current["reclaimable"], "context": current["context"] or {}, "tiers": tiers, "verdict": current["verdict"],
        "agents": len(current["agents"]), "clear_with": "/popkit:context clear",
    }  # fmt: skip


def _transcript(call: ToolCall) -> str:
    from hooks.utils.hosts.claude_code import projects

    id = call.environ.get("CLAUDE_CODE_SESSION_ID")
    ours = projects.of_session(call.environ, id) if id else []
    path = ours[0] if len(ours) == 1 else projects.newest_of_project(call.environ, call.folder)
    if path is None:
        raise ToolError("no session of this project has written a transcript yet. Ask again after the next answer")
    return path


def context_search(call: ToolCall) -> dict[str, Any]:
    """Search what the project's sessions had cleared; secrets in the lines are masked."""
    from hooks.utils.archive import index, searching
    from hooks.utils.io import home
    from hooks.utils.policy.masking import mask
    from hooks.utils.state import archived

    most = call.whole("most", searching.MOST)
    if not os.path.lexists(home.archive_path(home.popkit_home(call.environ))):
        return {"results": [], "more": False}
    with _archive(call) as db:
        left = index.work_off(db, call.progress, _INDEXING_S)
        folders = None if call.wide else archived.folders_of(db, call.project or "")
        matches = searching.search(db, call["query"], mask, folders, most=most + 1)
    results = [
        {"handle": each.record.id, "label": each.record.label, "archived_at": each.record.created_at, "lines": each.lines}
        for each in matches[:most]
    ]
    return {"results": results, "more": len(matches) > most, **({"not_searched": left} if left else {})}


def context_restore(call: ToolCall) -> dict[str, Any]:
    """Return a page of what was archived under a handle. The first page counts as brought back, like `popkit restore`."""
    from hooks.utils.io.system import now
    from hooks.utils.reclaim import restoring
    from hooks.utils.state import live

    offset, limit = call.whole("offset", 0), call.whole("limit", PAGE_CHARS)
    with _archive(call) as db:
        record = _record(db, call)
        ((_, content),) = restoring.printed(db, [record])
        if content is None:
            raise ToolError(
                f"the content of {record.id} is gone: the file that it was to be made from has changed. Run the tool call again"
            )
        if not offset:
            site = live.Site(call.environ, call.environ.get("CLAUDE_CODE_SESSION_ID") or "", call.folder)
            restoring.book_printed(site, db, [record], now(call.environ))
    end = offset + limit
    return {
        "handle": record.id, "label": record.label, "content": content[offset:end], "offset": offset, "total_chars": len(content),
        "next_offset": end if end < len(content) else None,
    }  # fmt: skip


def _record(db: Connection, call: ToolCall) -> Record:
    """Return the record of a handle, if it is of a project that may be seen."""
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
    from hooks.utils.io import home
    from hooks.utils.reclaim import access

    with access.Opened(home.popkit_home(call.environ)) as db:
        yield db
