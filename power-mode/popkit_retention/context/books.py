"""What clients ask and write down, in the database that the user's configuration means: how much of the limits is used, how contexts were
assembled, what calls used. Nothing of it makes a call wait."""

from __future__ import annotations

import os
import time

from hooks.utils.config import remembered
from hooks.utils.edges import home
from hooks.utils.policy.models import models_of

from .database import budgets, usage
from .database.opening import open_database
from .database.snapshots import snapshot_of
from .database.writer import Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .models import ContextResult
    from .service import Caller, Request, Used


class DatabaseBooks:
    """Books for one process. Limits hold as they are set now; prices, and which database it is, as they were when the process began. NoHome
    where no folder of ours can be named."""

    def __init__(self, environ: Mapping[str, str] = os.environ, clock: Callable[[], float] = time.time) -> None:
        self._environ = environ
        self._clock = clock
        config = self._configuration()
        self._models = models_of(config)
        self._writer = Writer(lambda: open_database(environ), config["context"]["snapshot_days"], clock)
        self._budgets = budgets.Budgets(self._limits, lambda: open_database(environ), clock)

    def used_percent(self, user_id: str, session_id: str) -> float | None:
        """How much of the strictest limit is used; None where there is no limit, or none is known."""
        return self._budgets.used_percent(session_id, user_id)

    def built(self, caller: Caller, request: Request, result: ContextResult) -> None:
        """Keeps how a context was assembled."""
        at = self._clock()
        self._writer.put(snapshot_of(result, caller.session_id, caller.user_id, at, request.model, caller.project, caller.agent))

    def answered(self, caller: Caller, model: str, used: Used) -> None:
        """Books what a call used."""
        tokens = usage.Tokens(used.input, used.cache_read, max(0, used.cache_write - used.cache_write_1h), used.cache_write_1h, used.output)
        usd = usage.usd_of(self._models.model(model), tokens)
        id = usage.request_id(used.id)
        self._writer.put(usage.Used(usage.CLIENT, id, caller.session_id, caller.user_id, model, self._clock(), tokens, usd, caller.project))

    def flush(self, timeout_s: float) -> bool:
        """Waits until all is written, at most so long; whether it is."""
        return self._writer.flush(timeout_s)

    def close(self) -> None:
        """Writes what is waiting and closes the database."""
        self._writer.close()
        self._budgets.close()

    def _limits(self) -> budgets.Limits:
        """The limits as they are set now."""
        return budgets.limits_of(self._configuration()["context"])

    def _configuration(self) -> dict[str, Any]:
        return remembered.effective(home.plugin_root(), home.popkit_home(self._environ), "")
