"""What clients ask and write down, in the database that the user's configuration means: how much of the limits is used, how contexts were
assembled, what calls used. Nothing of it makes a call wait."""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid

from hooks.utils.config import remembered
from hooks.utils.edges import home
from hooks.utils.policy.models import models_of

from ..usage import budgets, records
from ..usage.catching_up import catch_up
from ..usage.opening import open_store
from ..usage.records import name_of
from ..usage.store import DatabaseUnavailable
from ..usage.writer import Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .models import ContextResult
    from .service import Caller, Request, Used

_LOG = logging.getLogger("popkit")
CAUGHT_UP_EVERY_S = 15.0
_LARGEST = 2**31 - 1  # that a column of whole numbers holds


class DatabaseBooks:
    """Books for one process. Limits hold as they are set now; prices, and which database it is, as they were when the process began. NoHome
    where no folder of ours can be named."""

    def __init__(self, environ: Mapping[str, str] = os.environ, clock: Callable[[], float] = time.time) -> None:
        self._environ = environ
        self._clock = clock
        config = self._configuration()
        self._models = models_of(config)
        self._writer = Writer(lambda: open_store(environ), config["context"]["snapshot_days"], clock)
        self._budgets = budgets.Budgets(self._limits, lambda: open_store(environ), clock)
        self._caught_up = CatchingUp(environ)

    def used_percent(self, user_id: str, session_id: str) -> float | None:
        """How much of the strictest limit is used; None where there is no limit, or none is known."""
        return self._budgets.used_percent(session_id, user_id)

    def built(self, caller: Caller, request: Request, result: ContextResult) -> None:
        """Keeps how a context was assembled."""
        at = self._clock()
        self._writer.put(snapshot_of(result, caller.session_id, caller.user_id, at, request.model, caller.project, caller.agent))

    def answered(self, caller: Caller, model: str, used: Used) -> None:
        """Books what a call used."""
        hour = used.cache_write_1h
        tokens = records.Tokens(used.input, used.cache_read, max(0, used.cache_write - hour), hour, used.output)
        id, usd, at = records.request_id(used.id), records.usd_of(self._models.model(model), tokens), self._clock()
        self._writer.put(records.Used(records.CLIENT, id, caller.session_id, caller.user_id, model, at, tokens, usd, caller.project))

    def flush(self, timeout_s: float) -> bool:
        """Waits until all is written, at most so long; whether it is."""
        return self._writer.flush(timeout_s)

    def close(self) -> None:
        """Writes what is waiting and closes the database."""
        self._writer.close()
        self._budgets.close()

    def _limits(self) -> budgets.Limits:
        """The limits as they are set now. Where there are any, sessions of the host count too, as far as they are booked."""
        limits = budgets.limits_of(self._configuration()["context"])
        if limits.any:
            self._caught_up.begin()
        return limits

    def _configuration(self) -> dict[str, Any]:
        return remembered.effective(home.plugin_root(), home.popkit_home(self._environ), "")


class CatchingUp:
    """Books what sessions of the host have used since, now and then, in a thread of its own: nobody waits for it."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._thread: threading.Thread | None = None
        self._at = float("-inf")

    def begin(self) -> None:
        """Begin, unless it is under way or was lately."""
        now = time.monotonic()
        if now - self._at >= CAUGHT_UP_EVERY_S and not (self._thread and self._thread.is_alive()):
            self._at = now
            self._thread = threading.Thread(target=self._work, name="popkit-catching-up", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        try:
            catch_up(self._environ)
        except (DatabaseUnavailable, OSError) as error:  # `popkit budget` tells of these
            _LOG.debug("What sessions used could not be booked (%s).", type(error).__name__)


def snapshot_of(result: ContextResult, session: str, user: str, at: float, model: str, project: str, agent: str) -> records.Snapshot:
    """Return what is kept of a build. `user`: who it is booked to; `at`: when it was (seconds since 1970)."""
    return records.Snapshot(
        str(uuid.uuid4()),
        name_of(session),
        name_of(user),
        result.tier_breakdown.model_dump(by_alias=True),
        min(result.total_tokens, _LARGEST),
        result.budget_used_percent,
        result.pruning_strategy.model_dump(by_alias=True),
        at,
        result.budget_remaining_percent,
        min(result.full_tokens, _LARGEST),
        name_of(model),
        name_of(project),
        name_of(agent),
        result.counted,
    )
