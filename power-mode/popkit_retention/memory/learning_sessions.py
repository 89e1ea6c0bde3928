"""Learn from transcripts in order of time, with progress (`popkit memory admin learn`, child processes of hooks at a session's end)."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import NamedTuple

from popkit_retention.core import text
from popkit_retention.core.hosts import recordings
from popkit_retention.core.hosts.transcripts import entries, projects
from popkit_retention.core.hosts.transcripts.stamps import seconds_of
from popkit_retention.core.io import repository
from popkit_retention.core.io.codec import loads
from popkit_retention.core.state import memory as memory_state
from popkit_retention.core.state.site import Site
from popkit_retention.core.text import quote as shown

from ..cli.answering import Refused
from ..cli.terminal import Bar
from ..operations import session_lookup
from ..parallel.attempts import SessionSkipped
from ..parallel.results import Workplace, results, results_of
from ..parallel.sources import Source
from .extraction import lesson_of, observe
from .place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .extraction.records import Observations


_STAMP = b'"timestamp"'
HERE = Workplace(1)
_ALONE_BYTES = 16 * 1024 * 1024  # one process reads fewer before others would have started
_LOOKED_INTO = 200  # lines at the head of a transcript until one has a time


@dataclass
class LearningReport:
    """The result of learning: the number of sessions, their projects (and those for which memory is `off`), how many items they added,
    `strengthened` because these were known, and `used`; {reason: how many transcripts were left out}."""

    sessions: int = 0
    projects: list[str] = field(default_factory=list)
    off: list[str] = field(default_factory=list)
    added: int = 0
    strengthened: int = 0
    used: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

    def leave_out(self, reason: str) -> None:
        """Count a transcript that nothing can be learnt from."""
        self.left_out[reason] = self.left_out.get(reason, 0) + 1

    def to_json(self) -> dict[str, object]:
        """Return the result as JSON types."""
        return asdict(self)


def transcripts(words: Sequence[str], past: bool, place: Place, host: str) -> list[str]:
    """Return the transcripts to learn from: those named, by file or by session; all past ones of the project that a host has; else its
    newest. NoSession or Refused where there is none."""
    environ = place.environ
    if words:
        return [_named(environ, word) for word in words]
    ours = environ.get("CLAUDE_CODE_SESSION_ID")  # Claude Code runs us
    if ours and not past and host == session_lookup.CLAUDE_CODE:
        return [session_lookup.by_id(environ, ours)]
    paths = _of_project(environ, place.project.repository.key, host)
    if not paths:
        places = session_lookup.places_of_host(environ, host)
        where = ", ".join(map(text.clean, places))
        raise Refused(f"there are no past sessions of {place.name} under {where}. Name transcript files instead")
    return paths if past else [max(paths, key=recordings.changed)]


def _named(environ: Mapping[str, str], word: str) -> str:
    if recordings.is_address(word):
        return word
    if os.path.isdir(word):
        raise Refused(f"{text.clean(word)} is a folder. Name the transcripts in it, such as {text.clean(os.path.join(word, '*.jsonl'))}")
    if recordings.holds_sessions(word):
        raise Refused(f"{text.clean(word)} holds many sessions. To learn from all of them, put --past before it")
    if os.path.exists(word):
        return os.path.abspath(word)
    if "/" in word or word.endswith(projects.SUFFIX):
        raise Refused(f"there is no file {shown(word)}")
    return session_lookup.by_id(environ, word, "popkit memory admin learn --past takes all sessions of this project", of_any_host=True)


def _of_project(environ: Mapping[str, str], key: str, host: str) -> list[str]:
    """Return the transcripts of all sessions of a host that began in a checkout of a repository."""
    keys: dict[str, str] = {}
    home = Site(environ, "").home
    paths = []
    for path in session_lookup.all_of_host(environ, host):
        try:
            began = session_lookup.check(path)
        except session_lookup.NoSession:
            continue
        if began not in keys:
            keys[began] = memory_state.project_of(home, began).repository.key if began else ""
        if keys[began] == key:
            paths.append(path)
    return paths


def learn(sources: Sequence[Source], environ: Mapping[str, str], into: Place | None, bar: Bar, where: Workplace = HERE) -> LearningReport:
    """Learn from transcripts, in the order in which they began: each for the project that it began in, or all for one. MEMORY.md is
    rewritten at the end. A transcript that cannot be read is left out and counted, unless it is the only one: then NoSession says why.
    Transcripts are read `where` the user wants it; the results are stored here, one after the other."""
    unique = list({os.path.realpath(each.address) if each.store is None else each.address: each for each in sources}.values())
    with ExitStack() as opened:
        opened.enter_context(bar)
        run = _Run(environ, into, opened, len(unique))
        heads: list[tuple[Head, Source]] = []
        for source, head, reason in results(head_of, unique, HERE if all(each.store is None for each in unique) else where):
            if head is None:
                run.leave_out(source, reason)
            elif source.store is None and Site(environ, projects.session_id_of(source.address), head.began).data_rules:
                run.leave_out(source, "under a data rule, so nothing is learnt from it")
            else:
                heads.append((head, source))
        heads.sort(key=lambda pair: (pair[0].at, pair[1].address))
        work = [(partial(observe, root=run.checkout(head.began).root), source) for head, source in heads]
        for done, ((head, _), (source, shown, reason)) in enumerate(zip(heads, results_of(work, where.worth(unique, _ALONE_BYTES)))):
            bar.show(done, len(heads))
            try:
                if shown is None:
                    run.leave_out(source, reason)
                else:
                    run.take_in(source.address, head.began, shown)
            except (session_lookup.NoSession, OSError) as error:
                if run.sources == 1:
                    raise
                run.learnt.leave_out(_why(error))
        run.finish()
    return run.learnt


class _Run:
    """A run over so many `sources`: the places that it has opened, by the keys of their projects, and its result."""

    def __init__(self, environ: Mapping[str, str], into: Place | None, opened: ExitStack, sources: int) -> None:
        self.environ = environ
        self.into = into
        self.opened = opened
        self.sources = sources
        self.places: dict[str, Place] = {} if into is None else {into.project.repository.key: into}
        self.learnt = LearningReport()

    def leave_out(self, source: Source, reason: str) -> None:
        """Count a transcript that nothing can be learnt from; NoSession where it is the only one."""
        if self.sources == 1:
            raise session_lookup.NoSession(f"{text.clean(source.address)}: {reason}")
        self.learnt.leave_out(reason.rpartition(": ")[2])

    def checkout(self, began: str) -> repository.Repository:
        """Return the checkout that a session worked in; where it does not say, that of the project that it is learnt for."""
        if began or self.into is None:
            return memory_state.project_of(Site(self.environ, "").home, began).repository
        return self.into.project.repository

    def take_in(self, path: str, began: str, shown: Observations) -> None:
        """Learn what a session has shown."""
        if began:
            project = memory_state.project_of(Site(self.environ, "").home, began)
            project.check_joined()  # each folder separately: other folders of the project may have joined
            project.note_checkout()
        elif self.into is None:
            raise session_lookup.NoSession(
                f"{text.clean(path)}: does not say in which folder it began. Name its project with --project FOLDER"
            )
        checkout = self.checkout(began)
        place = self.into or self.places.get(checkout.key)
        if place is None:
            place = self.places[checkout.key] = self.opened.enter_context(Place(self.environ, began))
        mine = place.project.repository
        counts = place.learn(lesson_of(shown, repository.Repository(mine.key, checkout.root, mine.name)))
        place.project.remove_note(path)
        self.learnt.sessions += 1
        self.learnt.added += counts.added
        self.learnt.strengthened += counts.strengthened
        self.learnt.used += counts.used

    def finish(self) -> None:
        """Write MEMORY.md of the projects, and name the projects."""
        for place in self.places.values():
            place.refresh()
        self.learnt.projects = sorted(place.name for place in self.places.values())
        self.learnt.off = sorted(place.name for place in self.places.values() if not place.project.is_on())


class Head(NamedTuple):
    """The folder in which a session began ("" when it does not say), and the time (seconds)."""

    began: str
    at: float


def head_of(path: str) -> Head:
    """Return how the session of a transcript began; Skipped for any other file."""
    try:
        return Head(session_lookup.check(path), _began(path))
    except session_lookup.NoSession as error:
        raise SessionSkipped(str(error).partition(f"{text.clean(path)}: ")[2] or str(error)) from None


def _why(error: Exception) -> str:
    """Return the problem of a transcript, without its path."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error).rpartition(": ")[2]


