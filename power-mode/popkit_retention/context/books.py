"""What clients ask and write down, in the database that the user's configuration means: how much of the limits is used, how contexts were
assembled, what calls used. Nothing of it makes a call wait."""

from __future__ import annotations

import os
import threading
import time

from hooks.utils.config import remembered
from hooks.utils.edges import home
from hooks.utils.policy.models import models_of

from .database import budgets, usage
from .database.opening import Database, open_database
from .database.snapshots import snapshot_of
from .database.writer import Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .models import ContextResult
    from .service import Caller, Request, Used


class DatabaseBooks:
    """Books for one process. NoHome where no folder of ours can be named."""

    def __init__(self, environ: Mapping[str, str] = os.environ, clock: Callable[[], float] = time.time) -> None:
        config = remembered.effective(home.plugin_root(), home.popkit_home(environ), "")
        self._environ = environ
        self._clock = clock
        self._models = models_of(config)
        self._writer = Writer(lambda: open_database(environ), config["context"]["snapshot_days"], clock)
        self._budgets = budgets.Budgets(budgets.limits_of(config["context"]), self._asked, clock)
        self._opening = threading.Lock()
        self._open: tuple[int, Database] | None = None

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
        with self._opening:
            if self._open is not None and self._open[0] == os.getpid():
                self._open[1].close()
            self._open = None

    def _asked(self) -> Database:
        """The database that questions go to; one that was opened before a fork is the parent's."""
        with self._opening:
            if self._open is None or self._open[0] != os.getpid():
                self._open = (os.getpid(), open_database(self._environ))
            return self._open[1]
