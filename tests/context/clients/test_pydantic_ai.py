"""An agent of pydantic-ai, whose `openai:` is OpenAI's Responses, with a client of ours: its contexts are built, its limits hold."""

from __future__ import annotations

import asyncio

import pytest

from popkit_retention.context import BudgetExceeded

from .callers import BUILT, Backend, Kind
from .providers import CACHE_READ, INPUT, OUTPUT, TEXT, Providers
from .test_exceeded import Limited

pydantic_ai = pytest.importorskip("pydantic_ai")


def runs(backend: Backend, *prompts: str) -> list[str]:
    """What an agent answers to prompts, one after the other in one conversation."""
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers.openai import OpenAIProvider

    async def run() -> list[str]:
        outputs, history = [], []
        async with backend.client(Kind("openai", True), session_id="s1") as client:
            agent = pydantic_ai.Agent(infer_model("openai:gpt-5", provider_factory=lambda _: OpenAIProvider(openai_client=client)))
            for prompt in prompts:
                done = await agent.run(prompt, message_history=history)
                outputs.append(done.output)
                history = done.all_messages()
        return outputs

    return asyncio.run(run())


def test_its_requests_go_with_a_built_context_and_what_they_use_is_recorded(api: Providers):
    backend = Backend(api)
    assert runs(backend, "hello", "and now?") == [TEXT, TEXT]
    assert [seen.path for seen in api.requests] == ["/v1/responses"] * 2
    assert [seen.body["input"][0]["content"] for seen in api.requests] == [f"{BUILT} 1", f"{BUILT} 2"]
    recorded = [(caller.session_id, used.input + used.cache_read, used.output) for caller, _, used in backend.ledger.answers]
    assert recorded == [("s1", INPUT + CACHE_READ, OUTPUT)] * 2


def test_a_limit_that_refuses_ends_its_run_before_anything_is_sent(api: Providers):
    with pytest.raises(BudgetExceeded):
        runs(Backend(api, ledger=Limited(True)), "hello")
    assert api.requests == []
