"""The sessions that other hosts have recorded here: Codex's rollouts, OpenCode's storage, the session files of pi and Copilot CLI."""

from __future__ import annotations

from typing import NamedTuple  # noqa: TID253  no hook on a tool call reads what others have recorded

from .codex import rollouts
from .codex import translation as codex
from .copilot import session_files as copilot_files
from .copilot import translation as copilot
from .opencode import stored_sessions
from .opencode import translation as opencode
from .pi import session_files
from .pi import translation as pi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..policy.usage import Usage


class RecordedSession(NamedTuple):
    """A session that another has recorded: the name of the host, the session's id, the path of its recording or its address, when that last
    changed (seconds), and the folder in which it began, "" where only the recording itself tells."""

    host: str
    id: str
    path: str
    changed_at: float
    project: str


def of_codex(environ: Mapping[str, str]) -> list[RecordedSession]:
    """Return the sessions of Codex, the one that changed last first."""
    return [RecordedSession(codex.NAME, rollouts.session_id_of(path), path, at, "") for at, path in rollouts.newest_first(environ)]


def of_opencode(environ: Mapping[str, str]) -> list[RecordedSession]:
    """Return the sessions of OpenCode, the one that changed last first, without those of subagents. OSError where its database cannot be
    read."""
    return [
        RecordedSession(opencode.NAME, stored.id, stored.address, stored.changed_at, stored.project)
        for stored in map(stored_sessions.described, stored_sessions.every(environ))
        if not stored.parent
    ]


def of_pi(environ: Mapping[str, str]) -> list[RecordedSession]:
    """Return the sessions of pi, the one that changed last first."""
    return [RecordedSession(pi.NAME, session_files.session_id_of(path), path, at, "") for at, path in session_files.newest_first(environ)]


def of_copilot(environ: Mapping[str, str]) -> list[RecordedSession]:
    """Return the sessions of Copilot CLI, the one that changed last first."""
    return [
        RecordedSession(copilot.NAME, copilot_files.session_id_of(path), path, at, "") for at, path in copilot_files.newest_first(environ)
    ]


def newest_usage(path: str) -> Usage | None:
    """Return the usage of the newest request of a recording, where its end tells without all of it being read; None where not."""
    if stored_sessions.id_of(path):
        return stored_sessions.newest_usage(path)
    if copilot_files.session_id_of(path):
        return copilot_files.newest_usage(path)
    return session_files.newest_usage(path) if session_files.session_id_of(path) else rollouts.newest_usage(path)


def _stores_of_opencode(environ: Mapping[str, str]) -> list[str]:
    return stored_sessions.places(environ) or [stored_sessions.folder_of(environ)]


# Each host's name in a flag -> as people call it.
NAMES = {"codex": codex.NAME, "opencode": opencode.NAME, "pi": pi.NAME, "copilot": copilot.NAME}
# -> where it keeps the user's sessions: folders and databases, at least one, which need not be there.
STORES: dict[str, Callable[[Mapping[str, str]], list[str]]] = {
    "codex": lambda environ: [rollouts.folder_of(environ)],
    "opencode": _stores_of_opencode,
    "pi": lambda environ: [session_files.folder_of(environ)],
    "copilot": lambda environ: [copilot_files.folder_of(environ)],
}
# -> its sessions, of the user.
LISTS: dict[str, Callable[[Mapping[str, str]], list[RecordedSession]]] = {
    "codex": of_codex,
    "opencode": of_opencode,
    "pi": of_pi,
    "copilot": of_copilot,
}
