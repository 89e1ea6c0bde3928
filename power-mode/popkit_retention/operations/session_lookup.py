"""Find the transcript or recording that a person names, by its session, its project or its folder. NoSession says what to do where there
is none. Reads only."""

from __future__ import annotations

import os
from itertools import islice

from popkit_retention.core import hosts, units
from popkit_retention.core.errors import PopkitError
from popkit_retention.core.hosts import recorded_sessions, recordings
from popkit_retention.core.hosts.recordings import session_id_of
from popkit_retention.core.hosts.transcripts import entries, projects
from popkit_retention.core.io.codec import loads, text_in_field
from popkit_retention.core.text import clean

from ..parallel.sources import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


# The hosts' names in `--host` -> in words.
CLAUDE_CODE = "claude-code"
HOSTS = {CLAUDE_CODE: hosts.CLAUDE_CODE, **recorded_sessions.NAMES}
_ID_SHOWN = 5
_INSTEAD = "`popkit context` without --session takes the newest of this project"
# How many files `newest_with_results` looks into before it gives up.
_LOOKED_INTO = 50


class NoSession(PopkitError):
    """A session does not exist, a file is not one, or the words contradict each other; the message says which, and what to do."""


def newest_of_project(environ: Mapping[str, str], folder: str, named: str = "") -> str:
    """Return the newest transcript of the project that a folder belongs to; NoSession where there is none. `named`: what names a session
    instead."""
    path = projects.newest_of_project(environ, folder)
    if path is None:
        raise NoSession(
            f"no Claude Code session of {clean(folder)} under {clean(projects.folder_of(environ))}. Run this in the folder of a project,"
            f" or name a session: {named}. `popkit try` shows the newest of any project"
        )
    return path


def current(environ: Mapping[str, str], folder: str, named: str = "") -> str:
    """Return the transcript of the session that runs us, else the newest of the project that a folder belongs to; see
    `newest_of_project`."""
    ours = environ.get("CLAUDE_CODE_SESSION_ID")
    try:
        return by_id(environ, ours) if ours else newest_of_project(environ, folder, named)
    except NoSession:
        return newest_of_project(environ, folder, named)


def by_id(environ: Mapping[str, str], wanted: str, instead: str = _INSTEAD, of_any_host: bool = False) -> str:
    """Return the transcript of a session, by its id or the beginning of one; `of_any_host`: or another host's recording of it. `instead`:
    what to do where there is none."""
    paths = projects.of_session(environ, wanted)
    if not paths and of_any_host:
        paths = _recorded(environ, wanted)
    if len(paths) == 1:
        return paths[0]
    if not paths:
        *hosts, last = HOSTS.values()
        where = f"in {', '.join(hosts)} or {last}" if of_any_host else f"under {clean(projects.folder_of(environ))}"
        raise NoSession(f"no session {clean(wanted)} {where}. {instead}")
    ids = ", ".join(clean(session_id_of(path)) for path in paths[:_ID_SHOWN])
    raise NoSession(f"{len(paths)} sessions begin with {clean(wanted)}: {ids}. Give more of the id")


def _recorded(environ: Mapping[str, str], wanted: str) -> list[str]:
    """Return the recordings by other hosts of the session with this id; without such a session, of those whose ids begin with it."""
    known = [session for host in recorded_sessions.LISTS for session in of_host(environ, host)]
    exactly = [session.path for session in known if session.id == wanted]
    return exactly or [session.path for session in known if wanted and session.id.startswith(wanted)]


def of_host(environ: Mapping[str, str], host: str) -> list[recorded_sessions.RecordedSession]:
    """Return the sessions that another host has recorded, the most recently changed first. The host is named as in `--host`; NoSession
    where they cannot be read."""
    try:
        return recorded_sessions.LISTS[host](environ)
    except OSError as error:
        raise NoSession(f"{clean(error.filename or HOSTS[host])}: {clean(error.strerror or str(error))}") from None


def all_of_host(environ: Mapping[str, str], host: str) -> list[str]:
    """Return the transcripts or recordings of all sessions of a host, as `--host` names it; NoSession where they cannot be read."""
    return projects.every(environ) if host == CLAUDE_CODE else [session.path for session in of_host(environ, host)]


def named(environ: Mapping[str, str], word: str) -> str:
    """Return the transcript or recording that a word names: a file, an address in a host's storage, a session's id or how it begins, or a
    folder or a database of sessions, whose newest counts."""
    if recordings.is_address(word) or (os.path.exists(word) and not _holds_many(word)):
        return word
    if os.path.exists(word):
        return _newest_in(word)
    if "/" in word or word.endswith(projects.SUFFIX):
        return word  # reading it raises the error
    return by_id(environ, word, "Name a file or a folder of sessions, or the id of a session", of_any_host=True)


