"""Restore: which archived contents a person or the model means, and what they look like."""

from __future__ import annotations

from .. import archive
from ..edges import files
from ..policy import events, globs
from ..state import live, store
from ..state.archived import THINKING, content_of, task_id


class NotFound(Exception):
    """Nothing archived goes by that name, or several things do; the message says what to do."""


def meant(db, word: str, session_id: str, project: str) -> list:
    """The archived Records that a word means: one by its handle, the beginning of one, or a tool_use id; else those of a path pattern."""
    handles = archive.handles_of(db, word)
    if len(handles) > 1:
        raise NotFound(f"{shown(word)} could be {', '.join(handles)}: give more of it")
    found = [archive.record(db, handle) for handle in handles] or archive.records_of_tool_use(db, word)[:1]
    found = found or matching(db, word, session_id, project)
    if not found:
        raise NotFound(f"nothing that was cleared goes by {shown(word)}. popkit archive list shows what there is")
    return found


def shown(word: str) -> str:
    """A word of the user's, as a message repeats it."""
    return '"' + "".join(char if char.isprintable() else "?" for char in word[:40]) + '"'


def matching(db, pattern: str, session_id: str, project: str) -> list:
    """The newest Record of each label that a path pattern matches: of the session, else of the project, else of all. Newest first."""

    def matches(record) -> bool:
        return any(globs.matches(pattern, subject) for subject in record.subjects if isinstance(subject, str))

    for found in (
        archive.find_records(db, session_id=session_id, matches=matches) if session_id else [],
        archive.find_records(db, matches=lambda record: matches(record) and _project_of(db, record) == project) if project else [],
        archive.find_records(db, matches=matches),
    ):
        if found:
            return list({record.label: record for record in reversed(found)}.values())[::-1]
    return []


def _project_of(db, record) -> str:
    chain = archive.chain(db, record.task_id)
    return chain.project if chain else ""


def cleared_since(db, session_id: str, since: float) -> list:
    """The Records of results that clears of a session's main thread took at `since` (seconds) or later, oldest first, each once."""
    found: dict = {}
    for clear in reversed(archive.clears_of(db, task_id(session_id))):
        if clear.at >= since:
            found.update((record.id, record) for record in archive.records_of_clear(db, clear.id) if record.type != THINKING)
    return list(found.values())


def printed(db, records: list) -> list:
    """(Record, text) of each; a text of None where the content is gone for good."""
    contents = [(record, content_of(db, record.id)) for record in records]
    return [(record, None if content is None else archive.text_of(content)) for record, content in contents]


def book_printed(site, db, records: list, now: float) -> str:
    """Books each as a false expiration in the context that it was cleared from; returns what kept it from that, for a person, "" for
    nothing: whoever wants a content back gets it, counted or not."""
    try:
        for record in records:
            chain = archive.chain(db, record.task_id)
            paths = store.ContextFiles(site.home, chain.session_id, chain.agent_id)
            if files.read_text(paths.state, 1) is None:
                continue  # that session's state is gone: nobody counts there any more
            entry = {"event": "restore", "at": now, "id": record.tool_use_id}
            live.note(site, paths, [entry], [events.Restored(record.tool_use_id, at=now)])
    except OSError as error:
        return f"not counted as a false expiration: {error}"
    return ""
