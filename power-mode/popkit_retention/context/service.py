"""The service that builds contexts for clients: their sources, budgets and usage. It fails no call but one that a limit refuses.

Builds are traced through OpenTelemetry: a span for each, and an event with the size of its context. They have no contents. They go to the
application's own tracer provider where it has set one up. Where it has none, and the user has configured a receiver (`context.traces`),
ours sends them there; without either they cost nothing worth measuring.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import PurePath
from typing import Any, NamedTuple, Protocol

from opentelemetry import trace
from opentelemetry.trace import Span, Tracer

from hooks.utils.config import effective
from hooks.utils.io import home

from ..usage.budgets import BudgetExceeded, Standing
from .build_types import ContextBuildOptions, ContextResult, Message, Sources
from .builder import build_context
from .continuity import Conversations, mark_of
from .project_sources import ProjectSources
from .provider_forms import Provider, digests_of
from .usage_log import DatabaseLog

SERVICE, SCOPE = "popkit", "popkit_retention"
PATIENCE_S = 5
PATH = "/v1/traces"
BUILD, USAGE = "CONTEXT_BUILD", "CONTEXT_USAGE"
_lock = threading.Lock()
_own: dict[int, Tracer | None] = {}
_NOBODY = trace.NoOpTracer()


@contextmanager
def building(agent: str, session_id: str, model: str, message_count: int, tracer: Tracer | None = None) -> Iterator[Span]:
    """Open a span around one build. `tracer`: None for that of this process. An error in it is recorded by its type alone."""
    with (tracer or tracer_of(os.environ)).start_as_current_span(BUILD, record_exception=False, set_status_on_exception=False) as span:
        if span.is_recording():
            span.set_attributes({"agent": agent, "session.id": session_id, "model": model, "messageCount": message_count})
        try:
            yield span
        except BaseException as error:
            if span.is_recording():
                span.set_attributes({"contextBuilt": False, "error.type": type(error).__name__})
                span.set_status(trace.StatusCode.ERROR)
            raise


def built(span: Span, result: ContextResult) -> None:
    """Record the result of a build in its span, and the size of its context in an event."""
    if not span.is_recording():
        return
    sizes: dict[str, str | int | float | bool] = {
        "totalTokens": result.total_tokens,
        "fullTokens": result.full_tokens,
        "budgetPercent": result.budget_used_percent,
        "budgetRemainingPercent": result.budget_remaining_percent,
    }
    span.set_attributes({"contextBuilt": True, "tiersIncluded": len(result.tiers), "appended": result.appended, **sizes})
    if result.faults:
        span.set_attribute("faults", result.faults)
    breakdown, strategy = (json.dumps(part.model_dump(by_alias=True)) for part in (result.tier_breakdown, result.pruning_strategy))
    span.add_event(USAGE, {**sizes, "tierBreakdown": breakdown, "pruningStrategy": strategy})


def tracer_of(environ: Mapping[str, str]) -> Tracer:
    """Return the tracer to use: the application's, else ours where the user has configured a receiver, else one that does nothing. An
    application may set up its own at any time."""
    if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return trace.get_tracer(SCOPE)
    pid = os.getpid()
    if pid not in _own:
        with _lock:
            if pid not in _own:
                _own[pid] = _configured(environ)
    return _own[pid] or _NOBODY


def _configured(environ: Mapping[str, str]) -> Tracer | None:
    """Return our tracer, which sends to the configured receiver; None where none is configured."""
    try:
        endpoint = effective(home.plugin_root(), home.popkit_home(environ), "")["context"]["traces"]
    except home.NoHome:
        return None
    return sending_to(endpoint) if endpoint else None


def sending_to(endpoint: str) -> Tracer | None:
    """Return a tracer that sends to a receiver, in batches, behind the traced code; None where the extra `traces` is missing."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        return None
    provider = TracerProvider(resource=Resource.create({"service.name": SERVICE}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=_url_of(endpoint), timeout=PATIENCE_S)))
    return provider.get_tracer(SCOPE)


def _url_of(endpoint: str) -> str:
    """Return the URL for spans of a receiver's address."""
    return endpoint if endpoint.endswith(PATH) else endpoint.rstrip("/") + PATH


# --- the service --------------------------------------------------------------------------------------------------------------------------

_log = logging.getLogger("popkit_retention.context")
_UNNAMED = "conversation-"


class Caller(NamedTuple):
    """The caller of a request. `user_id`: "" for none, whose requests stay as they are. `project`: the folder whose memory and files may
    enter, "" for none. `agent`: its name, for people."""

    user_id: str
    session_id: str = ""
    project: str = ""
    agent: str = ""

    def within(self, messages: Sequence[Message]) -> Caller:
        """Return the caller with a session: an unnamed conversation is a session of its own."""
        return self if self.session_id else self._replace(session_id=_UNNAMED + mark_of(messages))


class Request(NamedTuple):
    """The parts of a request that a build needs, as plain data. `max_tokens`: the most that it may have; None: the model's window."""

    provider: Provider
    model: str
    messages: list[Message]
    system: Any = None
    tools: Any = None
    max_tokens: int | None = None


