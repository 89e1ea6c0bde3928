"""The sessions that other hosts have recorded on this machine by themselves: Codex's rollouts, OpenCode's storage. Reads only.

Entire keeps its checkpoints in commits: nothing of them lies on disk until somebody takes them out.
"""

from __future__ import annotations

from typing import NamedTuple  # noqa: TID253  no hook loads this

from .codex import rollouts, usage
from .codex import translation as codex
from .opencode import storage
from .opencode import translation as opencode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..policy.conversation import Usage


class Recorded(NamedTuple):
    """A session of another host's: the host's name, the session's id, the path of its recording or its address in the host's storage, when
    that last changed (seconds), and the folder in which it began, "" where only the recording itself tells."""

    host: str
    id: str
    path: str
    changed_at: float
    project: str


def of_codex(environ: Mapping[str, str]) -> list[Recorded]:
    """Return the sessions of Codex, the one that changed last first."""
    return [Recorded(codex.NAME, rollouts.session_id_of(path), path, at, "") for at, path in rollouts.newest_first(environ)]


def of_opencode(environ: Mapping[str, str]) -> list[Recorded]:
    """Return the sessions of OpenCode, the one that changed last first, without those of subagents. OSError where its database cannot be
    read."""
    return [
        Recorded(opencode.NAME, stored.id, stored.address, stored.changed_at, stored.project)
        for stored in map(storage.described, storage.every(environ))
        if not stored.parent
    ]


def newest_usage(path: str) -> Usage | None:
    """Return the usage of the newest request of a recording, where its end tells without all of it being read; None where not."""
    return storage.newest_usage(path) if storage.id_of(path) else usage.newest_usage(path)


# Each host's name in a flag -> its sessions.
LISTS: dict[str, Callable[[Mapping[str, str]], list[Recorded]]] = {"codex": of_codex, "opencode": of_opencode}
