"""The sessions in OpenCode's own storage. Reads only.

A session has an address, which is used like the path of a transcript: `…/opencode.db/ses_…` in a database, and the file that
describes it, `…/storage/session/PROJECT/ses_….json`, where each message is a file: until 1.2 OpenCode kept message/ID/MESSAGE.json and
part/MESSAGE/PART.json beside it. Ids are those of the names, by which OpenCode itself goes where a file says otherwise.
"""

from __future__ import annotations

import errno
import json  # noqa: TID253  no hook on a tool call reads other hosts' records
import os
import re  # noqa: TID253  no hook on a tool call reads other hosts' records
from typing import NamedTuple  # noqa: TID253

from ...io import files, home
from ...io.codec import as_object, as_text
from ..recorded_values import stamp_of
from ..transcripts import usage
from . import database
from .translation import SESSION, usage_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...policy.usage import Usage

_ADDRESS = re.compile(rf"(.+\.db)/({SESSION}[^/]+)", re.DOTALL)
_FILE = re.compile(rf".+/storage/session/[^/]+/({SESSION}[^/]+)\.json", re.DOTALL)
_DATABASE = re.compile(r"opencode(?:-[\w.-]+)?\.db")
FOLDER, DATABASE = "storage", ".db"


class StoredSession(NamedTuple):
    """A session in OpenCode's storage: its address, its id, the folder in which it began ("" where that takes a look into its file),
    the id of the session that it is a subagent's of ("" for none), and when it last changed (seconds)."""

    address: str
    id: str
    project: str
    parent: str
    changed_at: float


def folder_of(environ: Mapping[str, str]) -> str:
    """Return OpenCode's data folder. NoHome where nobody knows the user's own."""
    data = environ.get("XDG_DATA_HOME") or os.path.join(home.user_folder(environ), ".local", "share")
    return os.path.join(data, "opencode")


def places(environ: Mapping[str, str]) -> list[str]:
    """Return the databases and folders that hold the user's sessions."""
    folder, named = folder_of(environ), environ.get("OPENCODE_DB") or ""
    standard = places_in(folder)
    if named and named != ":memory:":
        return [os.path.join(folder, named), *(place for place in standard if os.path.isdir(place))]
    return standard


def every(environ: Mapping[str, str]) -> list[StoredSession]:
    """Return the sessions of the user, the one that changed last first. OSError where there is a database that cannot be read."""
    return sessions_in([place for place in places(environ) if os.path.exists(place)])


def places_in(folder: str) -> list[str]:
    """Return the databases in a folder, and its `storage`, the older form, where that is there."""
    places = [os.path.join(folder, name) for name in files.names(folder) if _DATABASE.fullmatch(name)]
    return [*places, os.path.join(folder, FOLDER)] if os.path.isdir(os.path.join(folder, FOLDER, "session")) else places


def holds_sessions(path: str) -> bool:
    """Return whether a path is that of a database, or of the folder of the older form."""
    if os.path.isdir(path):
        return os.path.basename(os.path.abspath(path)) == FOLDER and os.path.isdir(os.path.join(path, "session"))
    return path.endswith(DATABASE) and database.is_database(path)


def newest_usage(address: str) -> Usage | None:
    """Return the usage of the newest request of a session in a database; None where there is none, it was a compaction's, or the session
    is in files."""
    match = _ADDRESS.fullmatch(address)
    try:
        answers = database.newest_answers(match[1], match[2]) if match else []
    except OSError:
        return None
    info = next((info for info in answers if usage_of(info.get("tokens")) is not None), None)  # else it has just begun
    if info is None or info.get("summary") is True:
        return None
    at = stamp_of(as_object(info.get("time")).get("completed"))
    message = {"model": info.get("modelID"), "usage": usage_of(info["tokens"])}
    return usage.usage_of({"type": "assistant", "timestamp": at, "message": message})


def size(address: str) -> int:
    """Return how much the session at an address holds, about in bytes, at least 1. OSError where it cannot be read."""
    match = _ADDRESS.fullmatch(address)
    if match is None:
        _session_in_file(address)
        return max(1, _size_of_files(address))
    database.session(match[1], match[2])
    return max(1, database.sizes(match[1], match[2]).get(match[2], 0))


def sessions_in(places: list[str]) -> list[StoredSession]:
    """Return the sessions of these databases and folders, each id once, the one that changed last first: OpenCode leaves the files whose
    sessions it has taken into its database. OSError where one cannot be read."""
    sessions: dict[str, StoredSession] = {}
    for place in places:
        if os.path.isdir(place):
            stored = [StoredSession(path, id, "", "", at) for path, id, at in _sessions_in_files(place) if id.startswith(SESSION)]
        else:
            stored = [
                StoredSession(f"{place}/{row[0]}", *row) for row in database.sessions(place) if _ADDRESS.fullmatch(f"{place}/{row[0]}")
            ]
        for each in stored:
            sessions.setdefault(each.id, each)
    return sorted(sessions.values(), key=lambda each: (each.changed_at, each.id), reverse=True)


