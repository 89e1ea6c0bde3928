"""Ingest usage into the store in our folder, before any question about usage is answered.

For every session that our folder knows, the new lines of its transcript, of those of its subagents and of its journal are read and
recorded. Unchanged files cost one stat each. Lines that are read twice, even by two processes at once, are recorded once. Where a
PostgreSQL is configured, the new records are sent to it.
"""

from __future__ import annotations

import os
from functools import partial
from hashlib import blake2b
from typing import Any, BinaryIO, NamedTuple

from hooks.utils.config.cached import effective
from hooks.utils.hosts.transcripts import projects
from hooks.utils.hosts.transcripts.stamps import seconds_of
from hooks.utils.io import home
from hooks.utils.io.codec import loads
from hooks.utils.io.files import open_regular
from hooks.utils.io.system import now as time_of_day
from hooks.utils.policy.models import models_of
from hooks.utils.state import session, stored_contexts

from .configured_database import open_local, server_in, user_in
from .records import DAY_S, KEPT_DAYS, TRANSCRIPT, Tokens, Used, usd_of
from .replication import Replication
from .sqlite import FILE
from .usage_store import LATEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hooks.utils.policy.models import Models

    from .sqlite import SqliteStore

    Progress = Callable[[int, int], object]

_ROWS, _FILES = 2_000, 200  # requests and files of one transaction at most
_MOST_TOKENS = 10**9  # of a request
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
    used: Callable[[bytes], Used | None]

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
        transcript = facts.get("transcript") or older.transcript(name)
        id = _id_of(name, transcript)
        project = facts.get("project", "")
        parse_answer = partial(used_of, session_id=id, user=user, project=project, models=models)
        if transcript and mark_of(transcript) is not None:
            yield from _existing([transcript, *projects.transcripts_of_agents(transcript)], parse_answer)


def _existing(paths: list[str], used: Callable[[bytes], Used | None]) -> Iterator[_Source]:
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
    """One pass over all files."""

    def __init__(self, store: SqliteStore, replicated: Replication, oldest: float) -> None:
        self._store = store
        self._replication = replicated
        self._oldest = oldest
        self._used: list[Used] = []
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
        used: list[Used] = []

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
        return len({(each.source, each.request_id) for each in used})


def _rest(source: _Source, mark: Mark | None) -> int:
    """Return about how many bytes of a file are to be read."""
    read = mark.read if mark is not None else 0
    return source.mark[0] - read if source.mark[0] >= read else source.mark[0]


# --- the lines of a transcript and of a journal: pure ---
#
# The host writes an answer block by block, each with the usage so far; the last block of a message counts. The output tokens in a
# transcript may be fewer than were billed.


def used_of(line: bytes, session_id: str, user: str, project: str, models: Models) -> Used | None:
    """Return the usage of the request whose answer is in a line of a transcript; None for any other line."""
    if b'"usage"' not in line or b'"assistant"' not in line:
        return None
    try:
        answer = _answer(loads(line.decode("utf-8", "replace")))
    except ValueError:
        return None  # the host is writing it
    if answer is None:
        return None
    id, model, at, tokens = answer
    return Used(TRANSCRIPT, id, session_id, user, model, at, tokens, usd_of(models.model(model), tokens), project)


def _answer(entry: Any) -> tuple[str, str, float, Tokens] | None:
    message = entry.get("message") if isinstance(entry, dict) and entry.get("type") == "assistant" else None
    usage = message.get("usage") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(usage, dict):
        return None
    id, model, at = message.get("id"), message.get("model"), seconds_of(entry.get("timestamp"))
    if not isinstance(id, str) or not id or not isinstance(model, str) or model == "<synthetic>" or not at:
        return None
    cache_write = _count(usage, "cache_creation_input_tokens")
    created = usage.get("cache_creation")
    hour = min(cache_write, _count(created, "ephemeral_1h_input_tokens")) if isinstance(created, dict) else 0
    tokens = Tokens(
        _count(usage, "input_tokens"), _count(usage, "cache_read_input_tokens"), cache_write - hour, hour, _count(usage, "output_tokens")
    )
    return id, model, at, tokens


def _count(usage: dict[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if type(value) is int and 0 < value < _MOST_TOKENS else 0


# --- incremental reads ---


_SEALED = 1_024  # bytes at the beginning, and before where it was read to


class Mark(NamedTuple):
    """How far a file was read: its size in bytes and modification time (ns since 1970) then, the offset of the next line, and a hash of
    what precedes it."""

    size: int
    changed_ns: int
    read: int
    seal: str


def mark_of(path: str) -> tuple[int, int] | None:
    """Return a file's size and modification time, as in its Mark; None where there is no file."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return stat.st_size, stat.st_mtime_ns


def read_on(path: str, mark: Mark | None, take: Callable[[bytes], object]) -> Mark:
    """Pass the lines that a file has gained since its Mark to `take`; return the new Mark. Read a file that has shrunk or was replaced, as
    by a clear, from its beginning. A last line without a line break is passed too, and again the next time. OSError, ValueError."""
    with open_regular(path) as file:
        stat = os.fstat(file.fileno())
        end = mark.read if mark and mark.read <= stat.st_size and _seal(file, mark.read) == mark.seal else 0
        file.seek(end)
        for line in file:
            take(line)
            end += len(line) if line.endswith(b"\n") else 0
        return Mark(stat.st_size, stat.st_mtime_ns, end, _seal(file, end))


def _seal(file: BinaryIO, end: int) -> str:
    file.seek(0)
    first = file.read(min(end, _SEALED))
    file.seek(max(0, end - _SEALED))
    return blake2b(first + file.read(min(end, _SEALED)), digest_size=16).hexdigest()
