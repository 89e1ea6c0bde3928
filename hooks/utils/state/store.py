"""One context on disk: state (replaced whole), expired log and journal (appended), and their lock.

The state holds what is live, so that a hook's cost depends on that alone. What expired is a log, one row a result, newest last; rows
of an earlier compaction, or of results that are live again, no longer count. The journal holds what the transcript lacks.
"""

from __future__ import annotations

from ..io import files, home
from ..io.codec import dumps, loads
from ..io.system import join, os
from ..policy.context import ContextState, result_of, state_of
from .disk import Watched, watched_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..policy.context import Result
    from ..policy.ruleset import Ruleset
    from .lazy_rows import Rows

    Stamp = tuple[tuple[int, ...], tuple[int, ...]]

# More than the timeouts of hooks.json.
_LONGEST_HOOK_S = 120
# Between a state's header, the files that are watched, and the rows: a line for each of these.
_WATCHED, _LIVE = b',"watched":{', b'\n},"live":['


class ContextFiles:
    """The paths of one context: the main thread of a session (agent_id "") or a subagent."""

    __slots__ = ("agent_id", "expired", "folder", "journal", "lock", "receipts", "session_id", "state", "unarchived")

    def __init__(self, popkit_home: str, session_id: str, agent_id: str = ""):
        self.session_id = session_id
        self.agent_id = agent_id
        self.folder = home.session_folder(popkit_home, session_id)
        stem = join(self.folder, "agent-" + home.safe_name(agent_id) if agent_id else "main")
        self.state = stem + ".state.json"
        self.expired = stem + ".expired.jsonl"
        self.journal = stem + ".journal.jsonl"
        self.receipts = stem + ".receipts.jsonl"  # beside the journal, which is read often
        self.lock = stem + ".lock"
        self.unarchived = stem + ".unarchived.json"  # what a compaction has folded while the archive was locked

    def locked(self) -> files.Lock:
        """The lock of this context, the folder made if need be; hold it from load to save."""
        files.make_private_folder(self.folder, may_be_link=False)
        return _ContextLock(self)


class _ContextLock(files.Lock):
    """The lock of a context. A state that made a hook fail, and is not what a state should be, does not meet the next one."""

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


class Stored:
    """A state as loaded, with what the drivers keep beside it: `watched`, the files that live reads show; `rows`
    where results stay unparsed text (lazy_rows.py), `rules` once a driver goes by some."""

    __slots__ = ("rows", "rules", "state", "watched")

    def __init__(self, state: ContextState, watched: Watched | None = None, rows: Rows | None = None):
        self.state = state
        self.watched = watched or Watched()
        self.rows = rows
        self.rules: Ruleset | None = None


def look(paths: ContextFiles) -> Stored | None:
    """The stored state as it stands, without the lock; None when there is none, or a corrupt one."""
    try:
        return _stored_of(files.read_text(paths.state) or "")
    except (ValueError, TypeError):
        return None


def stamp(paths: ContextFiles) -> Stamp:
    """What tells whether a state or a journal was written since."""
    return _stamp(paths.state), _stamp(paths.journal)


def _stamp(path: str) -> tuple[int, ...]:
    try:
        stat = os.stat(path)
    except FileNotFoundError:
        return ()
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def load(paths: ContextFiles, rest_from: int = 0) -> Stored | None:
    """The stored state; None when there is none or when it is corrupt, which is then set aside as *.corrupt. From so many bytes on
    (0 for never) what is not needed stays unparsed. The caller holds the lock."""
    data = files.read_bytes(paths.state)
    if data is None:
        return None
    try:
        return (_lazy_of(data) if rest_from and len(data) >= rest_from else None) or _stored_of(files.text_of(data))
    except (ValueError, TypeError):
        _set_aside(paths)
        return None


def _stored_of(text: str) -> Stored:
    value = loads(text)
    watched = value.pop("watched", None) if isinstance(value, dict) else None
    state = state_of(value)
    rows = [line[:-1] if line[-1:] == "," else line for line in text.partition(_LIVE.decode() + "\n")[2].split("\n")[:-1]]
    # One line for each result, unless somebody else has laid the file out.
    if len(rows) == len(state.live) and all(row.startswith(f'["{id}",') for id, row in zip(state.live, rows)):
        for result, row in zip(state.live.values(), rows):
            result.stored = row
    return Stored(state, watched_of(watched))


def _lazy_of(data: bytes) -> Stored | None:
    """Return a state whose rows stay unparsed; None where they cannot: somebody else has laid the file out, or it is not said who must be
    awake."""
    head = data.find(_WATCHED + b"\n")
    watched = data.find(_LIVE + b"\n[", head)
    if head < 0 or watched < 0 or not data.isascii() or not data.endswith(b"]\n]}"):
        return None
    value = loads(data[:head].decode() + "}")
    noted = value.pop("resting", None) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(noted, list) or len(noted) != 2 or not isinstance(noted[1], list):
        return None
    from .lazy_rows import Rows

    state = state_of({**value, "live": []})
    rows = Rows(data, watched + len(_LIVE), len(data) - 3, noted)
    return Stored(state, Watched(data[head + len(_WATCHED) : watched]), rows)


