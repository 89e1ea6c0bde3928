"""Print archived contents at the request of a person or the model."""

from __future__ import annotations

from contextlib import closing

from .. import archive
from ..archive.content import stamp
from ..errors import PopkitError
from ..hosts.transcripts.blocks import media_in
from ..io import codec, files, home
from ..state import archived, journal, store
from ..state.archived import THINKING, content_of, errors, task_id
from ..text import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from sqlite3 import Connection
    from typing import Any

    from ..archive.records import Record
    from ..state.site import Site

# How long a call waits for an archive that another process is writing, before the user is asked. A question interrupts more than a wait
# does, and where nobody can be asked the model goes without; the host gives the hook ten seconds.
WAIT_S = 2.0
_NAMED = 4  # pictures that stay out
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "application/pdf": "pdf"}


class ContentNotFound(PopkitError):
    """No archived content has that name, or several have; the message says how to go on."""


def record_of(site: Site, handle: str, transcript_path: str) -> Record | None:
    """Return the Record with exactly this handle if it is of this session, or of one that it continues. A fork has a new id and names no
    parent, but the host begins its transcript with a copy of the parent's: it holds the call that the record is of. In doubt None."""
    return next(filter(None, (_record_in(folder, site, handle, transcript_path) for folder in homes(site))), None)


def homes(site: Site) -> list[str]:
    """Return the folders whose archives may hold contents of a session: its own; ours too, with what was archived before a data rule came
    up. Where no session is named, those in memory of all sessions."""
    if site.session_id:
        return list(dict.fromkeys((site.home, site.lasting_home)))
    from ..io import volatile

    return [site.lasting_home, *(folder for folder, session_id in volatile.folders(site.lasting_home) if session_id)]


def _record_in(popkit_home: str, site: Site, handle: str, transcript_path: str) -> Record | None:
    try:
        with closing(archive.open_archive(home.archive_path(popkit_home), create=False, busy_s=WAIT_S)) as db:
            record = archive.record(db, handle)
            chain = archive.chain(db, record.task_id) if record else None
        if not record or not chain:
            return None
        return record if chain.session_id == site.session_id or _holds_result(transcript_path, record.tool_use_id) else None
    except errors():
        return None


def _holds_result(transcript_path: str, tool_use_id: str) -> bool:
    """Return whether a transcript has a result of this call; ids in what results say do not count."""
    mark = b'"' + tool_use_id.encode("utf-8", "surrogatepass") + b'"'
    with files.open_regular(transcript_path) as file:
        return any(mark in line and tool_use_id in _results_in(line) for line in file)


