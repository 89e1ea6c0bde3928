"""Open the prerequisites of every clear and its undo: a transcript that is understood, and the archive."""

from __future__ import annotations

import time

from .. import archive
from ..errors import PopkitError
from ..hosts import KEEPS
from ..io import files, home
from ..state.archived import errors, task_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from sqlite3 import Connection
    from typing import TypeVar

    from ..hosts.transcripts.transcript import Index
    from ..state.site import Site

    T = TypeVar("T")

_TRIES, _PAUSE_S = 5, 0.05
# Begins every message about a file that is in doubt.
_REFUSED = "the transcript is not understood, so nothing was changed: "


class ClearRefused(PopkitError):
    """Nothing was changed; the message says why, and what to do about it."""


def until_whole(read: Callable[[], T], index_of: Callable[[T], Index]) -> T:
    """Return what `read()` gives once the last line of the transcript is complete, as the host may be writing it; after a while, as it
    is."""
    for _ in range(_TRIES):
        whole = read()
        if not index_of(whole).torn:
            break
        time.sleep(_PAUSE_S)
    return whole


def check_understood(index: Index, ids: Iterable[str] = ()) -> None:
    """Raise ClearRefused for a transcript with anything in it that is not understood, or with several results of one of these ids."""
    if index.translated:
        raise ClearRefused(f"this is a recording of {index.translated}, which PopKit reads and never changes")
    if index.doubts:
        doubt = index.doubts[0]
        raise ClearRefused(f"nothing was changed: {doubt}" if KEEPS in doubt else _REFUSED + doubt)
    doubled = sorted(index.doubled.intersection(ids))
    if doubled:
        raise ClearRefused(_REFUSED + "it holds several results of " + doubled[0])


def chain_of(site: Site, transcript_path: str, agent_id: str = "") -> archive.Chain:
    """Return the chain of the session's main thread, or of a subagent."""
    return archive.Chain(task_id(site.session_id, agent_id), site.session_id, agent_id, site.session_project, transcript_path)


class OpenArchive:
    """The archive within a `with`; whatever keeps it from being used is a Refused."""

    __slots__ = ("_began", "_create", "_db", "_path")

    def __init__(self, popkit_home: str, create: bool = False):
        self._path = home.archive_path(popkit_home)
        self._create = create
        self._db: Connection  # these two within the `with`
        self._began: float

    def __enter__(self) -> Connection:
        self._began = time.monotonic()
        try:
            self._db = archive.open_archive(self._path, create=self._create, busy_s=files.patience.next_s())
        except FileNotFoundError:
            raise ClearRefused("nothing has been archived yet") from None
        except errors() as error:
            raise _unusable(error) from None
        finally:
            files.patience.spend_since(self._began)
        return self._db

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        self._db.close()
        if kind is not None and issubclass(kind, errors()) and not issubclass(kind, OSError):
            files.patience.spend_since(self._began)
            raise _unusable(error) from None


def _unusable(error: BaseException | None) -> ClearRefused:
    return ClearRefused(f"the archive cannot be used ({error}), so nothing was changed")
