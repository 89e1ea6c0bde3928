"""Find the transcripts and recordings that a person names: one by its session, its project or its folder, or many by paths, addresses and
lists, with what was left out of them. NoSession says what to do where there is none. Reads only."""

from __future__ import annotations

import os
from itertools import islice

from hooks.utils import hosts, text
from hooks.utils.hosts import codex, recordings
from hooks.utils.hosts.claude_code import entries, projects
from hooks.utils.hosts.opencode import stored_sessions
from hooks.utils.hosts.recordings import session_id_of
from hooks.utils.io.codec import loads
from hooks.utils.text import clean

from ..parallel.results import Where
from ..parallel.sources import Unavailable, find, is_remote, read_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from ..parallel.sources import Source

# Hosts as `--host` names them -> as people call them.
CLAUDE_CODE = "claude-code"
HOSTS = {CLAUDE_CODE: hosts.CLAUDE_CODE, "codex": recordings.codex.NAME, "opencode": recordings.opencode.NAME}
_ID_SHOWN = 5
_INSTEAD = "`popkit context` without --session takes the newest of this project"
# `newest_with_results` looks into so many files before it gives up.
_LOOKED_INTO = 50


class NoSession(Exception):
    """A session does not exist, a file is not one, or the words contradict each other; the message says which, and what to do."""


def newest_of_project(environ: Mapping[str, str], folder: str) -> str:
    """Return the newest transcript of the project that a folder belongs to; NoSession for none."""
    path = projects.newest_of_project(environ, folder)
    if path is None:
        raise NoSession(
            f"no Claude Code session of {clean(folder)} under {clean(projects.folder_of(environ))}. Run `popkit try` for the newest of any"
            " project, or name one with --session ID or --transcript FILE"
        )
    return path


def current(environ: Mapping[str, str], folder: str) -> str:
    """Return the transcript of the session that runs us, else the newest of the project that a folder belongs to; NoSession for none."""
    ours = environ.get("CLAUDE_CODE_SESSION_ID")
    try:
        return by_id(environ, ours) if ours else newest_of_project(environ, folder)
    except NoSession:
        return newest_of_project(environ, folder)


def by_id(environ: Mapping[str, str], wanted: str, instead: str = _INSTEAD, of_any_host: bool = False) -> str:
    """Return the transcript of a session, by its id or the beginning of one; `of_any_host`: or what another host has recorded of it.
    `instead`: what to do where there is none."""
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
    """Return what other hosts have recorded of the session with this id; where there is none, of those whose ids begin so."""
    known = [each for host in recordings.LISTS for each in of_host(environ, host)]
    exactly = [each.path for each in known if each.id == wanted]
    return exactly or [each.path for each in known if wanted and each.id.startswith(wanted)]


def of_host(environ: Mapping[str, str], host: str) -> list[recordings.Recorded]:
    """Return the sessions that another host has recorded, as `--host` names it, the one that changed last first; NoSession where they
    cannot be read."""
    try:
        return recordings.LISTS[host](environ)
    except OSError as error:
        raise NoSession(f"{clean(error.filename or HOSTS[host])}: {clean(error.strerror or str(error))}") from None


def all_of_host(environ: Mapping[str, str], host: str) -> list[str]:
    """Return the transcripts or recordings of all sessions of a host, as `--host` names it; NoSession where they cannot be read."""
    return projects.every(environ) if host == CLAUDE_CODE else [each.path for each in of_host(environ, host)]


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
    return os.path.isdir(path) or path.endswith(stored_sessions.DATABASE)


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
    """Return the newest transcript of any project in which a tool was called, None for none. Of another host, sessions that began in
    `folder` or above it come first, where the host's own list says so; NoSession where there is none."""
    if host == CLAUDE_CODE:
        return _first_with_results(projects.newest_first(environ))
    known = of_host(environ, host)
    here = [each for each in known if each.project and _is_within(folder, each.project)]
    path = _first_with_results(each.path for each in (*here, *known))
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
    if host == "opencode":
        return stored_sessions.places(environ) or [stored_sessions.folder_of(environ)]
    return [projects.folder_of(environ) if host == CLAUDE_CODE else codex.folder_of(environ)]


def _first_with_results(paths: Iterable[str]) -> str | None:
    """Return the first of these in which a tool was called; only the first `_LOOKED_INTO` are read."""
    return next((path for path in islice(dict.fromkeys(paths), _LOOKED_INTO) if _has_results(path)), None)


def _has_results(path: str) -> bool:
    try:
        return any(b'"tool_result"' in line for _, line in entries.lines(path))
    except OSError:
        return False


