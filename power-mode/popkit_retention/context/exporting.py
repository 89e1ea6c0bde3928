"""Spans that hooks have left, sent to a receiver of OTLP. Needs the extra `traces`.

All spans of a session are one trace, whose id is made of the session's; a span's id is that of its line, so that one which is sent twice is
the same one.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

SERVICE, SCOPE = "popkit", "popkit_retention"
PATIENCE_S = 5
PATH = "/v1/traces"
_MISSING = "traces need packages beyond Python. Install them with popkit setup traces"


def url_of(endpoint: str) -> str:
    """Where spans are sent, of a receiver's address."""
    return endpoint if endpoint.endswith(PATH) else endpoint.rstrip("/") + PATH


def export(lines: list[dict[str, Any]], endpoint: str) -> str:
    """Sends spans; "" where they have arrived, else what is wrong."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import SpanExportResult
    except ImportError:
        return _MISSING
    exporter = OTLPSpanExporter(endpoint=url_of(endpoint), timeout=PATIENCE_S)
    try:
        sent = exporter.export([span for span in map(_span, lines) if span is not None])
    finally:
        exporter.shutdown()
    return "" if sent is SpanExportResult.SUCCESS else f"the receiver of traces at {endpoint} does not take them. Check context.traces"


def _span(line: dict[str, Any]) -> ReadableSpan | None:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, TraceFlags

    name, start, end, attributes = line.get("name"), line.get("start"), line.get("end"), line.get("attributes")
    if not isinstance(name, str) or type(start) is not int or type(end) is not int or not isinstance(attributes, dict):
        return None
    trace = int.from_bytes(hashlib.sha256((line["session"] or line["id"]).encode("utf-8", "replace")).digest()[:16], "big")
    span = int.from_bytes(hashlib.sha256(line["id"].encode("utf-8", "replace")).digest()[:8], "big")
    plain = {key: value for key, value in attributes.items() if isinstance(value, (bool, int, float, str))}
    return ReadableSpan(
        name,
        SpanContext(trace, span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED)),
        resource=Resource.create({"service.name": SERVICE}),
        attributes={**plain, "popkit.session": line["session"]},
        start_time=start,
        end_time=end,
        instrumentation_scope=InstrumentationScope(SCOPE),
    )
