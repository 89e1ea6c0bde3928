"""`Archive`: an archive file as a program uses it."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from contextlib import contextmanager
from uuid import uuid4

from popkit_retention.core.archive import (
    Chain,
    NewRecord,
    Record,
    RecordNotFound,
    add_records,
    archive_chain,
    chain,
    find_records,
    handles_of,
    open_archive,
    record,
    recover,
    text_of,
    value_of,
)
from popkit_retention.core.archive import stats as stats_of
from popkit_retention.core.archive.holds import add_hold, all_holds, place_folders, release_hold
from popkit_retention.core.archive.index import index_queued
from popkit_retention.core.archive.searching import MOST, Match, SearchUnavailable, search
from popkit_retention.core.archive.verification import Verification, verify
from popkit_retention.core.errors import PopkitError
from popkit_retention.core.io import home, repository
from popkit_retention.core.io.sqlite_file import StoreError, is_damage
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.masking import mask
from popkit_retention.core.retention_kit.holds import ITEM, PROJECT, SCOPES, Hold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection

    # `Archive.list` is a word of its users.
    Records = list[Record]
    Founds = list[Match]
    Holds = list[Hold]


class ContentGone(PopkitError, LookupError):
    """A record whose content was deleted, or left to a Git repository that no longer has it."""


class Archive:
    """An archive in a private SQLite file, which threads and processes may share.

    `path`: of the file (`~` is your home); None: the archive of your sessions, in the folder POPKIT_HOME. `create`: make a file that does
    not exist. Every method raises StoreError where the file cannot be used."""

    def __init__(self, path: str | os.PathLike[str] | None = None, create: bool = True) -> None:
        named = home.archive_path(home.popkit_home(os.environ)) if path is None else os.fspath(path)
        self.path = os.path.expanduser(named)
        self._lock = threading.RLock()  # of the one connection
        try:
            with self._usable():
                self._db = open_archive(self.path, create, any_thread=True)
        except FileNotFoundError:
            raise StoreError(f"{self.path} does not exist. Check the path, or let it be made (create=True)") from None
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror or error}. Make it writable, or choose another path") from None

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Keep other threads out, and say which file an error of SQLite is about."""
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                advice = "Move it away" if is_damage(error) else "Check the file, and the room on its disk"
                raise StoreError(f"{self.path}: {error}. {advice}") from None

    def add(self, content: object, label: str, *, session_id: str, agent_id: str = "", tool_use_id: str = "", project: str = "") -> Record:
        """Archive a content that leaves a context, and return its record; the same content of the same call keeps the record that it has.
        `content`: a text, or blocks as the provider has them. `label`: what a person sees. `project`: the folder that the session works
        in. Raise ValueError for a content that is not JSON."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False)
        owner = Chain(f"{session_id}/{agent_id}" if agent_id else session_id, session_id, agent_id, project)
        new = NewRecord(tool_use_id, "tool_result", mask(label), text, tokens=estimate_tokens(text_of(text)))
        with self._usable():
            (id,) = add_records(self._db, owner, [new])
            archive_chain(self._db, owner.task_id)
            return self.find(id)

    def list(self, *, session_id: str | None = None, project: str | None = None, since: float | None = None, most: int = 50) -> Records:
        """Return at most this many records, newest first: of a session (its id, or the beginning of one), of a project (its folder), and
        of those archived since a time (seconds)."""
        with self._usable():
            return find_records(self._db, session_id=session_id, project=project, since=since, limit=most)

    def search(self, words: str, *, session_id: str | None = None, project: str | None = None, most: int = MOST) -> Founds:
        """Return the records whose contents answer best, each with the lines that do, in which secrets are masked. Raise
        SearchUnavailable where Python's SQLite cannot search texts."""
        with self._usable():
            if index_queued(self._db):
                raise SearchUnavailable("this Python's SQLite has no FTS5, so texts cannot be searched. Use another Python")
            return search(self._db, words, mask, None if project is None else [project], session_id, most)

    def find(self, id: str) -> Record:
        """Return a record by its handle, or the beginning of only one. Raise RecordNotFound."""
        with self._usable():
            ids = handles_of(self._db, id)
            found = record(self._db, ids[0]) if len(ids) == 1 else None
        if found is None:
            raise RecordNotFound(id if not ids else f"{id} ({', '.join(ids)} begin with it)")
        return found

    def read(self, id: str) -> str:
        """Return the text of a content, as the model saw it. Raise RecordNotFound, ContentGone, and RetentionIntegrityError where it is not
        as it was archived."""
        return text_of(self._content(self.find(id)))

    def blocks(self, id: str) -> object:
        """Return a content as the provider had it: a text or blocks. Raise what `read` raises."""
        return value_of(self._content(self.find(id)))

    def _content(self, found: Record) -> str:
        with self._usable():
            content = recover(self._db, found.id)
        if content is None:
            raise ContentGone(f"the content of {found.id} is gone; its SHA-256 was {found.content_hash}")
        return content

    def stats(self) -> dict[str, object]:
        """Return how much the archive holds: records, chains, zones, bytes, the oldest and the newest."""
        with self._usable():
            return stats_of(self._db)

    def verify(self) -> Verification:
        """Hold every record against its hash, and return what was found: `broken`, `lost`, `problems`."""
        with self._usable():
            return verify(self._db)

    def hold(self, target: str, scope: str = ITEM, *, who: str = "", why: str = "", until: float | None = None) -> Hold:
        """Keep a record, whatever asks for its deletion, until a time (seconds) or until it is released. `scope`: "item" (a handle),
        "session" (an id) or "project" (a folder in it). Raise RecordNotFound, and ValueError for another scope or no target."""
        if scope not in SCOPES or not target:
            raise ValueError(f"a hold names one of these: {', '.join(SCOPES)}")
        named = self.find(target).id if scope == ITEM else repository.of(target).key if scope == PROJECT else target
        hold = Hold(uuid4().hex[:12], scope, named, who, why, time.time(), until)
        with self._usable():
            add_hold(self._db, hold)
            place_folders(self._db, lambda folder: repository.of(folder).key)
        return hold

    def release(self, id: str) -> bool:
        """End a hold; return whether it was in force."""
        with self._usable():
            return release_hold(self._db, id, time.time())

    def holds(self) -> Holds:
        """Return the holds that are in force, oldest first."""
        with self._usable():
            return [hold for hold in all_holds(self._db) if hold.in_force(time.time())]

    def export(self, *, session_id: str | None = None, project: str | None = None) -> Iterator[str]:
        """Yield each record with its session, its project and its content (None where that is gone), oldest first, as a line of JSON."""
        with self._usable():
            records = find_records(self._db, session_id=session_id, project=project)
        for each in reversed(records):
            with self._usable():
                line = _line(self._db, each)
            yield line  # with the lock given back: whoever iterates may take long


def _line(db: Connection, each: Record) -> str:
    content, owner = recover(db, each.id), chain(db, each.task_id)
    place = {"session_id": owner.session_id, "project": owner.project} if owner else {}
    return json.dumps({**each.to_json(), **place, "content": None if content is None else value_of(content)}, ensure_ascii=False)