def _began(path: str) -> float:
    """Return when the session of a transcript began (seconds); when its file was written where it does not say."""
    try:
        for _, (_, line) in zip(range(_LOOKED_INTO), entries.lines(path)):
            if _STAMP in line:
                entry = loads(line.decode("utf-8", "replace"))
                at = seconds_of(entry.get("timestamp")) if isinstance(entry, dict) else 0.0
                if at:
                    return at
    except (OSError, ValueError):
        pass  # learning from it raises the error
    return recordings.changed(path)


def if_on(path: str, environ: Mapping[str, str]) -> None:
    """Learn from a session that has ended, and from those that an earlier child process did not finish, where memory is on for its project;
    then rewrite MEMORY.md and run the job when it is due. A transcript without a conversation teaches nothing, which is not a failure."""
    from .memory import JobRunning

    if not _is_session(path):
        return
    with Place(environ, session_lookup.check(path) or os.getcwd()) as place:
        if not place.project.is_on():
            return
        learn([Source(one, 0) for one in (path, *_unlearnt(place))], environ, place, Bar(environ))
        try:
            place.memory.run()
        except JobRunning:
            pass  # another child process does it
        place.refresh()


def _unlearnt(place: Place) -> list[str]:
    """Return the transcripts that are still to be learnt from; those that failed are not tried again."""
    paths_left = place.project.to_learn()
    paths = [path for path in paths_left if _is_session(path)]
    for path in paths_left:
        if path not in paths:
            place.project.remove_note(path)
    return paths


def _is_session(path: str) -> bool:
    try:
        session_lookup.check(path)
    except session_lookup.NoSession:
        return False
    return True
