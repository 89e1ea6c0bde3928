"""A callback of a proxy whose builds fail."""

from __future__ import annotations

from popkit_retention.context.clients.litellm import PopkitContext
from popkit_retention.context.models import ContextBuildOptions, ContextResult
from popkit_retention.context.service import ContextService
from popkit_retention.context.sources import Sources


def _fails(options: ContextBuildOptions, sources: Sources) -> ContextResult:
    raise ValueError("it always fails")


popkit_context = PopkitContext(ContextService(_fails))
