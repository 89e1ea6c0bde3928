"""The domain `rag`: contents that left contexts, in the archive beside our state (`hooks/utils/archive`).

A resource is a record that still has its content, not one whose content was left to git. Clears, restores and prunes use the archive at the
same time, so each decision is made within one transaction of it.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager, suppress
from itertools import islice

from popkit_retention.core import archive
from popkit_retention.core.archive import deletion, holds, index, marks, returning
from popkit_retention.core.archive.content import to_bytes, to_text
from popkit_retention.core.io import home, repository
from popkit_retention.core.policy import kinds
from popkit_retention.core.policy.masking import mask
from popkit_retention.core.state import placements
from popkit_retention.core.state.archived import THINKING

from ...views import archive as archive_views
from ..errors import DomainUnavailable
from ..policies import ACTION, CONTEXT, RAG, THOUGHT
from . import Content, Description
from .rules import ON_HOLD, Resource, created_at_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from sqlite3 import Connection
    from typing import Any

    from popkit_retention.core.archive.holds import HeldRecords
    from popkit_retention.core.archive.records import Record
    from popkit_retention.core.retention_kit.holds import Hold
    from popkit_retention.core.retention_kit.marks import Mark

_SOURCE_TYPES = {
    kinds.READ: CONTEXT, kinds.SEARCH: CONTEXT, kinds.DECISION: THOUGHT, kinds.TASKS: THOUGHT, "note": THOUGHT, THINKING: THOUGHT,
}  # fmt: skip
_CHAINS = """
SELECT c.task_id, c.session_id, c.project, r.seq FROM chains AS c
JOIN thought_records AS r ON r.task_id = c.task_id AND r.place = 1
"""
_RECORDS = """
SELECT r.id, r.type, r.task_id, r.created_at, b.at FROM thought_records AS r LEFT JOIN brought_back AS b ON b.record_id = r.id
WHERE (r.zone IS NULL OR r.zone <> 'cold')
"""
_KEPT = {"hot": "kept unchanged", "warm": "kept compressed", "cold": "left to git, or deleted: only its hash is kept"}
_AT_ONCE = 500  # ids in one query
_MOST_MATCHES = 5  # the most ids that a word can mean


class RagDomain:
    """See `Domain`. `now` returns the time (seconds). An archive that does not exist yet is an empty domain; only a hold or a restored
    content creates one."""

    name = RAG

    def __init__(self, environ: Mapping[str, str], now: Callable[[], float]) -> None:
        self._environ = environ
        self._now = now
        self._db: Connection | None = None
        self._keys: dict[str, str] = {}  # folder -> key of its project

    def resources(
        self, now: float, project: str | None = None, ids: Sequence[str] | None = None, without: Collection[str] = ()
    ) -> Iterator[Resource]:
        with self._using() as db:
            if db is None:
                return
            held = self._held(db, now)
            chains = {
                task_id: ((session,), seq, task_id in held.chains)
                for task_id, session, folder, seq in db.execute(_CHAINS)
                if (project is None or self._key(folder) == project) and (not without or self._key(folder) not in without)
            }
            for id, kind, task_id, created_at, back_at in self._rows(db, ids):
                if task_id not in chains:
                    continue
                sessions, context_id, is_held = chains[task_id]
                archived_at = created_at_of({"created_at": created_at})
                at = archived_at if back_at is None or archived_at is None else max(archived_at, back_at)
                vetoes = (ON_HOLD,) if is_held or id in held.items else ()
                yield Resource(id, at, _SOURCE_TYPES.get(kind, ACTION), sessions, context_id, vetoes)

    @staticmethod
    def _rows(db: Connection, ids: Sequence[str] | None) -> Iterator[tuple[Any, ...]]:
        if ids is None:
            yield from db.execute(_RECORDS)
            return
        for some in _batches(dict.fromkeys(ids)):
            yield from db.execute(f"{_RECORDS} AND r.id IN ({', '.join('?' * len(some))})", some)

    def matching_ids(self, word: str, project: str | None = None) -> list[str]:
        with self._using() as db:
            if db is None:
                return []
            handles = archive.handles_of(db, word, _MOST_MATCHES if project is None else -1)
            return [id for id in handles if project is None or self._project_of(db, archive.record(db, id)) == project][:_MOST_MATCHES]

    def describe(self, ids: Sequence[str]) -> dict[str, Description]:
        descriptions: dict[str, Description] = {}
        with self._using() as db:
            for id in ids:
                record = archive.record(db, id) if db else None
                context = archive.chain(db, record.task_id) if db and record else None
                if record and context:
                    stage = f"Archived on {record.created_at[:10]}, {_KEPT.get(record.zone, 'damaged')}"
                    label, key = mask(record.label), self._key(context.project)
                    descriptions[id] = Description(id, label, key, context.session_id, record.size, stage)
        return descriptions

    def placeholders(self, ids: Sequence[str]) -> dict[str, list[str]]:
        paths: dict[str, list[str]] = {}
        wanted = set(ids)
        with self._using() as db:
            for path, handles in placements.placed_handles(db, self._environ) if db and wanted else ():
                for handle in wanted.intersection(handles):
                    paths.setdefault(handle, []).append(path)
        return paths

    def holds(self) -> list[Hold]:
        with self._using() as db:
            return holds.all_holds(db) if db else []

    def add_hold(self, hold: Hold) -> None:
        with self._using(create=True) as db:
            if db:
                holds.add_hold(db, hold)
                self._held(db, self._now())

    def release_hold(self, id: str, at: float) -> bool:
        with self._using() as db:
            return holds.release_hold(db, id, at) if db else False

    def marked(self) -> dict[str, Mark]:
        with self._using() as db:
            return marks.marked(db) if db else {}

    def mark(self, ids: Sequence[str], at: float, by: str) -> list[str]:
        with self._using() as db:
            if db is None:
                return []
            self._held(db, at)
            return marks.mark(db, ids, at, by, self._now())

    def unmark(self, ids: Sequence[str]) -> list[str]:
        with self._using() as db:
            return marks.unmark(db, ids) if db else []

    def delete(self, ids: Sequence[str], now: float) -> list[str]:
        with self._using() as db:
            if db is None:
                return []
            self._held(db, now)
            return deletion.delete_records(db, ids, now, only_marked=True)

    def _held(self, db: Connection, now: float) -> HeldRecords:
        """Return the holds, after finding the project of every folder that a hold of a project could be about."""
        holds.place_folders(db, self._key)
        return holds.held(db, now)

    def contents(self, ids: Sequence[str]) -> Iterator[Content]:
        with self._using() as db:
            for id in ids:
                if db is None:
                    return
                record, text = archive.record(db, id), _text_of(db, id)
                context = archive.chain(db, record.task_id) if record else None
                if record and context and text is not None:
                    yield Content(id, to_bytes(text), _about(record, context))

    def put_back(self, contents: Iterable[Content], now: float) -> list[str]:
        with self._using(create=True) as db:
            return returning.bring_back(db, map(_returning, contents), now) if db else []

    def index(self, progress: Callable[[int, int], object] = lambda done, total: None, for_s: float = float("inf")) -> int:
        """Index records that were only queued for search, for at most this many seconds; return how many are still queued."""
        with self._using() as db:
            return index.index_queued(db, progress, for_s) if db else 0

    def compact(self) -> bool:
        with self._using() as db:
            return db is None or deletion.compact(db)

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    @contextmanager
    def _using(self, create: bool = False) -> Iterator[Connection | None]:
        """Open the archive, None where there is none; DomainUnavailable where it cannot be used."""
        path = home.archive_path(home.popkit_home(self._environ))
        try:
            with suppress(FileNotFoundError):
                self._db = self._db or archive.open_archive(path, create)
            yield self._db
        except (OSError, sqlite3.Error, archive.ArchiveError, archive.RetentionIntegrityError) as error:
            raise DomainUnavailable(f"the archive cannot be used: {archive_views.unusable(path, error)}") from None

    def _key(self, folder: str) -> str:
        """Return the key of the project that a folder belongs to; none for a context whose folder is unknown."""
        key = self._keys.get(folder) if folder else ""
        if key is None:
            key = self._keys[folder] = repository.of(folder).key
        return key

    def _project_of(self, db: Connection, record: Record | None) -> str | None:
        context = archive.chain(db, record.task_id) if record else None
        return self._key(context.project) if context else None


def _batches(ids: Iterable[str]) -> Iterator[list[str]]:
    rest = iter([id for id in ids if id.isprintable()])  # handles are always printable
    while some := list(islice(rest, _AT_ONCE)):
        yield some


def _text_of(db: Connection, id: str) -> str | None:
    """Return the content of a record; None where it has none, or a damaged one, which `popkit restore verify` reports."""
    try:
        stored = archive.retrieve_record(db, id) if id else None
    except archive.RetentionIntegrityError:
        return None
    return stored["content"] if stored and stored["content_available"] else None


def _about(record: Record, context: archive.Chain) -> dict[str, object]:
    return {
        "task_id": context.task_id, "session_id": context.session_id, "agent_id": context.agent_id, "project": context.project,
        "transcript": context.transcript, "tool_use_id": record.tool_use_id, "type": record.type, "label": record.label,
        "subjects": record.subjects, "tokens": record.tokens, "timestamp": record.timestamp, "content_hash": record.content_hash,
    }  # fmt: skip


def _returning(content: Content) -> returning.ReturningContent:
    about: Mapping[str, Any] = content.about
    try:
        chain = archive.Chain(*(about[name] for name in ("task_id", "session_id", "agent_id", "project", "transcript")))
        named = [about[name] for name in ("tool_use_id", "type", "label", "timestamp")]
        subjects, tokens = list(map(_text, about["subjects"])), int(about["tokens"])
        id, kind, label, timestamp = map(_text, named)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DomainUnavailable(f"{content.id}: its archived details do not say where it belongs, so it cannot be restored") from None
    return returning.ReturningContent(
        content.id, chain, archive.NewRecord(id, kind, label, to_text(content.data), timestamp, subjects, tokens)
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is not a text")
    return value
