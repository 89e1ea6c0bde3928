"""A wrapped client sends built messages, and is otherwise the client that it was."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import uuid

import pytest

from popkit_retention.clients import with_context

from .callers import BUILT, KINDS, MODEL, QUESTION, Backend, Kind, id_of
from .providers import CACHE_READ, CACHE_WRITE, INPUT, OUTPUT, TEXT, Providers

every_client = pytest.mark.parametrize("kind", KINDS, ids=id_of)
ANTHROPIC, OPENAI = KINDS[0], KINDS[2]


@pytest.fixture
def backend(api: Providers) -> Backend:
    return Backend(api)


@every_client
def test_a_call_goes_with_the_built_messages(backend: Backend, kind: Kind):
    answer = kind.ask(backend.client(kind))
    assert kind.text(answer) == TEXT
    assert backend.api.last.messages[0]["content"] == f"{BUILT} 1"
    assert backend.api.last.messages[2:] == QUESTION


@every_client
def test_a_stream_goes_with_the_built_messages(backend: Backend, kind: Kind):
    assert kind.streamed_text(kind.ask(backend.client(kind), stream=True)) == TEXT
    assert backend.api.last.messages[0]["content"] == f"{BUILT} 1"


@every_client
@pytest.mark.parametrize("stream", [False, True])
def test_without_a_user_a_request_is_the_same_to_the_byte(backend: Backend, kind: Kind, stream: bool):
    kind.ask(kind.make(backend.api), stream=stream)
    kind.ask(backend.client(kind, user_id=""), stream=stream)
    plain, wrapped = backend.api.requests
    assert wrapped.raw == plain.raw
    assert wrapped.path == plain.path
    assert wrapped.headers.keys() == plain.headers.keys()
    assert backend.ledger.builds == backend.ledger.answers == []


@every_client
def test_a_build_changes_nothing_of_a_request_but_its_messages(backend: Backend, kind: Kind):
    more = {"tools": [], "extra_headers": {"x-mine": "yes"}, "extra_body": {"other": 1}}
    kind.ask(kind.make(backend.api), **more)
    kind.ask(backend.client(kind), **more)
    plain, wrapped = backend.api.requests
    assert {**wrapped.body, "messages": None} == {**plain.body, "messages": None}
    assert wrapped.headers["x-mine"] == "yes"


@every_client
def test_the_callers_messages_stay_as_they_were(backend: Backend, kind: Kind):
    mine = json.loads(json.dumps(QUESTION))
    kind.ask(backend.client(kind), messages=mine)
    assert mine == QUESTION


@every_client
def test_the_usage_of_an_answer_is_recorded(backend: Backend, kind: Kind):
    kind.ask(backend.client(kind, session_id="s1"))
    [(caller, model, used)] = backend.ledger.answers
    assert (caller.user_id, caller.session_id, model) == ("dana", "s1", MODEL)
    assert (used.input, used.cache_read, used.output) == (INPUT, CACHE_READ, OUTPUT)
    assert used.cache_write == (CACHE_WRITE if kind.name == "anthropic" else 0)


@every_client
def test_the_usage_of_a_stream_is_recorded_at_its_end(backend: Backend, kind: Kind):
    asked = {"stream_options": {"include_usage": True}} if kind.name == "openai" else {}
    kind.ask(backend.client(kind), stream=True, **asked)
    [(_, model, used)] = backend.ledger.answers
    assert (model, used.input, used.cache_read, used.output) == (MODEL, INPUT, CACHE_READ, OUTPUT)


def test_an_openai_stream_without_usage_is_not_changed_to_report_it(backend: Backend):
    OPENAI.ask(backend.client(OPENAI), stream=True)
    assert "stream_options" not in backend.api.last.body
    assert backend.ledger.answers == []


@every_client
def test_a_build_is_kept_with_who_called(backend: Backend, kind: Kind):
    kind.ask(backend.client(kind, session_id="s1", agent="planner", project="/somewhere"))
    [(caller, result)] = backend.ledger.builds
    assert caller == ("dana", "s1", "/somewhere", "planner")
    assert result.messages == backend.api.last.messages


@every_client
def test_a_call_may_override_the_options_and_none_of_them_is_sent(backend: Backend, kind: Kind):
    kind.ask(backend.client(kind, session_id="s1"), extra_body={"popkit": {"session_id": "s2", "agent": "critic"}, "other": 1})
    [(caller, _)] = backend.ledger.builds
    assert (caller.session_id, caller.agent) == ("s2", "critic")
    assert "popkit" not in backend.api.last.body
    assert backend.api.last.body["other"] == 1


@every_client
def test_a_call_without_a_user_may_name_one_and_the_other_way_round(backend: Backend, kind: Kind):
    kind.ask(backend.client(kind, user_id=""), extra_body={"popkit": {"user_id": "kim"}})
    kind.ask(backend.client(kind), extra_body={"popkit": {"user_id": ""}})
    assert [caller.user_id for caller, _ in backend.ledger.builds] == ["kim"]
    assert backend.api.last.messages == QUESTION
    assert "popkit" not in backend.api.last.body


def test_an_unknown_option_of_a_call_is_refused_before_anything_is_sent(backend: Backend):
    with pytest.raises(TypeError, match=r"popkit takes user_id, session_id, .*, not sesion"):
        ANTHROPIC.ask(backend.client(ANTHROPIC), extra_body={"popkit": {"sesion": "s2"}})
    assert backend.api.requests == []


@pytest.mark.parametrize("most", [0, -1])
def test_a_limit_that_no_request_fits_in_is_refused_before_anything_is_sent(backend: Backend, most: int):
    with pytest.raises(ValueError, match=f"max_context_tokens takes a number above 0, not {most}"):
        ANTHROPIC.ask(backend.client(ANTHROPIC), extra_body={"popkit": {"max_context_tokens": most}})
    with pytest.raises(ValueError, match="max_context_tokens takes a number above 0"):
        backend.client(ANTHROPIC, max_context_tokens=most)
    assert backend.api.requests == []


@pytest.mark.parametrize(
    "junk", [{"session_id": 5}, {"user_id": ["kim"]}, {"max_context_tokens": "many"}, {"max_context_tokens": True}, "kim", ["kim"], 0]
)
def test_an_option_of_the_wrong_type_is_refused_before_anything_is_sent(backend: Backend, junk: object):
    with pytest.raises(TypeError, match=r"takes (a text|a whole number|an object)"):
        ANTHROPIC.ask(backend.client(ANTHROPIC), extra_body={"popkit": junk})
    with pytest.raises(TypeError, match="session_id takes a text, not UUID"):
        with_context(backend.client(ANTHROPIC), user_id="dana", session_id=uuid.uuid4(), service=backend.service)
    assert backend.api.requests == []


@every_client
def test_a_wrapped_client_is_an_instance_of_its_class_and_has_all_that_it_has(backend: Backend, kind: Kind):
    plain = kind.make(backend.api)
    wrapped = with_context(plain, user_id="dana", service=backend.service)
    assert type(wrapped) is type(plain)
    assert (wrapped.api_key, wrapped.base_url, wrapped.max_retries) == (plain.api_key, plain.base_url, plain.max_retries)
    assert type(wrapped.models) is type(plain.models)


@every_client
def test_the_client_that_was_wrapped_stays_as_it_was(backend: Backend, kind: Kind):
    plain = kind.make(backend.api)
    resource = plain.messages if kind.name == "anthropic" else plain.chat
    wrapped = with_context(plain, user_id="dana", service=backend.service)
    assert (plain.messages if kind.name == "anthropic" else plain.chat) is resource
    assert (wrapped.messages if kind.name == "anthropic" else wrapped.chat) is not resource
    kind.ask(plain)
    assert backend.api.last.messages == QUESTION


@every_client
@pytest.mark.parametrize("method", ["with_options", "copy"])
def test_a_copy_with_other_options_is_wrapped_too(backend: Backend, kind: Kind, method: str):
    kind.ask(getattr(backend.client(kind), method)(default_headers={"x-mine": "yes"}))
    assert backend.api.last.messages[0]["content"] == f"{BUILT} 1"
    assert backend.api.last.headers["x-mine"] == "yes"


@every_client
def test_a_client_wrapped_twice_builds_once_with_the_newest_options(backend: Backend, kind: Kind):
    kind.ask(with_context(backend.client(kind), user_id="kim", service=backend.service))
    assert [caller.user_id for caller, _ in backend.ledger.builds] == ["kim"]
    assert len(backend.api.last.messages) == len(QUESTION) + 2


def test_an_object_that_is_neither_client_is_refused(backend: Backend):
    with pytest.raises(TypeError, match="with_context takes a client of the packages anthropic or openai, not dict"):
        with_context({}, user_id="dana", service=backend.service)


def test_counting_tokens_passes_untouched(backend: Backend):
    with backend.client(ANTHROPIC) as client:
        client.messages.count_tokens(model=MODEL, messages=QUESTION)
    assert backend.api.last.messages == QUESTION


def test_the_stream_helper_of_anthropic_is_built_too(backend: Backend):
    with backend.client(ANTHROPIC) as client, client.messages.stream(model=MODEL, max_tokens=64, messages=QUESTION) as stream:
        assert "".join(stream.text_stream).strip() == TEXT
        assert stream.get_final_message().usage.output_tokens == OUTPUT
    assert backend.api.last.messages[0]["content"] == f"{BUILT} 1"
    assert [used.output for _, _, used in backend.ledger.answers] == [OUTPUT]


def test_the_stream_helper_of_asynchronous_anthropic_is_built_too(backend: Backend):
    async def ask() -> str:
        async with backend.client(KINDS[1]) as client, client.messages.stream(model=MODEL, max_tokens=64, messages=QUESTION) as stream:
            return "".join([text async for text in stream.text_stream]).strip()

    assert asyncio.run(ask()) == TEXT
    assert backend.api.last.messages[0]["content"] == f"{BUILT} 1"


def test_messages_of_anthropics_beta_are_built_too(backend: Backend):
    with backend.client(ANTHROPIC) as client:
        client.beta.messages.create(model=MODEL, max_tokens=64, messages=QUESTION, betas=["some-beta-2026-01-01"])
    assert backend.api.last.messages[0]["content"] == f"{BUILT} 1"
    assert backend.api.last.headers["anthropic-beta"] == "some-beta-2026-01-01"


def test_the_stream_helper_and_parse_of_openai_are_built_too(backend: Backend):
    with backend.client(OPENAI) as client:
        with client.chat.completions.stream(model=MODEL, messages=QUESTION) as stream:
            stream.until_done()
            assert stream.get_final_completion().choices[0].message.content.strip() == TEXT
        client.chat.completions.parse(model=MODEL, messages=QUESTION)
    assert [seen.messages[0]["content"] for seen in backend.api.requests] == [f"{BUILT} 1", f"{BUILT} 2"]


def test_the_stream_helper_of_asynchronous_openai_is_built_too(backend: Backend):
    async def ask() -> str:
        async with backend.client(KINDS[3]) as client, client.chat.completions.stream(model=MODEL, messages=QUESTION) as stream:
            return (await stream.get_final_completion()).choices[0].message.content.strip()

    assert asyncio.run(ask()) == TEXT
    assert backend.api.last.messages[0]["content"] == f"{BUILT} 1"


@pytest.mark.parametrize("stream", [False, True])
def test_raw_responses_are_built_and_taken_down_too(backend: Backend, stream: bool):
    with backend.client(ANTHROPIC) as client:
        answer = client.messages.with_raw_response.create(model=MODEL, max_tokens=64, messages=QUESTION, stream=stream)
        assert answer.status_code == 200
        parsed = answer.parse()
        assert ANTHROPIC.streamed_text(list(parsed)) == TEXT if stream else ANTHROPIC.text(parsed) == TEXT
    with backend.client(OPENAI) as client:
        answer = client.chat.completions.with_raw_response.create(
            model=MODEL, messages=QUESTION, **({"stream": True, "stream_options": {"include_usage": True}} if stream else {})
        )
        parsed = answer.parse()
        assert OPENAI.streamed_text(list(parsed)) == TEXT if stream else OPENAI.text(parsed) == TEXT
    assert [used.output for _, _, used in backend.ledger.answers] == [OUTPUT, OUTPUT]


def test_a_response_that_the_caller_reads_himself_is_built_and_left_to_him(backend: Backend):
    client = backend.client(ANTHROPIC)
    with client, client.messages.with_streaming_response.create(model=MODEL, max_tokens=64, messages=QUESTION) as response:
        assert TEXT in response.read().decode()
    assert backend.api.last.messages[0]["content"] == f"{BUILT} 1"
    assert backend.ledger.answers == []


def test_what_is_imported_before_a_client_is_wrapped_is_neither_package():
    """Whoever uses one of them need not have the other."""
    code = "import popkit_retention.clients, sys; print({'anthropic', 'openai', 'litellm'} & set(sys.modules))"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": ":".join(sys.path)}
        ).stdout
        == "set()\n"
    )


def test_both_packages_still_have_what_a_wrapped_client_needs():
    """Where a new version has it no more, calls would go unbuilt, or their usage would not be taken down."""
    import anthropic
    import openai

    for base in (anthropic.Anthropic, anthropic.AsyncAnthropic, openai.OpenAI, openai.AsyncOpenAI):
        assert callable(base.post)
        assert callable(base.copy)
        assert base.with_options is base.copy
