"""The service that clients use unless they are given another: the user's own settings, database, memory and files."""

from __future__ import annotations

import functools
import logging
import os
import threading
from collections import OrderedDict
from contextlib import contextmanager

from hooks.utils.edges import home

from .builder import build_context
from .files import ProjectFiles
from .memories import memory_of
from .service import ContextService
from .sources import Sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .service import Books
    from .sources import FileText

_log = logging.getLogger("popkit_retention.context")
_PROJECTS = 16  # whose files are remembered


@functools.lru_cache(maxsize=1)
def default_service() -> ContextService:
    """The one of this process. No database is opened before the first build."""
    return configured_service(os.environ)


def configured_service(environ: Mapping[str, str]) -> ContextService:
    """A service as the user has configured it; it is said what of it cannot be had, and done without."""
    books: Books | None = None
    try:
        from .books import DatabaseBooks

        books = DatabaseBooks(environ)
    except (ImportError, home.NoHome) as error:
        _log.warning("PopKit: no limits hold, and nothing is kept of what is built: %s.", error)
    return ContextService(build_context, _Sources(environ), books)


class _Sources:
    """What a project has: its memory for one build, its files for all of them."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._files: OrderedDict[str, _Files] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def __call__(self, project: str) -> Iterator[Sources]:
        if not project:
            yield Sources()
            return
        with memory_of(self._environ, project) as memory:
            yield Sources(memory, self._files_of(project))

    def _files_of(self, project: str) -> _Files:
        with self._lock:
            files = self._files.setdefault(project, _Files(ProjectFiles(project)))
            self._files.move_to_end(project)
            if len(self._files) > _PROJECTS:
                self._files.popitem(last=False)
            return files


class _Files:
    """Files of a project for several builds at once."""

    def __init__(self, files: ProjectFiles) -> None:
        self._files = files
        self._lock = threading.Lock()

    def read(self, path: str, with_outline: bool = False) -> FileText | None:
        with self._lock:
            return self._files.read(path, with_outline)
