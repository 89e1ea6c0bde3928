"""Pydantic AI's agents with our processor of histories and our toolset, against models that answer by a function."""

from __future__ import annotations

import asyncio
import importlib
import random
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from popkit_retention.memory import InMemoryStore, Memory

pytestmark = pytest.mark.skipif(find_spec("pydantic_ai") is None, reason="pydantic-ai-slim is not installed: it needs Python 3.10")

FILE = "\n".join(f"{number}: value_{number} = compute({number * number})" for number in range(300))


@pytest.fixture(autouse=True)
def loop() -> Iterator[None]:
    """`run_sync` makes itself a loop where there is none, and leaves it open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture(scope="module")
def ai() -> ModuleType:
    """Pydantic AI's messages; the package takes a second to load."""
    return importlib.import_module("pydantic_ai.messages")


@pytest.fixture(scope="module")
def ours() -> ModuleType:
    return importlib.import_module("popkit_retention.adapters.pydantic_ai")


def agent_of(answer: Callable[[list[Any]], list[Any]], processor: Any, **options: Any) -> Any:
    """An agent whose model answers the messages that it was sent by `answer`, with a tool Read."""
    from pydantic_ai import Agent
    from pydantic_ai.capabilities import ProcessHistory
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models.function import FunctionModel

    agent = Agent(
        FunctionModel(lambda messages, _: ModelResponse(parts=answer(messages)), model_name="some-model"),
        capabilities=[ProcessHistory(processor)],
        **options,
    )

    @agent.tool_plain
    def Read(file_path: str) -> str:  # noqa: N802  the tool is Claude Code's
        return FILE

    return agent


def reading(seen: list[list[Any]], ai: ModuleType) -> Callable[[list[Any]], list[Any]]:
    """A model that reads a file where it is asked to, and keeps what it was sent."""

    def answer(messages: list[Any]) -> list[Any]:
        seen.append(list(messages))
        asked = str(messages[-1].parts[-1].content)
        return [ai.ToolCallPart("Read", {"file_path": "/shop/app.py"})] if asked.startswith("read") else [ai.TextPart("done")]

    return answer


def ids(messages: list[Any], kind: str) -> list[str]:
    return [part.tool_call_id for message in messages for part in message.parts if part.part_kind == kind]


def results(messages: list[Any]) -> list[str]:
    return [part.content for message in messages for part in message.parts if part.part_kind == "tool-return"]


def test_a_read_that_a_later_one_repeats_leaves_a_notice_and_keeps_its_pair(ai: ModuleType, ours: ModuleType) -> None:
    seen: list[list[Any]] = []
    agent, history = agent_of(reading(seen, ai), ours.history_processor(budget_used_percent=50.0)), []
    for prompt in ("read it", "read it again", "thanks", "thanks"):
        history = agent.run_sync(prompt, message_history=history).all_messages()
    first, second = results(seen[-1])
    assert "/shop/app.py" in first
    assert len(first) < 200
    assert second == FILE
    assert ids(seen[-1], "tool-call") == ids(seen[-1], "tool-return")
    assert len(set(ids(seen[-1], "tool-call"))) == 2


def test_what_was_sent_stays_as_it_was_sent_until_a_cut_pays(ai: ModuleType, ours: ModuleType) -> None:
    seen: list[list[Any]] = []
    agent, history = agent_of(reading(seen, ai), ours.history_processor(budget_used_percent=50.0)), []
    for prompt in ("read it", "read it again", *["thanks"] * 5):
        history = agent.run_sync(prompt, message_history=history).all_messages()
    changed = [number for number in range(1, len(seen)) if seen[number][: len(seen[number - 1])] != seen[number - 1]]
    assert len(changed) == 2, "one cut for each of the two reads, when it is no longer among the newest"


def test_under_a_limit_old_exchanges_leave_and_the_newest_stays(ai: ModuleType, ours: ModuleType) -> None:
    seen: list[list[Any]] = []
    agent, history = agent_of(reading(seen, ai), ours.history_processor(max_tokens=1_000)), []
    prompts = [f"tell me {number}: " + "word " * 150 for number in range(12)]
    for prompt in prompts:
        history = agent.run_sync(prompt, message_history=history).all_messages()
    said = [str(part.content) for message in seen[-1] for part in message.parts if part.part_kind == "user-prompt"]
    assert len(said) < len(prompts)
    assert prompts[-1] in said[-1]
    assert "PopKit left out what was said before" in said[-1]
    assert sum(len(text) for text in said) < 6_000


