"""`popkit archive search`: what left the contexts, by the words in it."""

from __future__ import annotations

import os
import sys

from hooks.utils import text
from hooks.utils.archive import chain, index, searching
from hooks.utils.io import repository
from hooks.utils.policy.masking import mask
from hooks.utils.state import archived

from ..views import archive as views
from . import screen
from .past_sessions import Bar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from sqlite3 import Connection

    from hooks.utils.archive.searching import Found
    from hooks.utils.flag_parser import Parsed


def run(db: Connection, args: Parsed, environ: Mapping[str, str]) -> int:
    """Shows what was found, or prints it as JSON."""
    waiting = _waiting(db, environ)
    folders = None if args.everywhere else archived.folders_of(db, repository.of(os.getcwd()).key)
    found = searching.search(db, args.argument, mask, folders, args.session, args.limit + 1)
    more = len(found) > args.limit
    found = found[: args.limit]
    if args.json:
        print(text.as_json({"found": [data(db, each) for each in found], "more": more, "not_searched": waiting}))
        return 0
    shown = views.found(found, args.everywhere, args.limit if more else 0)
    if waiting:
        shown += text.wrap(
            f"{text.counted(waiting, 'record')} cannot be searched: this Python's SQLite has no FTS5. Run popkit with another Python."
        )
    screen.show(shown, sys.stdout, environ)
    return 0


def _waiting(db: Connection, environ: Mapping[str, str]) -> int:
    """Lets the search find what was only queued for it; how many records it still does not find."""
    bar = Bar(environ, "records")
    try:
        return index.work_off(db, bar.show)
    finally:
        bar.end()


def data(db: Connection, found: Found) -> dict[str, object]:
    """A record that was found, for programs."""
    record, whose = found.record, chain(db, found.record.task_id)
    return {
        "handle": record.id, "label": record.label, "archived_at": record.created_at, "session": whose.session_id if whose else "",
        "project": repository.of(whose.project).key if whose and whose.project else "", "lines": found.lines,
    }  # fmt: skip
