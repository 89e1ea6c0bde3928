"""The service that clients use unless they are given another: the user's own settings, database, memory and files."""

from __future__ import annotations

import functools
import logging
import os
import threading
from collections import OrderedDict
from contextlib import nullcontext

from hooks.utils.edges import home

from .books import DatabaseBooks
from .builder import build_context
from .files import ProjectFiles
from .memories import ProjectMemory
from .service import ContextService
from .sources import Sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from .service import Books
    from .sources import FileText

_log = logging.getLogger("popkit_retention.context")
_PROJECTS = 16  # that are known at once


@functools.lru_cache(maxsize=1)
def default_service() -> ContextService:
    """The one of this process. No database is opened before the first build."""
    return configured_service(os.environ)


def configured_service(environ: Mapping[str, str]) -> ContextService:
    """A service as the user has configured it; it is said what of it cannot be had, and done without."""
    books: Books | None = None
    try:
        books = DatabaseBooks(environ)
    except home.NoHome as error:
        _log.warning("PopKit: no limits hold, and nothing is kept of what is built: %s.", error)
    return ContextService(build_context, _Sources(environ), books)


class _Sources:
    """What projects have, their memory and their files, for all builds; of the projects used last."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._known: OrderedDict[str, Sources] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, project: str) -> AbstractContextManager[Sources]:
        return nullcontext(self._of(project) if project else Sources())

    def _of(self, project: str) -> Sources:
        with self._lock:
            sources = self._known.get(project) or Sources(ProjectMemory(self._environ, project), _Files(ProjectFiles(project)))
            self._known[project] = sources
            self._known.move_to_end(project)
            if len(self._known) > _PROJECTS:
                self._known.popitem(last=False)
            return sources


class _Files:
    """Files of a project for several builds at once."""

    def __init__(self, files: ProjectFiles) -> None:
        self._files = files
        self._lock = threading.Lock()

    def read(self, path: str, with_outline: bool = False) -> FileText | None:
        with self._lock:
            return self._files.read(path, with_outline)
