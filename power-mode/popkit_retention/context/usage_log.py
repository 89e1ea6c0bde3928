"""The usage log of clients, in the database of the user's configuration. No call waits for it."""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from popkit_retention.core.config.cached import effective
from popkit_retention.core.errors import PopkitError
from popkit_retention.core.io import home, hook_log
from popkit_retention.core.policy.models import models_of

from ..usage import budgets, records
from ..usage.configured_database import is_configured, open_store
from ..usage.ingestion import catch_up
from ..usage.records import CLIENT, Snapshot, Tokens, name_of, request_id, usd_of
from ..usage.unchecked import UncheckedLog, UncheckedRequests
from ..usage.usage_store import DatabaseSilent, DatabaseUnavailable
from .build_types import ContextResult
from .usage_writer import Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .requests import AnswerUsage, Caller, Request


_LOG = logging.getLogger("popkit")
CAUGHT_UP_EVERY_S = 15.0
WRITTEN_S = 5.0  # how long a request waits for earlier usage to be written, where a limit refuses
BATCH_SHARE = 0.5  # of the price, that both providers take for a request in a batch
FAULTY = "messages"  # in the log of failures
_LARGEST = 2**31 - 1  # that an integer column holds


class LimitCheck(NamedTuple):
    """The check of a request's limits: the limit that is used up (`exceeded`), whether it `refuses` the request, and the requests so far
    whose limits could not be checked, this one included (`unchecked`)."""

    exceeded: budgets.Standing | None = None
    refuses: bool = False
    unchecked: UncheckedRequests | None = None


class FaultyMessages(PopkitError, ValueError):
    """Messages went out that a provider would refuse."""

    is_safe_to_log = True


class DatabaseLog:
    """The usage log of one process. Limits apply as they are set now; prices, and the choice of the database, as of the process's start.
    NoHome where PopKit has no folder."""

    def __init__(self, environ: Mapping[str, str] | None = None, clock: Callable[[], float] = time.time) -> None:
        environ = os.environ if environ is None else environ
        self._environ = environ
        self._clock = clock
        config = self._configuration()
        self._models = models_of(config)
        self._writer = Writer(lambda: open_store(environ), config["context"]["snapshot_days"], clock)
        self._budgets = budgets.Budgets(self._limits, lambda: open_store(environ), clock)
        self._unchecked = UncheckedLog(environ, clock)
        self._caught_up = CatchUp(environ)
        self._faulty: set[str] = set()  # sessions

    def check_database(self) -> None:
        """Open the database once, where a limit or a server is configured. DatabaseUnavailable for a mistake of the set-up; a database that
        only does not answer now is noted, as one that falls silent later."""
        if not is_configured(self._configuration()["context"], self._environ):
            return
        try:
            open_store(self._environ).close()
        except DatabaseSilent as error:
            if self._limits().any:
                self._budgets.fall_silent(error)
            else:
                _LOG.warning("PopKit: usage is not recorded until the database answers: %s.", error)

    def used_percent(self, user_id: str, session_id: str) -> float | None:
        """Return the used percentage of the most used limit; None where there is no limit, or it is unknown."""
        return self._budgets.used_percent(session_id, user_id)

    def check_limits(self, user_id: str, session_id: str) -> LimitCheck:
        """Check the limits of a request that is about to go out. A refusing limit is looked up at this moment, with everything that this
        process has used, so unlike `used_percent` this waits for the database."""
        config = self._configuration()["context"]
        if not budgets.limits_of(config).any:
            return LimitCheck()
        refuses = config["on_exceeded"] == budgets.REFUSE
        if refuses and not self._writer.is_failing:
            self._writer.flush(WRITTEN_S)
        worst = (self._budgets.now if refuses else self._budgets.worst)(session_id, user_id)
        exceeded = worst if worst is not None and worst.used >= worst.limit else None
        refused = refuses and exceeded is not None
        return LimitCheck(exceeded, refused, None if refused else self._unchecked.count(self._budgets.silence))

    def built(self, caller: Caller, request: Request, result: ContextResult) -> None:
        """Record a snapshot of a build, and in the log of failures, once for each conversation, messages that a provider would refuse."""
        if result.faults and caller.session_id not in self._faulty:
            self._faulty.add(caller.session_id)
            hook_log.log_failure(self._environ, FAULTY, FaultyMessages(result.faults[0]))
        at = self._clock()
        self._writer.put(snapshot_of(result, caller.session_id, caller.user_id, at, request.model, caller.project, caller.agent))

    def answered(self, caller: Caller, model: str, used: AnswerUsage) -> None:
        """Record the tokens that a call used."""
        hour = used.cache_write_1h
        tokens = Tokens(used.input, used.cache_read, max(0, used.cache_write - hour), hour, used.output)
        id, usd, at = request_id(used.id), usd_of(self._models.model(model), tokens), self._clock()
        usd = usd * BATCH_SHARE if usd is not None and used.batch else usd
        self._writer.put(records.RequestUsage(CLIENT, id, caller.session_id, caller.user_id, model, at, tokens, usd, caller.project))

    def flush(self, timeout_s: float) -> bool:
        """Wait until everything is written, at most this long; return whether it is."""
        return self._writer.flush(timeout_s)

    def close(self) -> None:
        """Write everything pending and close the database."""
        self._writer.close()
        self._budgets.close()

    def _limits(self) -> budgets.Limits:
        """Return the limits as they are set now. Where there are any, the host's sessions count too, as far as they are recorded."""
        limits = budgets.limits_of(self._configuration()["context"])
        if limits.any:
            self._caught_up.begin()
        return limits

    def _configuration(self) -> dict[str, Any]:
        return effective(home.plugin_root(), home.popkit_home(self._environ), "")


class CatchUp:
    """Records the new usage of the host's sessions from time to time, in a thread of its own that no call waits for."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._thread: threading.Thread | None = None
        self._at = float("-inf")

    def begin(self) -> None:
        """Begin, unless a catch-up is under way or was made recently."""
        now = time.monotonic()
        if now - self._at >= CAUGHT_UP_EVERY_S and not (self._thread and self._thread.is_alive()):
            self._at = now
            self._thread = threading.Thread(target=self._work, name="popkit-catching-up", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        try:
            catch_up(self._environ)
        except (DatabaseUnavailable, OSError) as error:  # `popkit budget` reports these
            _LOG.debug("The usage of sessions could not be recorded (%s).", type(error).__name__)


def snapshot_of(result: ContextResult, session: str, user: str, at: float, model: str, project: str, agent: str) -> Snapshot:
    """Return the snapshot of a build. `user`: the user whose usage it is; `at`: the time of the build (seconds since 1970)."""
    return Snapshot(
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
