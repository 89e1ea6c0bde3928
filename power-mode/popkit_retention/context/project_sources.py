"""The sources of a project that builds may ask: its files, with its long-term memory where the user has switched that on."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

from .project_files import ProjectFiles
from .project_memory import ProjectMemory
from .sources import Sources

_PROJECTS = 16  # projects that are open at once


class ProjectSources:
    """The memory and the files of projects, for all builds. Those of the most recently used projects stay open."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._known: OrderedDict[str, Sources] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, project: str) -> AbstractContextManager[Sources]:
        return nullcontext(self._of(project) if project else Sources())

    def _of(self, project: str) -> Sources:
        with self._lock:
            sources = self._known.get(project) or Sources(ProjectMemory(self._environ, project), ProjectFiles(project))
            self._known[project] = sources
            self._known.move_to_end(project)
            if len(self._known) > _PROJECTS:
                self._known.popitem(last=False)
            return sources
