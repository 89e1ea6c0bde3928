"""One context on disk: state (replaced whole), expired log and journal (appended), and their lock.

The state holds what is live, so that a hook's cost depends on that alone. What expired is a log, one row a result, newest last; rows
of an earlier compaction, or of results that are live again, no longer count. The journal holds what the transcript lacks.
"""

from __future__ import annotations

from ..policy.context import ContextState, result_of, state_of
from . import files, home
from .codec import dumps, loads
from .system import join, os


class ContextFiles:
    """The paths of one context: the main thread of a session (agent_id "") or a subagent."""

    __slots__ = ("agent_id", "expired", "folder", "journal", "lock", "session_id", "state")

    def __init__(self, popkit_home: str, session_id: str, agent_id: str = ""):
        self.session_id = session_id
        self.agent_id = agent_id
        self.folder = home.session_folder(popkit_home, session_id)
        stem = join(self.folder, "agent-" + home.safe_name(agent_id) if agent_id else "main")
        self.state = stem + ".state.json"
        self.expired = stem + ".expired.jsonl"
        self.journal = stem + ".journal.jsonl"
        self.lock = stem + ".lock"

    def locked(self) -> files.Lock:
        """The lock of this context, the folder made if need be; hold it from load to save."""
        files.make_private_folder(self.folder)
        return files.Lock(self.lock)


class Stored:
    """A state as loaded, with what the drivers keep beside it: `watched`, path -> [mtime_ns, size] of files that live reads show."""

    __slots__ = ("state", "watched")

    def __init__(self, state: ContextState, watched: dict | None = None):
        self.state = state
        self.watched = watched or {}


def load(paths: ContextFiles) -> Stored | None:
    """The stored state; None when there is none or when it is corrupt, which is then set aside as *.corrupt."""
    text = files.read_text(paths.state)
    if text is None:
        return None
    try:
        value = loads(text)
        watched = value.pop("watched", None) if isinstance(value, dict) else None
        return Stored(state_of(value), watched if isinstance(watched, dict) else None)
    except (ValueError, TypeError):
        os.replace(paths.state, paths.state + ".corrupt")
        return None


def save(paths: ContextFiles, stored: Stored) -> None:
    """Writes a state; what expired since it was loaded goes to the log first, so that a kill in between loses nothing."""
    state = stored.state
    if state.expired:
        rows = [dumps([state.epoch, *result.to_row()]) + "\n" for result in state.expired.values()]
        files.append_text(paths.expired, "".join(rows))
    value = state.to_json()
    value["watched"] = {path: seen for path, seen in stored.watched.items() if "read:" + path in state.by_key}
    files.replace_text(paths.state, dumps(value))


def save_rebuilt(paths: ContextFiles, stored: Stored) -> None:
    """Writes a state that holds everything that is expired (a rebuild's), replacing the log."""
    state = stored.state
    rows = [dumps([state.epoch, *result.to_row()]) + "\n" for result in state.expired.values()]
    if rows or files.read_text(paths.expired, 1) is not None:
        files.replace_text(paths.expired, "".join(rows))
    value = state.to_json()
    value["watched"] = {path: seen for path, seen in stored.watched.items() if "read:" + path in state.by_key}
    files.replace_text(paths.state, dumps(value))


def read_expired(paths: ContextFiles, state: ContextState) -> dict:
    """id -> Result of everything that expired since the last compaction and is not live again, oldest first."""
    expired: dict = {}
    for row in read_lines(paths.expired):
        if not isinstance(row, list) or not row or row[0] != state.epoch:
            continue
        try:
            result = result_of(row[1:])
        except (ValueError, TypeError):
            continue  # a line that a kill cut short
        if result.id not in state.live:
            expired.pop(result.id, None)
            expired[result.id] = result
    return expired


def read_lines(path: str) -> list:
    """The values of a file of JSON lines; lines that are none are passed over."""
    values = []
    for line in (files.read_text(path) or "").splitlines():
        if line:
            try:
                values.append(loads(line))
            except ValueError:
                continue  # a line that a kill cut short
    return values


def journal(paths: ContextFiles, entry: dict) -> None:
    """Adds to the journal what the transcript will not tell."""
    files.append_text(paths.journal, dumps(entry) + "\n")