def _holds_many(path: str) -> bool:
    return os.path.isdir(path) or recordings.is_named_as_database(path)


def _newest_in(place: str) -> str:
    """Return the newest session with a tool call in a folder or a database; NoSession where there is none."""
    reasons: list[str] = []
    newest = sorted(find([place], lambda _, reason: reasons.append(reason)), key=lambda source: -recordings.changed(source.address))
    address = _first_with_results(source.address for source in newest)
    if address is None:
        why = f" ({reasons[0]})" if reasons and not newest else ""
        raise NoSession(f"{clean(place)}: there is no session with a tool call in it{clean(why)}. Name a file instead")
    return address


def newest_with_results(environ: Mapping[str, str], host: str = CLAUDE_CODE, folder: str = "") -> str | None:
    """Return the newest transcript of any project in which a tool was called; None where there is none. Of another host, sessions that
    began in `folder` or above it come first, where the host's own list says so; NoSession where there is none."""
    if host == CLAUDE_CODE:
        return _first_with_results(projects.newest_first(environ))
    known = of_host(environ, host)
    here = [session for session in known if session.project and _is_within(folder, session.project)]
    path = _first_with_results(session.path for session in (*here, *known))
    if path is None:
        where = ", ".join(map(clean, _places(environ, host)))
        raise NoSession(f"there are no sessions of {HOSTS[host]} with a tool call in {where}. Name a file instead")
    return path


def _is_within(folder: str, project: str) -> bool:
    return folder == project or folder.startswith(project.rstrip("/") + "/")


def places_of_host(environ: Mapping[str, str], host: str) -> list[str]:
    """Return the folders and databases in which a host keeps its sessions, as `--host` names it; NoSession where there is none."""
    places = [place for place in _places(environ, host) if os.path.exists(place)]
    if not places:
        where = clean(_places(environ, host)[0])
        raise NoSession(f"there are no sessions of {HOSTS[host]}: {where} does not exist. Name a folder or a file")
    return places


def _places(environ: Mapping[str, str], host: str) -> list[str]:
    return [projects.folder_of(environ)] if host == CLAUDE_CODE else recorded_sessions.STORES[host](environ)


def _first_with_results(paths: Iterable[str]) -> str | None:
    """Return the first of these transcripts in which a tool was called. Only the first `_LOOKED_INTO` are read."""
    return next((path for path in islice(dict.fromkeys(paths), _LOOKED_INTO) if _has_results(path)), None)


def _has_results(path: str) -> bool:
    try:
        return any(b'"tool_result"' in line for _, line in entries.lines(path))
    except OSError:
        return False


def is_recorded(path: str) -> bool:
    """Return whether another host than Claude Code has recorded a transcript."""
    return recordings.host_of(path) != hosts.CLAUDE_CODE


def check(path: str) -> str:
    """Return the folder in which the session of a transcript began ("" when it does not say); NoSession for any other file."""
    lines = 0
    try:
        for _, line in entries.lines(path):
            lines += bool(line.strip())
            entry = _conversation_entry(line)
            if entry is not None:
                return text_in_field(entry, "cwd")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise NoSession(f"{clean(path)}: cannot be read: {clean(why)}") from None
    host = recordings.host_of(path)
    if host != hosts.CLAUDE_CODE:
        raise NoSession(f"{clean(path)}: is a recording of {host} that holds no conversation")
    if not lines:
        raise NoSession(f"{clean(path)}: is empty")
    unread = recordings.unread_host_of(path)
    if unread:
        known = ", ".join(HOSTS.values())
        raise NoSession(f"{clean(path)}: is a recording of {unread}, which PopKit does not read. It reads those of {known}")
    raise NoSession(
        f"{clean(path)}: is not a Claude Code transcript or a recording of {', '.join(recorded_sessions.NAMES.values())}: none of its"
        f" {units.counted(lines, 'line')} belongs to a conversation"
    )


def _conversation_entry(line: bytes) -> dict | None:
    if b'"uuid"' not in line:
        return None
    try:
        entry = loads(line.decode("utf-8", "replace"))
    except ValueError:
        return None
    if not isinstance(entry, dict) or not isinstance(entry.get("uuid"), str):
        return None
    return entry if entry.get("type") in ("user", "assistant", "system", "attachment") else None
