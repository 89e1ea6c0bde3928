"""The tools on the context: what stands in it, what left it, and the way back."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .asking import Asked, Mistake
from .shapes import PAGE_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection

    from hooks.utils.archive.records import Record

_INDEXING_S = 5.0  # what is not indexed then is for the next question


def context_status(asked: Asked) -> dict[str, Any]:
    """Of the session that runs the server, else of the newest one of the project."""
    from hooks.utils.io.system import now
    from hooks.utils.reclaim import outlook
    from hooks.utils.state import live
    from hooks.utils.views import report

    from ..operations import sessions

    path = _transcript(asked)
    site = live.Site(asked.environ, sessions.session_id_of(path), sessions.check(path))
    found = report.build(outlook.look(site, path, now(asked.environ)))
    of_tiers = {tier: (("live", each["live"]), ("expired", each["expired"])) for tier, each in found["tiers"].items()}
    tiers = {tier: sums for tier, each in of_tiers.items() if (sums := {name: have for name, have in each if have["items"]})}
    return {
        "session": found["session"], "calls": found["calls"], "expired": found["expired"], "cleared": found["cleared"],
        "reclaimable": found["reclaimable"], "context": found["context"] or {}, "tiers": tiers, "verdict": found["verdict"],
        "agents": len(found["agents"]), "clear_with": "/popkit:context clear",
    }  # fmt: skip


def _transcript(asked: Asked) -> str:
    from hooks.utils.hosts.claude_code import projects

    id = asked.environ.get("CLAUDE_CODE_SESSION_ID")
    ours = projects.of_session(asked.environ, id) if id else []
    found = ours[0] if len(ours) == 1 else projects.newest_of_project(asked.environ, asked.folder)
    if found is None:
        raise Mistake("no session of this project has written a transcript yet. Ask again after the next answer")
    return found


def context_search(asked: Asked) -> dict[str, Any]:
    """Searches what the project's sessions had cleared; secrets in the lines are masked."""
    from hooks.utils.archive import index, searching
    from hooks.utils.io import home
    from hooks.utils.policy.masking import mask
    from hooks.utils.state import archived

    most = asked.whole("most", searching.MOST)
    if not os.path.lexists(home.archive_path(home.popkit_home(asked.environ))):
        return {"results": [], "more": False}
    with _archive(asked) as db:
        left = index.work_off(db, asked.progress, _INDEXING_S)
        folders = None if asked.wide else archived.folders_of(db, asked.project or "")
        found = searching.search(db, asked["query"], mask, folders, most=most + 1)
    results = [
        {"handle": each.record.id, "label": each.record.label, "archived_at": each.record.created_at, "lines": each.lines}
        for each in found[:most]
    ]
    return {"results": results, "more": len(found) > most, **({"not_searched": left} if left else {})}


def context_restore(asked: Asked) -> dict[str, Any]:
    """A page of what was archived under a handle. The first page counts as brought back, like `popkit restore`."""
    from hooks.utils.io.system import now
    from hooks.utils.reclaim import restoring
    from hooks.utils.state import live

    offset, limit = asked.whole("offset", 0), asked.whole("limit", PAGE_CHARS)
    with _archive(asked) as db:
        record = _record(db, asked)
        ((_, content),) = restoring.printed(db, [record])
        if content is None:
            raise Mistake(f"the content of {record.id} is gone: the file that it was to be made from has changed. Run the tool call again")
        if not offset:
            site = live.Site(asked.environ, asked.environ.get("CLAUDE_CODE_SESSION_ID") or "", asked.folder)
            restoring.book_printed(site, db, [record], now(asked.environ))
    end = offset + limit
    return {
        "handle": record.id, "label": record.label, "content": content[offset:end], "offset": offset, "total_chars": len(content),
        "next_offset": end if end < len(content) else None,
    }  # fmt: skip


def _record(db: Connection, asked: Asked) -> Record:
    """The record of a handle, if it is of a project that may be seen."""
    from hooks.utils import archive

    word = asked["handle"]
    found = [record for handle in archive.handles_of(db, word) if (record := archive.record(db, handle)) and _is_ours(db, record, asked)]
    if len(found) > 1:
        raise Mistake(f"the handle could be {', '.join(record.id for record in found)}. Give the whole one")
    if not found:
        raise Mistake("nothing that left a context of this project has that handle. context_search finds handles")
    return found[0]


def _is_ours(db: Connection, record: Record, asked: Asked) -> bool:
    from hooks.utils import archive
    from hooks.utils.io import repository

    if asked.wide:
        return True
    chain = archive.chain(db, record.task_id)
    return chain is not None and bool(chain.project) and repository.of(chain.project).key == asked.project


@contextmanager
def _archive(asked: Asked) -> Iterator[Connection]:
    from hooks.utils.io import home
    from hooks.utils.reclaim import access

    with access.Opened(home.popkit_home(asked.environ)) as db:
        yield db
