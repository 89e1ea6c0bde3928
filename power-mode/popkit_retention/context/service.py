"""The service that builds contexts for clients. No call fails unless a limit refuses it.

Builds are traced through OpenTelemetry: a span for each, and an event with the size of its context. They have no contents. They go to the
application's own tracer provider where it has set one up. Where it has none, and the user has configured a receiver (`context.traces`),
ours sends them there; without either they cost nothing worth measuring.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import PurePath
from typing import Protocol

from ..usage.budgets import BudgetExceeded
from .build_types import ContextBuildOptions, ContextResult, Message
from .conversations import Conversations
from .message_digests import digests_of
from .requests import AnswerUsage, Caller, Notice, PreparedRequest, Request
from .sources import Sources
from .tracing import building, built

_log = logging.getLogger("popkit_retention.context")


class UsageLog(Protocol):
    """The log of users' usage. It writes in the background. A log that also has `check_limits(user_id, session_id)`,
    which returns a `usage_log.LimitCheck`, can warn and refuse at its limits."""

    def used_percent(self, user_id: str, session_id: str) -> float | None:
        """Return the used percentage of the most used limit; None where there is no limit."""
        ...

    def built(self, caller: Caller, request: Request, result: ContextResult) -> None: ...

    def answered(self, caller: Caller, model: str, used: AnswerUsage) -> None: ...

    def close(self) -> None:
        """Write everything pending."""
        ...


class ContextService:
    """Builds contexts for many users, sessions and threads at once.

    service = ContextService(build_context, sources, log)
    messages = service.build(Caller("dana", session_id="s1"), Request(Provider.ANTHROPIC, "claude-…", messages))
    """

    def __init__(
        self,
        build: Callable[[ContextBuildOptions, Sources], ContextResult],
        sources: Callable[[str], AbstractContextManager[Sources]] = lambda project: nullcontext(Sources()),
        log: UsageLog | None = None,
    ) -> None:
        """`sources`: those of a project's folder, for one build. `log`: None where no limits apply and nothing is recorded."""
        self._build = build
        self._sources = sources
        self._usage = log
        self._conversations = Conversations()
        self._warned = False
        self._lock = threading.Lock()

    def build(self, caller: Caller, request: Request) -> list[Message] | None:
        """Return the messages to send, valid for the provider; None where the original ones are to be sent, because no user is named or
        building failed, which is logged once. BudgetExceeded."""
        return self.prepare(caller, request).messages

    def prepare(self, caller: Caller, request: Request) -> PreparedRequest:
        """Return the messages to send, and the notice for the answer. BudgetExceeded where a limit that refuses is used up."""
        if not caller.user_id or not request.messages:
            return PreparedRequest()
        notice = self.checked(caller)
        messages, faults = [], []
        with self.careful("building a context failed, so the original messages were sent"):
            result = self._built(caller, request)
            messages, faults = result.messages, result.faults
        return PreparedRequest(messages or None, notice._replace(faults=faults))

    def checked(self, caller: Caller) -> Notice:
        """Return the notice for a request whose context is not built. BudgetExceeded where a limit that refuses is used up."""
        check, done = getattr(self._usage, "check_limits", None), None
        if check is not None:
            with self.careful("limits could not be read, so none applies"):
                done = check(caller.user_id, caller.session_id)
        if done is None:
            return Notice()
        if done.refuses:
            raise BudgetExceeded(done.exceeded)
        return Notice(done.exceeded, unchecked=done.unchecked)

    def answered(self, caller: Caller, model: str, used: AnswerUsage | None) -> None:
        """Record the tokens that an answer used; None where it reported none."""
        if self._usage is None or used is None or not caller.user_id:
            return
        with self.careful("the usage of a call could not be recorded"):
            self._usage.answered(caller, model, used)

    def close(self) -> None:
        """Write everything pending, and end. Otherwise this happens at the end of the process."""
        if self._usage is not None:
            self._usage.close()

    @contextmanager
    def careful(self, consequence: str, except_for: type[Exception] | tuple[()] = ()) -> Iterator[None]:
        """Log an error inside instead of raising it, with its `consequence` in words. `except_for`: an error that is the caller's."""
        try:
            yield
        except except_for:
            raise
        except Exception as error:  # noqa: BLE001  a call must not fail for what PopKit adds to it
            self._warn(consequence, error)

    def _built(self, caller: Caller, request: Request) -> ContextResult:
        digests = digests_of(request.messages)
        with self._conversations.turn(caller, digests or ()) as turn:
            span_of_build = building(caller.agent, caller.session_id, request.model, len(request.messages))
            with self._sources(caller.project) as sources, span_of_build as span:
                result = self._build(self._options(caller, request, turn.state, digests), sources)
                built(span, result)
            turn.hand_on(result.state, result.appended)
        if self._usage is not None:
            with self.careful("a built context could not be recorded"):
                self._usage.built(caller, request, result)
        return result

    def _options(
        self, caller: Caller, request: Request, previous: dict[str, object] | None, digests: list[str] | None
    ) -> ContextBuildOptions:
        # Not validated: a copy of every message, which the builder checks anyway, would cost as much as the build.
        return ContextBuildOptions.model_construct(
            agent=caller.agent,
            messages=request.messages,
            session_id=caller.session_id,
            user_id=caller.user_id,
            budget_used_percent=self._used_percent(caller),
            provider=request.provider,
            model=request.model,
            system=request.system,
            tools=request.tools,
            project=caller.project,
            max_tokens=request.max_tokens,
            force_include_tiers=list(request.forced),
            previous=previous,
            digests=digests,
        )

    def _used_percent(self, caller: Caller) -> float | None:
        used = None
        if self._usage is not None:
            with self.careful("limits could not be read, so none applies"):
                used = self._usage.used_percent(caller.user_id, caller.session_id)
        return used if used is None else float(used)

    def _warn(self, consequence: str, error: Exception) -> None:
        """Warn once; later errors are logged for debugging. An error's own message may quote contents, so it is left out."""
        with self._lock:
            level, self._warned = logging.DEBUG if self._warned else logging.WARNING, True
        _log.log(level, "PopKit: %s (%s in %s). This is logged once.", consequence, type(error).__name__, _place(error))


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"
