"""The sessions that others have recorded on this machine: Codex's rollouts, OpenCode's storage, Entire's checkpoints in the commits of
repositories. Reads only."""

from __future__ import annotations

import re  # noqa: TID253  no hook loads this
from typing import NamedTuple  # noqa: TID253  no hook loads this

from . import entire
from .codex import rollouts
from .codex import translation as codex
from .opencode import storage
from .opencode import translation as opencode

# The agents whose recordings are read, as Entire calls them.
AGENTS = ("Claude Code", "Codex", "OpenCode")
_DATED = re.compile(r"\d{4}-\d\d-\d\d-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ..policy.conversation import Usage


class Recorded(NamedTuple):
    """A session that another has recorded: the name of the host, or of what has recorded it, the session's id, the path of its recording
    or its address, when that last changed (seconds), and the folder in which it began, "" where only the recording itself tells."""

    host: str
    id: str
    path: str
    changed_at: float
    project: str


def of_codex(environ: Mapping[str, str], _projects: Iterable[str] = ()) -> list[Recorded]:
    """Return the sessions of Codex, the one that changed last first."""
    return [Recorded(codex.NAME, rollouts.session_id_of(path), path, at, "") for at, path in rollouts.newest_first(environ)]


def of_opencode(environ: Mapping[str, str], _projects: Iterable[str] = ()) -> list[Recorded]:
    """Return the sessions of OpenCode, the one that changed last first, without those of subagents. OSError where its database cannot be
    read."""
    return [
        Recorded(opencode.NAME, stored.id, stored.address, stored.changed_at, stored.project)
        for stored in map(storage.described, storage.every(environ))
        if not stored.parent
    ]


def of_entire(_environ: Mapping[str, str], projects: Iterable[str]) -> list[Recorded]:
    """Return the sessions of which Entire keeps checkpoints in the repositories of these folders, the newest checkpoint first. Only those
    whose recordings are read; whoever worked in such a repository, its sessions are told as this checkout's."""
    return [
        Recorded(entire.NAME, _id_of(checkpoint.session), address, checkpoint.at, entire.top_of(address))
        for address, checkpoint in entire.sessions_in(projects)
        if checkpoint.agent in AGENTS
    ]


def _id_of(session: str) -> str:
    """Return the id that the agent itself gave a session: Entire used to put a date before it."""
    found = _DATED.fullmatch(session)
    return found[1] if found else session


def once_each(recorded: Iterable[Recorded]) -> list[Recorded]:
    """Return each session once, as the first has it: what a host itself has recorded comes before Entire's copy of it."""
    first: dict[str, Recorded] = {}
    for each in recorded:
        first.setdefault(each.id, each)
    return list(first.values())


def newest_usage(path: str) -> Usage | None:
    """Return the usage of the newest request of a recording, where its end tells without all of it being read; None where not."""
    if entire.is_address(path):
        return None
    return storage.newest_usage(path) if storage.id_of(path) else rollouts.newest_usage(path)


# Each host's name in a flag -> its sessions, of the user, and in the repositories of the folders that are given.
LISTS: dict[str, Callable[[Mapping[str, str], Iterable[str]], list[Recorded]]] = {
    "codex": of_codex,
    "opencode": of_opencode,
    "entire": of_entire,
}