def check(path: str) -> str:
    """Return the folder in which the session of a transcript began ("" when it does not say); NoSession for any other file."""
    lines = 0
    try:
        for _, line in entries.lines(path):
            lines += bool(line.strip())
            entry = _conversation_entry(line)
            if entry is not None:
                cwd = entry.get("cwd")
                return cwd if isinstance(cwd, str) else ""
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise NoSession(f"{clean(path)}: cannot be read: {clean(why)}") from None
    host = recordings.host_of(path)
    if host != hosts.CLAUDE_CODE:
        raise NoSession(f"{clean(path)}: is a recording of {host} that holds no conversation")
    if not lines:
        raise NoSession(f"{clean(path)}: is empty")
    raise NoSession(
        f"{clean(path)}: is not a Claude Code transcript or a Codex rollout: none of its {lines:,} lines belongs to a conversation"
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


# --- many sessions ---


EXTRA = "cluster"
_NAMED = 3  # sessions of one reason, on a screen


def paths_of(arguments: Sequence[str], flags: Mapping[str, Any]) -> list[str]:
    """Return the paths and addresses that the user named, and those in the list; NoSession where the list cannot be read."""
    if "list" not in flags:
        return list(arguments)
    try:
        more = read_list(flags["list"])
    except OSError as error:
        raise NoSession(f"{text.clean(flags['list'])}: {error.strerror or error}") from None
    if not more and not arguments:
        raise NoSession(f"{text.clean(flags['list'])} names no sessions. It takes one path or address on each line")
    return [*arguments, *more]


def where_of(flags: Mapping[str, Any]) -> Where:
    """Return where the user wants the work done."""
    if "jobs" in flags and "scheduler" in flags:
        raise NoSession("--jobs is for this machine, --scheduler for a cluster. Give one of them")
    return Where(flags.get("jobs"), flags.get("scheduler", ""))


def need_packages(paths: Sequence[str], flags: Mapping[str, Any], environ: Mapping[str, str]) -> None:
    """Make packages beyond Python importable where these words need them, by starting this command again in the interpreter that has them,
    if need be. Unavailable where none has."""
    from .. import extras

    needed = [name for name in ("scheduler", "parquet") if name in flags]
    remote = next((path for path in paths if is_remote(path)), "")
    if (needed or remote) and not extras.enter(EXTRA, environ):
        what = f"--{needed[0]}" if needed else text.cut(text.clean(remote), 60)
        raise Unavailable(f"{what} needs packages beyond Python. Install them with: popkit setup {EXTRA}")


class LeftOut:
    """The sessions that were left out, and why."""

    def __init__(self) -> None:
        self.files: list[tuple[str, str]] = []

    def add(self, path: str, reason: str) -> None:
        """Add one."""
        self.files.append((path, reason))

    def lines(self) -> list[text.Line]:
        """Return it as a part of an answer, empty where nothing was left out."""
        reasons: dict[str, int] = {}
        for _, reason in self.files:
            reasons[reason] = reasons.get(reason, 0) + 1
        return left_out_lines(reasons, self.files)

    def to_json(self) -> list[list[str]]:
        """Return [path, reason] of each."""
        return [list(one) for one in sorted(self.files)]


def left_out_lines(reasons: Mapping[str, int], files: Sequence[Sequence[str]]) -> list[text.Line]:
    """Return how many sessions were left out for which reasons, and some of them by name. `files`: (path, reason)."""
    lines: list[text.Line] = ["", "Left out:"] if reasons else []
    for reason, count in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0])):
        lines += text.wrap(f"  {count:>6,}  {text.clean(reason)}", indent=" " * 10)
        if reason not in _NO_FAULT:
            names = sorted(path for path, why in files if why == reason)[:_NAMED]
            lines += [line for name in names for line in text.wrap(" " * 10 + text.clean(name), indent=" " * 12)]
            lines += [" " * 10 + "…"] if count > len(names) else []
    return lines


# Such files are in every folder of sessions, so they are not named.
_NO_FAULT = frozenset(("empty", "no conversation", "not a regular file", "under 5 requests"))


def sources_of(paths: Sequence[str], left_out: LeftOut) -> list[Source]:
    """Return the transcripts in these files, folders and at these addresses; NoSession where a path that the user named is not a
    session."""

    def skip(path: str, reason: str) -> None:
        if path in wanted:
            raise NoSession(f"{text.clean(path)}: {reason}")
        left_out.add(path, reason)

    wanted = frozenset(paths)
    return find(paths, skip)
