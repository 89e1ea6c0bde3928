"""The sessions in files, in folders or at addresses that fsspec knows, each available as a file. Nothing is written.

A session is named by its place: its folder is its project's, `subagents` marks a subagent. A copy of a remote one therefore keeps the end
of its address.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from contextlib import contextmanager
from typing import NamedTuple

from popkit_retention.core.errors import PopkitError
from popkit_retention.core.hosts import recordings
from popkit_retention.core.hosts.transcripts import entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Skip = Callable[[str, str], object]

SUFFIX = ".jsonl"
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?:::|://)")
_KEPT_PARTS = 4  # of an address: <project>/<session>/subagents/agent-<id>.jsonl
_PART_CHARS = 100
MESSAGE_CHARS = 60  # characters of an error


class SourceUnavailable(PopkitError):
    """The work needs something that is missing; the message names it, and says what to do."""


class Source(NamedTuple):
    """A transcript: its `address` or path, as people see it, and its size in bytes (0 where a store does not say). `store`: the fsspec file
    system that has it under `key`, None for a file of this machine."""

    address: str
    size: int
    store: Any = None
    key: str = ""


def is_remote(address: str) -> bool:
    """Return whether fsspec is needed to read from an address."""
    return bool(_ADDRESS.match(address))


def read_list(path: str) -> list[str]:
    """Return the paths and addresses in a list: one per line, - for standard input; OSError when it cannot be read."""
    if path == "-":
        lines = sys.stdin.read().splitlines()
    else:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    return [line.strip() for line in lines if line.strip()]


def find(paths: Iterable[str], skip: Skip) -> list[Source]:
    """Return the *.jsonl files below files, folders and addresses, and the sessions in OpenCode's storage there, each once, the biggest
    first. `skip(path, reason)` is called for all others. SourceUnavailable where the package for an address is missing."""
    sources: dict[str, Source] = {}  # by real path, or address
    for path in paths:
        if is_remote(path):
            _find_remote(path, sources, skip)
        elif recordings.holds_sessions(path):
            _take_stored([path], sources, skip)
        elif os.path.isdir(path):
            for folder, folders, names in os.walk(path, onerror=lambda error: skip(str(error.filename), unreadable(error))):
                places = recordings.stores_in(folder)
                _take_stored(places, sources, skip)
                folders[:] = [name for name in folders if os.path.join(folder, name) not in places]
                linked = [name for name in folders if os.path.islink(os.path.join(folder, name))]  # os.walk does not enter links
                for name in (*names, *linked):
                    if name.endswith(SUFFIX):
                        _take(os.path.join(folder, name), sources, skip)
        else:
            _take(path, sources, skip)
    return sorted(sources.values(), key=lambda source: (-source.size, source.address))


def _take_stored(places: list[str], sources: dict[str, Source], skip: Skip) -> None:
    """Add the sessions in databases and folders of OpenCode, which have addresses and no files of their own."""
    try:
        sizes = recordings.sizes_in(places)
    except OSError as error:
        skip(str(error.filename), unreadable(error))
        return
    for address, size in sizes.items():
        sources.setdefault(address, Source(address, size))


def _take(path: str, sources: dict[str, Source], skip: Skip) -> None:
    try:
        if recordings.is_address(path):
            sources.setdefault(path, Source(path, recordings.size_of(path)))
            return
        status = os.stat(path)
    except (OSError, ValueError) as error:
        skip(path, unreadable(error))
        return
    if not stat.S_ISREG(status.st_mode):
        skip(path, NO_FILE)
    elif status.st_size:
        sources.setdefault(os.path.realpath(path), Source(path, status.st_size))
    else:
        skip(path, EMPTY)


def _find_remote(address: str, sources: dict[str, Source], skip: Skip) -> None:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise SourceUnavailable(f"{address} needs fsspec, which is in: popkit setup cluster") from None
    try:
        store, root = url_to_fs(address)
    except ImportError as error:
        raise SourceUnavailable(f"{address}: {error}. Install it beside PopKit, and on the workers of a cluster") from None
    except Exception as error:  # noqa: BLE001  each store has errors of its own
        skip(address, unreadable(error))
        return
    try:
        is_file = store.isfile(root)
        files = {root: store.info(root)} if is_file else store.find(root, detail=True)
    except Exception as error:  # noqa: BLE001  see above
        skip(address, unreadable(error))
        return
    if not files:
        skip(address, "nothing is there")
    for key, about in files.items():
        if is_file or key.endswith(SUFFIX):
            name, size = str(store.unstrip_protocol(key)), about.get("size")
            if size == 0:
                skip(name, EMPTY)
            else:
                sources.setdefault(name, Source(name, size or 0, store, key))


def unreadable(error: Exception) -> str:
    """Return why a file or an address cannot be read, in words."""
    if isinstance(error, OSError) and error.strerror:
        return "cannot be read: " + error.strerror
    if isinstance(error, FileNotFoundError):
        return "cannot be read: " + os.strerror(2)
    return f"cannot be read: {type(error).__name__} {str(error)[:MESSAGE_CHARS]}".rstrip()


EMPTY, NO_FILE, NO_CONVERSATION, DAMAGED = "empty", "not a regular file", "no conversation", "damaged: none of its lines is understood"


def why_nothing(path: str) -> str:
    """Return why a transcript has nothing to count: it has no conversation, or none that is understood. OSError where it cannot be read."""
    unread = "" if recordings.is_address(path) else recordings.unread_host_of(path)
    if unread:
        return f"recorded by {unread}, which is not read"
    is_empty = True
    for _, line in entries.lines(path):
        if line.strip():
            if entries.says_nothing(line) or entries.entry_of(line) is not None:
                return NO_CONVERSATION
            is_empty = False
    return NO_CONVERSATION if is_empty else DAMAGED


@contextmanager
def at_hand(source: Source, scratch: str | None = None) -> Iterator[str]:
    """Yield the path of a transcript's file. A remote one is copied into a folder below `scratch` that only the user can read, and deleted
    afterwards."""
    if source.store is None:
        yield source.address
        return
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="popkit-", dir=scratch) as folder:
        path = os.path.join(folder, *_end_of(source.key))
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with source.store.open(source.key, "rb") as there, open(path, "xb", opener=_privately) as here:
            shutil.copyfileobj(there, here, 1 << 20)
        yield path


def _end_of(key: str) -> list[str]:
    """Return the last parts of a key as safe file names. The name of the file keeps its ending."""
    parts = [part.replace("\0", "").replace("\\", "_") for part in key.split("/")]
    parts = [part for part in parts if part.strip(".")][-_KEPT_PARTS:] or ["session" + SUFFIX]
    return [part[:_PART_CHARS] for part in parts[:-1]] + [parts[-1][-_PART_CHARS:]]


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
