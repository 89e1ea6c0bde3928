"""Ingest usage into the store in our folder before any question about usage is answered.

For every session that our folder knows, the new lines of its transcript and of those of its subagents are read and recorded. Unchanged
files cost one stat each. Lines that are read twice, even by two processes at once, are recorded once. Where a PostgreSQL is configured,
the new records are sent to it.
"""

from __future__ import annotations

import os
from functools import partial
from typing import NamedTuple

from popkit_retention.core.config.cached import effective
from popkit_retention.core.hosts.transcripts import projects
from popkit_retention.core.io import home
from popkit_retention.core.io.system import now as time_of_day
from popkit_retention.core.policy.models import models_of
from popkit_retention.core.state import session, stored_contexts

from .configured_database import open_local, server_in, user_in
from .incremental_reading import Mark, mark_of, read_on
from .records import DAY_S, KEPT_DAYS, RequestUsage
from .replication import Replication
from .sqlite import FILE
from .transcript_usage import used_of
from .usage_store import LATEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .sqlite import SqliteStore

    Progress = Callable[[int, int], object]

_ROWS, _FILES = 2_000, 200  # requests and files of one transaction at most
_MARKS = "SELECT path, size, changed_ns, read, seal FROM files"
_MARK = (
    "INSERT INTO files (path, size, changed_ns, read, seal) VALUES",
    "(:path, :size, :changed_ns, :read, :seal)",
    "ON CONFLICT (path) DO UPDATE SET size = excluded.size, changed_ns = excluded.changed_ns, read = excluded.read, seal = excluded.seal",
)


def catch_up(environ: Mapping[str, str], progress: Progress | None = None) -> int:
    """Record new requests, send them to the configured PostgreSQL, and remove old ones; return how many requests were read. `progress`:
    called with the bytes done and the total. DatabaseUnavailable, also where only the server fails: its records stay queued. NoHome."""
    ours = home.popkit_home(environ)
    names = stored_contexts.folders(ours)
    if not names and not os.path.lexists(os.path.join(ours, FILE)):
        return 0
    sources, now = list(_sources(environ, ours, names)), time_of_day(environ)
    with open_local(environ) as store:
        shared = Replication(store, server_in(environ), now)
        count = _Run(store, shared, now - KEPT_DAYS * DAY_S).read(sources, progress or (lambda done, whole: None))
        days = effective(home.plugin_root(), ours, "")["context"]["snapshot_days"]
        if count:
            store.sweep(now, days)
        shared.send(days)
    return count


class _Source(NamedTuple):
    """A file of requests. `mark`: its size and modification time; `used`: parses a line of it."""

    path: str
    mark: tuple[int, int]
    used: Callable[[bytes], RequestUsage | None]

    @property
    def key(self) -> str:
        """Return its key in the table of files."""
        return self.path.encode("utf-8", "backslashreplace").decode()


def _sources(environ: Mapping[str, str], ours: str, names: list[str]) -> Iterator[_Source]:
    """Yield the files of these sessions."""
    models = models_of(effective(home.plugin_root(), ours, ""))
    user, older = user_in(environ), _OlderTranscripts(environ)
    for name in names:
        if home.safe_name(name) != name:
            continue  # none of ours
        facts = session.read(ours, name)
        transcript = facts.transcript or older.transcript(name)
        id = _id_of(name, transcript)
        project = facts.project or ""
        parse_answer = partial(used_of, session_id=id, user=user, project=project, models=models)
        if transcript and mark_of(transcript) is not None:
            yield from _existing([transcript, *projects.transcripts_of_agents(transcript)], parse_answer)


def _existing(paths: list[str], used: Callable[[bytes], RequestUsage | None]) -> Iterator[_Source]:
    """Yield those of the files that exist."""
    for path in paths:
        mark = mark_of(path)
        if mark is not None:
            yield _Source(path, mark, used)


def _id_of(name: str, transcript: str) -> str:
    """Return the id of a session, from the name of its folder: the host names a transcript after it."""
    stem = projects.session_id_of(transcript)
    return stem if home.safe_name(stem) == name else name


class _OlderTranscripts:
    """Transcripts of sessions that began before PopKit was installed, listed once."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._paths: dict[str, str] | None = None

    def transcript(self, name: str) -> str:
        if self._paths is None:
            try:
                paths = projects.every(self._environ)
            except home.NoHome:
                paths = []
            self._paths = {home.safe_name(projects.session_id_of(path)): path for path in paths}
        return self._paths.get(name, "")


class _Run:
    """A pass over all files."""

    def __init__(self, store: SqliteStore, replicated: Replication, oldest: float) -> None:
        self._store = store
        self._replication = replicated
        self._oldest = oldest
        self._used: list[RequestUsage] = []
        self._marks: dict[str, Mark] = {}

    def read(self, sources: list[_Source], progress: Progress) -> int:
        """Read the changed files; return how many requests they report."""
        with self._store.reading() as db:
            known = {path: Mark(*rest) for path, *rest in db.ask(_MARKS)}
        changed = [(source, known.get(source.key)) for source in sources if known.get(source.key, ())[:2] != source.mark]
        whole = sum(_rest(source, mark) for source, mark in changed)
        done = count = 0
        for source, mark in changed:
            progress(done, whole)
            done += _rest(source, mark)
            self._read_one(source, mark)
            if len(self._used) >= _ROWS or len(self._marks) >= _FILES:
                count += self._write()
        deleted = known.keys() - {source.key for source in sources}
        if deleted:
            with self._store.writing() as db:
                for path in deleted:
                    db.change("DELETE FROM files WHERE path = :path", path=path)
        return count + self._write()

    def _read_one(self, source: _Source, mark: Mark | None) -> None:
        used: list[RequestUsage] = []

        def take(line: bytes) -> None:
            request = source.used(line)
            if request is not None and self._oldest <= request.at < LATEST:
                used.append(request)

        try:
            self._marks[source.key] = read_on(source.path, mark, take)
        except (OSError, ValueError):
            return  # it was deleted meanwhile, or may not be read
        self._used += used

    def _write(self) -> int:
        """Record the requests, and how far each file was read, in one transaction."""
        used, marks = self._used, self._marks
        self._used, self._marks = [], {}
        if marks:
            with self._store.writing() as db:
                self._store.record(db, used)
                self._replication.enqueue(db, used)
                db.insert(*_MARK, [{"path": path, **mark._asdict()} for path, mark in marks.items()])
        return len({(row.source, row.request_id) for row in used})


def _rest(source: _Source, mark: Mark | None) -> int:
    """Return about how many bytes of a file are to be read."""
    read = mark.read if mark is not None else 0
    return source.mark[0] - read if source.mark[0] >= read else source.mark[0]
