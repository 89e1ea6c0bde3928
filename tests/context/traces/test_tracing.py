"""Builds are traced to a real receiver of OTLP, without contents; switched off, tracing is nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import Tracer, TracerProvider

from popkit_retention.context import ContextBuildOptions, build_context
from popkit_retention.context.tracing import building, built, sending_to
from tests.context.traces.receiver import Receiver, attributes, receiving
from tests.paths import PYTHONPATH
from tests.patience import HANG_S

SECRET = "the launch code is 0000"  # noqa: S105  a content
MESSAGES = [{"role": "user", "content": SECRET}]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


def ended(tracer: Tracer) -> None:
    """All spans are sent, and nothing of it runs on."""
    tracer.span_processor.shutdown()


def test_a_build_is_a_span_with_what_the_context_holds_and_no_contents(receiver: Receiver) -> None:
    tracer = sending_to(receiver.endpoint)
    with tracer.start_as_current_span("request"), building("reviewer", "s1", "claude-opus-5", 1, tracer) as span:
        built(span, build_context(ContextBuildOptions(messages=MESSAGES, budgetPercent=30.0)))
    ended(tracer)
    assert receiver.paths == ["/v1/traces"]
    assert receiver.services == {"popkit"}
    build, request = sorted(receiver.spans, key=lambda each: each.name)
    assert (build.name, request.name) == ("CONTEXT_BUILD", "request")
    assert (build.parent_span_id, build.trace_id) == (request.span_id, request.trace_id)
    assert build.start_time_unix_nano < build.end_time_unix_nano
    values = attributes(build)
    assert (values["agent"], values["session.id"], values["messageCount"], values["contextBuilt"]) == ("reviewer", "s1", 1, True)
    (event,) = build.events
    assert event.name == "CONTEXT_USAGE"
    usage = attributes(event)
    assert (usage["budgetPercent"], usage["budgetRemainingPercent"]) == (30.0, 70.0)
    assert json.loads(usage["pruningStrategy"])["budgetRange"] == "60-80%"
    assert json.loads(usage["tierBreakdown"])["total"] == usage["totalTokens"] > 0
    assert SECRET.encode() not in b"".join(receiver.raw)


def test_a_build_that_fails_is_reported_by_the_kind_of_its_error(receiver: Receiver) -> None:
    tracer = sending_to(receiver.endpoint)
    with pytest.raises(ValueError, match="launch"), building("", "s1", "m", 1, tracer):
        raise ValueError(SECRET)
    ended(tracer)
    (span,) = receiver.spans
    assert (attributes(span)["contextBuilt"], attributes(span)["error.type"]) == (False, "ValueError")
    assert span.status.code == trace.StatusCode.ERROR.value
    assert SECRET.encode() not in b"".join(receiver.raw)


LATER = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from popkit_retention.context import build_context, Provider
from popkit_retention.context.requests import Caller, Request
from popkit_retention.context.service import ContextService
service = ContextService(build_context)
request = Request(Provider.ANTHROPIC, "m", [{"role": "user", "content": "hello"}])
service.build(Caller("alice", "s1"), request)
theirs, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(theirs))
trace.set_tracer_provider(provider)
service.build(Caller("alice", "s1"), request)
print(*[span.name for span in theirs.get_finished_spans()])
"""
PROGRAM = """
from popkit_retention.context import build_context, Provider
from popkit_retention.context.requests import Caller, Request
from popkit_retention.context.service import ContextService
service = ContextService(build_context)
service.build(Caller("alice", "s1"), Request(Provider.ANTHROPIC, "m", [{"role": "user", "content": "hello"}]))
import sys; print(*sorted(name for name in sys.modules if name.startswith("opentelemetry.sdk.trace")))
"""


def run(home: Path, program: str = PROGRAM, **env: str) -> subprocess.CompletedProcess:
    kept = {**os.environ, "PYTHONPATH": PYTHONPATH, "POPKIT_HOME": str(home), **env}
    return subprocess.run([sys.executable, "-c", program], env=kept, capture_output=True, text=True, check=True, timeout=HANG_S)


def test_a_configured_receiver_gets_the_builds_of_a_client(tmp_path: Path, receiver: Receiver) -> None:
    (tmp_path / "retention-config.json").write_text(json.dumps({"context": {"traces": receiver.endpoint}}))
    assert "opentelemetry.sdk.trace" in run(tmp_path).stdout
    assert [span.name for span in receiver.spans] == ["CONTEXT_BUILD"]


@pytest.mark.parametrize("is_configured", [True, False])
def test_an_application_that_sets_up_tracing_late_gets_traces_of_later_builds(
    tmp_path: Path, receiver: Receiver, is_configured: bool
) -> None:
    if is_configured:
        (tmp_path / "retention-config.json").write_text(json.dumps({"context": {"traces": receiver.endpoint}}))
    assert run(tmp_path, LATER).stdout == "CONTEXT_BUILD\n"
    assert len(receiver.spans) == is_configured


def test_an_address_in_the_environment_alone_switches_nothing_on(tmp_path: Path, receiver: Receiver) -> None:
    assert run(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint).stdout == "\n"
    assert receiver.paths == []


def test_without_a_receiver_nothing_is_sent() -> None:
    with building("", "s1", "m", 1, trace.NoOpTracer()) as span:
        assert not span.is_recording()


def test_a_provider_of_the_applications_own_is_used() -> None:
    tracer = TracerProvider().get_tracer("theirs")
    with building("", "s1", "m", 1, tracer) as span:
        assert span.is_recording()
        assert trace.get_current_span() is span
