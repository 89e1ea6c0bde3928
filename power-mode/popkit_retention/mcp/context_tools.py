"""The agents' tools on their own context. A function loads what it needs when it is called."""

from __future__ import annotations

import os
from contextlib import contextmanager

from popkit_retention.core.operations import CONTEXT as CONTEXT_TABLE

from ..operations import archive_table
from .call import ToolCall, ToolError
from .schema_words import NOTHING, anything, flag, obj, open_obj, or_null, several, takes, text, whole
from .tool import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection

    from popkit_retention.core.archive.records import Record

_INDEXING_S = 5.0  # records that are not indexed by then wait for the next search
PAGE_CHARS, LARGEST_PAGE = 20_000, 60_000
SEARCH = takes(archive_table.ARCHIVE_SEARCH)
_HIT = {"handle": text(), "label": text(), "archived_at": text(), "session": text(), "project": text(), "lines": several(text())}
SEARCHED = obj(
    {
        "results": several(obj(_HIT, ("handle", "label", "lines"))),
        "more": flag(),
        "not_searched": whole(about="not indexed yet: ask again"),
    },
    ("results",),
)
RESTORE = takes(
    CONTEXT_TABLE.by_name["restore"],
    offset=whole(0, about="characters"),
    limit=whole(1, LARGEST_PAGE, f"characters; {PAGE_CHARS} if left out"),
)
RESTORED = obj(
    {
        "handle": text(), "label": text(), "content": text(), "offset": whole(), "total_chars": whole(),
        "next_offset": or_null(whole(about="null at the end")),
    },
    ("handle", "label", "content", "offset", "total_chars", "next_offset"),
)  # fmt: skip
_SUMS = obj({"items": whole(), "tokens": whole()})
CONTEXT = obj(
    {
        "session": text(), "calls": whole(), "context": open_obj("how full it is; empty before the first request"),
        "tiers": open_obj("live and expired results by lifetime"), "expired": _SUMS, "cleared": _SUMS,
        "reclaimable": open_obj("what a clear removes now, and once the cache is cold"), "verdict": anything("what to do now"),
        "agents": whole(), "clear_with": text("what the user types to clear"),
    },
    ("session", "calls", "expired", "cleared"),
)  # fmt: skip


def context_status(call: ToolCall) -> dict[str, object]:
    """Return the state of the session that runs the server, else of the newest one of the project."""
    from popkit_retention.core.io.system import now
    from popkit_retention.core.reclaim import outlook
    from popkit_retention.core.state.site import Site
    from popkit_retention.core.views import report

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


def context_search(call: ToolCall) -> dict[str, object]:
    """Search the cleared results of the project's sessions; secrets in the lines are masked."""
    from popkit_retention.core.archive import index, searching
    from popkit_retention.core.io import home
    from popkit_retention.core.policy.masking import mask
    from popkit_retention.core.state import archived

    most = call.whole("most", searching.MOST)
    if not os.path.lexists(home.archive_path(call.session_home)):
        return {"results": [], "more": False}
    with _archive(call) as db:
        unindexed = index.index_queued(db, call.progress, _INDEXING_S)
        folders = None if call.wide else archived.folders_of(db, call.project or "")
        matches = searching.search(db, call["query"], mask, folders, most=most + 1)
    results = [
        {"handle": match.record.id, "label": match.record.label, "archived_at": match.record.created_at, "lines": match.lines}
        for match in matches[:most]
    ]
    return {"results": results, "more": len(matches) > most, **({"not_searched": unindexed} if unindexed else {})}


def context_restore(call: ToolCall) -> dict[str, object]:
    """Return a page of what was archived under a handle. The first page counts as a restore, as with `popkit restore`."""
    from popkit_retention.core.io.system import now
    from popkit_retention.core.reclaim import restoring
    from popkit_retention.core.state.site import Site

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
    from popkit_retention.core import archive

    word = call["handle"]
    records = [record for handle in archive.handles_of(db, word) if (record := archive.record(db, handle)) and _is_ours(db, record, call)]
    if len(records) > 1:
        raise ToolError(f"the handle could be {', '.join(record.id for record in records)}. Give the whole one")
    if not records:
        raise ToolError("nothing that left a context of this project has that handle. context_search finds handles")
    return records[0]


def _is_ours(db: Connection, record: Record, call: ToolCall) -> bool:
    from popkit_retention.core import archive
    from popkit_retention.core.io import repository

    if call.wide:
        return True
    chain = archive.chain(db, record.task_id)
    return chain is not None and bool(chain.project) and repository.of(chain.project).key == call.project


@contextmanager
def _archive(call: ToolCall) -> Iterator[Connection]:
    from popkit_retention.core.reclaim import access

    with access.OpenArchive(call.session_home) as db:
        yield db


TOOLS = (
    Tool(
        "context_search", context_search, "Search what left the context",
        "Finds tool results that were cleared from the context, of this and earlier sessions of the project, by words in them.",
        SEARCH, SEARCHED, wide=True,
    ),
    Tool(
        "context_restore", context_restore, "Read what left the context",
        "Returns the content of a cleared tool result by its handle, in pages.",
        RESTORE, RESTORED, wide=True,
    ),
    Tool(
        "context_status", context_status, "Context status",
        "Shows how full the context is, what is dead in it, and what a clear removes.",
        NOTHING, CONTEXT,
    ),
)  # fmt: skip
