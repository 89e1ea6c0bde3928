"""Brings the books in our folder up to date: whoever asks for usage calls this first.

Of every session that our folder knows, what is new in its transcript, in those of its subagents and in its journal is booked. Where nothing
has changed that is a look at files' stats. What is read twice, by two processes at once too, is booked once. Where a PostgreSQL is
configured, it is told of what was booked here.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from hooks.utils.config import remembered
from hooks.utils.edges import home
from hooks.utils.edges.codec import loads
from hooks.utils.edges.system import now as time_of_day
from hooks.utils.hosts.claude_code import projects
from hooks.utils.policy.bookings import Warmed
from hooks.utils.policy.models import models_of
from hooks.utils.state import journal, peek, session
from hooks.utils.state.store import ContextFiles

from . import sharing
from .opening import open_local, server_in, user_in
from .reading import Mark, mark_of, read_on
from .records import DAY_S, KEPT_DAYS, MOD, Tokens, Used, warmed_id
from .sqlite import FILE
from .store import LATEST
from .transcripts import used_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .sqlite import SqliteStore

    Progress = Callable[[int, int], object]

_ROWS, _FILES = 2_000, 200  # of requests, and of files, that one transaction books at most
_MARKS = "SELECT path, size, changed_ns, read, seal FROM files"
_MARK = (
    "INSERT INTO files (path, size, changed_ns, read, seal) VALUES",
    "(:path, :size, :changed_ns, :read, :seal)",
    "ON CONFLICT (path) DO UPDATE SET size = excluded.size, changed_ns = excluded.changed_ns, read = excluded.read, seal = excluded.seal",
)


def catch_up(environ: Mapping[str, str], progress: Progress | None = None) -> int:
    """Book what is new, tell the configured PostgreSQL, and remove what is old; return how many requests were read. `progress`: called with
    the bytes that are done, and all. DatabaseUnavailable, also where the server alone cannot be told: what it has yet to be told waits.
    NoHome."""
    ours = home.popkit_home(environ)
    names = peek.sessions(ours)
    if not names and not os.path.lexists(os.path.join(ours, FILE)):
        return 0
    sources, now = list(_sources(environ, ours, names)), time_of_day(environ)
    with open_local(environ) as store:
        share = sharing.Share(store, server_in(environ), now)
        found = _Round(store, share, now - KEPT_DAYS * DAY_S).read(sources, progress or (lambda done, whole: None))
        days = remembered.effective(home.plugin_root(), ours, "")["context"]["snapshot_days"]
        if found:
            store.sweep(now, days)
        share.send(days)
    return found


class _Source(NamedTuple):
    """A file that tells of requests. `mark`: its size and when it was changed; `used`: what a line of it tells of."""

    path: str
    mark: tuple[int, int]
    used: Callable[[bytes], Used | None]

    @property
    def key(self) -> str:
        """What it is remembered by."""
        return self.path.encode("utf-8", "backslashreplace").decode()


def _sources(environ: Mapping[str, str], ours: str, names: list[str]) -> Iterator[_Source]:
    """Yield the files of these sessions of our folder."""
    models = models_of(remembered.effective(home.plugin_root(), ours, ""))
    user, others = user_in(environ), _Others(environ)
    for name in names:
        if home.safe_name(name) != name:
            continue  # none of ours
        facts = session.read(ours, name)
        transcript = facts.get("transcript") or others.transcript(name)
        id = _id_of(name, transcript)
        project = facts.get("project", "")
        told = partial(used_of, session_id=id, user=user, project=project, models=models)
        if transcript and mark_of(transcript) is not None:
            yield from _marked([transcript, *projects.transcripts_of_agents(transcript)], told)
        warmed = partial(_warmed, session_id=id, user=user, model=facts.get("model", ""), project=project)
        yield from _marked([ContextFiles(ours, name).journal], warmed)


def _marked(paths: list[str], used: Callable[[bytes], Used | None]) -> Iterator[_Source]:
    """Yield those of the files that are there."""
    for path in paths:
        mark = mark_of(path)
        if mark is not None:
            yield _Source(path, mark, used)


def _id_of(name: str, transcript: str) -> str:
    """Return the id of a session, by the name of its folder: the host names a transcript after it."""
    stem = projects.session_id_of(transcript)
    return stem if home.safe_name(stem) == name else name


class _Others:
    """Transcripts of sessions that began before PopKit was there, looked for once."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._found: dict[str, str] | None = None

    def transcript(self, name: str) -> str:
        if self._found is None:
            try:
                paths = projects.every(self._environ)
            except home.NoHome:
                paths = []
            self._found = {home.safe_name(projects.session_id_of(path)): path for path in paths}
        return self._found.get(name, "")


