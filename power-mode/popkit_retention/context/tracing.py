"""Trace builds of contexts with OpenTelemetry: to the application's own receiver, or to the one that the user has configured."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from popkit_retention.core.config.cached import effective
from popkit_retention.core.io import home

from ..extras import missing
from .build_types import ContextResult

try:
    from opentelemetry import trace
    from opentelemetry.trace import Span, Tracer
except ModuleNotFoundError as error:
    raise missing("context", error) from None

SERVICE, SCOPE = "popkit", "popkit_retention"
PATIENCE_S = 5
PATH = "/v1/traces"
BUILD, USAGE = "CONTEXT_BUILD", "CONTEXT_USAGE"
_lock = threading.Lock()
_own: dict[int, Tracer | None] = {}
_NOBODY = trace.NoOpTracer()


@contextmanager
def building(agent: str, session_id: str, model: str, message_count: int, tracer: Tracer | None = None) -> Iterator[Span]:
    """Open a span around one build. `tracer`: None for this process's own. Of an error, only the type is recorded."""
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
    """Return a receiver's URL for spans, by its address."""
    return endpoint if endpoint.endswith(PATH) else endpoint.rstrip("/") + PATH
