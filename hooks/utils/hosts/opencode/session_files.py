"""The files in which OpenCode kept its sessions until 1.2, below `storage`: session/PROJECT/ID.json, message/ID/MESSAGE.json and
part/MESSAGE/PART.json. Reads only.

Ids are those of the names: OpenCode itself goes by them where a file says otherwise.
"""

from __future__ import annotations

import errno
import json  # noqa: TID253  no hook on a tool call reads other hosts' records
import os

from ...io import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_SUFFIX = ".json"
LARGEST_FILE = 64 << 20  # bytes


def sessions(folder: str) -> list[tuple[str, str, float]]:
    """Return (path, id, when it last changed in seconds) of each session below a `storage`, the one that changed last first."""
    found = []
    root = os.path.join(folder, "session")
    for project in files.names(root):
        for id in _names(os.path.join(root, project)):
            path = os.path.join(root, project, id + _SUFFIX)
            try:
                found.append((path, id, os.stat(path).st_mtime))
            except OSError:
                continue
    return sorted(found, key=lambda each: (each[2], each[1]), reverse=True)


def session(path: str) -> dict[str, Any]:
    """Return what is known of a session; OSError where its file is none of OpenCode's."""
    found = _object(path)
    if found is None:
        raise OSError(errno.EINVAL, "not a session of OpenCode", path)
    return {**found, "id": os.path.basename(path).removesuffix(_SUFFIX)}


def messages(path: str) -> Iterator[dict[str, Any] | None]:
    """Yield the messages of a session, {info, parts}, in their order; None for each file that is not understood or far too large."""
    storage = os.path.dirname(os.path.dirname(os.path.dirname(path)))
    id = os.path.basename(path).removesuffix(_SUFFIX)
    session(path)
    folder = os.path.join(storage, "message", id)
    for message in _names(folder):  # their ids ascend with time
        info = _object(os.path.join(folder, message + _SUFFIX))
        of_it = os.path.join(storage, "part", message)
        parts = [(part, _object(os.path.join(of_it, part + _SUFFIX))) for part in _names(of_it)]
        yield from (None for _, known in parts if known is None)
        known_parts = [{**known, "id": part, "messageID": message} for part, known in parts if known is not None]
        yield info and {"info": {**info, "id": message, "sessionID": id}, "parts": known_parts}


def size(path: str) -> int:
    """Return how many bytes the files of a session have."""
    storage = os.path.dirname(os.path.dirname(os.path.dirname(path)))
    folder = os.path.join(storage, "message", os.path.basename(path).removesuffix(_SUFFIX))
    folders = [folder, *(os.path.join(storage, "part", message) for message in _names(folder))]
    return _bytes(path) + sum(_bytes(os.path.join(one, name + _SUFFIX)) for one in folders for name in _names(one))


def _names(folder: str) -> list[str]:
    return [name.removesuffix(_SUFFIX) for name in files.names(folder) if name.endswith(_SUFFIX)]


def _object(path: str) -> dict[str, Any] | None:
    """Return the JSON object in a file; None for anything else."""
    try:
        data = files.read_bytes(path) if _bytes(path) <= LARGEST_FILE else None
        value = json.loads(data.decode("utf-8", "replace")) if data is not None else None
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _bytes(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
