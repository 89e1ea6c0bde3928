"""The files of one context: its state (replaced whole), its expired log, its journal (both appended).

The state holds what is live, so that a hook's cost depends on that alone. The log has a row for each expired result, newest last; rows of
an earlier compaction, or of results that are live again, no longer count. The journal holds what the transcript lacks.
"""

from __future__ import annotations

from ..errors import PopkitError
from ..io import files, home
from ..io.codec import dumps, loads
from ..io.system import join, os
from ..policy.context import ContextState, result_of, state_of
from .watched_files import WatchedFiles, watched_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..policy.context import Result
    from ..policy.ruleset import Ruleset
    from .lazy_rows import Rows

    Stamp = tuple[list[int] | None, list[int] | None]

# More than the timeouts of hooks.json.
_LONGEST_HOOK_S = 120
# Files that a tool call checks, those that were checked longest ago first; the user's prompt checks all.
LOOKED_AT = 32
# Between a state's header, the files that are watched, and the rows: a line for each of these.
_WATCHED, _LIVE = b',"watched":{', b'\n},"live":['


class SessionUnderDataRule(PopkitError, OSError):
    """Nothing of the session may be kept: it is under a data rule. To the reader of a context it is a disk that cannot be written."""

    def __init__(self) -> None:
        super().__init__(30, "the session is under a data rule, so nothing of it is kept")


class ContextFiles:
    """The paths of one context: the main thread of a session (agent_id "") or a subagent. `is_held`: nothing may be written there."""

    def __init__(self, popkit_home: str, session_id: str, agent_id: str = "", is_held: bool = False):
        self.session_id = session_id
        self.agent_id = agent_id
        self.is_held = is_held
        self.folder = home.session_folder(popkit_home, session_id)
        stem = join(self.folder, "agent-" + home.safe_name(agent_id) if agent_id else "main")
        self.state = stem + ".state.json"
        self.expired = stem + ".expired.jsonl"
        self.journal = stem + ".journal.jsonl"
        self.receipts = stem + ".receipts.jsonl"  # beside the journal, which is read often
        self.lock = stem + ".lock"
        self.unarchived = stem + ".unarchived.json"  # what a compaction took out while the archive was locked

    def locked(self) -> files.Lock:
        """Return the lock of this context, the folder made if need be; hold it from load to save. Held where nothing may be written."""
        if self.is_held:
            raise SessionUnderDataRule
        files.make_private_folder(self.folder, may_be_link=False)
        return _ContextLock(self)


class _ContextLock(files.Lock):
    """The lock of a context. Where a hook fails because the state is corrupt, it sets the state aside for the next one."""

    __slots__ = ("paths",)

    def __init__(self, paths: ContextFiles):
        super().__init__(paths.lock)
        self.paths = paths

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        try:
            if kind is not None and not issubclass(kind, OSError) and not _is_sound(files.read_text(self.paths.state)):
                _set_aside(self.paths)
        finally:
            super().__exit__(kind, *exc)


def _is_sound(text: str | None) -> bool:
    """Return whether every value of a state is of its type. True where there is no state."""
    from .soundness import is_sound  # seldom

    try:
        return text is None or is_sound(stored_of(text).state)
    except (ValueError, TypeError):
        return False


class StoredState:
    """A state as loaded, with what the drivers keep beside it: `watched`, the files that live reads show; `rows`, where results stay
    unparsed (lazy_rows.py)."""

    __slots__ = ("rows", "state", "watched")

    def __init__(self, state: ContextState, watched: WatchedFiles | None = None, rows: Rows | None = None):
        self.state = state
        self.watched = watched or WatchedFiles()
        self.rows = rows


def read_unlocked(paths: ContextFiles) -> StoredState | None:
    """Read the stored state without the lock; None when there is none, or a corrupt one."""
    text = files.read_text(paths.state)
    try:
        return stored_of(text) if text else None
    except (ValueError, TypeError):
        return None


def context_stamp(paths: ContextFiles) -> Stamp:
    """Return a value that changes with every write of the state or the journal."""
    return files.stamp_of(paths.state), files.stamp_of(paths.journal)


def load(paths: ContextFiles, rest_from: int = 0) -> StoredState | None:
    """Load the stored state; None when there is none or when it is corrupt, which is then set aside as *.corrupt. From `rest_from` bytes on
    (0 for never) what is not needed stays unparsed. The caller holds the lock."""
    data = files.read_bytes(paths.state)
    if data is None:
        return None
    try:
        return (_lazy_of(data) if rest_from and len(data) >= rest_from else None) or stored_of(files.text_of(data))
    except (ValueError, TypeError):
        _set_aside(paths)
        return None


def stored_of(text: str) -> StoredState:
    value: Any = loads(text)
    state = state_of(value)
    rows = [line[:-1] if line[-1:] == "," else line for line in text.partition(_LIVE.decode() + "\n")[2].split("\n")[:-1]]
    # One line for each result, unless the file was edited.
    if len(rows) == len(state.live) and all(row.startswith(f'["{id}",') for id, row in zip(state.live, rows)):
        for result, row in zip(state.live.values(), rows):
            result.stored = row
    return StoredState(state, watched_of(value.get("watched")))