def _warmed(line: bytes, session_id: str, user: str, model: str, project: str) -> Used | None:
    """Return what a request used that kept the prompt cache warm, as a line of a journal tells."""
    if b'"warmed"' not in line:
        return None
    try:
        entry = loads(line.decode("utf-8", "replace"))
    except ValueError:
        return None  # a kill has cut it short
    found = journal.booking_of(entry)
    if not isinstance(entry, dict) or not isinstance(found, Warmed):
        return None
    usd = entry.get("usd")
    price = float(usd) if isinstance(usd, (int, float)) and 0 <= usd < float("inf") else None
    # For how long the cache keeps what was written is in the price alone.
    tokens = Tokens(max(0, found.tokens - found.read - found.created), found.read, found.created, 0, found.output)
    id = warmed_id(session_id, found.at)
    return Used(MOD, id, session_id, user, model, found.at, tokens, price, project)


class _Round:
    """One look at all files."""

    def __init__(self, store: SqliteStore, share: sharing.Share, oldest: float) -> None:
        self._store = store
        self._share = share
        self._oldest = oldest
        self._used: list[Used] = []
        self._marks: dict[str, Mark] = {}

    def read(self, sources: list[_Source], progress: Progress) -> int:
        """Read what has changed; return how many requests were told of."""
        with self._store.reading() as db:
            known = {path: Mark(*rest) for path, *rest in db.ask(_MARKS)}
        changed = [(source, known.get(source.key)) for source in sources if known.get(source.key, ())[:2] != source.mark]
        whole = sum(_rest(source, mark) for source, mark in changed)
        done = found = 0
        for source, mark in changed:
            progress(done, whole)
            done += _rest(source, mark)
            self._read_one(source, mark)
            if len(self._used) >= _ROWS or len(self._marks) >= _FILES:
                found += self._write()
        gone = known.keys() - {source.key for source in sources}
        if gone:
            with self._store.writing() as db:
                for path in gone:
                    db.change("DELETE FROM files WHERE path = :path", path=path)
        return found + self._write()

    def _read_one(self, source: _Source, mark: Mark | None) -> None:
        used: list[Used] = []

        def take(line: bytes) -> None:
            found = source.used(line)
            if found is not None and self._oldest <= found.at < LATEST:
                used.append(found)

        try:
            self._marks[source.key] = read_on(source.path, mark, take)
        except (OSError, ValueError):
            return  # it has gone meanwhile, or nobody lets us read it
        self._used += used

    def _write(self) -> int:
        """Book what was read, and how far, in one transaction."""
        used, marks = self._used, self._marks
        self._used, self._marks = [], {}
        if marks:
            with self._store.writing() as db:
                self._store.book(db, used)
                self._share.note(db, used)
                db.insert(*_MARK, [{"path": path, **mark._asdict()} for path, mark in marks.items()])
        return len({(each.source, each.request_id) for each in used})


def _rest(source: _Source, mark: Mark | None) -> int:
    """Return how many bytes of a file are to be read, about."""
    read = mark.read if mark is not None else 0
    return source.mark[0] - read if source.mark[0] >= read else source.mark[0]