def _results_in(line: bytes) -> list[str]:
    """Return the ids of the calls whose results a line of a transcript holds."""
    try:
        entry: Any = codec.loads(line.decode("utf-8", "replace"))
        return [block.get("tool_use_id") for block in entry["message"]["content"] if block.get("type") == "tool_result"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []


def records_for(db: Connection, word: str, session_id: str, project: str) -> list[Record]:
    """Return the archived Records that a word means: one by its handle, the beginning of one, or a tool_use id; else those of a path
    pattern."""
    handles = archive.handles_of(db, word)
    if len(handles) > 1:
        raise ContentNotFound(f"{shown(word)} could be {', '.join(handles)}. Give more of it")
    records = [record for record in (archive.record(db, handle) for handle in handles) if record]
    records = records or archive.records_of_tool_use(db, word)[:1] or matching(db, word, session_id, project)
    if not records:
        advice = "popkit restore list shows what is archived. To restore what another project cleared, give its handle"
        message = f"nothing cleared is called {shown(word)}. {advice}"
        raise ContentNotFound(". ".join(filter(None, (message, pruned(db, session_id)))))
    return records


def shown(word: str) -> str:
    """Return a word of the user's, as a message repeats it."""
    return '"' + "".join(char if char.isprintable() else "?" for char in word[:40]) + '"'


def matching(db: Connection, pattern: str, session_id: str, project: str) -> list[Record]:
    """Return the newest Record of each label that a path pattern matches: of the session, else of the project that the folder `project`
    lies in; never of another project. Newest first."""

    searches = [{"session_id": session_id}] if session_id else []
    searches += [{"project": folder} for folder in _with_parents(project)]
    for where in searches:
        matches = archived.matching(db, pattern, **where)
        if matches:
            return list({record.label: record for record in reversed(matches)}.values())[::-1]
    return []


def _with_parents(folder: str) -> list[str]:
    """Return a folder and those above it, the root apart; none for ""."""
    folders = []
    while folder.strip("/"):
        folders.append(folder)
        folder = folder.rstrip("/").rpartition("/")[0]
    return folders


def cleared_since(db: Connection, site: Site, since: float) -> list[Record]:
    """Return the Records of what left a session's main thread at `since` (seconds) or later, oldest first, each once. ContentNotFound where
    there is none, and some may have been pruned: what is pruned has left the archive at `since` or later."""
    session_id = site.session_id
    records: dict[str, Record] = {}
    for number, at in reversed(archive.clears_of(db, task_id(session_id))):  # of older versions
        if at >= since:
            records.update((record.id, record) for record in archive.records_of_clear(db, number) if record.type != THINKING)
    for entry in journal.read(site.paths()) if session_id else ():
        if entry["event"] == "compact" and journal.time_of(entry) >= since:
            taken = [archive.record(db, handle) for handle in entry.get("handles") or ()]
            records.update((record.id, record) for record in taken if record)
    known = archive.pruned_of(db, task_id(session_id)) if session_id else None
    if not records and known is not None and known[0] >= since:
        raise ContentNotFound(pruned(db, session_id))
    return list(records.values())


def pruned(db: Connection, session_id: str) -> str:
    """Return a sentence for a person on what a prune took of a session; "" for nothing."""
    known = archive.pruned_of(db, task_id(session_id)) if session_id else None
    if known is None:
        return ""
    at, count = known
    many = "1 result that this session had cleared was" if count == 1 else f"{count:,} results that this session had cleared were"
    return f"{many} pruned on {stamp(at)[:10]}, and cannot be restored"


def printed(db: Connection, records: list[Record], popkit_home: str = "") -> list[tuple[Record, str | None]]:
    """Return (Record, text) of each; a text of None where the content is gone for good. Of a list of calls that holds lists, and so on, the
    lists that hold calls: each names its own handle. `popkit_home`: where pictures and documents are written to, so that they can be looked
    at; "" to only name them."""
    contents = [(record, content_of(db, record.id)) for record in records]
    return [(record, None if content is None else _printed(db, record, content, popkit_home)) for record, content in contents]


def _printed(db: Connection, record: Record, content: str, popkit_home: str) -> str:
    text = "\n".join(map(archive.text_of, _parts(db, record, content)))
    chain = archive.chain(db, record.task_id) if popkit_home else None
    if chain is None:
        return text
    return "\n".join([text, *_saved(record.id, content, home.session_folder(popkit_home, chain.session_id))])


def _saved(handle: str, content: str, folder: str) -> list[str]:
    """Write the pictures and documents of a content beside the state of its session, with which they go; return a line for each."""
    from base64 import b64decode

    lines = []
    for number, (kind, data) in enumerate(archive.media_of(content), 1):
        path = f"{folder}/{home.SHOWN}{handle}-{number}.{_ENDINGS.get(kind, 'bin')}"
        try:
            files.make_private_folder(folder)
            files.replace_bytes(path, b64decode(data))
        except (OSError, ValueError) as error:
            lines.append(f"It could not be saved: {error}")
        else:
            lines.append(f"Saved as {path}: read that file to see it.")
    return lines


def _parts(db: Connection, record: Record, content: str) -> list[str]:
    """Return what a content is printed as: itself, or the lists that a list of calls holds."""
    if not content.startswith("["):
        return [content]
    from ..policy.compacting import CALLS
    from ..policy.lists import directly_held_by

    if record.type != CALLS or not directly_held_by(archive.value_of(content)):
        return [content]
    parts: list[str] = []
    waiting: list[Any] = [archive.value_of(content)]
    while waiting:
        rows = waiting.pop()
        for at, row in enumerate(rows):
            inner = archive.value_of("".join(content_of(db, handle) or "" for handle in directly_held_by([row])))
            if directly_held_by(inner):
                waiting += [rows[at + 1 :], inner]
                break
            parts.append(codec.dumps([row]))
    return parts


def parted(db: Connection, records: Iterable[Record]) -> tuple[list[Record], list[Record]]:
    """Return (the Records that can come back into a conversation, those that show more than text: a compaction carries nothing else)."""
    back: list[Record] = []
    pictures: list[Record] = []
    for record in records:
        content = content_of(db, record.id)
        if content is not None and media_in(archive.value_of(content)):
            pictures.append(record)
        elif content is not None:
            back.append(record)
    return back, pictures


def stays_out(pictures: list[Record]) -> str:
    """Return for a person why these do not come back, and how to see them; "" for none."""
    named = [f"popkit restore {record.id} ({clean(record.label)})" for record in pictures]
    rest = ["popkit restore list names the others"] if named[_NAMED:] else []
    stay = "Pictures and documents stay out, for only text can come back. To see them: "
    return stay + "; ".join(named[:_NAMED] + rest) if named else ""


def book_printed(site: Site, db: Connection, records: list[Record], now: float) -> str:
    """Book each as a false expiration in the context that it was cleared from; return what kept it from that, for a person, "" for nothing:
    content that somebody asks for is given, counted or not."""
    from ..state import noting

    try:
        for record in records:
            chain = archive.chain(db, record.task_id)
            paths = store.ContextFiles(site.home, chain.session_id, chain.agent_id) if chain else None
            if paths is None or files.read_text(paths.state, 1) is None:
                continue  # that session's state is gone: nobody counts there any more
            noting.note(site, paths, [journal.restored(record.tool_use_id, now)])
    except OSError as error:
        return f"not counted as a false expiration: {error}"
    return ""