def test_a_history_that_no_provider_would_take_stays_as_it_is(ai: ModuleType, ours: ModuleType) -> None:
    process, run = ours.history_processor(), SimpleNamespace(model=None)
    without_call = [
        ai.ModelRequest(parts=[ai.UserPromptPart("hello")]),
        ai.ModelResponse(parts=[ai.TextPart("hello")]),
        ai.ModelRequest(parts=[ai.ToolReturnPart("Read", FILE, "nobody-called")]),
    ]
    assert process(run, without_call) is without_call
    assert process(run, []) == []


def history_of(ai: ModuleType, chance: random.Random) -> list[Any]:
    """A valid history with all kinds of parts, that waits for an answer."""
    messages: list[Any] = []
    call = 0
    for turn in range(chance.randint(1, 12)):
        system = [ai.SystemPromptPart("Be brief.")] if not messages else []
        prompt: Any = f"question {turn} " + "word " * chance.randint(0, 60)
        if chance.random() < 0.2:
            prompt = [prompt, ai.ImageUrl("https://example.com/a.png"), "and this"]
        messages.append(ai.ModelRequest(parts=[*system, ai.UserPromptPart(prompt)]))
        for _ in range(chance.randint(0, 3)):
            calls = []
            for _ in range(chance.randint(1, 3)):
                call += 1
                tool, given = chance.choice(
                    [("Read", {"file_path": f"/shop/{chance.randint(0, 2)}.py"}), ("look_up", {"query": "x" * chance.randint(1, 900)})]
                )
                calls.append(ai.ToolCallPart(tool, given, f"call-{call}"))
            thinking = [ai.ThinkingPart("so " * 40, signature="sig", provider_name="p")] if chance.random() < 0.3 else []
            messages.append(ai.ModelResponse(parts=[*thinking, ai.TextPart("let me see"), *calls]))
            returns = [ai.ToolReturnPart(each.tool_name, FILE[: chance.randint(0, 9_000)], each.tool_call_id) for each in calls]
            if chance.random() < 0.2:
                returns[-1] = ai.ToolReturnPart(
                    calls[-1].tool_name, ["see", ai.ImageUrl("https://example.com/b.png")], calls[-1].tool_call_id
                )
            messages.append(ai.ModelRequest(parts=[*returns, *([ai.UserPromptPart("hurry")] if chance.random() < 0.1 else [])]))
        if messages[-1].kind == "request" and messages[-1].parts[-1].part_kind == "tool-return":
            messages.append(ai.ModelResponse(parts=[ai.TextPart("here it is")]))
        elif messages[-1].kind == "request":
            messages.append(ai.ModelResponse(parts=[ai.TextPart("hello")]))
    return [*messages, ai.ModelRequest(parts=[ai.UserPromptPart("and now?")])]


@pytest.mark.parametrize("used", [None, 30.0, 70.0, 95.0])
@pytest.mark.parametrize("seed", range(12))
def test_calls_and_results_stay_pairs_and_nothing_new_is_said(ai: ModuleType, ours: ModuleType, seed: int, used: float | None) -> None:
    messages, run = history_of(ai, random.Random(seed)), SimpleNamespace(model=None)
    given = ai.ModelMessagesTypeAdapter.dump_json(messages)
    left = ours.history_processor(budget_used_percent=used)(run, messages)
    assert ai.ModelMessagesTypeAdapter.dump_json(messages) == given, "the caller's messages are never changed"
    assert sorted(ids(left, "tool-call")) == sorted(ids(left, "tool-return"))
    calls_so_far: set[str] = set()
    for message in left:
        assert set(ids([message], "tool-return")) <= calls_so_far
        calls_so_far |= set(ids([message], "tool-call"))
        assert message.parts
    assert left[-1].parts[-1].part_kind == "user-prompt"
    assert "and now?" in str(left[-1].parts[-1].content)
    assert left[0].kind == "request"
    assert any(part.part_kind == "system-prompt" for part in left[0].parts)
    assert len(ai.ModelMessagesTypeAdapter.dump_json(left)) <= len(given) + 3_000
    pictured = [part for message in left for part in message.parts if part.part_kind == "tool-return" and isinstance(part.content, list)]
    assert all(part.content[1].url.endswith("b.png") for part in pictured), "a result with more than text stays whole"


