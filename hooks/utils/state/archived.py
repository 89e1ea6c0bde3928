"""Read the contents behind placeholders from the archive. `sqlite3` is loaded only when an archive is read."""

from __future__ import annotations

import time

from ..io import files, home
from ..io.system import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
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
    from ..policy import globs, needles

    def matches(record: Record) -> bool:
        return any(globs.matches(pattern, subject) for subject in record.subjects)

    named: set[str] | Callable[[str], bool] | None
    path, _, last = pattern.replace("\\", "/").rpartition("/")
    if not needles.is_wild(pattern) and last:
        named = {last, pattern}  # the last segment of a path, or the whole of a command
    elif path and not last:
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