class Used(NamedTuple):
    """The tokens that one answer used. `input`: the uncached input. `cache_write_1h`: the part of `cache_write` that is cached for an hour.
    `id`: the provider's for the answer, "" for none."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    output: int = 0
    id: str = ""


class Notice(NamedTuple):
    """The additional information in an answer: `exceeded`, the limit that is used up, and `faults`, why a provider would refuse the
    messages."""

    exceeded: Standing | None = None
    faults: Sequence[str] = ()

    def __bool__(self) -> bool:
        return self.exceeded is not None or bool(self.faults)

    def as_fields(self) -> dict[str, Any]:
        """Return the notice as plain fields."""
        limit = self.exceeded
        fields = {} if limit is None else {**limit._asdict(), "used_percent": round(limit.used_percent, 2)}
        return {**({"exceeded": fields} if fields else {}), **({"faults": list(self.faults)} if self.faults else {})}


class Prepared(NamedTuple):
    """A request that may be sent: with these `messages`, or, None, with its own. `notice`: for its answer."""

    messages: list[Message] | None = None
    notice: Notice = Notice()


class UsageLog(Protocol):
    """The log of users' usage. It writes in the background. One that also has `exceeded(user_id, session_id)`, which returns a
    `usage_log.Exceeded` or None, lets its limits warn and refuse."""

    def used_percent(self, user_id: str, session_id: str) -> float | None:
        """Return the used percentage of the limit that is used up most; None where there is no limit."""
        ...

    def built(self, caller: Caller, request: Request, result: ContextResult) -> None: ...

    def answered(self, caller: Caller, model: str, used: Used) -> None: ...

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
        """`sources`: of a project's folder, for one build. `log`: None where no limits apply and nothing is recorded."""
        self._build = build
        self._sources = sources
        self._usage = log
        self._conversations = Conversations()
        self._warned = False
        self._lock = threading.Lock()

    def build(self, caller: Caller, request: Request) -> list[Message] | None:
        """Return the messages to send, valid for the provider; None for the original ones: no user is named, or building fails, which is
        logged once. BudgetExceeded."""
        return self.prepare(caller, request).messages

    def prepare(self, caller: Caller, request: Request) -> Prepared:
        """Return the messages to send, and the notice for the answer. BudgetExceeded where a limit that refuses is used up."""
        if not caller.user_id or not request.messages:
            return Prepared()
        exceeded = self._exceeded(caller)
        messages, faults = [], []
        with self.careful("building a context failed, so the original messages were sent"):
            result = self._built(caller, request)
            messages, faults = result.messages, result.faults
        return Prepared(messages or None, Notice(exceeded, faults))

    def _exceeded(self, caller: Caller) -> Standing | None:
        """Return the limit that is used up; None where none is. BudgetExceeded where it refuses."""
        ask, exceeded = getattr(self._usage, "exceeded", None), None
        if ask is not None:
            with self.careful("limits could not be read, so none applies"):
                exceeded = ask(caller.user_id, caller.session_id)
        if exceeded is not None and exceeded.refuses:
            raise BudgetExceeded(exceeded.standing)
        return None if exceeded is None else exceeded.standing

    def answered(self, caller: Caller, model: str, used: Used | None) -> None:
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
    def careful(self, what: str, but: type[Exception] | tuple[()] = ()) -> Iterator[None]:
        """Log an error inside instead of raising it. `what`: its consequence, in words. `but`: an error that is the caller's."""
        try:
            yield
        except but:
            raise
        except Exception as error:  # noqa: BLE001  a call must not fail for what PopKit adds to it
            self._warn(what, error)

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

    def _options(self, caller: Caller, request: Request, previous: dict[str, Any] | None, digests: list[str] | None) -> ContextBuildOptions:
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
            previous=previous,
            digests=digests,
        )

    def _used_percent(self, caller: Caller) -> float | None:
        used = None
        if self._usage is not None:
            with self.careful("limits could not be read, so none applies"):
                used = self._usage.used_percent(caller.user_id, caller.session_id)
        return used if used is None else float(used)

    def _warn(self, what: str, error: Exception) -> None:
        """Warn once; later errors are for debugging. An error's own message may have contents of messages, so it is left out."""
        with self._lock:
            level, self._warned = logging.DEBUG if self._warned else logging.WARNING, True
        _log.log(level, "PopKit: %s (%s in %s). This is logged once.", what, type(error).__name__, _place(error))


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"


# --- the user's own service ---------------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1)
def default_service() -> ContextService:
    """Return the service of this process, which clients use by default. No database is opened before the first build."""
    return configured_service(os.environ)


def configured_service(environ: Mapping[str, str]) -> ContextService:
    """Return a service with the user's own settings, database, memory and files; an unavailable database is logged, and left out."""
    log: UsageLog | None = None
    try:
        log = DatabaseLog(environ)
    except home.NoHome as error:
        _log.warning("PopKit: no limits apply, and no builds are recorded: %s.", error)
    return ContextService(build_context, ProjectSources(environ), log)