@pytest.mark.parametrize("seed", range(6))
def test_what_was_processed_is_not_cut_again(ai: ModuleType, ours: ModuleType, seed: int) -> None:
    process, run = ours.history_processor(budget_used_percent=70.0), SimpleNamespace(model=None)
    left = process(run, history_of(ai, random.Random(seed)))
    assert process(run, left) == left
    stored = ai.ModelMessagesTypeAdapter.validate_json(ai.ModelMessagesTypeAdapter.dump_json(left))
    assert process(run, stored) is stored


def test_a_memory_enters_once_before_the_prompt_that_it_is_for(ai: ModuleType, ours: ModuleType) -> None:
    from popkit_retention.context import Remembered, Sources

    class Known:
        def relevant(self, request: str, most: int | None) -> list[Remembered]:
            return [Remembered("m1", "Ana pays by invoice.", 0.9)] if "Ana" in request else []

    seen: list[list[Any]] = []
    agent, history = agent_of(reading(seen, ai), ours.history_processor(sources=Sources(memory=Known()))), []
    for prompt in ("hello", "how does Ana pay?", "and where does Ana live?"):
        history = agent.run_sync(prompt, message_history=history).all_messages()
    prompts = [part.content for message in seen[-1] for part in message.parts if part.part_kind == "user-prompt"]
    assert prompts[0] == "hello"
    assert "Ana pays by invoice." in prompts[1][0]
    assert prompts[1][-1] == "how does Ana pay?"
    assert prompts[2] == "and where does Ana live?"


def test_the_window_of_the_runs_own_model_is_the_limit(ai: ModuleType, ours: ModuleType) -> None:
    small = SimpleNamespace(model=SimpleNamespace(model_name="claude-haiku-4-5"))  # 200,000 tokens
    messages: list[Any] = []
    for number in range(100):
        messages += [
            ai.ModelRequest(parts=[ai.UserPromptPart(f"question {number} " + "some more words " * 1_000)]),
            ai.ModelResponse(parts=[ai.TextPart("hello")]),
        ]
    messages.append(ai.ModelRequest(parts=[ai.UserPromptPart("and now?")]))
    assert len(ours.history_processor()(small, messages)) < len(messages)
    unknown = SimpleNamespace(model=SimpleNamespace(model_name="somebodys-own"))
    assert len(ours.history_processor()(unknown, messages)) == len(messages)


def test_the_tools_of_a_memory_add_to_it_and_find_what_it_has(ours: ModuleType) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    memory = Memory(InMemoryStore(), "agent")
    memory.add("Ana pays by invoice.")
    tools = ours.memory_toolset(memory)
    agent = Agent(TestModel(), toolsets=[tools])
    agent.run_sync("hello")
    assert len(memory.list()) == 2
    messages = agent.run_sync("hello").all_messages()
    assert "This is remembered already." in results(messages)
    assert len(memory.list()) == 2


def test_a_search_gives_text_and_relevance_and_a_bad_item_is_tried_again(ai: ModuleType, ours: ModuleType) -> None:
    memory = Memory(InMemoryStore(), "agent")
    memory.add("Ana pays by invoice.")
    steps = iter(
        [ai.ToolCallPart("memory_search", {"query": "invoice"}), ai.ToolCallPart("memory_add", {"text": " "}), ai.TextPart("done")]
    )
    agent = agent_of(lambda _: [next(steps)], ours.history_processor(), toolsets=[ours.memory_toolset(memory)])
    messages = agent.run_sync("hello").all_messages()
    parts = [part for message in messages for part in message.parts]
    (found,) = next(part.content for part in parts if getattr(part, "tool_name", "") == "memory_search" and part.part_kind == "tool-return")
    assert found["text"] == "Ana pays by invoice."
    assert found["relevance"] > 0
    assert any("its text is empty" in str(getattr(part, "content", "")) for part in parts)
    assert len(memory.list()) == 1
