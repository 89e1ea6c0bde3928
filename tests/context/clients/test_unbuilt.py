"""Requests whose context is not built: limits apply to them, and what they use is recorded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from popkit_retention.context import BudgetExceeded
from popkit_retention.context.requests import Used

from .callers import MODEL, QUESTION, Backend, Kind
from .providers import CACHE_READ, INPUT, OUTPUT, Providers
from .test_exceeded import Limited

OPENAI, OPENAI_ASYNC, ANTHROPIC = Kind("openai", False), Kind("openai", True), Kind("anthropic", False)
BOOKED = Used(input=INPUT, cache_read=CACHE_READ, output=OUTPUT, id="resp_1")
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
    "batches of messages": (ANTHROPIC, lambda client: client.messages.batches.create(requests=[])),
}


@pytest.mark.parametrize("path", PAID)
def test_a_limit_that_refuses_sends_no_request_that_costs(api: Providers, path: str):
    kind, ask = PAID[path]
    with Backend(api, ledger=Limited(True)).client(kind) as client, pytest.raises(BudgetExceeded):
        ask(client)
    assert api.requests == []


@pytest.mark.parametrize("path", ["responses", "a list of items", "parsed responses", "completions", "embeddings"])
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
