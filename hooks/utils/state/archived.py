"""Read the contents behind placeholders from the archive, and find the placeholders in transcripts. `sqlite3` is loaded only when an
archive is read."""

from __future__ import annotations

import time

from ..io import files, home
from ..io.system import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from sqlite3 import Connection
    from typing import Any, Literal

    from ..archive.records import Record


# The type of records that hold no result, but the thinking that followed a cleared one.
THINKING = "thinking"


def task_id(session_id: str, agent_id: str = "") -> str:
    """Return the name of a context's chain in the archive."""
    return session_id + "/" + agent_id if agent_id else session_id


def errors() -> tuple[type[Exception], ...]:
    """Return the errors that an unusable archive raises."""
    import sqlite3

    from .. import archive

    return (archive.ArchiveError, archive.RetentionIntegrityError, sqlite3.Error, OSError)


def content_of(db: Connection, handle: str) -> str | None:
    """Return the archived content of a record as JSON text, a cold one recovered from its source; None where it is gone for good."""
    from .. import archive

    try:
        record = archive.retrieve_record(db, handle)
        if record is None:
            return None
        return record["content"] if record["content_available"] else archive.recover(db, handle)
    except errors():
        return None


def matching(db: Connection, pattern: str, **where: Any) -> list[Record]:
    """Return the Records with a path or a command that a pattern matches, newest first; `where` as for `archive.find_records`."""
    from .. import archive
    from ..policy import globs

    def matches(record: Record) -> bool:
        return any(globs.matches(pattern, subject) for subject in record.subjects)

    named: set[str] | Callable[[str], bool] | None
    path, _, last = pattern.replace("\\", "/").rpartition("/")
    if not globs.is_wild(pattern) and last:
        named = {last, pattern}  # the last segment of a path, or the whole of a command
    elif last in ("", "**") and path:
        named = None  # everything below a folder: no name narrows that
    else:
        named = lambda name: globs.matches(last, name) or (" " in name and globs.matches(pattern, name))  # noqa: E731
    return archive.find_records(db, matches=matches, named=named, **where)


def folders_of(db: Connection, project: str) -> set[str]:
    """Return the folders, as the archive names them, of the sessions of a project (its key)."""
    from ..io import repository

    folders = [folder for (folder,) in db.execute("SELECT DISTINCT project FROM chains") if folder and isinstance(folder, str)]
    return {folder for folder in folders if repository.of(folder).key == project}


def restorable(popkit_home: str, handles: Iterable[str]) -> set[str] | None:
    """Return those of the handles whose contents the archive still has; None where it cannot be read now. Waits for no lock."""
    from .. import archive

    try:
        db = archive.open_archive(home.archive_path(popkit_home), create=False, busy_s=0.0)
    except FileNotFoundError:
        return set()
    except errors():
        return None
    try:
        records = [archive.record(db, handle) for handle in handles]
        return {record.id for record in records if record is not None and (record.zone != "cold" or record.source)}
    except errors():
        return None
    finally:
        db.close()


class Originals:
    """A function from a handle to the archived content as JSON text, None where there is none. It opens the archive when first called."""

    __slots__ = ("_db", "_path")

    def __init__(self, popkit_home: str):
        self._path = home.archive_path(popkit_home)
        self._db: Connection | Literal[False] | None = None

    def __call__(self, handle: str) -> str | None:
        if self._db is None:
            self._db = _open(self._path)
        if not self._db:
            return None
        import sqlite3

        from .. import archive

        began = time.monotonic()
        try:
            record = archive.retrieve_record(self._db, handle)
        except sqlite3.OperationalError:  # another process holds it: waiting again for each record could take minutes
            files.patience.spend_since(began)
            self.close()
            self._db = False
            return None
        except errors():
            return None  # `popkit restore verify` reports it
        return record["content"] if record and record["content_available"] else None

    def close(self) -> None:
        """Close the archive."""
        if self._db:
            self._db.close()
        self._db = None


def _open(path: str) -> Connection | Literal[False]:
    """Open the archive; False where there is none that can be read."""
    try:
        os.stat(path)
    except OSError:
        return False
    from .. import archive

    began = time.monotonic()
    try:
        return archive.open_archive(path, create=False, busy_s=files.patience.next_s())
    except errors():
        return False
    finally:
        files.patience.spend_since(began)


# --- the placeholders in the host's transcripts ---


def placed_handles(db: Connection, environ: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Yield (transcript, the handles of the placeholders in it, in order): of every transcript of the host, and of those that the archive
    names. Slow: it reads all of them."""
    for path in sorted(_transcripts(db, environ)):
        names = _handles_in(path)
        if names:
            yield path, sorted(names)


def placed_records(db: Connection, environ: Mapping[str, str], wanted: Collection[str] | None = None) -> dict[str, list[Record]]:
    """Return transcript -> the archived Records with a placeholder in it; with `wanted` only those of these handles."""
    from .. import archive

    placed = {}
    for path, names in placed_handles(db, environ):
        named = [archive.record(db, name) for name in names if wanted is None or name in wanted]
        records = [record for record in named if record]
        if records:
            placed[path] = records
    return placed


def handles_by_transcript(placed: dict[str, list[Record]]) -> dict[str, list[str]]:
    """Return transcript -> handles, for programs."""
    return {path: [record.id for record in records] for path, records in placed.items()}


def _transcripts(db: Connection, environ: Mapping[str, str]) -> set[str]:
    from ..hosts.claude_code import projects

    named = {path for (path,) in db.execute("SELECT DISTINCT transcript FROM chains") if path and isinstance(path, str)}
    try:
        return named.union(projects.every(environ))
    except home.NoHome:
        return named


def _handles_in(path: str) -> set[str]:
    """Return the handles in a conversation: the host's own lines repeat what was sent, and a quoted placeholder does not count."""
    from ..policy.placeholder import HEAD

    mark = HEAD.encode("ascii")
    try:
        with files.open_regular(path) as file:
            return {handle for line in file if mark in line for handle in _handles_of_line(line)}
    except (OSError, ValueError):
        return set()


def _handles_of_line(line: bytes) -> Iterator[str]:
    from ..hosts.claude_code import entries
    from ..hosts.claude_code.responses import text_of_blocks
    from ..policy.placeholder import handle_in

    entry = entries.entry_of(line)
    for block in entries.blocks_of(entry or {}):
        if block.get("type") == "tool_result":
            handle = handle_in(text_of_blocks(block.get("content"))[0])
            if handle:
                yield handle