def described(stored: StoredSession) -> StoredSession:
    """Return a session with its folder and its parent, which the older form has in its file; as it is where that cannot be read."""
    if stored.project or _ADDRESS.fullmatch(stored.address):
        return stored
    try:
        info = _session_in_file(stored.address)
    except OSError:
        return stored
    folder, parent = (info.get(name) for name in ("directory", "parentID"))
    return stored._replace(project=as_text(folder), parent=as_text(parent))


def id_of(address: str) -> str:
    """Return the id of the session at an address; "" for the path of anything else."""
    match = _ADDRESS.fullmatch(address)
    if match:
        return match[2]
    match = _FILE.fullmatch(address)
    return match[1] if match else ""


def read(address: str) -> tuple[dict[str, object], Iterator[dict[str, object] | None]]:
    """Return what is known of the session at an address, and its messages, {info, parts}, None for each that is not understood. OSError
    where it is not there or cannot be read, also while they are gone through."""
    match = _ADDRESS.fullmatch(address)
    if match:
        return database.session(match[1], match[2]), database.messages(match[1], match[2])
    return _session_in_file(address), _messages_in_files(address)


def changed(address: str) -> float:
    """Return when the session at an address last changed (seconds); 0 where that is not known."""
    try:
        at = read(address)[0].get("time")
    except OSError:
        return 0.0
    return database.seconds_of(at.get("updated")) if isinstance(at, dict) else 0.0


def sizes(places: list[str]) -> dict[str, int]:
    """Return how much each session of these databases and folders holds, about in bytes: address -> at least 1. OSError where one cannot be
    read."""
    of_database = {place: database.sizes(place) for place in places if not os.path.isdir(place)}
    sizes = {}
    for each in sessions_in(places):
        match = _ADDRESS.fullmatch(each.address)
        sizes[each.address] = max(1, of_database[match[1]].get(each.id, 0) if match else _size_of_files(each.address))
    return sizes


_SUFFIX = ".json"
LARGEST_FILE = 64 << 20  # bytes


def _sessions_in_files(folder: str) -> list[tuple[str, str, float]]:
    """Return (path, id, when it last changed in seconds) of each session below a `storage`, the one that changed last first."""
    sessions = []
    root = os.path.join(folder, "session")
    for project in files.names(root):
        for id in _names_in(os.path.join(root, project)):
            path = os.path.join(root, project, id + _SUFFIX)
            try:
                sessions.append((path, id, os.stat(path).st_mtime))
            except OSError:
                continue
    return sorted(sessions, key=lambda each: (each[2], each[1]), reverse=True)


def _session_in_file(path: str) -> dict[str, object]:
    """Return what is known of a session; OSError where its file is none of OpenCode's."""
    info = _object_in(path)
    if info is None:
        raise OSError(errno.EINVAL, "not a session of OpenCode", path)
    return {**info, "id": os.path.basename(path).removesuffix(_SUFFIX)}


def _messages_in_files(path: str) -> Iterator[dict[str, object] | None]:
    """Yield the messages of a session, {info, parts}, in their order; None for each file that is not understood or far too large."""
    storage = os.path.dirname(os.path.dirname(os.path.dirname(path)))
    id = os.path.basename(path).removesuffix(_SUFFIX)
    _session_in_file(path)
    folder = os.path.join(storage, "message", id)
    for message in _names_in(folder):  # their ids ascend with time
        info = _object_in(os.path.join(folder, message + _SUFFIX))
        of_it = os.path.join(storage, "part", message)
        parts = [(part, _object_in(os.path.join(of_it, part + _SUFFIX))) for part in _names_in(of_it)]
        yield from (None for _, known in parts if known is None)
        known_parts = [{**known, "id": part, "messageID": message} for part, known in parts if known is not None]
        yield info and {"info": {**info, "id": message, "sessionID": id}, "parts": known_parts}


def _size_of_files(path: str) -> int:
    """Return how many bytes the files of a session have."""
    storage = os.path.dirname(os.path.dirname(os.path.dirname(path)))
    folder = os.path.join(storage, "message", os.path.basename(path).removesuffix(_SUFFIX))
    folders = [folder, *(os.path.join(storage, "part", message) for message in _names_in(folder))]
    return files.size_of(path) + sum(files.size_of(os.path.join(one, name + _SUFFIX)) for one in folders for name in _names_in(one))


def _names_in(folder: str) -> list[str]:
    return [name.removesuffix(_SUFFIX) for name in files.names(folder) if name.endswith(_SUFFIX)]


def _object_in(path: str) -> dict[str, object] | None:
    """Return the JSON object in a file; None for anything else."""
    try:
        data = files.read_bytes(path) if files.size_of(path) <= LARGEST_FILE else None
        value = json.loads(data.decode("utf-8", "replace")) if data is not None else None
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
