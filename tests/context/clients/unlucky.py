"""A callback of a proxy whose builds fail. In that proxy every request waits for what is used, however busy the machine is."""

from __future__ import annotations

from popkit_retention.clients.litellm import PopkitContext
from popkit_retention.context.build_types import ContextBuildOptions, ContextResult
from popkit_retention.context.service import ContextService
from popkit_retention.context.sources import Sources
from popkit_retention.usage import budgets
from tests.patience import HANG_S


def _fails(options: ContextBuildOptions, sources: Sources) -> ContextResult:
    raise ValueError("it always fails")


budgets.FIRST_WAIT_S = HANG_S
popkit_context = PopkitContext(ContextService(_fails))
