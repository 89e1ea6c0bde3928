"""The service with the user's own settings, which clients use by default."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping

from popkit_retention.core.io import home

from .builder import build_context
from .project_sources import ProjectSources
from .service import ContextService, _log
from .usage_log import DatabaseLog


@functools.lru_cache(maxsize=1)
def default_service() -> ContextService:
    """Return the service of this process, which clients use by default. DatabaseUnavailable."""
    return configured_service(os.environ)


def configured_service(environ: Mapping[str, str]) -> ContextService:
    """Return a service with the user's own settings, database, memory and files; without a folder of PopKit, it has no usage log.
    DatabaseUnavailable where a limit or a server is configured, and a mistake of the set-up would leave limits unchecked."""
    log: DatabaseLog | None = None
    try:
        log = DatabaseLog(environ)
        log.check_database()
    except home.NoHome as error:
        _log.warning("PopKit: no limits apply, and no builds are recorded: %s.", error)
    return ContextService(build_context, ProjectSources(environ), log)