def _lazy_of(data: bytes) -> StoredState | None:
    """Return a state whose rows stay unparsed; None where they cannot, because the file was not laid out by `save` or does not say which
    rows end by age."""
    head = data.find(_WATCHED)
    watched = data.find(_LIVE, head)
    if -1 in (head, watched) or not data.isascii() or not data.endswith(b"]\n]}"):
        return None
    value: Any = loads(data[:head].decode() + "}")  # what ends so is an object
    noted = value.get("resting")
    if not isinstance(noted, list) or len(noted) != 2 or not isinstance(noted[1], list):
        return None
    from .lazy_rows import Rows

    state = state_of({**value, "live": []})
    rows = Rows(data, watched + len(_LIVE), len(data) - 3, noted)
    return StoredState(state, WatchedFiles(data[head + len(_WATCHED) : watched]), rows)


def _bytes_of(stored: StoredState, rules: Ruleset | None) -> bytes:
    """Return the state as JSON, a line for each live result; a line whose result has not changed is copied."""
    state, rows = stored.state, stored.rows
    header = state.header()
    if rows is not None and not rows.all_awake:
        for key in rows.keys.awake:
            if not dict.__contains__(state.by_key, key):
                stored.watched.drop(key.removeprefix("read:"))
        pieces = rows.written()
    else:
        stored.watched = watched_of({path: seen for path, seen in stored.watched.first().items() if "read:" + path in state.by_key})
        pieces = [files.encoded("\n" + ",\n".join([result.stored or dumps(result.to_row()) for result in state.live.values()]))]
    if rules is not None:
        from . import lazy_rows

        header["resting"] = [lazy_rows.signature(rules), lazy_rows.awake(state, rules)]
    return b"".join((files.encoded(dumps(header)[:-1]), _WATCHED, stored.watched.data, _LIVE, *pieces, b"\n]}"))


def _set_aside(paths: ContextFiles) -> None:
    os.replace(paths.state, paths.state + ".corrupt")


def save(paths: ContextFiles, stored: StoredState, rules: Ruleset | None = None) -> None:
    """Write a state, after the log of what expired since it was loaded, so that a kill in between loses nothing. `rules`: those under which
    what does not end by age may stay unparsed at the next load; None where all is parsed then."""
    state = stored.state
    if state.expired:
        rows = [dumps([state.epoch, *result.to_row()]) + "\n" for result in state.expired.values()]
        files.append_text(paths.expired, "".join(rows))
    files.replace_bytes(paths.state, _bytes_of(stored, rules))


def save_rebuilt(paths: ContextFiles, stored: StoredState) -> None:
    """Write a rebuilt state, which holds everything that is expired, and replace the log."""
    _sweep(paths.folder)
    state = stored.state
    rows = [dumps([state.epoch, *result.to_row()]) + "\n" for result in state.expired.values()]
    if rows or files.is_there(paths.expired):
        files.replace_text(paths.expired, "".join(rows))
    files.replace_bytes(paths.state, _bytes_of(stored, None))


def _sweep(folder: str) -> None:
    """Remove temporary files that are older than any hook may run: killed hooks have left them. Not called on every tool call."""
    import time

    for name in os.listdir(folder):
        if name.endswith(".tmp"):
            path = join(folder, name)
            try:
                if time.time() - os.stat(path).st_mtime > _LONGEST_HOOK_S:
                    os.unlink(path)
            except FileNotFoundError:
                pass  # another process swept


def read_expired(paths: ContextFiles, state: ContextState) -> dict[str, Result]:
    """Return id -> Result of everything that expired since the last compaction and is not live again, oldest first."""
    expired: dict[str, Result] = {}
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


def read_lines(path: str) -> list[Any]:
    """Return the values of a file of JSON lines; lines that are not JSON are skipped."""
    lines = [line for line in (files.read_text(path) or "").split("\n") if line]
    try:
        at_once = loads("[" + ",".join(lines) + "]")  # half as long as one after the other
        if isinstance(at_once, list) and len(at_once) == len(lines):
            return at_once
    except ValueError:
        pass  # a kill has cut a line short
    return [value for line in lines for value in _values_in(line)]


def _values_in(line: str) -> list[Any]:
    try:
        return [loads(line)]
    except ValueError:
        return []


def journal(paths: ContextFiles, entry: Mapping[str, object]) -> None:
    """Append an entry to the journal. Needs no lock: each line is appended in one write."""
    append(paths, paths.journal, entry)


def append(paths: ContextFiles, path: str, entry: Mapping[str, object]) -> None:
    """Append a line to a file of a context. Held where nothing may be written."""
    if paths.is_held:
        raise SessionUnderDataRule
    files.make_private_folder(paths.folder, may_be_link=False)
    files.append_text(path, dumps(entry) + "\n")
