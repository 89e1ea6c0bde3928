"""Requests of every kind that costs: limits apply to them, and what they use is recorded, also where it is only known later."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.clients import coverage, uncovered
from popkit_retention.context import BudgetExceeded, build_context
from popkit_retention.context.requests import AnswerUsage, Caller
from popkit_retention.context.usage_log import DatabaseLog
from popkit_retention.usage.configured_database import open_store
from tests.patience import HANG_S

from .callers import BUILT, KINDS, MODEL, QUESTION, Backend, Kind, id_of
from .providers import BACKGROUND, CACHE_READ, CACHE_WRITE, INPUT, OUTPUT, Pending, Providers
from .test_exceeded import Limited

OPENAI, OPENAI_ASYNC, ANTHROPIC = Kind("openai", False), Kind("openai", True), Kind("anthropic", False)
NEWEST_OPENAI = 3
BOOKED = AnswerUsage(input=INPUT, cache_read=CACHE_READ, output=OUTPUT, id="resp_1")
PAID = {
    "responses": (OPENAI, lambda client: client.responses.create(model=MODEL, input="hello")),
    "a list of items": (OPENAI, lambda client: client.responses.create(model=MODEL, input=QUESTION)),
    "parsed responses": (OPENAI, lambda client: client.responses.parse(model=MODEL, input="hello")),
    "completions": (OPENAI, lambda client: client.completions.create(model=MODEL, prompt="hello")),
    "embeddings": (OPENAI, lambda client: client.embeddings.create(model=MODEL, input="hello", encoding_format="float")),
    "batches": (
        OPENAI,
        lambda client: client.batches.create(completion_window="24h", endpoint="/v1/responses", input_file_id="file"),
    ),
    "pictures": (OPENAI, lambda client: client.images.generate(model=MODEL, prompt="a harbour")),
    "speech": (OPENAI, lambda client: client.audio.speech.create(model=MODEL, voice="alloy", input="hello")),
    "fine-tuning": (OPENAI, lambda client: client.fine_tuning.jobs.create(model=MODEL, training_file="file")),
    "batches of messages": (ANTHROPIC, lambda client: client.messages.batches.create(requests=[])),
}


@pytest.mark.parametrize("path", PAID)
def test_a_limit_that_refuses_sends_no_request_that_costs(api: Providers, path: str):
    kind, ask = PAID[path]
    with Backend(api, ledger=Limited(True)).client(kind) as client, pytest.raises(BudgetExceeded):
        ask(client)
    assert api.requests == []


@pytest.mark.parametrize("path", ["responses", "a list of items", "parsed responses", "completions", "embeddings", "pictures"])
def test_what_such_a_request_used_is_recorded(api: Providers, path: str):
    backend = Backend(api)
    with backend.client(OPENAI, session_id="s1") as client:
        PAID[path][1](client)
    [(caller, model, used)] = backend.ledger.answers
    assert (caller.session_id, model, used.input + used.cache_read, used.output) == ("s1", MODEL, INPUT + CACHE_READ, OUTPUT)


def test_a_stream_of_a_response_is_recorded_at_its_end(api: Providers):
    backend = Backend(api)
    with backend.client(OPENAI) as client:
        list(client.responses.create(model=MODEL, input="hello", stream=True))
    assert [used for _, _, used in backend.ledger.answers] == [BOOKED]


@pytest.mark.parametrize("stream", [False, True])
def test_an_async_response_is_refused_and_recorded_too(api: Providers, stream: bool):
    async def ask(backend: Backend) -> None:
        async with backend.client(OPENAI_ASYNC) as client:
            answer: Any = await client.responses.create(model=MODEL, input="hello", stream=stream)
            if stream:
                assert [event.type async for event in answer] == ["response.created", "response.completed"]

    backend = Backend(api)
    asyncio.run(ask(backend))
    assert [used for _, _, used in backend.ledger.answers] == [BOOKED]
    with pytest.raises(BudgetExceeded):
        asyncio.run(ask(Backend(api, ledger=Limited(True))))
    assert len(api.requests) == 1


# --- responses ---------------------------------------------------------------------------------------------------------------------------


def respond(kind: Kind, client: Any, **arguments: Any) -> Any:
    """A response from beginning to end; a stream as its final response."""

    async def ask() -> Any:
        async with client:
            return await client.responses.create(**arguments)

    arguments = {"model": MODEL, **arguments}
    if kind.asynchronous:
        return asyncio.run(ask())
    with client:
        return client.responses.create(**arguments)


@pytest.mark.parametrize("kind", [OPENAI, OPENAI_ASYNC], ids=id_of)
@pytest.mark.parametrize("given", ["second", QUESTION])
def test_a_response_goes_with_a_built_context(api: Providers, kind: Kind, given: Any):
    backend = Backend(api)
    respond(kind, backend.client(kind), input=given, instructions="Be brief.", tools=[])
    front, _, *rest = api.last.body["input"]
    assert (front["content"], rest[-1]["content"]) == (f"{BUILT} 1", "second")
    assert api.last.body["instructions"] == "Be brief."
    assert len(backend.ledger.builds) == 1


def test_a_response_whose_context_does_not_change_goes_as_it_came(api: Providers):
    respond(OPENAI, Backend(api, build_context).client(OPENAI), input="hello")
    assert api.last.body["input"] == "hello"


def test_the_items_of_an_answer_can_be_sent_again_as_the_package_gave_them(api: Providers):
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    said = ResponseOutputText(type="output_text", text="yes", annotations=[])
    answer = ResponseOutputMessage(id="msg_1", type="message", role="assistant", status="completed", content=[said])
    respond(OPENAI, Backend(api, build_context).client(OPENAI), input=[QUESTION[0], answer, QUESTION[2]])
    assert [item["role"] for item in api.last.body["input"]] == ["user", "assistant", "user"]
    assert api.last.body["input"][1]["content"][0]["text"] == "yes"


def test_the_streaming_helper_and_parsing_go_with_a_built_context_and_are_recorded(api: Providers):
    backend = Backend(api)
    with backend.client(OPENAI) as client:
        with client.responses.stream(model=MODEL, input=QUESTION) as stream:
            assert [event.type for event in stream] == ["response.created", "response.completed"]
        client.responses.parse(model=MODEL, input=QUESTION)
    assert [seen.body["input"][0]["content"].startswith(BUILT) for seen in api.requests] == [True, True]
    assert [used for _, _, used in backend.ledger.answers] == [BOOKED, BOOKED]


@pytest.mark.parametrize("held", [{"previous_response_id": "resp_0"}, {"conversation": "conv_0"}, {"conversation": {"id": "conv_0"}}])
def test_a_history_that_the_provider_holds_is_said_not_to_shrink(api: Providers, held: dict[str, Any]):
    backend = Backend(api)
    answer = respond(OPENAI, backend.client(OPENAI), input=QUESTION, **held)
    assert api.last.body["input"] == QUESTION
    assert backend.ledger.builds == []
    assert answer.popkit == {"unbuilt": f"OpenAI holds the history ({next(iter(held))}), so nothing of it can be left out"}
    assert [used for _, _, used in backend.ledger.answers] == [BOOKED]


@pytest.mark.parametrize("held", [{"previous_response_id": "resp_0"}, {"conversation": "conv_0"}])
def test_its_limits_are_checked_all_the_same(api: Providers, held: dict[str, Any]):
    with pytest.raises(BudgetExceeded):
        respond(OPENAI, Backend(api, ledger=Limited(True)).client(OPENAI), input="hello", **held)
    assert api.requests == []


def test_a_response_that_follows_another_is_of_its_session(api: Providers):
    backend = Backend(api)
    with backend.client(OPENAI) as client:
        first = client.responses.create(model=MODEL, input="hello")
        client.responses.create(model=MODEL, input="and now?", previous_response_id=first.id)
    sessions = [caller.session_id for caller, _, _ in backend.ledger.answers]
    assert sessions[0] == sessions[1] != ""


# --- what is known later -----------------------------------------------------------------------------------------------------------------


def retrieve(kind: Kind, client: Any, work: Any) -> Any:
    """What a coroutine, or a function, makes of a client."""

    async def ask() -> Any:
        async with client:
            return await work(client)

    if kind.asynchronous:
        return asyncio.run(ask())
    with client:
        return work(client)


@pytest.mark.parametrize("kind", [OPENAI, OPENAI_ASYNC], ids=id_of)
def test_a_background_response_is_recorded_when_it_is_retrieved(api: Providers, kind: Kind):
    backend = Backend(api)
    respond(kind, backend.client(kind, session_id="s1"), input="hello", background=True)
    assert backend.ledger.answers == []
    for _ in range(2):
        api.answers.append(Pending())
        retrieve(kind, backend.client(kind, session_id="s1"), lambda client: client.responses.retrieve(BACKGROUND))
    assert backend.ledger.answers == []
    retrieve(kind, backend.client(kind, session_id="s1"), lambda client: client.responses.retrieve(BACKGROUND))
    [(caller, model, used)] = backend.ledger.answers
    assert (caller.session_id, model, used) == ("s1", MODEL, BOOKED._replace(id=BACKGROUND))


def test_a_background_response_is_of_the_session_that_it_was_asked_in(api: Providers):
    backend = Backend(api)
    with backend.client(OPENAI) as client:
        client.responses.create(model=MODEL, input="hello", background=True, extra_body={"popkit": {"session_id": "s7"}})
        client.responses.retrieve(BACKGROUND)
    [(caller, _, _)] = backend.ledger.answers
    assert caller.session_id == "s7"


@pytest.mark.parametrize("kind", [OPENAI, OPENAI_ASYNC], ids=id_of)
def test_a_batch_of_openais_is_recorded_once_it_has_ended(api: Providers, kind: Kind):
    backend = Backend(api)
    api.answers.append(Pending())
    for _ in range(2):
        retrieve(kind, backend.client(kind, session_id="s1"), lambda client: client.batches.retrieve("batch_7"))
    [(caller, model, used)] = backend.ledger.answers
    assert (caller.session_id, model) == ("s1", MODEL)
    assert used == BOOKED._replace(id="batch_7", batch=True)


@pytest.mark.parametrize("kind", KINDS[:2], ids=id_of)
def test_the_results_of_a_batch_of_anthropics_are_recorded_as_they_are_read(api: Providers, kind: Kind):
    def read(client: Any) -> Any:
        return [result.custom_id for result in client.messages.batches.results("msgbatch_7")]

    async def read_async(client: Any) -> Any:
        return [result.custom_id async for result in await client.messages.batches.results("msgbatch_7")]

    backend = Backend(api)
    assert retrieve(kind, backend.client(kind, session_id="s1"), read_async if kind.asynchronous else read) == ["0", "1", "2"]
    expected = AnswerUsage(INPUT, CACHE_READ, CACHE_WRITE, 0, OUTPUT, "", True)
    assert [(model, used._replace(id="")) for _, model, used in backend.ledger.answers] == [(MODEL, expected)] * 2
    assert len({used.id for _, _, used in backend.ledger.answers}) == 2


def test_a_batch_costs_half(tmp_path: Path):
    environ = {"POPKIT_HOME": str(tmp_path)}
    log = DatabaseLog(environ)
    for number, batch in enumerate((False, True)):
        log.answered(Caller("dana", f"s{number}"), "claude-opus-4-8", AnswerUsage(input=1_000, output=100, batch=batch))
    assert log.flush(HANG_S)
    log.close()
    with open_store(environ) as store:
        whole, half = (store.of_session(session).usd for session in ("s0", "s1"))
    assert 0 < half == pytest.approx(whole / 2)


# --- what is not covered ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "name"), [(OPENAI, "realtime.connect"), (ANTHROPIC, "beta.sessions")])
def test_with_context_says_once_which_calls_are_not_covered(api: Providers, kind: Kind, name: str, caplog: pytest.LogCaptureFixture):
    coverage.say_uncovered.cache_clear()
    for _ in range(2):
        with Backend(api).client(kind) as client:
            listed = uncovered(client)
    assert name in [*listed.unchecked, *listed.unrecorded]
    assert [name in record.getMessage() for record in caplog.records] == [True]


def test_every_call_that_is_named_as_not_covered_is_one_of_the_package(api: Providers):
    import openai

    if int(openai.__version__.partition(".")[0]) < NEWEST_OPENAI:
        pytest.skip("this package has fewer")
    for kind in (OPENAI, ANTHROPIC):
        with Backend(api).client(kind) as client:
            for name in {each for names in uncovered(client) for each in names}:
                found = client
                for part in name.split("."):
                    found = getattr(found, part)