def _bytes_of(stored: Stored) -> bytes:
    """The state as JSON, a line for each live result; a line whose result has not changed since it was loaded is taken over as it is."""
    state, rows = stored.state, stored.rows
    header = state.header()
    if rows is not None and not rows.all_awake:
        for key in rows.keys.asked:
            if key.startswith("read:") and not dict.__contains__(state.by_key, key):
                stored.watched.drop(key[5:])
        pieces = rows.written()
    else:
        stored.watched = watched_of({path: seen for path, seen in stored.watched.first().items() if "read:" + path in state.by_key})
        pieces = [files.encoded("\n" + ",\n".join([result.stored or dumps(result.to_row()) for result in state.live.values()]))]
    if stored.rules is not None:
        from . import lazy_rows

        header["resting"] = [lazy_rows.signature(stored.rules), lazy_rows.awake(state, stored.rules)]
    return b"".join((files.encoded(dumps(header)[:-1]), _WATCHED, stored.watched.data, _LIVE, *pieces, b"\n]}"))


def _set_aside(paths: ContextFiles) -> None:
    os.replace(paths.state, paths.state + ".corrupt")


def _is_amount(value: object) -> bool:
    """Whether a count is one; those of a ledger have a fraction."""
    return type(value) is int or (type(value) is float and value - value == 0)


def _is_sound(text: str | None) -> bool:
    """Whether a state is right to the last value; a load looks at no more than it must. No state is no bad one."""
    if text is None:
        return True
    try:
        state = _stored_of(text).state
    except (ValueError, TypeError):
        return False
    live = list(state.live.values())
    numbers = [state.at, state.calibration, *(result.at for result in live)]
    tables = [table for table in state.counts.to_json().values() if isinstance(table, dict)]
    texts = [state.recent.values(), *((result.tool, result.label, result.hash, result.verdict, *result.subjects) for result in live)]
    return (
        all(number - number == 0 for number in numbers)  # not infinite, which JSON has no form for
        and all(_is_amount(amount) for table in tables for amount in table.values())
        and all(isinstance(value, str) for values in texts for value in values)
        and all(_is_part(part) for result in live for part in result.parts)
    )


def _is_part(part: object) -> bool:
    if not isinstance(part, list) or len(part) != 2 or not isinstance(part[0], str) or not isinstance(part[1], list):
        return False
    kind = int if part[0].startswith("read:") else str
    return all(isinstance(item, kind) for item in part[1]) and (kind is str or len(part[1]) == 2)


def save(paths: ContextFiles, stored: Stored) -> None:
    """Writes a state; what expired since it was loaded goes to the log first, so that a kill in between loses nothing."""
    state = stored.state
    if state.expired:
        rows = [dumps([state.epoch, *result.to_row()]) + "\n" for result in state.expired.values()]
        files.append_text(paths.expired, "".join(rows))
    files.replace_bytes(paths.state, _bytes_of(stored))


def save_rebuilt(paths: ContextFiles, stored: Stored) -> None:
    """Writes a state that holds everything that is expired (a rebuild's), replacing the log."""
    _sweep(paths.folder)
    state = stored.state
    rows = [dumps([state.epoch, *result.to_row()]) + "\n" for result in state.expired.values()]
    if rows or files.read_text(paths.expired, 1) is not None:
        files.replace_text(paths.expired, "".join(rows))
    files.replace_bytes(paths.state, _bytes_of(stored))


def _sweep(folder: str) -> None:
    """Removes what killed hooks have left: temporary files that are older than any hook may run. Seldom: not with every tool call."""
    import time

    for name in os.listdir(folder):
        if name.endswith(".tmp"):
            path = join(folder, name)
            try:
                if time.time() - os.stat(path).st_mtime > _LONGEST_HOOK_S:
                    os.unlink(path)
            except FileNotFoundError:
                continue  # somebody else swept


def read_expired(paths: ContextFiles, state: ContextState) -> dict[str, Result]:
    """id -> Result of everything that expired since the last compaction and is not live again, oldest first."""
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
    """The values of a file of JSON lines; lines that are none are passed over."""
    values = []
    for line in (files.read_text(path) or "").split("\n"):
        if line:
            try:
                values.append(loads(line))
            except ValueError:
                continue  # a line that a kill cut short
    return values


def journal(paths: ContextFiles, entry: dict[str, Any]) -> None:
    """Adds to the journal what the transcript will not tell. Needs no lock: lines are appended, each in one write."""
    append(paths, paths.journal, entry)


def append(paths: ContextFiles, path: str, entry: dict[str, Any]) -> None:
    """Adds a line to a file of a context."""
    files.make_private_folder(paths.folder, may_be_link=False)
    files.append_text(path, dumps(entry) + "\n")
