"""Hold what every change of a transcript needs: one at a time, a file that is understood, the archive."""

from __future__ import annotations

import time

from .. import archive
from ..hosts import KEEPS
from ..hosts.claude_code.usage import newest_usage
from ..io import files, home
from ..io.system import join
from ..state.archived import errors, task_id
from . import rewrite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from sqlite3 import Connection
    from typing import TypeVar

    from ..hosts.claude_code.transcript import Index
    from ..state.live import Site

    T = TypeVar("T")

_TRIES, _PAUSE_S = 5, 0.05
# The end of a turn is in the transcript a moment after the host has shown it; on a busy machine that moment is long.
_ANSWER_S = 2.0
# Begins every message about a file that is in doubt; the transcript stays as it is.
_UNTOUCHED = "PopKit does not rewrite the transcript of such a session: what leaves it could not be put back after the end. "
_REFUSED = "the transcript is not understood, so nothing was changed: "


class Refused(Exception):
    """Nothing was changed; the message says why, and what to do."""


class Running(Refused):
    """Claude is in the middle of a turn."""


def turnstile(site: Site) -> files.Lock:
    """Return the lock under which a session's transcript is changed. Refused when another change is at work, and under a data rule: what
    leaves the transcript would be nowhere once the session has ended."""
    if site.data_rules:
        raise Refused(f"nothing was changed. {_UNTOUCHED if site.is_in_memory else ''}{site.rules_in_words()}")
    folder = home.session_folder(site.home, site.session_id)
    files.make_private_folder(folder, may_be_link=False)
    return _Turnstile(join(folder, "clear.lock"))


class _Turnstile(files.Lock):
    __slots__ = ()

    def __enter__(self) -> files.Lock:
        try:
            return super().__enter__()
        except files.LockTimeout:
            raise Refused("another clear, undo or restore of this session is running. Try again") from None


def original_path(site: Site) -> str:
    """Return where the transcript is kept as it was before the last change."""
    return join(home.session_folder(site.home, site.session_id), home.ORIGINAL)


def binds(site: Site, transcript_path: str) -> bool:
    """Return whether the model that answered last binds its thinking to an unedited past."""
    newest = newest_usage(transcript_path)
    return newest is not None and site.rules().models.model(newest.model).thinking_bound


def sweep(site: Site, transcript_path: str) -> None:
    """Remove what killed changes of this transcript have left beside it and beside the kept original."""
    rewrite.sweep(transcript_path)
    rewrite.sweep(original_path(site))


def until_whole(read: Callable[[], T], index_of: Callable[[T], Index]) -> T:
    """Return what `read()` gives once the last line of the transcript is complete, as the host may be writing it; after a while, as it
    is."""
    for _ in range(_TRIES):
        whole = read()
        if not index_of(whole).torn:
            break
        time.sleep(_PAUSE_S)
    return whole


def once_answered(change: Callable[[], T]) -> T:
    """Return what `change()` gives. For a while it is tried again where a turn is Running or the transcript has Changed since it was read:
    a person acts as soon as the host shows the answer, which it writes down afterwards."""
    until = time.monotonic() + files.patience.next_s(_ANSWER_S)
    while True:
        try:
            return change()
        except (Running, rewrite.Changed):
            if time.monotonic() > until:
                raise
        time.sleep(_PAUSE_S)


def check_understood(index: Index, ids: Iterable[str] = ()) -> None:
    """Raise Refused for a transcript with anything in it that is not understood, or with several results of one of these ids."""
    if index.translated:
        raise Refused(f"this is a recording of {index.translated}, which PopKit reads and never changes")
    if index.doubts:
        doubt = index.doubts[0]
        raise Refused(f"nothing was changed: {doubt}" if KEEPS in doubt else _REFUSED + doubt)
    doubled = sorted(index.doubled.intersection(ids))
    if doubled:
        raise Refused(_REFUSED + "it holds several results of " + doubled[0])


def trouble_of(work: Callable[[], object]) -> str:
    """Do what follows a change of the transcript, and return what of it failed, for a person; "" where all went well. The change stays:
    what the archive and the transcript hold is enough to go on from."""
    try:
        work()
    except errors() as error:
        return f"The transcript was changed, but not all of it could be written down for the statistics ({error})."
    return ""


def chain_of(site: Site, transcript_path: str) -> archive.Chain:
    """Return the chain of the session's main thread."""
    return archive.Chain(task_id(site.session_id), site.session_id, "", site.session_project, transcript_path)


class Opened:
    """The archive within a `with`; whatever keeps it from being used is a Refused."""

    __slots__ = ("_began", "_create", "_db", "_path")

    def __init__(self, popkit_home: str, create: bool = False):
        self._path = home.archive_path(popkit_home)
        self._create = create
        self._db: Connection  # within the `with`
        self._began = 0.0

    def __enter__(self) -> Connection:
        self._began = time.monotonic()
        try:
            if self._create:
                files.make_private_folder(self._path.rpartition("/")[0])
            self._db = archive.open_archive(self._path, create=self._create, busy_s=files.patience.next_s())
        except FileNotFoundError:
            raise Refused("nothing has been archived yet") from None
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


def _unusable(error: BaseException | None) -> Refused:
    return Refused(f"the archive cannot be used ({error}), so nothing was changed")
