"""Messages that a provider would refuse: each fault is named with its message, and nothing of the contents is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from popkit_retention.cli.doctor_failures import messages as checked
from popkit_retention.context import Provider
from popkit_retention.context.configured_service import configured_service
from popkit_retention.context.message_faults import MOST_FAULTS, faults_of
from popkit_retention.context.requests import Caller, Request
from tests.context.talking import EXCHANGES, Talk
from tests.examples import examples

ASK = {"role": "user", "content": "What is left?"}
CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "T", "input": {"x": "secret"}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "secret"}]}
OPENAI_CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "T"}}]}
TWO = {"role": "assistant", "content": [CALL["content"][0], {**CALL["content"][0], "id": "b"}]}


@pytest.mark.parametrize(
    ("messages", "faults"),
    [
        ([], ["there are no messages"]),
        ([ASK, RESULT], ["message 1: a result without the call before it"]),
        ([ASK, CALL], ["message 1: a call without its result"]),
        ([ASK, CALL, ASK], ["message 1: a call without its result"]),
        ([ASK, TWO, ASK], ["message 1: 2 calls without their results"]),
        ([ASK, CALL, ASK, RESULT], ["message 1: a call without its result", "message 3: a result without the call before it"]),
        ([{"role": "assistant", "content": "Hi."}, ASK], ["message 0: the conversation does not begin with a message of the user's"]),
        ([{"role": "robot", "content": "Hi."}, ASK], ["message 0: no role that the provider knows"]),
        (["Hi.", ASK], ["message 0: no role that the provider knows"]),
        ([{"role": "user", "content": ""}], ["message 0: no content"]),
        ([ASK, {"role": "assistant", "content": [{"type": "text", "text": " \n"}]}, ASK], ["message 1: no content"]),
        ([{**CALL, "role": "user"}], ["message 0: a call that is not the assistant's"]),
        ([ASK, {**CALL, "content": CALL["content"] * 2}, RESULT], ["message 1: two calls with the same id"]),
        ([ASK, CALL, RESULT, ASK, {"role": "assistant", "content": ""}], []),
        ([ASK, TWO, RESULT, {"role": "user", "content": [{**RESULT["content"][0], "tool_use_id": "b"}]}], []),
    ],
)
def test_each_fault_of_anthropics_form_is_named_with_its_message(messages, faults):
    assert faults_of(messages, Provider.ANTHROPIC) == faults


@pytest.mark.parametrize(
    ("messages", "faults"),
    [
        ([ASK, {"role": "tool", "tool_call_id": "a", "content": "secret"}], ["message 1: a result without the call before it"]),
        ([ASK, OPENAI_CALL, ASK], ["message 1: a call without its result"]),
        ([{"role": "system", "content": ""}, ASK, OPENAI_CALL, {"role": "tool", "tool_call_id": "a", "content": ""}], []),
        ([ASK, {"role": "assistant", "content": None}, ASK], ["message 1: no content"]),
    ],
)
def test_each_fault_of_openais_form_is_named_with_its_message(messages, faults):
    assert faults_of(messages, Provider.OPENAI) == faults


def test_no_more_than_some_are_named():
    assert len(faults_of([ASK, *[RESULT] * 100], Provider.ANTHROPIC)) == MOST_FAULTS


@settings(max_examples=examples(25, 300), deadline=None)
@given(EXCHANGES)
def test_a_valid_conversation_has_none_and_neither_has_what_is_built_of_it(exchanges):
    for provider in (Provider.ANTHROPIC, Provider.OPENAI):
        talk = Talk(provider)
        talk.went_on(exchanges)
        built = talk.build(50.0)
        assert built.faults == faults_of(built.messages, provider) == []


def test_the_result_and_the_doctor_say_it_and_the_log_holds_no_contents(tmp_path: Path):
    environ = {"POPKIT_HOME": str(tmp_path), "LOGNAME": "dana"}
    assert checked(str(tmp_path), 0.0) == []
    service = configured_service(environ)
    for _ in range(3):
        notice = service.prepare(Caller("dana", "s1"), Request(Provider.ANTHROPIC, "m", [ASK, RESULT])).notice
        assert notice.as_fields() == {"faults": ["message 1: a result without the call before it"]}
    service.prepare(Caller("dana", "s2"), Request(Provider.ANTHROPIC, "m", [ASK, CALL]))
    service.prepare(Caller("dana", "s3"), Request(Provider.ANTHROPIC, "m", [ASK]))
    service.close()
    (check,) = checked(str(tmp_path), 0.0)
    assert (check.level, check.facts["conversations"]) == ("warning", 2)
    assert check.text.endswith("the newest: message 1: a call without its result")
    assert "secret" not in (tmp_path / "hooks.log").read_text()
    (later,) = checked(str(tmp_path), 1e11)
    assert later.level == "ok"


def test_a_trace_names_them():
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from popkit_retention.context import ContextBuildOptions, build_context
    from popkit_retention.context.tracing import building, built

    seen, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(seen))
    with building("", "s1", "m", 2, provider.get_tracer("test")) as span:
        built(span, build_context(ContextBuildOptions(messages=[ASK, RESULT])))
    (ended,) = seen.get_finished_spans()
    assert ended.attributes["faults"] == ("message 1: a result without the call before it",)
    assert "secret" not in json.dumps(ended.to_json())
