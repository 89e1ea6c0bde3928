"""The contents that placeholders stand for, from the archive. `sqlite3` is loaded where there is an archive and somebody asks."""

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

# The type of records that hold no result: what was thought behind one that was cleared.
THINKING = "thinking"


def task_id(session_id: str, agent_id: str = "") -> str:
    """The name of a context's chain in the archive."""
    return session_id + "/" + agent_id if agent_id else session_id


def errors() -> tuple[type[Exception], ...]:
    """What an archive that cannot be used raises."""
    import sqlite3

    from .. import archive

    return (archive.ArchiveError, archive.RetentionIntegrityError, sqlite3.Error, OSError)


def content_of(db: Connection, handle: str) -> str | None:
    """The archived content of a record as JSON text, a cold one made again from its source; None where it is gone for good."""
    from .. import archive

    try:
        found = archive.retrieve_record(db, handle)
        if found is None:
            return None
        return found["content"] if found["content_available"] else archive.recover(db, handle)
    except errors():
        return None


def matching(db: Connection, pattern: str, **where: Any) -> list[Record]:
    """The Records with a path or a command that a pattern matches, newest first; `where` as for `archive.find_records`."""
    from .. import archive
    from ..policy import globs

    def matches(record: Record) -> bool:
        return any(globs.matches(pattern, subject) for subject in record.subjects)

    named: set[str] | Callable[[str], bool] | None
    path, _, last = pattern.replace("\\", "/").rpartition("/")
    if not globs.is_wild(pattern) and last:
        named = {last, pattern}  # the last segment of a path, or the whole of a command
    elif last in ("", "**") and path:
        named = None  # everything below a folder: no name tells
    else:
        named = lambda name: globs.matches(last, name) or (" " in name and globs.matches(pattern, name))  # noqa: E731
    return archive.find_records(db, matches=matches, named=named, **where)


def folders_of(db: Connection, project: str) -> set[str]:
    """The folders, as the archive names them, of the sessions of a project (its key)."""
    from ..io import repository

    folders = [folder for (folder,) in db.execute("SELECT DISTINCT project FROM chains") if folder and isinstance(folder, str)]
    return {folder for folder in folders if repository.of(folder).key == project}


def held(popkit_home: str, handles: Iterable[str]) -> set[str] | None:
    """Those of the handles whose contents the archive can still give; None where it cannot be asked now. Waits for nobody."""
    from .. import archive

    try:
        db = archive.open_archive(home.archive_path(popkit_home), create=False, busy_s=0.0)
    except FileNotFoundError:
        return set()
    except errors():
        return None
    try:
        found = [archive.record(db, handle) for handle in handles]
        return {record.id for record in found if record is not None and (record.zone != "cold" or record.source)}
    except errors():
        return None
    finally:
        db.close()


class Originals:
    """handle -> the content that was archived, as JSON text; None where there is none. Opens the archive at the first question."""

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
            found = archive.retrieve_record(self._db, handle)
        except sqlite3.OperationalError:  # somebody holds it: to wait for each record anew could take minutes
            files.patience.spend_since(began)
            self.close()
            self._db = False
            return None
        except errors():
            return None  # `popkit archive verify` tells of it
        return found["content"] if found and found["content_available"] else None

    def close(self) -> None:
        """Lets go of the archive."""
        if self._db:
            self._db.close()
        self._db = None


def _open(path: str) -> Connection | Literal[False]:
    """The archive, False where there is none that can be read."""
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
